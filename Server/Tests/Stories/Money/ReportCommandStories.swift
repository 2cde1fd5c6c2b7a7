import Ledger
import Reports
import Testing

@testable import Engine
@testable import Program

/// What commands about reports say beside their result.
@Suite struct ReportCommandStories {
    @Test func `a report as CSV comes with warnings of what its numbers lack`() async throws {
        var app = birds
        app.settings.money.rates = ExchangeRates(base: "EUR", rates: [1: ["USD": 1_000_000]])
        try await withShop(on: .sqlite, app: app) { shop in
            try await MoneyQueryStories.play(in: shop)
            func warnings(_ currency: String?) async throws -> [String] {
                let query = ReportQuery("revenue", currency: currency)
                let result = try await shop.engine.report(query, of: "birds")
                return ReportCommand.warnings(about: result)
            }
            let unfinished = try await warnings(nil)
            #expect(unfinished.count == 1 && unfinished[0].contains("still being derived"))
            while try await shop.engine.fillMoney() > 0 {}
            #expect(try await warnings(nil) == [])
            let unconverted = try await warnings("EUR")
            #expect(unconverted.count == 1 && unconverted[0].hasSuffix(": USD."))
        }
    }

    @Test func `an import says whether the file counts`() {
        func line(_ kind: String, _ isKnown: Bool, days: Int64 = 1, _ replaced: String?) -> String {
            AppleReportsImportCommand.standing(
                of: AppleReportImport(
                    kind: kind, days: 1...days, rowsCount: 1, isKnown: isKnown,
                    replacedName: replaced))
        }
        #expect(line("SALES", false, nil) == "")
        #expect(line("SALES", true, nil) == ", known already")
        #expect(line("SALES", false, "b.txt") == ", counts in place of b.txt")
        #expect(line("SALES", true, "b.txt") == ", counts again, in place of b.txt")
        #expect(line("SALES", true, days: 7, nil).contains("only daily sales files"))
        #expect(line("FINANCIAL", false, days: 28, nil) == "")
    }
}
