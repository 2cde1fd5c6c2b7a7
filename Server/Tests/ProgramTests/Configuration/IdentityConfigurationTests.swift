import AppStoreFormats
import Engine
import Ledger
import Testing

@testable import Program

@Suite struct IdentityConfigurationTests {
    private static let secret = "0123456789abcdef0123456789abcdef"

    private func settings(_ text: String) throws(ConfigurationFailure) -> AppSettings? {
        try file(text).apps.first?.settings
    }

    private func file(_ text: String) throws(ConfigurationFailure) -> ConfigurationFile {
        let lines = text.split(separator: "\n").map { "    \($0)" }
        let app = ["apps:", "  a:", "    bundle_id: x"] + lines
        return try ConfigurationFile(
            app.joined(separator: "\n"), environment: ["SECRET": Self.secret, "SHORT": "abc"]
        ) { name in
            name == "secret.txt" ? Array("\(Self.secret)\n".utf8) : nil
        }
    }

    @Test func `an hmac proof without the setting endless causes a warning with a remedy`() throws {
        let hmac = "identity: {proof: hmac, secret_env: SECRET"
        func notes(_ text: String) throws -> [String] {
            try file(text).warnings.map(\.remedy).filter { $0.contains("endless") }
        }
        #expect(try notes(hmac + "}").count == 1)
        for (word, endless) in [("true", true), ("false", false)] {
            let text = hmac + ", endless: \(word)}"
            #expect(try notes(text) == [])
            let proof = try settings(text)?.proof
            #expect(proof == .hmac(AppSecret(Self.secret), endless: endless))
        }
    }

    @Test func `the configuration can require an audience and an issuer of a JWT`() throws {
        let text = "identity: {proof: jwt, secret_env: SECRET, audience: birds, issuer: me}"
        let claims = IdentityProof.Claims(audience: "birds", issuer: "me")
        #expect(try settings(text)?.proof == .token(AppSecret(Self.secret), claims))
    }

