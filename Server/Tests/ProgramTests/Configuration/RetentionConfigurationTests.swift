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
        #expect(app.retention.sandbox == nil && app.retention.audit == nil)
        let usual = try #require(try settings("products: {p: [pro]}"))
        #expect(usual.retention == RetentionSettings() && usual.retentionLines == [])
    }

    @Test func `the configuration sets how long test purchases and the audit are kept`() throws {
        let app = try #require(try settings("retention: {sandbox_days: 30, audit_days: 3650}"))
        #expect(app.retention.sandbox == .days(30) && app.retention.audit == .days(3650))
        #expect(
            app.retentionLines == [
                "ended test purchases stay 30 days", "entries of the audit stay 3650 days",
            ])
    }

    @Test(arguments: [
        "accepted_deliveries_days: 0", "forwards_days: 7", "sandbox_days: 29",
        "sandbox_days: 3651", "sandbox_days: never", "audit_days: 364", "audit_days: 3651",
        "sandbox_day: 30",
    ])
    func `a retention period that is out of range or unknown is reported with a remedy`(key: String)
    {
        do {
            _ = try settings("retention: {\(key)}")
            Issue.record("\(key) was accepted")
        } catch {
            #expect(error.complaints.count == 1)
            #expect(error.complaints.first?.remedy.isEmpty == false)
        }
    }
}
