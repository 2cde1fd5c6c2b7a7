import Ledger

/// A computed report: one row for each period, currency and part.
package struct Report: Sendable {
    package var definition: ReportDefinition
    package var rows: [Row]
    /// Currencies that could not be converted, because the table of rates lacks them. They are
    /// shown unconverted.
    package var unconverted: [String]
    /// The first and the last day of the rates that were used; nil if nothing was converted.
    package var rateDays: ClosedRange<Int64>?

    package struct Row: Hashable, Sendable {
        package var period: ReportPeriod
        /// The currency of the amounts. Nil for rows without a price, and in reports that contain
        /// only counts.
        package var currency: String?
        package var part: String?
        /// The numbers of the row, in the order of the definition's columns.
        package var values: [ReportValue]
    }

    init(_ definition: ReportDefinition, rows: [Row]) {
        self.definition = definition
        self.rows = rows
        unconverted = []
    }

    /// - Parameters:
    ///   - sums: the movements within the periods, and the movements before the periods, which have
    ///     days before the first period.
    ///   - currency: the currency that amounts are converted to; nil to show each currency
    ///     separately.
    ///   - hasMoney: whether currencies are kept separate. If nil, the definition decides.
    ///   - today: the last day that has rates. Amounts at the end of a later day are converted at
    ///     the rates of this day.
    package init(
        _ definition: ReportDefinition, _ periods: [ReportPeriod], from sums: [MovementSum],
        in currency: String? = nil, rates: ExchangeRates = .none, hasMoney: Bool? = nil,
        today: Int64 = .max
    ) {
        var fold = ReportFold(definition, periods, currency: currency, rates: rates)
        fold.hasMoney = hasMoney ?? definition.hasMoney
        fold.today = today
        let groups = fold.groups(of: sums)
        self.init(definition, groups, &fold)
    }

    /// Creates a report with a maximum number of rows. Stops the computation when the limit is
    /// exceeded.
    ///
    /// - Throws: ``TooManyRows``.
    package init(
        _ definition: ReportDefinition, _ periods: [ReportPeriod], from sums: [MovementSum],
        in currency: String? = nil, rates: ExchangeRates = .none, hasMoney: Bool? = nil,
        today: Int64 = .max, rowsMax: Int
    ) throws(TooManyRows) {
        var fold = ReportFold(definition, periods, currency: currency, rates: rates)
        fold.hasMoney = hasMoney ?? definition.hasMoney
        fold.today = today
        // Each part has at least one row in each period.
        try TooManyRows.check(Set(sums.map(\.part)).count, periods, rowsMax)
        let groups = fold.groups(of: sums)
        try TooManyRows.check(groups.count, periods, rowsMax)
        self.init(definition, groups, &fold)
    }

    private init(
        _ definition: ReportDefinition, _ groups: [ReportFold.Key: [MovementSum]],
        _ fold: inout ReportFold
    ) {
        self.definition = definition
        rows = fold.tallies(of: groups).map { key, period, tally in
            Row(
                period: period, currency: key.currency, part: key.part,
                values: definition.columns.map { $0.value(tally) })
        }
        unconverted = fold.unconverted.sorted()
        rateDays = fold.rateDays
    }

    /// The report would have more rows than allowed: at least this number.
    package struct TooManyRows: Error, Hashable {
        package var count: Int

        fileprivate static func check(
            _ groups: Int, _ periods: [ReportPeriod], _ rowsMax: Int
        ) throws(TooManyRows) {
            let count = groups * periods.count
            guard count <= rowsMax else { throw TooManyRows(count: count) }
        }
    }
}

/// Adds up movements for each row.
struct ReportFold {
    struct Key: Hashable {
        var currency: String?
        var part: String?
    }

    private let periods: [ReportPeriod]
    private let currency: String?
    private let rates: ExchangeRates
    /// Whether the report shows amounts. If not, currencies are not kept separate.
    var hasMoney = true
    /// Whether the report converts the amounts in force at a period's end, at that day's rates.
    private let hasStock: Bool
    /// Whether the report converts the amounts in force before the first period.
    private let hasOpening: Bool
    /// Whether the report converts the payments within a period, at the rates of their days.
    private let hasFlows: Bool
    /// Amounts in force at the end of a later day are converted at the rates of this day.
    var today = Int64.max
    private(set) var unconverted: Set<String> = []
    private(set) var rateDays: ClosedRange<Int64>?

    init(
        _ definition: ReportDefinition, _ periods: [ReportPeriod], currency: String?,
        rates: ExchangeRates
    ) {
        hasStock = definition.hasStock
        hasOpening = definition.hasOpening
        hasFlows = definition.hasFlows
        self.periods = periods
        self.currency = currency
        self.rates = rates
    }

    /// The movements in the periods and before them, by the key of their rows.
    mutating func groups(of sums: [MovementSum]) -> [Key: [MovementSum]] {
        if hasMoney { findUnconverted(sums) }
        return Dictionary(grouping: sums) { key(of: $0) }
    }