    @Test(arguments: ["audience: [birds, cats]", "issuer: {a: b}", "audience: ''"])
    func `an audience or issuer that is not text is a mistake`(claim: String) throws {
        let failure = #expect(throws: ConfigurationFailure.self) {
            try settings("identity: {proof: jwt, secret_env: SECRET, \(claim)}")
        }
        #expect("\(failure as Any)".contains("must be text"))
    }

    @Test func `an app key may merge people only if the configuration allows it`() throws {
        #expect(try settings("products: {p: [pro]}")?.joinsPeople == false)
        let app = try #require(try settings("identity: {join_people: true}"))
        #expect(app.joinsPeople && app.proof == nil)
        #expect(app.identityLines.contains("app keys may make one customer of two persons"))
        let other = try settings("identity: {join_people: false, account_tokens: other}")
        #expect(other?.joinsPeople == false)
        #expect(other?.growthPerHour == AppSettings.growthPerHourDefault)
        let growing = try settings("identity: {growth_per_hour: 250000}")
        #expect(growing?.growthPerHour == 250_000 && growing?.proof == nil)
    }

    @Test func `by default, a purchase stays with its first customer`() throws {
        let app = try #require(try settings("products: {p: [pro]}"))
        #expect(
            app.restorePolicy(in: .production) == .keep && app.restorePolicy(in: .sandbox) == .keep)
        #expect(app.proof == nil)
    }

    @Test func `a restore policy is set for both environments, or for each of them`() throws {
        let both = try settings("restore: transfer_if_inactive")
        #expect(both?.restorePolicy(in: .sandbox) == .transferIfInactive)
        let one = try settings("restore: {sandbox: share}")
        #expect(
            one?.restorePolicy(in: .sandbox) == .share
                && one?.restorePolicy(in: .production) == .keep)
    }

    @Test func `a purchase can be shared with five other customers, or with the configured number`()
        throws
    {
        #expect(try settings("restore: share")?.shareRules(in: .production).most == 5)
        let both = try settings("restore: {share: {most: 3}}")
        for environment in Ledger.Environment.allCases {
            #expect(both?.restorePolicy(in: environment) == .share)
            #expect(both?.shareRules(in: environment).most == 3)
        }
        let one = try settings("restore: {production: keep, sandbox: {share: {most: 2}}}")
        #expect(
            one?.restorePolicy(in: .production) == .keep
                && one?.restorePolicy(in: .sandbox) == .share)
        #expect(one?.shareRules(in: .sandbox).most == 2)
    }

    @Test func `account tokens are customer ids unless the configuration says otherwise`() throws {
        #expect(try settings("restore: keep")?.accountTokens == .customers)
        let other = try settings("identity: {account_tokens: other}")
        #expect(other?.accountTokens == .other && other?.proof == nil)
        let both = try settings(
            "identity: {proof: hmac, secret_env: SECRET, account_tokens: customers}")
        #expect(both?.accountTokens == .customers && both?.proof != nil)
    }

    @Test(arguments: [
        "identity: {proof: hmac, secret_env: SECRET}",
        "identity: {proof: hmac, secret_file: secret.txt}",
    ]) func `the secret of identity proofs comes from a variable or a file`(text: String) throws {
        #expect(try settings(text)?.proof == .hmac(AppSecret(Self.secret)))
    }

    @Test func `tokens are valid for an hour or the configured time, or are switched off`() throws {
        #expect(try settings("products: {p: [pro]}")?.tokens == TokenRules())
        let rules = try settings("tokens: {minutes: 5, issuer: https://iap.example.com}")?.tokens
        #expect(rules == TokenRules(life: .seconds(300), issuer: "https://iap.example.com"))
        #expect(try #require(try settings("tokens: false")).tokens == nil)
    }

    @Test func `a token is valid offline for 30 days or the configured number of days`() throws {
        #expect(TokenRules().offlineDays == 30)
        for days in [0, 7, 365] {
            let rules = try settings("tokens: {offline_days: \(days)}")?.tokens
            #expect(rules == TokenRules(offlineDays: days))
        }
    }

    @Test(arguments: [
        ("tokens: {minutes: 0}", "Use a number from 1 to 1440."),
        ("tokens: {minute: 1}", "Did you mean minutes?"),
        ("tokens: {offline_days: 366}", "Use a number from 0 to 365."),
        ("restore: move", "Use one of keep, transfer, transfer_if_inactive, share."),
        ("restore: {prodution: keep}", "Did you mean production?"),
        ("restore: {share: {most: 0}}", "Use a number from 1 to 1000."),
        ("restore: {share: {mots: 3}}", "Did you mean most?"),
        ("restore: {sandbox: {}}", "This is not a restore policy."),
        ("restore: {production: keep, share: {most: 3}}", "“production” is unknown in restore."),
        ("identity: {account_tokens: none}", "Use one of customers, other."),
        ("identity: {account_tokens: other, secret_env: SECRET}", "identity has no proof."),
        ("identity: {proof: magic}", "is not a supported proof of identity"),
        (
            "identity: {proof: hmac, secret_env: SECRET, audience: a}",
            "Proofs by hmac have no audience."
        ),
        ("identity: {proof: hmac, secret_env: SECRET, endless: x}", "neither true nor false"),
        ("identity: {secret_env: SECRET}", "identity has no proof."),
        ("identity: {proof: hmac, secret_env: SHORT}", "at least 32 characters"),
        (
            "identity: {proof: hmac, secret_env: NONE}",
            "There is no valid secret for verifying proofs."
        ),
        ("identity: {proof: jwt, public_key_file: x.pem}", "contains no P-256 public key"),
    ]) func `a mistake in the identity settings is reported with its remedy`(
        text: String, says: String
    ) throws {
        let failure = #expect(throws: ConfigurationFailure.self) { try settings(text) }
        let said = failure?.complaints.map(\.description) ?? []
        #expect(said.contains { $0.contains(says) }, "\(said)")
    }
}
