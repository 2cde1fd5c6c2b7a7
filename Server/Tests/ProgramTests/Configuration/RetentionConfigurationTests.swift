import Engine
import Testing

@testable import Program

@Suite struct RetentionConfigurationTests {
    private func settings(_ text: String) throws(ConfigurationFailure) -> AppSettings? {
        let app = ["apps:", "  a:", "    bundle_id: x", "    \(text)"]
        return try ConfigurationFile(
            app.joined(separator: "\n"), environment: [:]
        ) { _ in nil }
        .apps.first?.settings
    }

    @Test func `the configuration sets how long ended deliveries and forwards are kept`() throws {
        let text = "{accepted_deliveries_days: 2, failed_deliveries_days: 90, forwards_days: 14}"
        let app = try #require(try settings("retention: \(text)"))
        #expect(app.retention.accepted == .days(2) && app.retention.failed == .days(90))
        #expect(app.retention.forwarded == .days(14))
        #expect(
            app.retentionLines == [
                "accepted deliveries stay 2 days", "failed deliveries stay 90 days",
                "forwards stay 14 days",
            ])
        let usual = try #require(try settings("products: {p: [pro]}"))
        #expect(usual.retention == DeliveryRetention() && usual.retentionLines == [])
    }

    @Test(arguments: ["accepted_deliveries_days: 0", "forwards_days: 7", "audit_days: 9"])
    func `a retention that is too short or unknown is a mistake`(key: String) throws {
        #expect(throws: ConfigurationFailure.self) { try settings("retention: {\(key)}") }
    }
}
