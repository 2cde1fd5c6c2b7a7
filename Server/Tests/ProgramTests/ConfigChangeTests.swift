import Engine
import Ledger
import Testing

@testable import Program

@Suite struct ConfigChangeTests {
    private func apps(_ text: String) throws -> [AppSettings] {
        try ConfigurationFile("apps:\n  a:\n    bundle_id: x\n" + text) { _ in nil }
            .apps.map(\.settings)
    }

    @Test func `a change is told line by line`() throws {
        let old = try apps(
            """
                products:
                  monthly: [pro]
                  spring: {entitlements: [season], term: P3M}
                  gems: {credits: {gems: 100}}
            """)
        let new = try apps(
            """
                products:
                  monthly: [pro, plus]
                  spring: {entitlements: [season], term: P1M}
                access: {unconfirmed_hold_hours: 48}
            """)
        #expect(
            ConfigChange.differences(old, new) == [
                "app a",
                "  - product gems credits 100 gems",
                "  - term of spring: 3 months and 0 days, chain season",
                "  - unconfirmed_hold_hours 24",
                "  - wallet gems: refunds to_zero, no debt",
                "  + product monthly gives plus",
                "  + term of spring: 1 months and 0 days, chain season",
                "  + unconfirmed_hold_hours 48",
            ])
        #expect(
            ConfigChange.differences(old, old) == ["Nothing changes that customers would notice."])
    }

    @Test func `an app that comes or goes is told with all it has`() throws {
        let app = try apps("    products: {monthly: [pro]}")
        let gone = ConfigChange.differences(app, [])
        #expect(gone.contains("  - product monthly gives pro"))
        #expect(ConfigChange.differences([], app).contains("  + product monthly gives pro"))
    }
}
