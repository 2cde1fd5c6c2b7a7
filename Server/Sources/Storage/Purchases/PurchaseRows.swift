import Ledger

/// Purchases: stored timelines, reported states, and origins.
package struct PurchaseRows: RowGroup {
    package let tx: DatabaseSession
}

/// The table `purchases`: one row for each purchase.
extension PurchaseRows {
    static func key(of purchase: PurchaseID, in app: AppID) -> [Value] {
        [
            .text(app.rawValue), .text(purchase.environment.rawValue),
            .text(purchase.original.rawValue),
        ]
    }

    /// The values of a purchase's row, as ``upsert(_:)`` writes them.
    private static func row(of known: KnownPurchase, _ rules: AccessRules) -> [Value] {
        let reported = known.reported
        let timeline = reported.timeline
        return key(of: timeline.purchase, in: reported.app) + [
            .text(timeline.accountToken), .bytes(timeline.stored),
            .integer(known.dueAt.milliseconds), .integer(known.history.knownAt.milliseconds),
            reported.reportedState.map { .bytes($0.stored) } ?? .null,
            .integer(reported.nextTransitionAt(rules)?.milliseconds),
        ]
    }

    /// Inserts rows of purchases, or replaces the columns that are derived from documents. Other
    /// columns are changed by other types: leases of checks in `CheckRows`, the reported state in
    /// ``saveReportedStates(of:)``, the budget of documents in `DocumentBudget`.
    package func upsert(_ changes: [PurchaseChange]) throws(StorageFailure) {
        // With several writers an unchanged row is written too, so that two transactions about one
        // purchase never overlap: see `SnapshotConnection`.
        let always = dialect == .postgres
        let rows = changes.concurrentMap { [rules] change -> [Value]? in
            guard always || change.isChanged else { return nil }
            return Self.row(of: change.known, rules.access(of: change.known.reported.app))
        }.compactMap(\.self)
        try connection.runEach(
            "INSERT INTO purchases (app, environment, purchase, account_token, timeline, "
                + "due_at_ms, known_at_ms, reported_state, next_change_at_ms, failures, "
                + "lease_until_ms) "
                + "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, 0) "
                + "ON CONFLICT (app, environment, purchase) "
                + "DO UPDATE SET account_token = excluded.account_token, "
                + "timeline = excluded.timeline, due_at_ms = excluded.due_at_ms, "
                + "reported_state = excluded.reported_state, "
                + "next_change_at_ms = excluded.next_change_at_ms",
            rows)
    }

    /// Makes this transaction conflict with every other transaction that changes one of these
    /// purchases. Call this function in a transaction that changes other rows of a purchase but not
    /// its row in `purchases`: see ``SnapshotConnection``. Does nothing on SQLite, which has one
    /// writer.
    package func touch(_ purchases: [PurchaseID], in app: AppID) throws(StorageFailure) {
        guard dialect == .postgres else { return }
        try connection.runEach(
            "UPDATE purchases SET failures = failures "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3",
            purchases.sorted().map { Self.key(of: $0, in: app) })
    }

    package func timeline(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> Timeline? {
        guard let stored = try storedTimeline(of: purchase, in: app) else { return nil }
        return try Timeline(stored: stored, of: purchase)
    }

    /// Whether the row of a purchase contains exactly this timeline.
    package func contains(_ timeline: Timeline, in app: AppID) throws(StorageFailure) -> Bool {
        try storedTimeline(of: timeline.purchase, in: app) == timeline.stored
    }

    /// The encoded timeline in the purchase's row. Returns nil if the purchase is unknown.
    func storedTimeline(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [UInt8]? {
        try connection.firstRow(
            "SELECT timeline FROM purchases WHERE app = $1 AND environment = $2 AND purchase = $3",
            Self.key(of: purchase, in: app)
        ) { row throws(StorageFailure) in try row.bytes() }
    }

    // MARK: - Time-based events

    /// The columns of a ``ReportedPurchase``, from ``purchasesWithOwners``.
    static let reportedColumns = "purchases.timeline, purchases.reported_state, links.customer"

    /// Purchases, each with the link to its owner if it has one.
    static let purchasesWithOwners =
        "purchases LEFT JOIN links ON links.app = purchases.app "
        + "AND links.environment = purchases.environment AND links.purchase = purchases.purchase"

    private static let selectReported =
        "SELECT \(reportedColumns) FROM \(purchasesWithOwners) WHERE purchases.app = $1 "
        + "AND purchases.environment = $2 AND purchases.purchase = $3"

    /// A purchase and its last reported state. Returns nil if the purchase is unknown.
    package func reported(
        _ purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> ReportedPurchase? {
        try connection.firstRow(
            Self.selectReported, Self.key(of: purchase, in: app)
        ) { row throws(StorageFailure) in
            try Self.reportedPurchase(purchase, in: app, &row)
        }
    }

    /// Reads ``reportedColumns``. If the stored timeline can no longer be decoded, uses the given
    /// timeline.
    static func reportedPurchase(
        _ purchase: PurchaseID, in app: AppID, _ row: inout ColumnReader,
        orAs known: Timeline? = nil
    ) throws(StorageFailure) -> ReportedPurchase {
        let timeline: Timeline
        do {
            timeline = try Timeline(stored: try row.bytes(), of: purchase)
        } catch {
            guard let known else { throw error }
            timeline = known
        }
        return ReportedPurchase(
            app: app, timeline: timeline,
            reportedState: try row.optionalBytes().map { bytes throws(StorageFailure) in
                try ReportedState(stored: bytes)
            }, customer: try row.optionalCustomer())
    }

    /// The last reported state of a purchase that is being rebuilt. If the purchase's row is lost,
    /// the state is taken from the log. If the stored timeline can no longer be decoded, the
    /// rebuilt timeline is used in its place.
    package func lastReported(
        of rebuilt: Timeline, in app: AppID, _ lost: inout LastEvents
    ) throws(StorageFailure) -> ReportedPurchase {
        let key = Self.key(of: rebuilt.purchase, in: app)
        let known = try connection.firstRow(Self.selectReported, key) {
            row throws(StorageFailure) in
            try Self.reportedPurchase(rebuilt.purchase, in: app, &row, orAs: rebuilt)
        }
        if let known, known.reportedState != nil { return known }
        let owner = try tx.links.find(of: rebuilt.purchase, in: app)?.customer
        guard let last = try lost.event(of: rebuilt.purchase, in: app, tx) else {
            return ReportedPurchase(
                app: app, timeline: Timeline(of: rebuilt.purchase, []), customer: owner)
        }
        return ReportedPurchase(
            app: app, timeline: rebuilt,
            reportedState: ReportedState(last.entry.change.after, until: last.entry.knownAt),
            customer: owner)
    }

    /// Whether an app has any purchases in an environment.
    package func hasAny(
        of app: AppID, in environment: Environment
    ) throws(StorageFailure) -> Bool {
        try !connection.rows(
            "SELECT 1 FROM purchases WHERE app = $1 AND environment = $2 LIMIT 1",
            AppStoreRows.key(app, environment)
        ).isEmpty
    }
}
