import Ledger
import Storage
import Synchronization

/// An address to which an app's notifications are forwarded.
package struct ForwardTarget: Hashable, Sendable {
    /// The address without its query, which may contain a secret. The database contains this form.
    /// Pages and responses show its ``ForwardLabel``.
    package var name: String
    package var url: String
    package var environments: Set<Environment>

    package init(name: String, url: String, environments: Set<Environment>) {
        self.name = name
        self.url = url
        self.environments = environments
    }
}

/// The addresses to which an app's notifications are forwarded, and when the App Store gets its
/// response.
package struct ForwardRules: Hashable, Sendable {
    package var targets: [ForwardTarget]
    package var policy: Policy

    /// The condition for a 200 response. After a 200 response, the App Store does not send the
    /// notification again.
    package enum Policy: String, Hashable, Sendable, CaseIterable {
        /// This server has recorded the notification.
        case own
        /// This server has recorded the notification or, if it cannot, another address has accepted
        /// it.
        case any
        /// This server has recorded the notification, and all other addresses have accepted it.
        case all
    }

    package init(targets: [ForwardTarget], policy: Policy = .own) {
        self.targets = targets
        self.policy = policy
    }

    package static let none = Self(targets: [])
}

/// How notifications are forwarded: the transport, and the name of this process.
package struct ForwardingSettings: Sendable {
    /// Posts a body to a URL. Always returns in less than ``lease``.
    package var post: @Sendable (_ url: String, ReceivedNotification) async -> ForwardResult
    /// The name of this process in leases, unique for each process.
    package var leaseHolder: String

    /// How long a server may take for a forward that it has leased. After that, another server may
    /// attempt the forward.
    package static let lease = Duration.seconds(30)
    /// The number of concurrent attempts for each address.
    package static let concurrentAttempts = 8
    /// The pauses between attempts.
    private static let backoff = ExponentialBackoff(first: .seconds(15), longest: .hours(6))
    /// The maximum number of attempts. The attempts are spread over more than six days, like the
    /// App Store's own retries.
    package static let attemptsMax = 36
    /// How long the queue waits before its first attempt if the response to the App Store depends
    /// on the other addresses. In this time, the handler of the App Store's request makes the first
    /// attempt.
    static let headStart = Duration.seconds(60)

    package init(
        holder: String,
        post: @escaping @Sendable (_ url: String, ReceivedNotification) async -> ForwardResult
    ) {
        self.leaseHolder = holder
        self.post = post
    }

    package static let disabled = Self(holder: "nobody") { _, _ in
        .noResponse("this program does not forward notifications")
    }

    /// The pause before the next attempt. Returns nil if there is no further attempt.
    ///
    /// - Parameter attempts: the number of attempts that have failed.
    package static func pause(after attempts: Int) -> Duration? {
        guard attempts < attemptsMax else { return nil }
        return backoff.delay(after: attempts)
    }
}

/// How many notifications wait for one address, as of the last refresh.
package struct ForwardingState: Hashable, Sendable {
    package var app: AppID
    package var target: String
    /// The visible form of the address.
    package var label: String
    package var waiting: Int
    /// How long the oldest of these notifications has waited.
    package var oldestAge: Duration
}

/// The last known state of all queues.
final class ForwardingStateCache: Sendable {
    private let states = Mutex<[ForwardingState]>([])

    var all: [ForwardingState] { states.withLock { $0 } }

    func update(_ new: [ForwardingState]) { states.withLock { $0 = new } }

    /// Whether the queue of an address is full. The queue may exceed its limit by the notifications
    /// that arrive between two refreshes.
    func isFull(_ target: String, of app: AppID) -> Bool {
        states.withLock { states in
            states.contains {
                $0.app == app && $0.target == target && $0.waiting >= QueueBacklog.countMax
            }
        }
    }
}
