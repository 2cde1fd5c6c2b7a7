import AppStoreClient
import Ledger
import Storage
import Synchronization

package typealias CheckRules = Ledger.CheckRules
package typealias CheckWorker = Storage.CheckWorker

/// How the App Store is asked: by whom, how often, and through what.
package struct Asking: Sendable {
    /// Nil for an app whose store cannot be asked.
    package var appStore: @Sendable (AppID) -> AppStoreClient?
    /// How it is asked where there is no key: by receipts. Nil for an app without a shared secret.
    package var verification: @Sendable (AppID) -> ReceiptVerification? = { _ in nil }
    package var worker: CheckWorker
    package var rules: CheckRules
    /// Purchases asked about at once by one server. One at a time, everything happens in one order.
    package var questionsAtOnce = 8
    /// Whether waiting is of any use: not where the clock is a simulator's, which stands still
    /// meanwhile.
    package var waits = true
    /// By how much our clock is ahead of the App Store's at least, by its last answer; below zero:
    /// behind. Nil where that is not known.
    package var clockAhead: @Sendable () -> Duration? = { nil }

    package init(
        worker: CheckWorker, rules: CheckRules = CheckRules(),
        appStore: @escaping @Sendable (AppID) -> AppStoreClient?
    ) {
        self.worker = worker
        self.rules = rules
        self.appStore = appStore
    }

    /// Another server may go on with what this one has not finished by then. Longer than any
    /// question takes.
    package static let lease = Duration.seconds(300)

    /// For a server that asks nobody, and for tests of other things.
    package static let nobody = Self(
        worker: CheckWorker(holder: "nobody", lease: lease, checksPerSecond: 1)
    ) { _ in nil }
}

/// Purchases that somebody waits for: they are asked about first.
final class Wishes: Sendable {
    /// More are left to the schedule.
    static let wishesMax = 1_000

    struct Wish: Hashable, Comparable, Sendable {
        var app: AppID
        var purchase: PurchaseID

        static func < (one: Self, other: Self) -> Bool {
            (one.app, one.purchase) < (other.app, other.purchase)
        }
    }

    private let wishes = Mutex<Set<Wish>>([])

    func add(_ wish: Wish) {
        wishes.withLock { if $0.count < Self.wishesMax { $0.insert(wish) } }
    }

    /// In an order of its own, whatever the set's.
    func take() -> [Wish] {
        wishes.withLock { wishes in
            defer { wishes = [] }
            return wishes.sorted()
        }
    }
}

/// How far behind the asking is, for one app in one environment, as of the last look.
package struct AskingState: Hashable, Sendable {
    package var app: AppID
    package var environment: Environment
    /// Purchases that are due.
    package var due: Int
    /// How long the longest due has been so.
    package var oldestDueAge: Duration
    /// When the store last answered; nil: never.
    package var answeredAt: Instant?
    /// How often it has failed to answer, since it last did.
    package var failures: Int
}

/// What was last seen of each app's asking.
final class AskingStates: Sendable {
    private let states = Mutex<[AskingState]>([])

    var all: [AskingState] {
        states.withLock { $0 }
    }

    func put(_ new: [AskingState]) { states.withLock { $0 = new } }
}
