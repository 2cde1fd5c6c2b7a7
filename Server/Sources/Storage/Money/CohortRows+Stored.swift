import Ledger
import Reports

/// The table `money_cohorts`: the numbers of the cohorts of ``Reports/Cohort/summed``, by day and
/// by month of the changes. Together with the changes that wait in `money_changes`, they always
/// equal what the present movements imply. The table is filled together with `money_sums`: see
/// ``SumRows``.
extension CohortRows {
    private static let keyColumns = [
        "app", "environment", "cohort", "span", "first_day", "began_day", "currency", "place",
    ]

    private static let upsertNumber =
        Insertion.statement(into: "money_cohorts", keyColumns + ["number"])
        + " ON CONFLICT (\(keyColumns.joined(separator: ", "))) DO UPDATE SET "
        + "number = money_cohorts.number + excluded.number"

    private static let deleteZero =
        "DELETE FROM money_cohorts WHERE app = $1 AND environment = $2 AND cohort = $3 "
        + "AND span = $4 AND first_day = $5 AND began_day = $6 AND currency = $7 "
        + "AND place = $8 AND number = 0"

    /// Adds the numbers of a table to the stored numbers, and deletes numbers that become zero.
    func add(_ table: CohortTable, of app: AppID) throws(StorageFailure) {
        let rows = table.rows
        let keys = rows.map { Self.values(of: $0.key, in: app) }
        try connection.runEach(
            Self.upsertNumber, zip(keys, rows).map { $0 + [.integer($1.number)] })
        try connection.runEach(Self.deleteZero, keys)
    }

    private static func values(of key: CohortTable.Key, in app: AppID) -> [Value] {
        let cell = key.cell
        return [
            .text(app.rawValue), .text(key.environment.rawValue), .text(cell.cohort.rawValue),
            .text(key.span.rawValue), .integer(cell.day), .integer(cell.beganDay),
            .text(cell.currency), .integer(Int64(cell.place)),
        ]
    }

    /// Deletes all numbers of an app.
    func deleteAll(of app: AppID) throws(StorageFailure) {
        try connection.run("DELETE FROM money_cohorts WHERE app = $1", [.text(app.rawValue)])
    }

    // MARK: - Reports

    /// Whether a cohort's numbers can be read from the table.
    func hasNumbers(
        of cohort: Cohort, _ filter: MovementFilter
    ) throws(StorageFailure) -> Bool {
        guard Cohort.summed.contains(cohort), filter.asKnownAt == nil, filter.currency == nil,
            filter.part == nil, try tx.money.isComplete(of: filter.app)
        else { return false }
        return try tx.sums.hasSums(of: filter.app)
    }

    /// The numbers of a cohort, from the table, the waiting changes, and the purchases that change
    /// later today.
    ///
    /// - Parameters:
    ///   - days: the days on which the subscriptions began.
    ///   - today: the day of the filter's moment. Changes of later days are left out.
    func stored(
        _ cohort: Cohort, _ filter: MovementFilter, in days: Range<Int64>, through today: Int64
    ) throws(StorageFailure) -> [CohortSum] {
        var found = FoundCohort(cohort, days)
        let waiting = try tx.sums.waiting(of: filter.app, in: filter.environment)
        for change in waiting.cohorts where change.cell.day <= today { found.add(change) }
        let month = SumTable.Span.month.start(of: today)
        for (span, changed) in [
            (SumTable.Span.month, SumPlan.firstDay..<month), (.day, month..<today + 1),
        ] {
            for row in try numbers(cohort, filter, span, in: changed, beganIn: days) {
                try found.add(row)
            }
        }
        try eachChangeLater(than: filter, on: today) {
            found.add(CohortChange($0.cell, -$0.number))
        }
        return found.sums
    }

    private func numbers(
        _ cohort: Cohort, _ filter: MovementFilter, _ span: SumTable.Span,
        in changed: Range<Int64>, beganIn days: Range<Int64>
    ) throws(StorageFailure) -> [Row] {
        try connection.rows(
            "SELECT place, began_day, currency, CAST(sum(number) AS BIGINT) FROM money_cohorts "
                + "WHERE app = $1 AND environment = $2 AND cohort = $3 AND span = $4 "
                + "AND first_day >= \(changed.lowerBound) AND first_day < \(changed.upperBound) "
                + "AND began_day >= \(days.lowerBound) AND began_day < \(days.upperBound) "
                + "GROUP BY began_day, currency, place",
            [
                .text(filter.app.rawValue), .text(filter.environment.rawValue),
                .text(cohort.rawValue), .text(span.rawValue),
            ])
    }

