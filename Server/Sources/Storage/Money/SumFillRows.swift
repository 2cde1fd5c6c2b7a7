import Ledger
import Reports

/// How far the sums of an app are made.
package struct SumFill: Hashable, Sendable {
    package var isComplete: Bool
    /// The number of purchases whose movements were added.
    package var filled: Int
    fileprivate var layout: Int64

    fileprivate var isOfThisLayout: Bool { layout == SumTable.layout }
}

/// The table `money_sum_fills`: up to which purchase the movements are in the sums. Changes of
/// later purchases are not added to the sums: their movements will be.
extension DatabaseSession {
    /// The number of purchases whose movements are added in one step.
    package static let purchasesAtOnce = 400

    /// Returns nil if nothing was added yet.
    package func sumFill(of app: AppID) throws(StorageFailure) -> SumFill? {
        let rows = try connection.rows(
            "SELECT purchase, filled, layout FROM money_sum_fills WHERE app = $1",
            [.text(app.rawValue)])
        guard let row = rows.first else { return nil }
        return SumFill(
            isComplete: try row.optionalText(0) == nil, filled: Int(try row.integer(1)),
            layout: try row.integer(2))
    }

    /// Whether sums and changes are what movements add up to.
    package func hasSums(of app: AppID) throws(StorageFailure) -> Bool {
        guard let fill = try sumFill(of: app) else { return false }
        return fill.isComplete && fill.isOfThisLayout
    }

    /// Deletes all sums of an app. The next steps make them again.
    package func beginSums(of app: AppID) throws(StorageFailure) {
        try connection.run("DELETE FROM money_sums WHERE app = $1", [.text(app.rawValue)])
        try connection.run(
            "INSERT INTO money_sum_fills (app, layout, environment, purchase, filled) "
                + "VALUES ($1, $2, '', '', 0) ON CONFLICT (app) DO UPDATE SET "
                + "layout = excluded.layout, environment = '', purchase = '', filled = 0",
            [.text(app.rawValue), .integer(SumTable.layout)])
    }

    /// Does a step of the work on an app's sums: begins to make them, adds the movements of the
    /// next purchases, or adds waiting changes. Returns how many rows it processed; 0 if nothing is
    /// left, or another server is at it.
    ///
    /// It needs one snapshot for all its statements: see ``Dialect/repeatableRead``.
    func addUpMoney(
        of app: AppID, changes: Int, purchases: Int = purchasesAtOnce
    ) throws(StorageFailure) -> Int {
        guard let fill = try sumFill(of: app), fill.isOfThisLayout else {
            try beginSums(of: app)
            return 1
        }
        let rows = try connection.rows(
            "SELECT environment, purchase FROM money_sum_fills WHERE app = $1 "
                + dialect.skippingLockedRows, [.text(app.rawValue)])
        guard let last = rows.first else { return 0 }
        guard let environment = try last.optionalText(0), let purchase = try last.optionalText(1)
        else { return try foldSumChanges(of: app, changes) }
        return try continueSums(
            of: app, purchases, after: [.text(environment), .text(purchase)])
    }

    /// Makes all sums of an app again, in this transaction.
    func rebuildSums(of app: AppID) throws(StorageFailure) {
        try beginSums(of: app)
        while try !hasSums(of: app) { _ = try addUpMoney(of: app, changes: Int.max) }
    }

    private func continueSums(
        of app: AppID, _ count: Int, after last: [Value]
    ) throws(StorageFailure) -> Int {
        let purchases = try connection.rows(
            "SELECT environment, purchase FROM purchases WHERE app = $1 "
                + "AND (environment, purchase) > ($2, $3) ORDER BY environment, purchase "
                + "LIMIT \(count)", [.text(app.rawValue)] + last)
        // The last step adds everything that is left.
        let end = purchases.count < count ? nil : purchases.last?.values
        let stretch =
            "app = $1 AND (environment, purchase) > ($2, $3)"
            + (end == nil ? "" : " AND (environment, purchase) <= ($4, $5)")
        let values = [.text(app.rawValue)] + last + (end ?? [])
        var table = SumTable()
        try eachSum(where: "\(stretch)", values) { sum, day, kind, segment, environment in
            table.add(sum, on: day, kind, segment, in: environment)
        }
        try add(table, of: app)
        try connection.run("DELETE FROM money_changes WHERE \(stretch)", values)
        try connection.run(
            "UPDATE money_sum_fills SET environment = $1, purchase = $2, filled = filled + $3 "
                + "WHERE app = $4",
            (end ?? [.null, .null]) + [
                .integer(Int64(purchases.count)), .text(app.rawValue),
            ])
        return max(purchases.count, 1)
    }

    /// Calls a closure with sums of the known movements, for each day, kind and segment.
    ///
    /// - Parameter condition: begins with the app.
    private func eachSum(
        where condition: String, _ values: [Value],
        _ body: (SumTable.Sum, Int64, Movement.Kind, Segment, Environment) -> Void
    ) throws(StorageFailure) {
        let groups = ["environment", "day", "kind"] + SegmentColumns.names
        let columns = groups.joined(separator: ", ")
        let sums = Self.sumColumns.map { "CAST(sum(\($0)) AS BIGINT)" }.joined(separator: ", ")
        let rows = try connection.rows(
            "SELECT \(columns), count(*), \(sums) FROM money_movements WHERE \(condition) "
                + "AND replaced_at_ms IS NULL GROUP BY \(columns)", values)
        for row in rows {
            body(
                SumTable.Sum(
                    totals: try Self.totals(row, at: groups.count + 1),
                    movements: try row.integer(groups.count)),
                try row.integer(1), try Movement.Kind.stored(try row.text(2)),
                try SegmentColumns.segment(row, at: 3), try Environment.stored(try row.text(0)))
        }
    }
}

extension Database {
    /// The number of changes that are added to the sums at once. As many may wait, and a report
    /// adds them up by itself.
    package static let changesAtOnce = 2_000

    /// Does a step of the work on an app's sums. Returns how many rows it processed; 0 if nothing
    /// is left. Idempotent, and safe for several servers at once; a server that is killed leaves
    /// the rest to the next one.
    ///
    /// - Parameters:
    ///   - changes: how many changes to add at once; if fewer wait, they go on waiting.
    ///   - purchases: how many purchases to add at once while the sums are made.
    package func addUpMoney(
        of app: AppID, changes: Int = changesAtOnce,
        purchases: Int = DatabaseSession.purchasesAtOnce
    ) async throws -> Int {
        guard let statement = driver.dialect.repeatableRead else {
            return try await transaction {
                try $0.addUpMoney(of: app, changes: changes, purchases: purchases)
            }
        }
        return try await driver.write { [rules] connection in
            try connection.run(statement, [])
            return try DatabaseSession(connection, rules).addUpMoney(
                of: app, changes: changes, purchases: purchases)
        }
    }
}
