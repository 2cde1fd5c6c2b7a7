import AppStoreClient
import AppStoreFormats
import Crypto
import Engine
import Foundation
import Ledger
import Testing

@testable import Program

@Suite struct ConfigurationTests {
    static let key = P256.Signing.PrivateKey().pemRepresentation
    static let good = """
        apps:
          birds:
            bundle_id: com.example.birds
            app_apple_id: 1234567890
            products:
              pro.monthly: [pro]
              pro.yearly: {entitlements: [pro, archive]}
              gems: []
            access:
              unconfirmed_hold_hours: 6
            app_store:
              key_id: ABC123DEFG
              issuer_id: 57246542-96fe-1a63-e053-0824d011072a
              private_key_file: key.p8
          test-app:
            bundle_id: com.example.test
            simulated: true
            products: {}
            trust:
              extra_roots: [root.cer]
        settings:
          port: 9000
          log_level: debug
        """

    private func read(
        _ text: String,
        files: [String: String] = ["root.cer": "DER", "key.p8": key, "secret": "c0ffee\n"]
    ) throws(ConfigurationFailure) -> ConfigurationFile {
        let environment = ["KEY": Self.key, "EMPTY": "", "SECRET": "c0ffee"]
        return try ConfigurationFile(text, environment: environment) { name in
            files[name].map { Array($0.utf8) }
        }
    }

