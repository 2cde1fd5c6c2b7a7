import Ledger

/// The table `purchases`: one row for each purchase.
extension DatabaseSession {
    static func key(of purchase: PurchaseID, in app: AppID) -> [Value] {
        [
            .text(app.rawValue), .text(purchase.environment.rawValue),
            .text(purchase.original.rawValue),
        ]
    }

    /// The values of ``upsertPurchases(_:)``.
    static func row(
        of log: ReportedPurchase, _ rules: AccessRules, due: Instant, knownAt: Instant
    ) -> [Value] {
        let timeline = log.timeline
        return key(of: timeline.purchase, in: log.app) + [
            .text(timeline.accountToken), .bytes(timeline.stored), .integer(due.milliseconds),
            .integer(knownAt.milliseconds), log.reportedState.map { .bytes($0.stored) } ?? .null,
            .integer(log.nextTransitionAt(rules)?.milliseconds),
        ]
    }

    /// Inserts rows of purchases, or replaces what is derived from documents in them. Other columns
    /// are changed where they are used: leases of checks in `CheckRows`, the reported state in
    /// `PurchaseEvents`, the budget of documents in `DocumentBudget`.
    func upsertPurchases(_ rows: [[Value]]) throws(StorageFailure) {
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

    /// Makes this transaction conflict with every other one that changes one of these purchases.
    /// To be called by whoever changes rows of a purchase, and not its row in `purchases`: see
    /// ``SnapshotConnection``. Does nothing on SQLite, which has one writer.
    func touch(_ purchases: [PurchaseID], in app: AppID) throws(StorageFailure) {
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

    /// The encoded timeline in the purchase's row. Returns nil if the purchase is unknown.
    func storedTimeline(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [UInt8]? {
        try connection.firstRow(
            "SELECT timeline FROM purchases WHERE app = $1 AND environment = $2 AND purchase = $3",
            Self.key(of: purchase, in: app)
        ) { row throws(StorageFailure) in try row.bytes() }
    }
}
