import Ledger
import Reports

/// How far an app's sums have been computed.
package struct SumFill: Hashable, Sendable {
    package var isComplete: Bool
    /// The number of purchases whose movements were added.
    package var filled: Int
    fileprivate var layout: Int64

    fileprivate var isOfThisLayout: Bool { layout == SumTable.layout }
}

/// The last purchase whose movements are added to the sums, by environment and purchase. Both are
/// empty before the first purchase.
private struct PurchasePlace {
    var environment: String
    var purchase: String

    init(_ environment: String, _ purchase: String) {
        (self.environment, self.purchase) = (environment, purchase)
    }

    var values: [Value] { [.text(environment), .text(purchase)] }
}

/// The table `money_sum_fills`: the last purchase whose movements are in the sums. Changes of later
/// purchases are not added to the sums, because the movements of these purchases will be added.
extension SumRows {
    /// The number of purchases whose movements are added in one step.
    package static let purchasesAtOnce = 400

    /// How far the sums of an app have been computed. Returns nil if nothing was added yet.
    package func progress(of app: AppID) throws(StorageFailure) -> SumFill? {
        try connection.firstRow(
            "SELECT purchase, filled, layout FROM money_sum_fills WHERE app = $1",
            [.text(app.rawValue)]
        ) { row throws(StorageFailure) in
            SumFill(
                isComplete: try row.optionalText() == nil, filled: try row.count(),
                layout: try row.integer())
        }
    }

    /// Whether the sums and changes, and the cohorts and changes, together equal the movements.
    package func hasSums(of app: AppID) throws(StorageFailure) -> Bool {
        guard let fill = try progress(of: app) else { return false }
        return fill.isComplete && fill.isOfThisLayout
    }

    /// Deletes all sums and cohorts of an app. The next steps compute them again.
    package func begin(of app: AppID) throws(StorageFailure) {
        try tx.cohorts.deleteAll(of: app)
        try connection.run("DELETE FROM money_sums WHERE app = $1", [.text(app.rawValue)])
        try connection.run(
            "INSERT INTO money_sum_fills (app, layout, environment, purchase, filled) "
                + "VALUES ($1, $2, '', '', 0) ON CONFLICT (app) DO UPDATE SET "
                + "layout = excluded.layout, environment = '', purchase = '', filled = 0",
            [.text(app.rawValue), .integer(SumTable.layout)])
    }

    /// Does a step of the work on an app's sums: begins to compute them, adds the movements of the
    /// next purchases, or adds waiting changes. Returns how many rows it processed; 0 if nothing is
    /// left, or if another server is doing the work.
    ///
    /// All its statements must see one snapshot: see ``WriteMode``.
    func addUpMoney(
        of app: AppID, changes: Int, purchases: Int = purchasesAtOnce
    ) throws(StorageFailure) -> Int {
        guard let fill = try progress(of: app), fill.isOfThisLayout else {
            try begin(of: app)
            return 1
        }
        let last = try connection.firstRow(
            "SELECT environment, purchase FROM money_sum_fills WHERE app = $1 "
                + dialect.skippingLockedRows, [.text(app.rawValue)]
        ) { row throws(StorageFailure) in
            (environment: try row.optionalText(), purchase: try row.optionalText())
        }
        guard let last else { return 0 }
        guard let environment = last.environment, let purchase = last.purchase else {
            let count = try foldChanges(of: app, changes)
            // Makes another server with an older snapshot fail at the lock above, instead of after
            // all its work.
            if count > 0 { try markChanged(of: app) }
            return count
        }
        return try continueSums(
            of: app, purchases, after: PurchasePlace(environment, purchase))
    }

    private func markChanged(of app: AppID) throws(StorageFailure) {
        try connection.run(
            "UPDATE money_sum_fills SET filled = filled WHERE app = $1", [.text(app.rawValue)])
    }

    /// Computes all sums of an app again, in this transaction.
    package func rebuild(of app: AppID) throws(StorageFailure) {
        try begin(of: app)
        while try !hasSums(of: app) { _ = try addUpMoney(of: app, changes: Int.max) }
    }

