public import Foundation
import StoreKit

extension Perennial.Product {
    /// What one day, week, month or year of it costs, such as "1,66 €" of 19,99 € a year.
    ///
    /// A year has 365 days here, and a month a twelfth of a year. The price is cut down to the
    /// smallest unit of the currency, never rounded up. Nil for what has no period, and if the
    /// currency is not known.
    ///
    /// - Parameters:
    ///   - unit: the stretch of time to divide by.
    ///   - locale: how to write it. The store's own way if the product came from the store.
    public func displayPrice(per unit: Perennial.Period.Unit, locale: Locale = .current) -> String?
    {
        guard let currencyCode, let amount = price(per: unit, digits: digits(of: currencyCode))
        else { return nil }
        return amount.formatted(priceStyle(currencyCode, locale))
    }

    /// How the store writes its prices, or else how a locale does.
    func priceStyle(
        _ currencyCode: String, _ locale: Locale
    ) -> Decimal.FormatStyle.Currency {
        storeProduct?.priceFormatStyle
            ?? Decimal.FormatStyle.Currency(code: currencyCode, locale: locale)
    }

    /// The price of one unit, cut down to a number of decimals.
    func price(per unit: Perennial.Period.Unit, digits: Int) -> Decimal? {
        guard let period, let one = Self.lengths[unit], let unitOfPeriod = Self.lengths[period.unit]
        else { return nil }
        let whole = period.value * unitOfPeriod + period.bonusDays * Self.lengthOfDay
        guard whole > 0 else { return nil }
        // One division at the end: what divides without a rest stays exact.
        var exact = price * Decimal(one) / Decimal(whole)
        var cut = Decimal()
        NSDecimalRound(&cut, &exact, digits, .down)
        return cut
    }

    /// Twelfths of a day.
    private static let lengthOfDay = 12
    private static let lengths: [Perennial.Period.Unit: Int] = [
        .day: lengthOfDay, .week: 7 * lengthOfDay, .month: 365, .year: 365 * lengthOfDay,
    ]

    /// The decimals that a currency is written with: 2 for euros, 0 for yen.
    private func digits(of currencyCode: String) -> Int {
        let style = Decimal.FormatStyle.Currency(
            code: currencyCode, locale: Locale(identifier: "en_US"))
        let zero = Decimal().formatted(style)
        return zero.split(separator: ".").dropFirst().last?.count ?? 0
    }
}
