import Engine
import Ledger
import Testing

@testable import Program

@Suite struct PaidAppConfigurationTests {
    private func settings(_ text: String) throws(ConfigurationFailure) -> AppSettings? {
        let text = "apps: {a: {bundle_id: x, products: {p: [pro]}, paid_app: \(text)}}"
        return try ConfigurationFile(text, environment: [:]) { _ in nil }.apps.first?.settings
    }

    @Test func `paid_app sets the first free version, and the entitlements of earlier buyers`()
        throws
    {
        let app = try settings("{before: 3.0, entitlements: [pro, archive]}")
        let three = try #require(AppVersion("3.0"))
        #expect(app?.paidApp == PaidAppRule(before: three, entitlements: ["pro", "archive"]))
        // An entitlement that only purchases of the app give can also be granted.
        #expect(app?.entitlements["archive"] == [] && app?.entitlements["pro"] == ["p"])
        let full = try settings(
            "{before: 417, before_on_mac: 2.1, entitlements: pro, sandbox: true}")
        #expect(
            full?.paidApp
                == PaidAppRule(
                    before: try #require(AppVersion("417")), beforeOnMac: AppVersion("2.1"),
                    entitlements: ["pro"], countsInSandbox: true))
        #expect(
            full?.paidAppLines == [
                "the app bought before version 417, on Macs before 2.1 gives pro, "
                    + "in the sandbox, too"
            ])
    }

    @Test(arguments: [
        ("{entitlements: [pro]}", "paid_app needs before and entitlements."),
        ("{before: 3.0}", "paid_app needs before and entitlements."),
        ("{before: v3, entitlements: [pro]}", "“v3” is not a version."),
        ("{befor: 3.0, entitlements: [pro]}", "Did you mean before?"),
    ]) func `a mistake in paid_app is reported with its remedy`(text: String, says: String) throws {
        let failure = #expect(throws: ConfigurationFailure.self) { try settings(text) }
        let said = failure?.complaints.map(\.description) ?? []
        #expect(said.contains { $0.contains(says) }, "\(said)")
    }
}
