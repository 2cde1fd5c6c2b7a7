import Ledger
import Reports

/// How far an app's rows about money have been derived.
package struct MoneyFill: Hashable, Sendable {
    /// The fingerprint of the rules by which the rows are derived.
    package var rules: String
    package var isComplete: Bool
    /// The number of purchases that were derived with these rules.
    package var filled: Int
}

extension MoneyRows {
    /// The number of purchases that one step derives.
    private static let fillBatch = 20

    /// How far the rows of an app have been derived. Returns nil if nothing was derived yet.
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

    /// The next purchases whose rows are to be derived. Empty after the last purchase. Returns nil
    /// if the rows of all purchases are derived, or if another server is deriving them.
    package func nextFill(of app: AppID) throws(StorageFailure) -> [PurchaseID]? {
        let last = try connection.firstRow(
            "SELECT environment, purchase FROM money_fills WHERE app = $1 "
                + "AND purchase IS NOT NULL " + dialect.skippingLockedRows, [.text(app.rawValue)]
        ) { row throws(StorageFailure) in row.rest() }
        return try last.map { last throws(StorageFailure) in try purchases(of: app, after: last) }
    }

    /// Records that the rows of the next purchases are derived.
    package func recordFill(of purchases: [PurchaseID], in app: AppID) throws(StorageFailure) {
        let end = purchases.last
        try connection.run(
            "UPDATE money_fills SET environment = $1, purchase = $2, filled = filled + $3 "
                + "WHERE app = $4",
            [
                .text(end?.environment.rawValue), .text(end?.original.rawValue),
                .integer(Int64(purchases.count)), .text(app.rawValue),
            ])
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
