import Engine
import Ledger
import Testing

@testable import Program

@Suite struct ConfigurationTests {
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
        _ text: String, files: [String: String] = ["root.cer": "DER"]
    ) throws(ConfigurationFailure) -> ConfigurationFile {
        try ConfigurationFile(text) { name in files[name].map { Array($0.utf8) } }
    }

    @Test func `a configuration says which products give which right`() throws {
        let file = try read(Self.good)
        let birds = try #require(file.apps.first?.settings)
        #expect(birds.id == "birds" && birds.bundleID == "com.example.birds")
        #expect(birds.appAppleID == 1_234_567_890 && !birds.isSimulated)
        #expect(
            birds.entitlements == [
                "pro": ["pro.monthly", "pro.yearly"], "archive": ["pro.yearly"],
            ])
        #expect(birds.rules.unconfirmedHold == .hours(6))
        #expect(file.apps.last?.settings.isSimulated == true)
        #expect(file.apps.last?.extraRoots == [Array("DER".utf8)])
        #expect(file.settings == ["port": "9000", "log_level": "debug"])
        #expect(file.warnings == [])
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var text: String
        var line: Int?
        var says: String
        var testDescription: String { says }
    }

    static let mistakes = [
        Row(text: "", line: nil, says: "The file is empty."),
        Row(text: "settings: {}", line: nil, says: "There are no apps."),
        Row(text: "apps:\n  a: [", line: 3, says: "This is not YAML"),
        Row(text: "apps: {}", line: 1, says: "There are no apps."),
        Row(text: "apps:\n  a b:\n    bundle_id: x", line: 2, says: "no name for an app"),
        Row(text: "apps:\n  a:\n    simulated: true", line: 2, says: "has no bundle_id"),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    bundel: y", line: 4,
            says: "There is no “bundel” in app a."),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    simulatd: true", line: 4,
            says: "Did you mean simulated?"),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    simulated: yes", line: 4,
            says: "“yes” is neither true nor false."),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    app_apple_id: twelve", line: 4,
            says: "“twelve” is no number."),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n  b:\n    bundle_id: x", line: 4,
            says: "the same bundle_id"),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    products: [p]", line: 4,
            says: "products is no list of names."),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    products:\n      p: [[q]]", line: 5,
            says: "Here a name is expected."),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    products:\n      p: {entitlement: [q]}",
            line: 5, says: "Did you mean entitlements?"),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    access:\n      unconfirmed_hold_hours: 999",
            line: 5, says: "out of range"),
        Row(
            text: "apps:\n  a:\n    bundle_id: x\n    trust:\n      extra_roots: [root.cer]",
            line: 5, says: "trusts Apple only"),
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

    @Test(arguments: mistakes)
    func `a mistake is told with its line`(row: Row) throws {
        let failure = try #require(throws: ConfigurationFailure.self) { try read(row.text) }
        let found = failure.complaints.first { $0.description.contains(row.says) }
        let complaint = try #require(found, "\(failure.complaints)")
        #expect(complaint.line == row.line)
        #expect(!complaint.remedy.isEmpty)
    }

    @Test func `all mistakes are told at once`() throws {
        let text = "apps:\n  a:\n    simulated: maybe\n    colour: red\n  b: 5"
        let failure = try #require(throws: ConfigurationFailure.self) { try read(text) }
        #expect(Set(failure.complaints.map(\.line)) == [2, 3, 4, 5])
    }

    @Test func `a key that stands there twice is a mistake`() {
        let text = "apps:\n  a:\n    bundle_id: x\n    bundle_id: y"
        #expect(throws: ConfigurationFailure.self) { try read(text) }
    }

    @Test func `a product that the shop does not sell is warned of, with the nearest`() throws {
        let shop = """
            {"version": {"major": 4, "minor": 0}, "products": [{"productID": "pro.monthly",
             "type": "NonConsumable", "displayPrice": "9.99", "referenceName": "Pro"}]}
            """
        let text = """
            apps:
              a:
                bundle_id: x
                app_apple_id: 5
                storekit: Shop.storekit
                products:
                  pro.monthyl: [pro]
            """
        let file = try read(text, files: ["Shop.storekit": shop])
        let warning = try #require(file.warnings.first)
        #expect(warning.line == 7)
        #expect(warning.remedy == "Did you mean pro.monthly?")
        #expect(file.apps.first?.storeKit?.products.count == 1)
    }

    @Test func `a real app without its Apple id is warned of`() throws {
        let file = try read("apps:\n  a:\n    bundle_id: x")
        #expect(file.warnings.contains { $0.message.contains("app_apple_id") })
    }

    @Test func `the nearest word is found only where it is near`() {
        let known = ["bundle_id", "simulated", "products"]
        #expect(Spelling.nearest(to: "simulate", among: known) == "simulated")
        #expect(Spelling.nearest(to: "prodcuts", among: known) == "products")
        #expect(Spelling.nearest(to: "colour", among: known) == nil)
        #expect(Spelling.distance("", "abc") == 3)
        #expect(Spelling.distance("kitten", "sitting") == 3)
    }
}
