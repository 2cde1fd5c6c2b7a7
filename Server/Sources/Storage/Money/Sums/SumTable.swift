import Ledger
import Reports

/// Sums of movements by day and by month, and by each division, before they are written.
struct SumTable {
    /// The version of the computation of sums, cohorts and the bytes of changes. Increase it when
    /// the computation changes, so that existing sums are computed again.
    static let layout: Int64 = 4

    /// The days that one sum covers.
    enum Span: String, Comparable {
        case day
        case month

        static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

        /// The first day of the span that contains a day.
        func start(of day: Int64) -> Int64 {
            switch self {
            case .day: day
            case .month: ReportPeriod.Length.month.start(of: day)
            }
        }
    }

    struct Key: Hashable {
        var environment: Environment
        var division: Division
        var span: Span
        var firstDay: Int64
        var category: Movement.Category
        /// The currency of the amounts. Empty if no document names a price.
        var currency: String
        /// The value of the property that divides the sums. Empty if no document contains it.
        var part: String
    }

    struct Sum: Hashable {
        var totals = Totals()
        var movements: Int64 = 0

        static func += (one: inout Self, other: Self) {
            one.totals += other.totals
            one.movements += other.movements
        }
    }

    private var sums: [Key: Sum] = [:]

    /// The rows to write, in the order of the table's key, so that neighbours are written one after
    /// the other.
    var rows: [(key: Key, sum: Sum)] {
        sums.map { (key: $0.key, sum: $0.value) }.sorted { $0.key.precedes($1.key) }
    }

    mutating func add(_ change: SumChange, in environment: Environment) {
        add(
            Sum(totals: change.totals, movements: change.movements), on: change.day,
            change.category,
            change.segment, in: environment)
    }

    mutating func add(
        _ sum: Sum, on day: Int64, _ category: Movement.Category, _ segment: Segment,
        in environment: Environment
    ) {
        var key = Key(
            environment: environment, division: .product, span: .day, firstDay: day,
            category: category, currency: segment.price?.currency ?? "", part: "")
        let month = Span.month.start(of: day)
        for division in Division.allCases {
            key.division = division
            key.part = division.part(of: segment) ?? ""
            (key.span, key.firstDay) = (.day, day)
            sums[key, default: Sum()] += sum
            (key.span, key.firstDay) = (.month, month)
            sums[key, default: Sum()] += sum
        }
    }
}

extension SumTable.Key {
    fileprivate func precedes(_ other: Self) -> Bool {
        if environment != other.environment {
            return environment.rawValue < other.environment.rawValue
        }
        if division != other.division { return division.rawValue < other.division.rawValue }
        if span != other.span { return span < other.span }
        if firstDay != other.firstDay { return firstDay < other.firstDay }
        if category != other.category { return category.rawValue < other.category.rawValue }
        return (currency, part) < (other.currency, other.part)
    }
}
