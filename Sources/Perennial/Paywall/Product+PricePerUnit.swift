public import Foundation
import StoreKit

extension Perennial.Product {
    /// The price of one day, week, month or year, such as "1,66 €" for a month of a product that
    /// costs 19,99 € a year.
    ///
    /// Here a year has 365 days, and a month is a twelfth of a year. The price is rounded down to
    /// the smallest unit of the currency. Nil for a product without a period, and if the currency
    /// is unknown.
    ///
    /// - Parameters:
    ///   - unit: the unit of time to divide by.
    ///   - locale: how to write the price. A product from the store uses the store's format.
    public func displayPrice(per unit: Perennial.Period.Unit, locale: Locale = .current) -> String?
    {
        guard let currencyCode, let amount = price(per: unit, digits: digits(of: currencyCode))
        else { return nil }
        return amount.formatted(priceStyle(currencyCode, locale))
    }

    /// The store's format of prices or, for a product that is not from the store, the locale's.
    func priceStyle(
        _ currencyCode: String, _ locale: Locale
    ) -> Decimal.FormatStyle.Currency {
        storeProduct?.priceFormatStyle
            ?? Decimal.FormatStyle.Currency(code: currencyCode, locale: locale)
    }

    /// The price of one unit, rounded down to a number of decimals.
    func price(per unit: Perennial.Period.Unit, digits: Int) -> Decimal? {
        guard let period, let one = Self.lengths[unit], let unitOfPeriod = Self.lengths[period.unit]
        else { return nil }
        let whole = period.value * unitOfPeriod + period.bonusDays * Self.lengthOfDay
        guard whole > 0 else { return nil }
        // Divides only once, at the end, so that a result without a remainder stays exact.
        var exact = price * Decimal(one) / Decimal(whole)
        var cut = Decimal()
        NSDecimalRound(&cut, &exact, digits, .down)
        return cut
    }

    /// The length of a day in twelfths of a day, the unit in which all lengths are measured.
    private static let lengthOfDay = 12
    private static let lengths: [Perennial.Period.Unit: Int] = [
        .day: lengthOfDay, .week: 7 * lengthOfDay, .month: 365, .year: 365 * lengthOfDay,
    ]

    /// The number of decimals with which a currency is written: 2 for euros, 0 for yen.
    private func digits(of currencyCode: String) -> Int {
        let style = Decimal.FormatStyle.Currency(
            code: currencyCode, locale: Locale(identifier: "en_US"))
        let zero = Decimal().formatted(style)
        return zero.split(separator: ".").dropFirst().last?.count ?? 0
    }
}