    /// One tally for each key and period, sorted by period, currency and part.
    mutating func tallies(of groups: [Key: [MovementSum]]) -> [(Key, ReportPeriod, PeriodTally)] {
        guard let first = periods.first else { return [] }
        var found: [(Key, ReportPeriod, PeriodTally)] = []
        for (key, sums) in groups.sorted(by: { Self.precedes($0.key, $1.key) }) {
            var rest = sums.sorted { $0.day < $1.day }[...]
            var known: [String?: Totals] = [:]
            Self.add(rest.removeFirst(before: first.days.lowerBound), to: &known)
            var opening =
                hasOpening ? valued(known, on: first.days.lowerBound - 1) : counted(known)
            for period in periods {
                let within = rest.removeFirst(before: period.days.upperBound)
                Self.add(within, to: &known)
                let tally = tally(
                    of: within, opening: opening,
                    closing: valued(known, on: period.days.upperBound - 1))
                found.append((key, period, tally))
                opening = tally.closing
            }
        }
        return found.sorted { $0.1.days.lowerBound < $1.1.days.lowerBound }
    }

    private static func add(_ sums: ArraySlice<MovementSum>, to known: inout [String?: Totals]) {
        for sum in sums { known[sum.currency, default: Totals()] += sum.totals }
    }

    /// Finds the currencies that cannot be converted. A currency is converted on every day or on no
    /// day, because otherwise sums would lack a part of its amounts.
    private mutating func findUnconverted(_ sums: [MovementSum]) {
        guard let currency, let first = periods.first?.days.lowerBound else { return }
        for (own, sums) in Dictionary(grouping: sums, by: \.currency) {
            guard let own, own != currency else { continue }
            let flows = sums.filter { hasFlows && $0.day >= first && $0.totals.amounts != .init() }
            let days = Set(flows.map(\.day)).union(hasStock ? stockDays(of: sums) : [])
            let isKnown = days.allSatisfy {
                rates.convert(0, from: own, to: currency, on: $0) != nil
            }
            if !isKnown { unconverted.insert(own) }
        }
    }

    /// The days whose rates are needed, because some part has amounts in force at the end of the
    /// day.
    private func stockDays(of sums: [MovementSum]) -> [Int64] {
        var days: Set<Int64> = []
        for sums in Dictionary(grouping: sums, by: \.part).values {
            var rest = sums.sorted { $0.day < $1.day }[...]
            var known = Movement.Amounts()
            for end in ends {
                for sum in rest.removeFirst(before: end + 1) {
                    known = known + sum.totals.amounts.ofStock
                }
                if known != .init() { days.insert(min(end, today)) }
            }
        }
        return Array(days)
    }

    /// The last day of each period. Also the day before the first period, if the report shows the
    /// state at that time.
    private var ends: [Int64] {
        (hasOpening ? periods.prefix(1).map { $0.days.lowerBound - 1 } : [])
            + periods.map { $0.days.upperBound - 1 }
    }

    private static func precedes(_ one: Key, _ other: Key) -> Bool {
        (one.currency ?? "", one.part ?? "") < (other.currency ?? "", other.part ?? "")
    }

    private mutating func key(of sum: MovementSum) -> Key {
        guard hasMoney else { return Key(currency: nil, part: sum.part) }
        guard let currency, let own = sum.currency else {
            return Key(currency: sum.currency, part: sum.part)
        }
        return Key(
            currency: unconverted.contains(own) ? own : currency, part: sum.part)
    }

    private mutating func tally(
        of sums: ArraySlice<MovementSum>, opening: Totals, closing: Totals
    ) -> PeriodTally {
        var tally = PeriodTally(opening: opening)
        for sum in sums {
            tally.flows[sum.kind, default: Totals()] += converted(sum.totals, sum.currency, sum.day)
        }
        tally.exchange = closing.amounts - tally.closing.amounts
        return tally
    }

    /// The sum of the amounts in force in several currencies, converted at the rates of one day.
    private mutating func valued(_ known: [String?: Totals], on day: Int64) -> Totals {
        var sum = Totals()
        for (currency, totals) in known {
            var stock = totals
            stock.amounts = hasStock ? totals.amounts.ofStock : Movement.Amounts()
            sum += converted(stock, currency, min(day, today))
        }
        return sum
    }

    /// The counts in force, without the amounts, because the report does not show amounts.
    private func counted(_ known: [String?: Totals]) -> Totals {
        Totals(Movement.Amounts(), known.values.reduce(Totals(), +).counts)
    }

    private mutating func converted(_ totals: Totals, _ own: String?, _ day: Int64) -> Totals {
        guard let currency, let own, own != currency, !unconverted.contains(own) else {
            return totals
        }
        var result = totals
        result.amounts = totals.amounts.mapped { amount in
            amount == 0 ? 0 : convert(amount, from: own, on: day) ?? 0
        }
        return result
    }

    private mutating func convert(_ amount: Int64, from own: String, on day: Int64) -> Int64? {
        guard let currency,
            let conversion = rates.convert(amount, from: own, to: currency, on: day)
        else { return nil }
        if let day = conversion.rateDay {
            let days = rateDays ?? day...day
            rateDays = min(days.lowerBound, day)...max(days.upperBound, day)
        }
        return conversion.amount
    }
}

extension ArraySlice<MovementSum> {
    /// Removes and returns the first elements before a day. The elements are sorted by day.
    fileprivate mutating func removeFirst(before day: Int64) -> Self {
        let end = firstIndex { $0.day >= day } ?? endIndex
        defer { self = self[end...] }
        return self[..<end]
    }
}
