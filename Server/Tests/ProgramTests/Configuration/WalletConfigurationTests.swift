import Ledger
import Testing

@testable import Program

@Suite struct WalletConfigurationTests {
    private func wallets(_ text: String) throws(ConfigurationFailure) -> WalletRules? {
        let lines = text.split(separator: "\n").map { "    \($0)" }
        let app = ["apps:", "  a:", "    bundle_id: x"] + lines
        let file = try ConfigurationFile(app.joined(separator: "\n")) { _ in nil }
        return file.apps.first?.settings.wallets
    }

    @Test func `the configuration sets the credits of a product, and whether refunds cause a debt`()
        throws
    {
        let rules = try #require(
            try wallets(
                """
                products:
                  pack: {credits: {gems: 100, coins: 5}}
                  pro: [pro]
                wallets:
                  gems: {refunds: below_zero, allows_debt: true}
                """))
        #expect(rules.credits == ["pack": ["gems": 100, "coins": 5]])
        #expect(rules.currency("gems") == .init(refunds: .belowZero, allowsDebt: true))
        #expect(rules.currency("coins") == .init(refunds: .toZero, allowsDebt: false))
    }

    @Test func `a wallet's settings say who may spend, and how much an app may spend offline`()
        throws
    {
        let products = "products: {p: {credits: {gems: 1, coins: 1}}}\n"
        let rules = try #require(
            try wallets(products + "wallets: {gems: {spend: app, max_offline: 50}}"))
        #expect(rules.currency("gems") == .init(spender: .app, offlineMax: 50))
        #expect(rules.currency("coins").spender == .server)
    }

    @Test(arguments: [
        ("{spend: phone}", "Use one of server, app."),
        ("{max_offline: 5}", "Add `spend: app`, or leave out max_offline."),
        ("{spend: app, max_offline: 0}", "Use 1 to 1000000000."),
        ("{spend: app, allows_debt: true}", "Apps could spend gems without any limit."),
    ]) func `settings for what an app may spend must be consistent and have a limit`(
        rules: String, says: String
    ) throws {
        let text = "products: {p: {credits: {gems: 1}}}\nwallets: {gems: \(rules)}"
        let failure = #expect(throws: ConfigurationFailure.self) { try wallets(text) }
        let said = failure?.complaints.map(\.description) ?? []
        #expect(said.contains { $0.contains(says) }, "\(said)")
    }

    @Test(arguments: [
        ("products: {p: {credits: 100}}", "credits must be a mapping."),
        ("products: {p: {credits: {gems: 0}}}", "0 is not a valid credit."),
        ("products: {p: {credits: {gems: many}}}", "“many” is not a whole number."),
        ("products: {p: {credits: {gems: 1}}}\nwallets: {gem: {}}", "Did you mean gems?"),
        (
            "products: {p: {credits: {gems: 1}}}\nwallets: {gems: {refunds: some}}",
            "Use one of to_zero, below_zero, nothing."
        ),
    ]) func `a mistake in the wallet settings is reported with its remedy`(
        text: String, says: String
    ) throws {
        let failure = #expect(throws: ConfigurationFailure.self) { try wallets(text) }
        let said = failure?.complaints.map(\.description) ?? []
        #expect(said.contains { $0.contains(says) }, "\(said)")
    }
}