    /// Calls a closure with the changes that happen after the filter's moment, but on the same day.
    private func eachChangeLater(
        than filter: MovementFilter, on today: Int64, _ body: (CohortChange) -> Void
    ) throws(StorageFailure) {
        let key: [Value] = [.text(filter.app.rawValue), .text(filter.environment.rawValue)]
        let later = try connection.rowsEach(
            Self.selectChangesLater(on: today),
            Movement.Category.allCases.filter(\.isOfCohorts).map {
                key + [.text($0.rawValue), .integer(filter.until.milliseconds)]
            })
        let purchases = Set(later.joined().map(\.values))
        let histories = try connection.rowsEach(
            Self.selectHistory(where: "environment = $2 AND purchase = $3"),
            purchases.map { key + $0 })
        for rows in histories {
            let movements = try rows.read(Self.movement).compactMap(\.self)
            let past = movements.filter { $0.at <= filter.until }
            for change in CohortChange.changes(from: past, to: movements)
            where change.cell.day <= today { body(change) }
        }
    }

    /// Selects the purchases that have a movement of one kind on a day, later than a moment of that
    /// day. One statement for all kinds would not use the index by kind.
    static func selectChangesLater(on day: Int64) -> String {
        "SELECT purchase FROM money_movements WHERE app = $1 AND environment = $2 AND kind = $3 "
            + "AND day = \(day) AND at_ms > $4 AND replaced_at_ms IS NULL"
    }

    // MARK: - Movements

    /// Calls a closure with the known movements of each purchase that cohorts depend on.
    ///
    /// - Parameter condition: the SQL condition, which must name the environment. The first value
    ///   must be the app.
    func eachHistory(
        where condition: String, _ values: [Value], _ body: ([CohortMovement]) -> Void
    ) throws(StorageFailure) {
        var last = ""
        var movements: [CohortMovement] = []
        try connection.eachRow(
            Self.selectHistory(where: condition), values
        ) { row throws(StorageFailure) in
            let purchase = try Self.purchase(row)
            if purchase != last, !movements.isEmpty {
                body(movements)
                movements = []
            }
            last = purchase
            if let movement = try Self.movement(&row) { movements.append(movement) }
        }
        if !movements.isEmpty { body(movements) }
    }

    static func selectHistory(where condition: String) -> String {
        "SELECT purchase, kind, at_ms, day, currency, offer_kind, payments, active, trials, "
            + "gross - refunded FROM money_movements WHERE app = $1 AND \(condition) "
            + "AND replaced_at_ms IS NULL ORDER BY purchase, at_ms"
    }

    /// Reads the first column of ``selectHistory(where:)`` without moving the reader.
    private static func purchase(_ row: ColumnReader) throws(StorageFailure) -> String {
        var row = row
        return try row.text()
    }

    /// Reads a row of ``selectHistory(where:)``. Returns nil if no cohort depends on the movement.
    private static func movement(
        _ row: inout ColumnReader
    ) throws(StorageFailure) -> CohortMovement? {
        try row.skip()
        let category = try Movement.Category.stored(try row.text())
        let movement = CohortMovement(
            category.kind, at: try row.instant(), on: try row.integer(),
            in: try row.optionalText(), hasOffer: try row.optionalText() != nil,
            payments: try row.integer(), active: try row.integer(), trials: try row.integer(),
            revenue: try row.integer())
        return category.isOfCohorts ? movement : nil
    }
}

/// The numbers of a cohort that were found so far.
private struct FoundCohort {
    private struct Key: Hashable {
        var beganDay: Int64
        /// The currency of the amounts. Empty if there is none.
        var currency: String
    }

    private let cohort: Cohort
    /// The days on which the subscriptions began.
    private let days: Range<Int64>
    private var numbers: [Key: [Int64]] = [:]

    init(_ cohort: Cohort, _ days: Range<Int64>) { (self.cohort, self.days) = (cohort, days) }

    mutating func add(_ change: CohortChange) {
        let cell = change.cell
        guard cell.cohort == cohort, days.contains(cell.beganDay),
            cohort.zeros.indices.contains(cell.place)
        else { return }
        let key = Key(beganDay: cell.beganDay, currency: cell.currency)
        numbers[key, default: cohort.zeros][cell.place] += change.number
    }

    mutating func add(_ row: Row) throws(StorageFailure) {
        let change = try row.read { row throws(StorageFailure) in
            CohortChange(
                CohortCell(
                    cohort, Int(try row.integer()), beganOn: try row.integer(),
                    in: try row.text(), on: 0),
                try row.integer())
        }
        add(change)
    }

    /// The sums that are not zero, by day and currency.
    var sums: [CohortSum] {
        numbers.filter { $0.value.contains { $0 != 0 } }
            .sorted { ($0.key.beganDay, $0.key.currency) < ($1.key.beganDay, $1.key.currency) }
            .map { key, numbers in
                CohortSum(
                    day: key.beganDay, currency: key.currency.isEmpty ? nil : key.currency,
                    numbers: numbers)
            }
    }
}
