import AccessRules
import PerennialContract
import Testing

@testable import Perennial

@Suite struct TermRulesTests {
    private func ends(timeZone: String, overlap: String = "stack") throws -> [String: Timestamp] {
        let offerings = Offerings(
            app: "birds", bundleID: "com.example.birds", environment: .production,
            products: [
                .init(
                    productID: "season", entitlements: ["season"],
                    term: .init(months: 1, days: 0, bonusDays: 1, chain: "season")),
                .init(productID: "guide", entitlements: ["guide"]),
            ],
            timeZone: timeZone, overlap: overlap, unconfirmedHoldHours: 24, offlineDays: 30)
        let from = try #require(Timestamp("2026-03-15T08:00:00Z"))
        let bought = ["season", "guide"].enumerated().map { index, product in
            StoreTransaction(
                id: "\(index)", originalID: "\(index)", productID: product, kind: .nonRenewing,
                purchasedAt: from, quantity: 2, signedAt: from)
        }
        return TermRules(offerings).ends(of: bought)
    }

    @Test func `a term has the length, the bonus days and the time zone from the offerings`() throws
    {
        let end = try #require(Timestamp("2026-05-17T07:00:00Z"))
        #expect(try ends(timeZone: "Europe/Vienna") == ["0": end])
        #expect(try ends(timeZone: "Europe/Vienna", overlap: "extend") == ["0": end])
    }

    @Test func `if the system does not know the offerings' time zone, UTC is used`() throws {
        let end = try #require(Timestamp("2026-05-17T08:00:00Z"))
        #expect(try ends(timeZone: "Mars/Olympus") == ["0": end])
    }
}
