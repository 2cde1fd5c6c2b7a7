import Ledger
import Storage
import Synchronization

/// The state of the deliveries to one webhook, as of the last refresh.
package struct WebhookState: Hashable, Sendable {
    package var app: AppID
    package var webhook: WebhookID
    /// The webhook's address without the path: see ``ForwardLabel``.
    package var label: String
    package var waiting: Int
    /// How long the oldest delivery has waited.
    package var oldestAge: Duration
    /// The number of events that were not read for the webhook yet.
    package var unreadEvents: Int64
    package var isPaused: Bool
    /// How long the webhook has failed without a success. Nil if the webhook is not failing.
    package var failingFor: Duration?

    /// The time after which a failing webhook is named in the log and in the answer of `/ready`.
    package static let failingAfter = Duration.hours(1)

    package var isFailing: Bool { failingFor.map { $0 >= Self.failingAfter } ?? false }
}

/// The last known state of all webhooks.
final class WebhookStateCache: Sendable {
    private let states = Mutex<[WebhookState]>([])

    var all: [WebhookState] { states.withLock { $0 } }

    func update(_ new: [WebhookState]) { states.withLock { $0 = new } }
}
