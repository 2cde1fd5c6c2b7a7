import Ledger
import Reports

/// Reports from the table `money_sums`, the changes that are not added to it yet, and today's
/// movements.
extension SumRows {
    func stored(
        _ filter: MovementFilter, _ plan: SumPlan
    ) throws(StorageFailure) -> [MovementSum] {
        var found = FoundSums(filter.division)
        for change in try waiting(of: filter.app, in: filter.environment).sums {
            guard let day = plan.sumDay(of: change.day), filter.includes(change.segment) else {
                continue
            }
            found.add(change, on: day)
        }
        for stretch in plan.opening where !stretch.days.isEmpty {
            for row in try sums(filter, stretch, openingDay: plan.openingDay) {
                try found.addOpening(row)
            }
        }
        for stretch in plan.within where !stretch.days.isEmpty {
            for row in try sums(filter, stretch, openingDay: nil) { try found.add(row) }
        }
        guard let today = plan.today else { return found.all }
        let rest = try scanned(
            filter, from: today, before: today + 1, opening: plan.openingDay + 1)
        return found.all + rest
    }

    /// - Parameter openingDay: the day on which all sums are combined; nil to return each sum on
    ///   the first day of its span.
    private func sums(
        _ filter: MovementFilter, _ stretch: SumPlan.Stretch, openingDay: Int64?
    ) throws(StorageFailure) -> [Row] {
        // If the report has no division, the sums of a division with few parts are read, and its
        // parts are combined.
        let division = filter.division ?? .product
        let groups =
            (openingDay == nil ? ["first_day"] : []) + ["kind", "currency"]
            + (filter.division == nil ? [] : ["part"])
        let day = openingDay.map { ["CAST(\($0) AS BIGINT)"] } ?? []
        let isGrouped = openingDay != nil || filter.division == nil
        let counted = Self.countedColumns.map { isGrouped ? "CAST(sum(\($0)) AS BIGINT)" : $0 }
        var condition =
            "app = $1 AND environment = $2 AND division = $3 AND span = $4 "
            + "AND first_day >= \(stretch.days.lowerBound) "
            + "AND first_day < \(stretch.days.upperBound)"
        var values: [Value] = [
            .text(filter.app.rawValue), .text(filter.environment.rawValue),
            .text(division.rawValue), .text(stretch.span.rawValue),
        ]
        if filter.division != nil, let part = filter.part {
            condition += " AND part = $5"
            values.append(.text(part))
        }
        return try connection.rows(
            "SELECT \((day + groups + counted).joined(separator: ", ")) FROM money_sums "
                + "WHERE \(condition)"
                + (isGrouped ? " GROUP BY \(groups.joined(separator: ", "))" : "")
                + " LIMIT \(Self.movementSumsMax + 1)", values)
    }
}

/// Sums that were read, with the waiting changes added to them.
private struct FoundSums {
    private struct Key: Hashable {
        var day: Int64
        var category: Movement.Category
        /// The currency of the amounts. Empty if there is none.
        var currency: String
        var part: String
    }

    private let division: Division?
    private var changes: [Key: SumTable.Sum] = [:]
    private var sums: [MovementSum] = []

    init(_ division: Division?) { self.division = division }

    /// The sums that still contain movements, even if their values add up to zero.
    var all: [MovementSum] {
        sums + changes.filter { $0.value.movements != 0 }.map { sum($0.key, $0.value.totals) }
    }

    /// Adds a waiting change. All changes must be added before the first row.
    mutating func add(_ change: SumChange, on day: Int64) {
        let key = Key(
            day: day, category: change.category, currency: change.segment.price?.currency ?? "",
            part: division?.part(of: change.segment) ?? "")
        changes[key, default: SumTable.Sum()] += SumTable.Sum(
            totals: change.totals, movements: change.movements)
    }

    /// Adds a row of the opening: a sum from before the report. Several such rows may have the same
    /// key.
    mutating func addOpening(_ row: Row) throws(StorageFailure) {
        let (key, sum) = try Self.read(row, division)
        changes[key, default: SumTable.Sum()] += sum
    }

    /// Adds a row with a unique key.
    mutating func add(_ row: Row) throws(StorageFailure) {
        var (key, found) = try Self.read(row, division)
        if let change = changes.removeValue(forKey: key) { found += change }
        if found.movements != 0 { sums.append(sum(key, found.totals)) }
    }

    private static func read(
        _ row: Row, _ division: Division?
    ) throws(StorageFailure) -> (Key, SumTable.Sum) {
        try row.read { row throws(StorageFailure) in
            let key = Key(
                day: try row.integer(), category: try Movement.Category.stored(try row.text()),
                currency: try row.text(), part: division == nil ? "" : try row.text())
            let movements = try row.integer()
            let totals = try MovementRows.totals(&row)
            return (key, SumTable.Sum(totals: totals, movements: movements))
        }
    }

    private func sum(_ key: Key, _ totals: Totals) -> MovementSum {
        MovementSum(
            day: key.day, kind: key.category.kind, isMeanwhile: key.category.isMeanwhile,
            currency: key.currency.isEmpty ? nil : key.currency,
            part: key.part.isEmpty ? nil : key.part, totals: totals)
    }
}

extension MovementFilter {
    fileprivate func includes(_ segment: Segment) -> Bool {
        guard let division, let part else { return true }
        return (division.part(of: segment) ?? "") == part
    }
}
