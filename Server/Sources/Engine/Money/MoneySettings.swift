import Ledger
import Reports

/// The settings for reports about an app's money.
package struct MoneySettings: Hashable, Sendable {
    package var rules: MoneyRules
    /// The rates of exchange. Empty if no table of rates is configured; then amounts are not
    /// converted.
    package var rates: ExchangeRates
    /// The currency in which pages show amounts. If nil, the currency in which most was paid.
    package var displayCurrency: String?
    /// The app's SKU in App Store Connect, by which its rows are found in reports about several
    /// apps.
    package var appSKU: String?
    /// The developer's vendor number, as in the names of report files. Nil if none is configured.
    package var vendorNumber: String?

    /// - Parameter rules: the rules of reports. Their `storeClock` is ignored, because it is always
    ///   the App Store's clock.
    package init(rules: MoneyRules = MoneyRules(), rates: ExchangeRates = .none) {
        self.rules = rules
        self.rules.storeClock = .appStore
        self.rates = rates
    }

    /// An amount in US dollars, in thousandths, at the rates of the day of a purchase. Nil if there
    /// are no rates for the currency. Zero needs no rate.
    package func dollars(for money: Money, at moment: Instant) -> Int64? {
        guard money.milliunits != 0 else { return 0 }
        let day = rules.clock.dayNumber(at: moment)
        return rates.convert(money.milliunits, from: money.currency, to: "USD", on: day)?.amount
    }
}
