import Ledger
import Reports

/// Sums of movements: stored, or added up from the movements.
package struct SumRows: RowGroup {
    package let tx: DatabaseSession
}

/// The tables `money_sums` and `money_changes`. `money_changes` contains the changes of each
/// purchase since the purchase was last added to the sums and to `money_cohorts`. Sums and changes
/// together always equal the present movements.
///
/// Each writer inserts changes under the key of its purchase, so writers share no row. One server
/// at a time adds the changes to the sums and deletes them.
extension SumRows {
    private static let keyColumns = [
        "app", "environment", "division", "span", "first_day", "kind", "currency", "part",
    ]
    static let countedColumns = ["movements"] + MovementRows.sumColumns

    private static let upsertSum =
        Insertion.statement(into: "money_sums", keyColumns + countedColumns)
        + " ON CONFLICT (\(keyColumns.joined(separator: ", "))) DO UPDATE SET "
        + countedColumns.map { "\($0) = money_sums.\($0) + excluded.\($0)" }
        .joined(separator: ", ")

    private static let deleteEmptySum =
        "DELETE FROM money_sums WHERE app = $1 AND environment = $2 AND division = $3 "
        + "AND span = $4 AND first_day = $5 AND kind = $6 AND currency = $7 AND part = $8 AND "
        + countedColumns.map { "\($0) = 0" }.joined(separator: " AND ")

    /// Adds the sums of a table to the stored sums, and deletes the sums that become empty.
    func add(_ table: SumTable, of app: AppID) throws(StorageFailure) {
        let rows = table.rows
        try connection.runEach(
            Self.upsertSum,
            rows.map { key, sum in
                Self.values(of: key, in: app) + [.integer(sum.movements)]
                    + sum.totals.numbers.map { .integer($0) }
            })
        try connection.runEach(
            Self.deleteEmptySum,
            rows.filter { $0.sum.movements <= 0 }.map { Self.values(of: $0.key, in: app) })
    }

    private static func values(of key: SumTable.Key, in app: AppID) -> [Value] {
        [
            .text(app.rawValue), .text(key.environment.rawValue), .text(key.division.rawValue),
            .text(key.span.rawValue), .integer(key.firstDay), .text(key.category.rawValue),
            .text(key.currency), .text(key.part),
        ]
    }

    // MARK: - Changes

    /// The statement that inserts changes. Changes of a purchase that became known at the same time
    /// are combined by appending their bytes.
    var insertChanges: String {
        Insertion.statement(
            into: "money_changes", ["app", "environment", "purchase", "known_at_ms", "changes"])
            + " ON CONFLICT (app, environment, purchase, known_at_ms) DO UPDATE SET changes = "
            + "CAST(money_changes.changes || excluded.changes AS \(dialect.bytes))"
    }

    /// The changes that are not yet added to the sums and cohorts of an environment.
    func waiting(
        of app: AppID, in environment: Environment
    ) throws(StorageFailure) -> WaitingChanges {
        var changes = WaitingChanges()
        try connection.eachRow(
            "SELECT changes FROM money_changes WHERE app = $1 AND environment = $2",
            [.text(app.rawValue), .text(environment.rawValue)]
        ) { row throws(StorageFailure) in try changes.add(stored: try row.bytes()) }
        return changes
    }

    /// Adds waiting changes to the sums and cohorts. Returns their number.
    ///
    /// - Parameter count: the number of changes to add; if there are fewer, nothing is done.
    func foldChanges(of app: AppID, _ count: Int) throws(StorageFailure) -> Int {
        let rows = try connection.rows(
            "SELECT environment, purchase, known_at_ms, changes FROM money_changes WHERE app = $1 "
                + "ORDER BY environment, purchase, known_at_ms LIMIT $2",
            [.text(app.rawValue), .integer(Int64(count))])
        guard rows.count == count else { return 0 }
        var (table, cohorts) = (SumTable(), CohortTable())
        for row in rows {
            let (environment, changes) = try row.read { row throws(StorageFailure) in
                let environment = try row.environment()
                try row.skip(2)
                var changes = WaitingChanges()
                try changes.add(stored: try row.bytes())
                return (environment, changes)
            }
            for change in changes.sums { table.add(change, in: environment) }
            for change in changes.cohorts { cohorts.add(change, in: environment) }
        }
        try add(table, of: app)
        try tx.cohorts.add(cohorts, of: app)
        try connection.runEach(
            "DELETE FROM money_changes WHERE app = $1 AND environment = $2 AND purchase = $3 "
                + "AND known_at_ms = $4", rows.map { [.text(app.rawValue)] + $0.values.prefix(3) })
        return rows.count
    }
}
