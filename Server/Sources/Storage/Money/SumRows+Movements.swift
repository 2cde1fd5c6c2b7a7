import Ledger
import Reports

/// Selects the movements that a report adds up.
package struct MovementFilter: Hashable, Sendable {
    package var app: AppID
    package var environment: Environment
    /// Selects only movements of this currency. Nil selects all currencies.
    package var currency: String?
    /// Selects only movements of this part of ``division``. Has no effect if the part or the
    /// division is nil.
    package var part: String?
    package var division: Division?
    /// Selects the movements as they were known at this moment. Nil means as known now.
    package var asKnownAt: Instant?
    /// The present moment of the report. Later movements have not happened yet, and are left out.
    package var until: Instant
    /// Whether refunds that were reversed are left out, as if they had never been given.
    package var isRestated: Bool

    package init(
        app: AppID, environment: Environment, until: Instant, currency: String? = nil,
        division: Division? = nil, part: String? = nil, asKnownAt: Instant? = nil,
        isRestated: Bool = false
    ) {
        self.isRestated = isRestated
        self.app = app
        self.environment = environment
        self.until = until
        self.currency = currency
        self.division = division
        self.part = part
        self.asKnownAt = asKnownAt
    }
}

extension SumRows {
    /// The maximum number of sums in a report.
    package static let movementSumsMax = 2_000_000

    /// Sums of movements up to the last of the given days. All earlier movements are summed up on
    /// the day before the first of these days. If there are more than ``movementSumsMax`` sums,
    /// some are missing.
    ///
    /// - Parameter keepsDays: false to sum up whole months on their first day.
    package func movementSums(
        _ filter: MovementFilter, in days: Range<Int64>, keepsDays: Bool = true
    ) throws(StorageFailure) -> [MovementSum] {
        let sums: [MovementSum]
        if filter.asKnownAt == nil, filter.currency == nil, try tx.money.isComplete(of: filter.app),
            try hasSums(of: filter.app)
        {
            let today = rules.money(of: filter.app).clock.dayNumber(at: filter.until)
            sums = try stored(filter, SumPlan(days, today: today, keepsDays: keepsDays))
        } else {
            sums = try scanned(filter, before: days.upperBound, opening: days.lowerBound)
        }
        return filter.isRestated ? sums.filter { !$0.isMeanwhile } : sums
    }

    /// Sums of all movements up to the filter's moment, combined on its day.
    package func sumsOfAllDays(_ filter: MovementFilter) throws(StorageFailure) -> [MovementSum] {
        let next = rules.money(of: filter.app).clock.dayNumber(at: filter.until) + 1
        return try movementSums(filter, in: next..<next + 1, keepsDays: false)
    }

    /// The same sums as ``movementSums(_:in:keepsDays:)``, but computed from the movements
    /// themselves.
    ///
    /// - Parameters:
    ///   - first: leaves out movements of earlier days; nil includes all days.
    ///   - opening: all earlier movements are summed up on the day before this day.
    package func scanned(
        _ filter: MovementFilter, from first: Int64? = nil, before end: Int64, opening: Int64
    ) throws(StorageFailure) -> [MovementSum] {
        let (select, sets) = Self.selectScanned(filter, from: first, before: end, opening: opening)
        let part = filter.division?.column
        return try connection.rowsEach(select, sets).joined().read { row throws(StorageFailure) in
            let day = try row.integer()
            let category = try Movement.Category.stored(try row.text())
            return MovementSum(
                day: day, kind: category.kind, isMeanwhile: category.isMeanwhile,
                currency: try row.optionalText(),
                part: part == nil ? nil : try row.optionalText(),
                totals: try MovementRows.totals(&row))
        }
    }

    /// The statement of ``scanned(_:from:before:opening:)``, and the values of each of its runs.
    static func selectScanned(
        _ filter: MovementFilter, from first: Int64?, before end: Int64, opening: Int64
    ) -> (select: String, sets: [[Value]]) {
        let day = "CASE WHEN day < \(opening) THEN \(opening - 1) ELSE day END"
        let part = filter.division?.column
        let groups = [day, "kind", "currency"] + (part.map { [$0] } ?? [])
        let sums = MovementRows.sumColumns.map { "CAST(sum(\($0)) AS BIGINT)" }.joined(
            separator: ", ")
        var (condition, values) = Self.condition(filter)
        condition += " AND day < \(end)"
        var sets = [values]
        if let first {
            // Lets the database use the index, which begins with the kind. With `IN`, SQLite would
            // read all movements of the app instead.
            condition += " AND day >= \(first) AND kind = $\(values.count + 1)"
            sets = Movement.Kind.allCases.flatMap { kind in
                [false, true].map {
                    values + [.text(Movement.Category(kind, isMeanwhile: $0).rawValue)]
                }
            }
        }
        let select =
            "SELECT \(groups.joined(separator: ", ")), \(sums) FROM money_movements "
            + "WHERE \(condition) GROUP BY \(groups.joined(separator: ", ")) ORDER BY 1 "
            + "LIMIT \(Self.movementSumsMax + 1)"
        return (select, sets)
    }

    static func condition(_ filter: MovementFilter) -> (String, [Value]) {
        var condition = "app = $1 AND environment = $2"
        var values: [Value] = [
            .text(filter.app.rawValue), .text(filter.environment.rawValue),
        ]
        func add(_ text: (Int) -> String, _ value: Value) {
            values.append(value)
            condition += " AND " + text(values.count)
        }
        add({ "at_ms <= $\($0)" }, .integer(filter.until.milliseconds))
        if let moment = filter.asKnownAt {
            add({ "known_at_ms <= $\($0)" }, .integer(moment.milliseconds))
            add(
                { "(replaced_at_ms IS NULL OR replaced_at_ms > $\($0))" },
                .integer(moment.milliseconds))
        } else {
            condition += " AND replaced_at_ms IS NULL"
        }
        if filter.isRestated {
            condition += " AND kind NOT LIKE '\(Movement.Category.prefix)%'"
        }
        if let currency = filter.currency { add({ "currency = $\($0)" }, .text(currency)) }
        if let division = filter.division, let part = filter.part {
            // An empty part stands for movements whose documents do not contain the property.
            if part.isEmpty {
                condition += " AND \(division.column) IS NULL"
            } else {
                add({ "\(division.column) = $\($0)" }, .text(part))
            }
        }
        return (condition, values)
    }
}

extension Division {
    /// The SQL expression of a movement's part: see ``part(of:)``.
    var column: String {
        switch self {
        case .product: "product"
        case .group: "subscription_group"
        case .country: "storefront"
        case .offer: "coalesce(offer_kind || coalesce(':' || offer, ''), 'none')"
        case .price: "price || ' ' || currency"
        }
    }
}
