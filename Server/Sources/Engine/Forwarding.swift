import Ledger
import Storage
import Synchronization

package typealias ArrivedNotification = Storage.ArrivedNotification
package typealias ForwardAnswer = Storage.ForwardAnswer
package typealias StoredForward = Storage.StoredForward
package typealias ForwardPosition = Storage.ForwardPosition

/// An address that an app's notifications are sent on to.
package struct ForwardTarget: Hashable, Sendable {
    /// The address without its query, which may hold a secret: what is shown, and stored.
    package var name: String
    package var url: String
    package var environments: Set<Environment>

    package init(name: String, url: String, environments: Set<Environment>) {
        self.name = name
        self.url = url
        self.environments = environments
    }
}

/// Whom an app's notifications are sent on to, and what the App Store is answered.
package struct ForwardRules: Hashable, Sendable {
    package var targets: [ForwardTarget]
    package var policy: Policy

    /// What a notification needs for the App Store to be answered 200, and not send it again.
    package enum Policy: String, Hashable, Sendable, CaseIterable {
        /// That we have kept it.
        case own
        /// That we have kept it, or, where we cannot, that another has accepted it.
        case any
        /// That we have kept it, and all others have accepted it.
        case all
    }

    package init(targets: [ForwardTarget], policy: Policy = .own) {
        self.targets = targets
        self.policy = policy
    }

    package static let none = Self(targets: [])
}

/// How notifications are sent on: through what, and by whom.
package struct Forwarding: Sendable {
    /// Posts a body to a URL. Returns in less than ``lease``, whatever happens.
    package var post: @Sendable (_ url: String, ArrivedNotification) async -> ForwardAnswer
    /// Distinct for each process.
    package var holder: String

    /// After so long another server may try what this one has taken and not finished.
    package static let lease = Duration.seconds(30)
    /// Tried at a time, for each address.
    package static let attemptsAtOnce = 8
    /// Between attempts.
    private static let pauses = DoublingPauses(first: .seconds(15), longest: .hours(6))
    /// More than six days in all: the App Store itself goes on for as long.
    package static let attemptsMax = 36
    /// Where the App Store waits for others' answers, the queue leaves the first attempt to it.
    static let headStart = Duration.seconds(60)

    package init(
        holder: String,
        post: @escaping @Sendable (_ url: String, ArrivedNotification) async -> ForwardAnswer
    ) {
        self.holder = holder
        self.post = post
    }

    package static let nobody = Self(holder: "nobody") { _, _ in
        .none("this program sends nothing on")
    }

    /// Before the next attempt; nil where there is none any more.
    ///
    /// - Parameter attempts: those that have failed.
    package static func pause(after attempts: Int) -> Duration? {
        guard attempts < attemptsMax else { return nil }
        return pauses.pause(after: attempts)
    }
}

/// How much waits for one address, as of the last look.
package struct ForwardingState: Hashable, Sendable {
    package var app: AppID
    package var target: String
    package var waiting: Int
    /// How long the longest has waited.
    package var oldestAge: Duration
}

/// What was last seen of all queues.
final class ForwardingStates: Sendable {
    private let states = Mutex<[ForwardingState]>([])

    var all: [ForwardingState] { states.withLock { $0 } }

    func put(_ new: [ForwardingState]) { states.withLock { $0 = new } }

    /// Whether an address' queue takes no more. It may go over its limit by what comes between two
    /// looks.
    func isFull(_ target: String, of app: AppID) -> Bool {
        states.withLock { states in
            states.contains {
                $0.app == app && $0.target == target && $0.waiting >= ForwardBacklog.countMax
            }
        }
    }
}
