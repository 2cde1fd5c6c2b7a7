import Ledger
import Reports
import Testing

@testable import Engine

/// The currency in which pages show amounts.
@Suite struct DisplayCurrencyTests {
    private static let rates = ExchangeRates(
        base: "EUR", rates: [100: ["USD": 1_250_000, "JPY": 150_000_000]])

    /// The gross and the number of payments of each currency.
    private static func sums(_ paid: [String: (Int64, Int64)]) -> [MovementSum] {
        paid.map { currency, sum in
            MovementSum(
                day: 99, kind: .new, currency: currency,
                totals: Totals(
                    Movement.Amounts(gross: sum.0), Movement.Counts(payments: sum.1)))
        }
    }

    private static let paid: [String: (Int64, Int64)] = [
        "USD": (29_970, 3), "JPY": (1_500_000, 2), "SEK": (99_000_000, 1),
    ]

    @Test(
        arguments: [
            // With rates, currencies are compared by value; without them, by the number of
            // payments.
            (true, nil, 100, "USD", true), (false, nil, 100, "USD", false),
            (true, "EUR", 100, "EUR", true), (false, "JPY", 100, "JPY", false),
            // The rates do not contain the configured currency, so nothing is converted.
            (true, "SEK", 100, "SEK", false),
            // The rates are too old, so currencies are compared by the number of payments.
            (true, nil, 200, "USD", true),
        ] as [(Bool, String?, Int64, String, Bool)])
    func `pages show the configured currency, or the currency in which customers paid most`(
        hasRates: Bool, configured: String?, today: Int64, currency: String, isConverted: Bool
    ) {
        var money = MoneySettings(rates: hasRates ? Self.rates : .none)
        money.displayCurrency = configured
        let found = DisplayCurrency(of: Self.sums(Self.paid), money, today: today)
        #expect(
            found
                == DisplayCurrency(
                    currency, isConverted: isConverted, currencies: ["JPY", "SEK", "USD"]))
    }

    @Test func `amounts in different currencies are compared by value, not by number`() {
        let money = MoneySettings(rates: Self.rates)
        let yen = DisplayCurrency(
            of: Self.sums(["USD": (9_990, 1), "JPY": (1_500_000, 1)]), money, today: 100)
        #expect(yen?.currency == "JPY")
        let dollars = DisplayCurrency(
            of: Self.sums(["USD": (19_990, 1), "JPY": (1_500_000, 9)]), money, today: 100)
        #expect(dollars?.currency == "USD")
    }

    @Test
    func `payments in one currency are not converted, and without payments there is no currency`() {
        let money = MoneySettings(rates: Self.rates)
        let one = DisplayCurrency(of: Self.sums(["USD": (9_990, 1)]), money, today: 100)
        #expect(one == DisplayCurrency("USD", isConverted: false, currencies: ["USD"]))
        #expect(DisplayCurrency(of: [], money, today: 100) == nil)
    }
}
