import Ledger

/// Exchange rates by day, from a configured table. Without such a table, sums of different
/// currencies are never added.
package struct ExchangeRates: Hashable, Sendable {
    /// A rate is used for at most this number of days after its own day, because no rates are
    /// published on weekends and holidays.
    static let daysMax: Int64 = 10
    /// The rate 1, in millionths.
    private static let unit: Int64 = 1_000_000

    /// Millionths of a currency's unit for one unit of the base, by day and currency.
    private var rates: [Int64: [String: Int64]]
    /// The currency that all rates are for, such as `EUR`.
    package var base: String
    private var days: [Int64]
    /// The base, and every currency that has a rate on any day.
    package let currencies: Set<String>

    /// - Parameter rates: for each day, millionths of a unit of each currency for one unit of the
    ///   base.
    package init(base: String, rates: [Int64: [String: Int64]]) {
        self.base = base
        self.rates = rates
        days = rates.keys.sorted()
        let rated = rates.values.reduce(into: Set<String>()) { $0.formUnion($1.keys) }
        currencies = base.isEmpty ? rated : rated.union([base])
    }

    package static let none = ExchangeRates(base: "", rates: [:])

    package var isEmpty: Bool { rates.isEmpty }

    /// A converted amount, with the day of the rate that was used.
    package struct Conversion: Hashable, Sendable {
        package var amount: Int64
        /// The day of the rate. Nil if no rate of the table was needed, because the rate is fixed
        /// by law or the two currencies are the same.
        package var rateDay: Int64?
    }

    /// Converts an amount at the rates of a day, or else of the last earlier day on which both
    /// currencies have a rate. Rounds to the nearest unit. A currency that the euro has replaced by
    /// the day of the amount always has the rate fixed by law. Returns nil if the currencies have
    /// no rates within ``daysMax`` days.
    package func convert(
        _ amount: Int64, from currency: String, to other: String, on day: Int64
    ) -> Conversion? {
        guard currency != other else { return Conversion(amount: amount, rateDay: nil) }
        guard let (rateDay, from, to) = rates(of: currency, and: other, upTo: day) else {
            return nil
        }
        return convert(amount, from: from, to: to).map { Conversion(amount: $0, rateDay: rateDay) }
    }

    private func convert(_ amount: Int64, from: Int64, to: Int64) -> Int64? {
        let product = amount.magnitude.multipliedFullWidth(by: to.magnitude)
        guard product.high < from.magnitude else { return nil }
        let (quotient, rest) = from.magnitude.dividingFullWidth(product)
        guard quotient < UInt64(Int64.max) else { return nil }
        let rounded = Int64(quotient) + (rest >= from.magnitude - rest ? 1 : 0)
        return amount < 0 ? -rounded : rounded
    }

    /// - Parameter wanted: the day of the amount. A currency that the euro replaced on this day or
    ///   earlier counts as replaced.
    private func rate(of currency: String, on day: Int64, for wanted: Int64) -> Int64? {
        if currency == base { return Self.unit }
        if let euro = EuroChangeover(currency), euro.day <= wanted {
            return rate(of: EuroChangeover.euro, on: day, for: wanted)
                .flatMap { convert($0, from: Self.unit, to: euro.millionths) }
        }
        return rates[day]?[currency].flatMap { $0 > 0 ? $0 : nil }
    }

    /// The last day on which both currencies have a rate, and these rates.
    private func rates(
        of one: String, and other: String, upTo day: Int64
    ) -> (day: Int64?, one: Int64, other: Int64)? {
        if let first = EuroChangeover.rate(of: one, on: day),
            let second = EuroChangeover.rate(of: other, on: day)
        {
            return (nil, first, second)
        }
        for place in days[..<placeAfter(day)].indices.reversed() {
            guard day - days[place] <= Self.daysMax else { return nil }
            if let first = rate(of: one, on: days[place], for: day),
                let second = rate(of: other, on: days[place], for: day)
            {
                return (days[place], first, second)
            }
        }
        return nil
    }

    /// The index of the first day of the table that is later than the given day.
    private func placeAfter(_ day: Int64) -> Int {
        var low = days.startIndex
        var high = days.endIndex
        while low < high {
            let middle = (low + high) / 2
            if days[middle] <= day { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
