import AppStoreFormats
import Engine
import Ledger
import Reports
import Testing

/// Requests for reports in a certain currency.
@Suite(.serialized) struct ReportCurrencyStories {
    private static let paths = [
        "/v1/reports/revenue?", "/v1/reports/mrr?by=day&", "/v1/reports/active?",
        "/v1/reports/revenue/transactions?",
    ]

    @Test(arguments: StoryDatabase.allCases)
    func `an unknown currency is refused, and the refusal lists the known currencies`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            // Without sales and without a table of rates, any currency is accepted.
            try await Self.expect(200, "EUR", in: shop)
            try await MoneyQueryStories.play(in: shop)
            for wrong in ["EURO", "E1R", "EU", "%E2%82%AC%E2%82%AC%E2%82%AC", ""] {
                try await Self.expect(400, wrong, "three capital letters", in: shop)
            }
            try await Self.expect(400, "QQQ", "USD", in: shop)
            for known in ["USD", "usd"] { try await Self.expect(200, known, in: shop) }
        }
    }

    @Test func `currencies in the table of rates are known, with or without sales`() async throws {
        var app = birds
        app.settings.money.rates = ExchangeRates(
            base: "EUR", rates: [20_454: ["USD": 1_200_000, "JPY": 160_000_000]])
        try await withShop(on: .sqlite, app: app) { shop in
            try await MoneyQueryStories.play(in: shop)
            for known in ["EUR", "JPY", "USD"] { try await Self.expect(200, known, in: shop) }
            try await Self.expect(400, "QQQ", "EUR, JPY, USD", in: shop)
        }
    }

    /// - Parameter detail: a part of the refusal's detail.
    private static func expect(
        _ status: Int, _ currency: String, _ detail: String? = nil, in shop: Shop
    ) async throws {
        for path in paths {
            let answer = try await shop.support.send("GET", path + "currency=" + currency)
            #expect(answer.status == status, "\(path) \(currency)")
            guard let detail else { continue }
            let body = try answer.json
            #expect(body["code"]?.string == "report_not_valid")
            #expect(body["detail"]?.string?.contains(detail) == true, "\(body.text)")
        }
    }
}
