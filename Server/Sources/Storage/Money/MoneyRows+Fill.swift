import Ledger
import Reports

/// The progress of deriving an app's rows about money.
package struct MoneyFill: Hashable, Sendable {
    /// The rules by which they are derived.
    package var rules: String
    package var isComplete: Bool
    /// The number of purchases that were derived with these rules.
    package var filled: Int
}

extension MoneyRows {
    /// The number of purchases that one step derives.
    private static let fillBatch = 20

    /// Returns nil if nothing was derived yet.
    package func progress(of app: AppID) throws(StorageFailure) -> MoneyFill? {
        try connection.firstRow(
            "SELECT rules, purchase, filled FROM money_fills WHERE app = $1",
            [.text(app.rawValue)]
        ) { row throws(StorageFailure) in
            MoneyFill(
                rules: try row.text(), isComplete: try row.optionalText() == nil,
                filled: try row.count())
        }
    }

    /// Whether every row of an app is derived by the present rules.
    func isComplete(of app: AppID) throws(StorageFailure) -> Bool {
        guard let fill = try progress(of: app) else { return false }
        return fill.isComplete && fill.rules == rules.money(of: app).fingerprint
    }

    /// Begins to derive the rows of every purchase by the present rules.
    package func beginFill(of app: AppID) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO money_fills (app, rules, environment, purchase, filled) "
                + "VALUES ($1, $2, '', '', 0) ON CONFLICT (app) DO UPDATE SET "
                + "rules = excluded.rules, environment = '', purchase = '', filled = 0",
            [.text(app.rawValue), .text(rules.money(of: app).fingerprint)])
    }

    /// Derives the rows of the next purchases, and their timelines if this version of the program
    /// derives other ones from the same facts. Returns the number of purchases; 0 if none is left,
    /// or if another server is deriving them.
    package func continueFill(
        of app: AppID, at now: Instant
    ) throws(StorageFailure) -> Int {
        let last = try connection.firstRow(
            "SELECT environment, purchase FROM money_fills WHERE app = $1 "
                + "AND purchase IS NOT NULL " + dialect.skippingLockedRows, [.text(app.rawValue)]
        ) { row throws(StorageFailure) in row.rest() }
        guard let last else { return 0 }
        let purchases = try purchases(of: app, after: last)
        try tx.purchases.touch(purchases, in: app)
        for purchase in purchases {
            try deriveTimeline(of: purchase, in: app, at: now)
            try rebuild(of: purchase, in: app, replacing: true)
        }
        let end = purchases.last
        try connection.run(
            "UPDATE money_fills SET environment = $1, purchase = $2, filled = filled + $3 "
                + "WHERE app = $4",
            [
                .text(end?.environment.rawValue), .text(end?.original.rawValue),
                .integer(Int64(purchases.count)), .text(app.rawValue),
            ])
        return purchases.count
    }

    /// Replaces the timeline of a purchase by the one that its facts give, with the events of the
    /// difference. Only a rebuild corrects wallets, too, so this leaves consumables unchanged.
    private func deriveTimeline(
        of purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        let timeline = Timeline(
            of: purchase, try tx.facts.all(about: purchase, in: app).lazy.map(\.fact))
        guard !timeline.hasConsumables,
            try tx.purchases.storedTimeline(of: purchase, in: app) != timeline.stored
        else { return }
        var lost = LastEvents()
        try tx.recorder.replace(timeline, in: app, receivedAt: now, at: now, &lost)
    }

    private func purchases(
        of app: AppID, after last: [Value]
    ) throws(StorageFailure) -> [PurchaseID] {
        try connection.rows(
            "SELECT environment, purchase FROM purchases WHERE app = $1 "
                + "AND (environment, purchase) > ($2, $3) ORDER BY environment, purchase LIMIT $4",
            [.text(app.rawValue)] + last + [.integer(Int64(Self.fillBatch))]
        ) { row throws(StorageFailure) in
            try row.purchase()
        }
    }
}
