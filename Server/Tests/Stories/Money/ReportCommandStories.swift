import Ledger
import Reports
import Testing

@testable import Engine
@testable import Program

/// The warnings and notes that report commands print beside their result.
@Suite struct ReportCommandStories {
    @Test func `the report command warns about incomplete numbers and unconverted amounts`()
        async throws
    {
        var app = birds
        app.settings.money.rates = ExchangeRates(base: "EUR", rates: [1: ["USD": 1_000_000]])
        try await withShop(on: .sqlite, app: app) { shop in
            try await MoneyQueryStories.play(in: shop)
            func warnings(_ currency: String?, isFilling: Bool, isBehind: Bool = false)
                async throws -> [String]
            {
                let query = ReportQuery("revenue", currency: currency)
                var result = try await shop.engine.reporting.report(query, of: "birds")
                result.isFilling = isFilling
                if isBehind { result.completeUntil = result.moment - .seconds(90) }
                return ReportCommand.warnings(about: result)
            }
            #expect(try await warnings(nil, isFilling: false) == [])
            let unfinished = try await warnings(nil, isFilling: true)
            #expect(unfinished.map { $0.contains("still being derived") } == [true])
            let behind = try await warnings(nil, isFilling: false, isBehind: true)
            #expect(behind.map { $0.contains("is a standby") } == [true])
            let unconverted = try await warnings("EUR", isFilling: false)
            #expect(unconverted.map { $0.hasSuffix(": USD.") } == [true])
        }
    }

    @Test
    func `an import says whether a report is already stored, replaces a file or is ignored`() {
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
