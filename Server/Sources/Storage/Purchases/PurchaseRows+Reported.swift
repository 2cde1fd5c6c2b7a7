import Ledger

/// The part of a purchase's state that its events are derived from.
package struct ReportedPurchase: Sendable {
    package var app: AppID
    package var timeline: Timeline
    /// The last reported state; nil if nothing was ever reported.
    package var reportedState: ReportedState? = nil
    /// The owner of the purchase. Nil if the purchase has no owner.
    package var customer: CustomerID? = nil

    package init(
        app: AppID, timeline: Timeline, reportedState: ReportedState? = nil,
        customer: CustomerID? = nil
    ) {
        self.app = app
        self.timeline = timeline
        self.reportedState = reportedState
        self.customer = customer
    }

    /// When time alone will change the reported state. Nil if time alone will not change it.
    package func nextTransitionAt(_ rules: AccessRules) -> Instant? {
        reportedState.flatMap { timeline.nextTransition(after: $0, rules: rules) }
    }
}

/// A purchase as its stored row describes it.
package struct KnownPurchase: Sendable {
    package var reported: ReportedPurchase
    /// The results of earlier checks with the App Store.
    package var history: CheckHistory
    /// When the next check is due.
    package var dueAt: Instant

    package init(_ reported: ReportedPurchase, _ history: CheckHistory, dueAt: Instant) {
        self.reported = reported
        self.history = history
        self.dueAt = dueAt
    }
}

/// A purchase to be written.
package struct PurchaseChange: Sendable {
    package var known: KnownPurchase
    /// Whether the purchase differs from its stored row.
    package var isChanged: Bool

    package init(_ known: KnownPurchase, isChanged: Bool) {
        self.known = known
        self.isChanged = isChanged
    }
}

extension PurchaseRows {
    private static let selectKnown =
        "SELECT \(CheckRows.historyColumns), \(reportedColumns) "
        + "FROM \(purchasesWithOwners) "
        + "WHERE purchases.app = $1 AND purchases.environment = $2 AND purchases.purchase = $3"

    /// Reads purchases, and transforms each of them by a closure, on several threads if there are
    /// many. The closure gets the position in the list, and the purchase. If the purchase is
    /// unknown, it gets nil in place of the purchase.
    package func read<Value: Sendable>(
        _ keys: [(purchase: PurchaseID, app: AppID)],
        _ transform: @Sendable (Int, KnownPurchase?) -> Value
    ) throws(StorageFailure) -> [Value] {
        let stored = try connection.rowsEach(
            Self.selectKnown, keys.map { Self.key(of: $0.purchase, in: $0.app) })
        let read = Array(keys.indices).concurrentMap { place in
            Result { () throws(StorageFailure) in
                let (purchase, app) = keys[place]
                return transform(place, try Self.known(purchase, in: app, stored[place].first))
            }
        }
        var values: [Value] = []
        values.reserveCapacity(read.count)
        for value in read { values.append(try value.get()) }
        return values
    }

    private static func known(
        _ purchase: PurchaseID, in app: AppID, _ row: Row?
    ) throws(StorageFailure) -> KnownPurchase? {
        try row?.read { row throws(StorageFailure) in
            let (dueAt, history) = (try row.instant(), try CheckRows.history(&row))
            try row.skip()
            let reported = try reportedPurchase(purchase, in: app, &row)
            return KnownPurchase(reported, history, dueAt: dueAt)
        }
    }

    /// Purchases of an app whose reported state must change because time has passed, the longest
    /// overdue first. Skips the rows that another server has locked.
    package func dueTransitions(
        of app: AppID, dueBy now: Instant, limit: Int
    ) throws(StorageFailure) -> [ReportedPurchase] {
        try connection.rows(
            Self.selectDueTransitions(dialect),
            [.text(app.rawValue), .integer(now.milliseconds), .integer(Int64(limit))]
        ) { row throws(StorageFailure) in
            try Self.reportedPurchase(try row.purchase(), in: app, &row)
        }
    }

    static func selectDueTransitions(_ dialect: Dialect) -> String {
        "SELECT purchases.environment, purchases.purchase, \(reportedColumns) "
            + "FROM \(purchasesWithOwners) WHERE purchases.app = $1 "
            + "AND purchases.next_change_at_ms <= $2 ORDER BY purchases.next_change_at_ms LIMIT $3 "
            + dialect.skippingLockedRows(of: "purchases")
    }

    /// Saves the last reported state of purchases, and when time alone will change it.
    package func saveReportedStates(of purchases: [ReportedPurchase]) throws(StorageFailure) {
        try connection.runEach(
            "UPDATE purchases SET reported_state = $1, next_change_at_ms = $2 "
                + "WHERE app = $3 AND environment = $4 AND purchase = $5",
            purchases.map {
                [
                    $0.reportedState.map { .bytes($0.stored) } ?? .null,
                    .integer($0.nextTransitionAt(rules.access(of: $0.app))?.milliseconds),
                ] + Self.key(of: $0.timeline.purchase, in: $0.app)
            })
    }
}
