import Engine
import Ledger
import Testing

@testable import Program

@Suite struct RevenueCatConfigurationTests {
    private func file(_ text: String) throws(ConfigurationFailure) -> ConfigurationFile {
        let lines = text.split(separator: "\n").map { "    \($0)" }
        let app = ["apps:", "  a:", "    bundle_id: x", "    products: {p: [pro], q: [pro]}"]
        return try ConfigurationFile((app + lines).joined(separator: "\n")) { _ in nil }
    }

    @Test func `the revenuecat section sets an app's keys, packages and support address`() throws {
        let app = try #require(
            try file(
                """
                placements: {default: {products: [p]}}
                revenuecat:
                  keys: [appl_0123456789, mac_0123456789]
                  packages: {p: $rc_monthly}
                  support_email: help@example.com
                  project: proj8c1f
                  unproven_attributes: true
                """
            ).apps.first)
        #expect(
            app.settings.revenueCat
                == RevenueCatSettings(
                    keys: ["appl_0123456789", "mac_0123456789"], packages: ["p": "$rc_monthly"],
                    supportEmail: "help@example.com", project: "proj8c1f",
                    takesUnprovenAttributes: true))
        #expect(app.settings.lines.contains("RevenueCat's key appl_0123456789"))
        #expect(app.settings.lines.contains("RevenueCat's package $rc_monthly is p"))
    }

    private static let many = (100..<121).map { "appl_\($0)" }.joined(separator: ", ")

    @Test(arguments: [
        ("revenuecat: {}", "revenuecat has no keys."),
        ("revenuecat: {key: appl_0123456789}", "Did you mean keys?"),
        ("revenuecat: {keys: [short]}", "A key is not one of RevenueCat's."),
        ("revenuecat: {keys: [sk_0123456789]}", "A key is secret"),
        ("revenuecat: {keys: [test_0123456789]}", "A key is secret"),
        ("revenuecat: {keys: [\(many)]}", "Use at most 20."),
        ("revenuecat: {keys: [appl_01234], packages: [p]}", "packages must be a mapping"),
        ("revenuecat: {keys: [appl_01234], packages: {p: [x]}}", "not the package of a product"),
    ]) func `a mistake in the revenuecat section is reported`(text: String, says: String) throws {
        let failure = #expect(throws: ConfigurationFailure.self) {
            try file(text)
        }
        let said = failure?.complaints.map(\.description) ?? []
        #expect(said.contains { $0.contains(says) }, "\(said)")
    }

    @Test func `a RevenueCat key in two apps is a mistake`() throws {
        let app = "{bundle_id: x, products: {p: [pro]}, revenuecat: {keys: [appl_01234]}}"
        let failure = #expect(throws: ConfigurationFailure.self) {
            try ConfigurationFile(
                "apps:\n  a: \(app)\n  b: \(app.replacing("id: x", with: "id: y"))"
            ) { _ in nil }
        }
        let said = failure?.complaints.map(\.description) ?? []
        #expect(said.contains { $0.contains("b has a key of revenuecat that a has.") }, "\(said)")
    }

    @Test func `RevenueCat keys without placements cause a warning`() throws {
        let file = try file("revenuecat: {keys: [appl_0123456789]}")
        let said = file.warnings.map(\.description)
        #expect(said.contains { $0.contains("has no placements, so RevenueCat's SDK") }, "\(said)")
    }
}
