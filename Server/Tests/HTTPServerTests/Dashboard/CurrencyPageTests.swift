import Engine
import Ledger
import PerennialContract
import Reports
import Testing

@testable import HTTPServer

/// Pages with amounts in several currencies.
@Suite struct CurrencyPageTests {
    private static let today = WallClock.utc.dayNumber(at: TestServer.now)
    /// Exchange rates: one dollar is 0.80 euros, and 100 yen are 0.67 euros.
    private static let rates = ExchangeRates(
        base: "EUR",
        rates: [
            today - 2: ["USD": 1_250_000, "JPY": 150_000_000, "KWD": 375_000],
            today: ["USD": 1_250_000, "JPY": 150_000_000, "KWD": 375_000],
        ])

    /// Three customers pay $9.99 each, and one pays ¥1,500. The yen are the larger number, but
    /// less money.
    private static func sell(on server: DashboardServer) async throws {
        for (name, transaction) in [("anna", "7001"), ("ben", "7002"), ("cleo", "7003")] {
            try await server.buy(name, transaction: transaction)
        }
        try await server.buy("dora", transaction: "7004", milliunits: 1_500_000, currency: "JPY")
        while try await server.engine.reporting.fillMoney() > 0 {}
    }

    /// Removes the list of events, because each event shows its own currency.
    private static func withoutEvents(_ page: String) throws -> String {
        let list = try Regex("<ul class=\"feed\".*?</ul>").dotMatchesNewlines()
        return page.replacing(list, with: "")
    }

    private static func addRates(to app: inout AppSettings) { app.money.rates = rates }

    @Test func `without exchange rates, pages show one currency and name the others`()
        async throws
    {
        try await DashboardServer.run { server in
            try await Self.sell(on: server)
            for (path, amount) in [("/", "$29.97"), ("/charts/revenue", "$29.97")] {
                let page = try await server.get(path).text
                #expect(page.contains(amount), "\(path)")
                #expect(page.contains("Amounts are those in USD. Not included: JPY"), "\(path)")
                #expect(try !Self.withoutEvents(page).contains("¥"), "\(path)")
            }
            let yen = try await server.get("/charts/revenue?currency=JPY").text
            #expect(yen.contains("¥1,500") && !yen.contains("¥1,500.00"))
            #expect(yen.contains("Amounts are those in JPY. Not included: USD"))
        }
    }

    @Test
    func
        `with exchange rates, pages show all amounts in the currency in which customers paid most`()
        async throws
    {
        try await DashboardServer.run(with: Self.addRates) { server in
            try await Self.sell(on: server)
            for path in ["/", "/charts/revenue", "/charts/mrr"] {
                let page = try await server.get(path).text
                // The sum in dollars: 29.97, and 1,500 / 150 * 1.25.
                #expect(page.contains("$42.47"), "\(path)")
                #expect(page.contains("Amounts are in USD, at your exchange rates of"), "\(path)")
                #expect(try !Self.withoutEvents(page).contains("¥"), "\(path)")
            }
            let file: PerennialContract.Report = try await server.get(
                "/charts/revenue?format=json"
            ).decoded()
            #expect(file.currency == "USD" && file.unconverted == [])
            for (query, amount) in [
                ("JPY", "¥5,096"), ("EUR", "€33.98"), ("ONLY-JPY", "¥1,500"),
                ("only-usd", "$29.97"), ("KWD", "KWD\u{A0}12.741"),
            ] {
                let page = try await server.get("/charts/revenue?currency=\(query)").text
                #expect(page.contains(amount), "\(query)")
            }
        }
    }

    @Test func `amounts in a currency without an exchange rate are left out, and the page says so`()
        async throws
    {
        let rates = ExchangeRates(
            base: "EUR",
            rates: [Self.today - 2: ["USD": 1_250_000], Self.today: ["USD": 1_250_000]])
        let change: (inout AppSettings) -> Void = {
            ($0.money.rates, $0.money.displayCurrency) = (rates, "EUR")
        }
        try await DashboardServer.run(with: change) { server in
            try await Self.sell(on: server)
            for path in ["/", "/charts/revenue"] {
                let page = try await server.get(path).text
                #expect(page.contains("€23.98"), "\(path)")
                #expect(page.contains("Not included: JPY, for which a rate is missing."), "\(path)")
            }
        }
    }

    @Test func `if all amounts are in one currency, pages say nothing about currencies`()
        async throws
    {
        try await DashboardServer.run(with: Self.addRates) { server in
            try await server.buy("anna", transaction: "7001")
            for path in ["/", "/charts/revenue"] {
                let page = try await server.get(path).text
                #expect(page.contains("$9.99") && !page.contains("Amounts are"), "\(path)")
            }
        }
    }

    @Test
    func `a chart shows the days of its query, even if the query names only one end`()
        async throws
    {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            let bought = CivilDate(dayNumber: Self.today - 1).text
            let now = CivilDate(dayNumber: Self.today).text
            func rows(_ query: String) async throws -> Int {
                let csv = try await server.get("/charts/revenue?by=day&format=csv&\(query)").text
                return csv.split(separator: "\n").count - 1
            }
            #expect(try await rows("from=\(bought)&to=\(bought)") == 1)
            #expect(try await rows("from=\(bought)") == 2)
            #expect(try await rows("to=\(now)") == 12)
            let page = try await server.get("/charts/revenue?from=\(bought)&to=\(now)").text
            #expect(page.contains("name=\"from\" type=\"date\" value=\"\(bought)\""))
            #expect(page.contains("name=\"to\" type=\"date\" value=\"\(now)\""))
            #expect(page.contains("from=\(bought)&amp;to=\(now)&amp;format=csv"))
            #expect(try await server.get("/charts/revenue?from=\(now)&to=\(bought)").status == 400)
            #expect(try await server.get("/charts/revenue?from=today").status == 400)
        }
    }
}