    private func continueSums(
        of app: AppID, _ count: Int, after last: PurchasePlace
    ) throws(StorageFailure) -> Int {
        let purchases = try connection.rows(
            "SELECT environment, purchase FROM purchases WHERE app = $1 "
                + "AND (environment, purchase) > ($2, $3) ORDER BY environment, purchase "
                + "LIMIT \(count)", [.text(app.rawValue)] + last.values
        ) { row throws(StorageFailure) in PurchasePlace(try row.text(), try row.text()) }
        // The last step adds all remaining purchases.
        let end = purchases.count == count ? purchases.last : nil
        var (table, cohorts) = (SumTable(), CohortTable())
        for environment in Environment.allCases {
            guard let part = Self.part(of: app, in: environment, after: last, through: end) else {
                continue
            }
            try eachSum(where: part.condition, part.values) { sum, day, category, segment in
                table.add(sum, on: day, category, segment, in: environment)
            }
            try tx.cohorts.eachHistory(where: part.condition, part.values) { movements in
                for change in CohortReplay(movements).changes {
                    cohorts.add(change, in: environment)
                }
            }
            try connection.run(
                "DELETE FROM money_changes WHERE app = $1 AND \(part.condition)", part.values)
        }
        try add(table, of: app)
        try tx.cohorts.add(cohorts, of: app)
        try connection.run(
            "UPDATE money_sum_fills SET environment = $1, purchase = $2, filled = filled + $3 "
                + "WHERE app = $4",
            (end?.values ?? [.null, .null]) + [
                .integer(Int64(purchases.count)), .text(app.rawValue),
            ])
        return max(purchases.count, 1)
    }

    /// The condition for the purchases of one environment between two places. Nil if no part of the
    /// environment is between the places. Environment and purchase are compared separately. If they
    /// were compared as one row, PostgreSQL might use the index by kind instead of the key, and
    /// read every movement of the app.
    private static func part(
        of app: AppID, in environment: Environment, after first: PurchasePlace,
        through last: PurchasePlace?
    ) -> (condition: String, values: [Value])? {
        let name = environment.rawValue
        guard name >= first.environment, last.map({ name <= $0.environment }) ?? true else {
            return nil
        }
        let start = name == first.environment ? first.purchase : ""
        var condition = "environment = $2 AND purchase > $3"
        var values: [Value] = [.text(app.rawValue), .text(name), .text(start)]
        if let last, name == last.environment {
            condition += " AND purchase <= $4"
            values.append(.text(last.purchase))
        }
        return (condition, values)
    }

    /// Calls a closure with sums of the present movements, for each day, kind and segment.
    ///
    /// - Parameter condition: the SQL condition, which must name the environment. The first value
    ///   must be the app.
    private func eachSum(
        where condition: String, _ values: [Value],
        _ body: (SumTable.Sum, Int64, Movement.Category, Segment) -> Void
    ) throws(StorageFailure) {
        let groups = ["day", "kind"] + SegmentColumns.names
        let columns = groups.joined(separator: ", ")
        let sums = MovementRows.sumColumns.map { "CAST(sum(\($0)) AS BIGINT)" }.joined(
            separator: ", ")
        try connection.eachRow(
            "SELECT \(columns), count(*), \(sums) FROM money_movements WHERE app = $1 "
                + "AND \(condition) AND replaced_at_ms IS NULL GROUP BY \(columns)", values
        ) { row throws(StorageFailure) in
            let (day, category) = (
                try row.integer(), try Movement.Category.stored(try row.text())
            )
            let segment = try SegmentColumns.segment(&row)
            let movements = try row.integer()
            let sum = SumTable.Sum(totals: try MovementRows.totals(&row), movements: movements)
            body(sum, day, category, segment)
        }
    }
}

extension Database {
    /// The number of changes that are added to the sums at once. Fewer changes wait, and each
    /// report adds them to the sums that it reads.
    package static let changesAtOnce = 2_000

    /// Does a step of the work on an app's sums. Returns how many rows it processed; 0 if nothing
    /// is left. Idempotent, and safe for several servers at once. If a server is killed, the next
    /// server continues.
    ///
    /// - Parameters:
    ///   - changes: how many changes to add at once; if fewer wait, nothing is added.
    ///   - purchases: how many purchases to add at once while the sums are computed.
    package func addUpMoney(
        of app: AppID, changes: Int = changesAtOnce,
        purchases: Int = SumRows.purchasesAtOnce
    ) async throws -> Int {
        guard driver.dialect == .postgres else {
            return try await transaction {
                try $0.sums.addUpMoney(of: app, changes: changes, purchases: purchases)
            }
        }
        return try await driver.write(.snapshot) { [rules] connection in
            try DatabaseSession(connection, rules).sums.addUpMoney(
                of: app, changes: changes, purchases: purchases)
        }
    }
}
