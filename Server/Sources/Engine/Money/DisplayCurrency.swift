import Ledger
import Reports
import Storage

/// The currency in which pages show amounts, and what happens to amounts in other currencies.
package struct DisplayCurrency: Hashable, Sendable {
    package var currency: String
    /// Whether amounts in other currencies are converted to this currency. Otherwise they are left
    /// out.
    package var isConverted: Bool
    /// All currencies in which anyone ever paid, sorted.
    package var currencies: [String]

    package init(_ currency: String, isConverted: Bool, currencies: [String]) {
        (self.currency, self.isConverted) = (currency, isConverted)
        self.currencies = currencies
    }
}

extension ReportingService {
    /// The currency in which pages show amounts: the configured currency. If none is configured,
    /// the currency in which most was paid. Amounts are compared at the rates of today. If there
    /// are no rates, the numbers of payments are compared.
    ///
    /// - Returns: nil if nothing was paid yet.
    package func displayCurrency(
        of appID: AppID, in environment: Environment
    ) async throws(EngineFailure) -> DisplayCurrency? {
        let (app, _) = try context.app(appID)
        let now = context.now()
        let filter = MovementFilter(app: appID, environment: environment, until: now)
        let sums = try await context.scanForReport { tx in try tx.sums.sumsOfAllDays(filter) }
        return DisplayCurrency(
            of: sums, app.money, today: app.money.rules.clock.dayNumber(at: now))
    }
}

extension DisplayCurrency {
    /// - Parameter sums: the sums of all movements.
    init?(of sums: [MovementSum], _ money: MoneySettings, today: Int64) {
        var totals: [String: Totals] = [:]
        for sum in sums {
            guard let currency = sum.currency, sum.totals.counts.payments != 0 else { continue }
            totals[currency, default: Totals()] += sum.totals
        }
        let currencies = totals.keys.sorted()
        guard let first = currencies.first else { return nil }
        let rates = money.rates
        // A currency without a rate comes last, because the value of its amounts is unknown.
        func size(_ currency: String) -> (amount: Int64, payments: Int64) {
            let sum = totals[currency] ?? Totals()
            let amount =
                rates.isEmpty
                ? nil
                : rates.convert(
                    sum.amounts.gross, from: currency, to: rates.base, on: today)?.amount
            return (amount ?? -1, sum.counts.payments)
        }
        let largest =
            currencies.max { one, other in
                let (first, second) = (size(one), size(other))
                // If the amounts of two currencies are equal, the alphabetically first currency is
                // used.
                return first == second ? one > other : first < second
            } ?? first
        let shown = money.displayCurrency ?? largest
        let isKnown = !rates.isEmpty && rates.currencies.contains(shown)
        self.init(
            shown, isConverted: isKnown && currencies != [shown], currencies: currencies)
    }
}
