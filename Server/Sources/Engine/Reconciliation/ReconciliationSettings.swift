import AppStoreClient
import Ledger
import Storage
import Synchronization

/// How the App Store is queried: by which process, how often, and with which client.
package struct ReconciliationSettings: Sendable {
    /// The client of an app's App Store. Returns nil for an app whose App Store cannot be queried.
    package var appStore: @Sendable (AppID) -> AppStoreClient?
    /// The client by which an app without an API key is reconciled, with its receipts. Returns nil
    /// for an app without a shared secret.
    package var receiptVerification: @Sendable (AppID) -> VerifyReceiptClient? = { _ in nil }
    /// The settings for fetching the report files of an app's developer. Returns nil for an app
    /// without a key for reports.
    package var reports: @Sendable (AppID) -> ReportFileSource? = { _ in nil }
    package var worker: CheckWorker
    package var rules: CheckRules
    /// The number of purchases that one server checks concurrently. With 1, everything happens in a
    /// fixed order.
    package var concurrentChecksMax = 8
    /// Whether this server's clock advances during a wait. False with a simulator's clock; then a
    /// backfill does not wait between two pages.
    package var canWait = true
    /// The minimum time by which this server's clock is ahead of the App Store's, according to the
    /// App Store's last response. Negative if this server's clock is behind. Returns nil if
    /// unknown.
    package var clockAhead: @Sendable () -> Duration? = { nil }

    package init(
        worker: CheckWorker, rules: CheckRules = CheckRules(),
        appStore: @escaping @Sendable (AppID) -> AppStoreClient?
    ) {
        self.worker = worker
        self.rules = rules
        self.appStore = appStore
    }

    /// How long a lease lasts. After that, another server may continue unfinished work. Every query
    /// takes less time than a lease.
    package static let lease = Duration.seconds(300)

    /// Settings for servers that do not query the App Store, and for tests of other subjects.
    package static let disabled = Self(
        worker: CheckWorker(holder: "nobody", lease: lease, checksPerSecond: 1)
    ) { _ in nil }
}

/// The purchases for which clients are waiting. These purchases are checked first.
final class UrgentChecks: Sendable {
    /// The maximum number of entries. Further purchases are left to the regular schedule.
    static let entriesMax = 1_000

    struct Entry: Hashable, Comparable, Sendable {
        var app: AppID
        var purchase: PurchaseID

        static func < (one: Self, other: Self) -> Bool {
            (one.app, one.purchase) < (other.app, other.purchase)
        }
    }

    private let entries = Mutex<Set<Entry>>([])

    func add(_ wish: Entry) {
        entries.withLock { if $0.count < Self.entriesMax { $0.insert(wish) } }
    }

    /// Removes and returns all entries, sorted, so that their order is always the same.
    func dequeueAll() -> [Entry] {
        entries.withLock { wishes in
            defer { wishes = [] }
            return wishes.sorted()
        }
    }
}

/// How late reconciliation is, for one app in one environment, as of the last refresh.
package struct ReconciliationState: Hashable, Sendable {
    package var app: AppID
    package var environment: Environment
    /// The number of purchases that are due for a check.
    package var due: Int
    /// How long the longest overdue purchase has been due.
    package var oldestDueAge: Duration
    /// When the App Store last responded. Nil if the App Store never responded.
    package var respondedAt: Instant?
    /// The number of failures since the last response.
    package var failures: Int
    /// The number of due reports about claims on seats, and of due comparisons of groups. 0 if the
    /// App Store gets no reports.
    package var seatReports: Int
    /// How long the oldest of these reports and comparisons has been due.
    package var oldestSeatReportAge: Duration
}

/// The last known state of each app's reconciliation.
final class ReconciliationStateCache: Sendable {
    private let states = Mutex<[ReconciliationState]>([])

    var all: [ReconciliationState] {
        states.withLock { $0 }
    }

    func update(_ new: [ReconciliationState]) { states.withLock { $0 = new } }
}