    @Test func `a configuration says which entitlements each product gives`() throws {
        let file = try read(Self.good)
        let birds = try #require(file.apps.first?.settings)
        #expect(birds.id == "birds" && birds.bundleID == "com.example.birds")
        #expect(birds.appAppleID == 1_234_567_890 && !birds.isSimulated)
        #expect(
            birds.entitlements == [
                "pro": ["pro.monthly", "pro.yearly"], "archive": ["pro.yearly"],
            ])
        #expect(birds.rules.unconfirmedHold == .hours(6))
        #expect(birds.documentBudget.perHour == 1_000)
        let limited = try read(
            "apps:\n  a:\n    bundle_id: x\n    documents_per_purchase_and_hour: 200")
        #expect(limited.apps.first?.settings.documentBudget.perHour == 200)
        #expect(file.apps.last?.settings.isSimulated == true)
        #expect(file.apps.last?.extraRoots == [Array("DER".utf8)])
        #expect(file.settings == ["port": "9000", "log_level": "debug"])
        #expect(file.warnings == [])
        let access = try #require(file.apps.first?.appStore)
        #expect(access.credentials.keyID == "ABC123DEFG" && access.hosts == .apple)
        #expect(access.credentials.bundleID == "com.example.birds")
        #expect(file.apps.last?.appStore == nil)
    }

    /// Each row: the end of `app_store: {key_id: K, issuer_id: I, `, whether the app is simulated,
    /// and the hosts.
    static let hosts: [(String, Bool, AppStoreHosts)] = [
        ("private_key_env: KEY", false, .apple),
        ("private_key_env: KEY, older_host_names: true", false, .appleBefore2026),
        ("private_key_file: key.p8, production_url: 'http://a:1/'", true, .simulator("http://a:1")),
        (
            "private_key_env: KEY, production_url: 'http://a', sandbox_url: 'https://b'", true,
            AppStoreHosts(production: "http://a", sandbox: "https://b")
        ),
    ]

    @Test(arguments: hosts) func `an app asks the App Store at the configured addresses`(
        rest: String, isSimulated: Bool, hosts: AppStoreHosts
    ) throws {
        let text = """
            apps:
              a:
                bundle_id: x
                simulated: \(isSimulated)
                app_store: {key_id: K, issuer_id: I, \(rest)}
            """
        #expect(try read(text).apps.first?.appStore?.hosts == hosts)
    }

    @Test(arguments: [("", true), ("legacy: true", true), ("legacy: false", false)])
    func `the setting legacy decides whether an app accepts evidence from before StoreKit 2`(
        line: String, takes: Bool
    ) throws {
        let file = try read("apps:\n  a:\n    bundle_id: x\n    \(line)")
        #expect(file.apps.first?.settings.acceptsLegacy == takes)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var text: String
        var line: Int?
        var says: String
        var testDescription: String { says }
    }

    static let mistakes = [
        Row(text: "", line: nil, says: "The file is empty."),
        Row(text: "settings: {}", line: nil, says: "The configuration has no apps."),
        Row(text: "apps:\n  a: [", line: 3, says: "This is not YAML"),
        Row(text: "apps: {}", line: 1, says: "apps is empty."),
        Row(text: "apps:\n  a b:\n    bundle_id: x", line: 2, says: "is not a valid app name"),
        Row(text: "apps:\n  a:\n    simulated: true", line: 2, says: "has no bundle_id"),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    bundel: y", line: 4,
            says: "“bundel” is unknown in app a."),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    simulatd: true", line: 4,
            says: "Did you mean simulated?"),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    simulated: yes", line: 4,
            says: "“yes” is neither true nor false."),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    legacy: never", line: 4,
            says: "“never” is neither true nor false."),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    legacy: false\n    shared_secret_env: SECRET",
            line: 4, says: "There is a shared secret, but `legacy: false` makes it useless."),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    app_apple_id: twelve", line: 4,
            says: "“twelve” is not a whole number."),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n  b:\n    bundle_id: x", line: 4,
            says: "the same bundle_id"),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    products: [p]", line: 4,
            says: "products must be a mapping."),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    products:\n      p: [[q]]", line: 5,
            says: "A name is expected here."),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    products:\n      p: {entitlement: [q]}",
            line: 5, says: "Did you mean entitlements?"),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    access:\n      unconfirmed_hold_hours: 999",
            line: 5, says: "out of range"),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    documents_per_purchase_and_hour: 199",
            line: 4, says: "out of range"),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    trust:\n      extra_roots: [root.cer]",
            line: 5, says: "can only trust Apple"),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    simulated: true\n    trust:\n"
                + "      extra_roots: [none.cer]", line: 6, says: "none.cer cannot be read."),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    storekit: none.storekit", line: 4,
            says: "none.storekit cannot be read."),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    storekit: root.cer", line: 4,
            says: "root.cer is no StoreKit configuration"),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\nsettings:\n  prot: 1", line: 5,
            says: "Did you mean port?"),
    ]

    /// Each row: a mistake in `app_store: {…}`, and whether the app is simulated.
    static let keyMistakes: [(String, Bool, String)] = [
        ("issuer_id: I, private_key_env: KEY", false, "app_store has no key_id."),
        ("key_id: K, private_key_env: KEY", false, "app_store has no issuer_id."),
        ("key_id: K, issuer_id: I", false, "needs either private_key_file or private_key_env."),
        (
            "key_id: K, issuer_id: I, private_key_env: KEY, private_key_file: key.p8", false,
            "needs either private_key_file or private_key_env."
        ),
        ("key_id: K, issuer_id: I, private_key_file: no.p8", false, "no.p8 cannot be read."),
        (
            "key_id: K, issuer_id: I, private_key_env: NONE", false,
            "There is no environment variable NONE."
        ),
        (
            "key_id: K, issuer_id: I, private_key_env: EMPTY", false,
            "EMPTY contains no private key."
        ),
        (
            "key_id: K, issuer_id: I, private_key_file: root.cer", false,
            "root.cer contains no private key."
        ),
        (
            "key_id: K, issuer_id: I, private_key_env: KEY, sandbox_url: 'http://a'", false,
            "A real app can only use Apple's addresses."
        ),
        ("key_id: K, issuer_id: I, private_key_env: KEY", true, "has no production_url."),
        (
            "key_id: K, issuer_id: I, private_key_env: KEY, production_url: 'ftp://a'", true,
            "“ftp://a” is not a URL."
        ),
        ("key_id: K, issuer_id: I, key: x", false, "“key” is unknown in app_store."),
    ]

    @Test(arguments: keyMistakes)
    func `the report of an incomplete App Store key does not contain the key`(
        members: String, isSimulated: Bool, says: String
    ) throws {
        let text = """
            apps:
              a:
                bundle_id: x
                simulated: \(isSimulated)
                app_store: {\(members)}
            """
        let failure = try #require(throws: ConfigurationFailure.self) { try read(text) }
        let found = failure.complaints.first { $0.message.contains(says) }
        #expect(found?.line == 5, "\(failure.complaints)")
        #expect(!failure.complaints.contains { $0.description.contains("BEGIN") })
    }

    @Test(arguments: mistakes)
    func `a mistake in the configuration is reported with its line`(row: Row) throws {
        let failure = try #require(throws: ConfigurationFailure.self) { try read(row.text) }
        let found = failure.complaints.first { $0.description.contains(row.says) }
        let complaint = try #require(found, "\(failure.complaints)")
        #expect(complaint.line == row.line)
        #expect(!complaint.remedy.isEmpty)
    }

    private func app(_ members: String, isSimulated: Bool = false) -> String {
        """
        apps:
          a:
            bundle_id: x
            simulated: \(isSimulated)
        \(members.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n"))
        """
    }

    @Test func `a shared secret comes from a file or a variable, and Apple then verifies receipts`()
        throws
    {
        for members in ["shared_secret_file: secret", "shared_secret_env: SECRET"] {
            let app = try #require(try read(app(members)).apps.first)
            #expect(app.settings.sharedSecret == AppSecret("c0ffee"))
            #expect(app.receiptHosts == .appleReceipts && app.appStore == nil)
            #expect(
                "\(app.settings)".contains("c0ffee") == false,
                "no description may contain the secret, because it may be logged")
        }
        #expect(try read(app("products: {}")).apps.first?.settings.sharedSecret == nil)
        let simulated = try read(
            app(
                "shared_secret_env: SECRET\nverify_receipt_url: http://localhost:8090",
                isSimulated: true))
        #expect(simulated.apps.first?.receiptHosts == .simulator("http://localhost:8090"))
    }

    @Test(arguments: [
        ("shared_secret_env: NONE", "contains no shared secret"),
        ("shared_secret_env: EMPTY", "contains no shared secret"),
        ("shared_secret_file: none", "contains no shared secret"),
        ("shared_secret_file: key.p8", "contains no shared secret"),
        ("shared_secret_file: secret\nshared_secret_env: SECRET", "are both set"),
        ("verify_receipt_url: http://localhost:8090", "can only be verified by Apple"),
    ])
    func `a missing shared secret is reported, and so is a forbidden address`(
        members: String, says: String
    ) throws {
        let failure = try #require(throws: ConfigurationFailure.self) { try read(app(members)) }
        #expect(failure.complaints.contains { $0.message.contains(says) }, "\(failure.complaints)")
    }

    @Test func `all mistakes in a configuration are reported at once`() throws {
        let text = "apps:\n  a:\n    simulated: maybe\n    colour: red\n  b: 5"
        let failure = try #require(throws: ConfigurationFailure.self) { try read(text) }
        let lines = failure.complaints.compactMap(\.line)
        #expect(Set(lines) == [2, 3, 4, 5] && lines == lines.sorted())
    }

    @Test func `a configuration key that occurs twice is a mistake`() {
        let text = "apps:\n  a:\n    bundle_id: x\n    bundle_id: y"
        #expect(throws: ConfigurationFailure.self) { try read(text) }
    }

    @Test func `if the StoreKit file lacks a product, a warning suggests the nearest name`()
        throws
    {
        let shop = """
            {"version": {"major": 4, "minor": 0}, "products": [{"productID": "pro.monthly",
             "type": "NonConsumable", "displayPrice": "9.99", "referenceName": "Pro"}]}
            """
        let text = """
            apps:
              a:
                bundle_id: x
                app_apple_id: 5
                app_store: {key_id: K, issuer_id: I, private_key_env: KEY}
                storekit: Shop.storekit
                products:
                  pro.monthyl: [pro]
            """
        let file = try read(text, files: ["Shop.storekit": shop])
        let warning = try #require(file.warnings.first)
        #expect(warning.line == 8)
        #expect(warning.remedy == "Did you mean pro.monthly?")
        #expect(file.apps.first?.storeKit?.products.count == 1)
    }

    @Test func `a production app without its Apple id causes a warning`() throws {
        let file = try read("apps:\n  a:\n    bundle_id: x")
        #expect(file.warnings.contains { $0.message.contains("app_apple_id") })
    }

    @Test func `a production app without an App Store key causes a warning`() throws {
        let real = try read("apps:\n  a:\n    bundle_id: x")
        #expect(real.servingWarnings.contains { $0.message.contains("app_store") })
        let simulated = try read("apps:\n  a:\n    bundle_id: x\n    simulated: true")
        #expect(simulated.servingWarnings.isEmpty)
    }

    @Test func `the most similar word is suggested only if it is similar enough`() {
        let known = ["bundle_id", "simulated", "products"]
        #expect(Spelling.nearest(to: "simulate", among: known) == "simulated")
        #expect(Spelling.nearest(to: "prodcuts", among: known) == "products")
        #expect(Spelling.nearest(to: "colour", among: known) == nil)
        #expect(Spelling.nearest(to: "x", among: ["p", "pro"]) == nil)
        #expect(Spelling.nearest(to: "x", among: ["p", "xy"]) == "xy")
        #expect(Spelling.remedy(for: "colour", among: known, else: "Look.") == "Look.")
        #expect(Spelling.distance("", "abc") == 3)
        #expect(Spelling.distance("kitten", "sitting") == 3)
    }
}
