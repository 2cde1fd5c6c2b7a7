import AppStoreFormats
import Engine
import Ledger
import Logging
import Testing

@testable import Program

/// What a person with an app's public key of RevenueCat can do, and copies of documents from
/// another customer's device.
@Suite(.serialized) struct RevenueCatThiefStories {
    private typealias Copies = CopiedDocumentStories
    private typealias Phone = RevenueCatPhone

    private static let sources = ["purchase", "restore", "queue", "unknown"]

    /// Buys a month as a customer. Returns the signed transaction.
    private static func buy(
        as user: String, token: String? = nil, in shop: Shop
    ) async throws -> String {
        let signed = try await shop.buyMonth("anna", token: token).text("signed_transaction")
        #expect(try await Phone(shop.server, as: user).post(signed).status == 200)
        return signed
    }

    @Test(arguments: ["anna", RevenueCatPhone.anonymous("phone")], StoryDatabase.allCases)
    func `a document copied 40 days ago gives a thief no access, with any initiation_source`(
        buyer: String, database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Phone.app()) { shop in
            let copy = try await Self.buy(as: buyer, in: shop)
            try await Copies.pass("P20D", in: shop)
            try await Copies.pass("P20D", in: shop)
            for source in Self.sources {
                for thief in ["thief", Phone.anonymous("thief")] {
                    let phone = Phone(shop.server, as: thief)
                    let answer = try await phone.post(copy, source, isRestore: true)
                    #expect([200, 400].contains(answer.status), "\(source) \(thief)")
                    #expect(try await phone.info().active.isEmpty, "\(source) \(thief)")
                }
            }
            try await Copies.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `for each policy and initiation_source, RevenueCat's routes answer like our own routes`(
        database: StoryDatabase
    ) async throws {
        for policy in OwnershipClaim.RestorePolicy.allCases {
            for (source, intent) in [
                ("purchase", "purchase"), ("restore", "restore"), ("queue", "sync"),
            ] {
                let ours = try await Self.outcome(policy, database) { copy, shop in
                    _ = try await Copies.post(copy, as: "ben", intent, in: shop)
                }
                let theirs = try await Self.outcome(policy, database) { copy, shop in
                    _ = try await Phone(shop.server, as: "ben").post(copy, source)
                }
                #expect(ours == theirs, "\(policy) \(source)")
            }
        }
    }

    /// Whether anna and ben have access after ben posted a copy of anna's purchase.
    private static func outcome(
        _ policy: OwnershipClaim.RestorePolicy, _ database: StoryDatabase,
        _ post: @escaping @Sendable (String, Shop) async throws -> Void
    ) async throws -> [Bool] {
        let found = Outcomes()
        try await withShop(on: database, app: Phone.app(policy)) { shop in
            let copy = try await Self.buy(as: "anna", in: shop)
            try await post(copy, shop)
            for customer in ["anna", "ben"] {
                await found.add(try await Copies.isOpen(customer, in: shop))
            }
        }
        return await found.all
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a purchase with another customer's token is refused, even if that customer is not stored`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Phone.app(.transfer)) { shop in
            let token = "5d2f0c1e-6b7a-4c3d-9e8f-0a1b2c3d4e5f"
            let signed = try await shop.buyMonth("anna", token: token).text("signed_transaction")
            let thief = Phone(shop.server, as: "thief")
            for source in ["purchase", "restore"] {
                let answer = try await thief.post(signed, source)
                #expect(answer.status == 400)
                #expect(try answer.json["code"] == 7102)
            }
            #expect(try await thief.info().active.isEmpty)
            #expect(try await Phone(shop.server, as: token).info().active == ["pro", "plus"])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `RevenueCat's log-in cannot merge two people, or show another person's ids`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Phone.app()) { shop in
            _ = try await Self.buy(as: "anna", in: shop)
            var thief = Phone(shop.server, as: "thief")
            _ = try await thief.logIn("anna")
            var other = Phone(shop.server, as: "thief")
            #expect(try await other.info().active.isEmpty)
            _ = try await other.logIn("unborn")
            #expect(try await Copies.isOpen("unborn", in: shop) == false)
            let list = try await shop.support.get("/v1/customers/anna")
            #expect(list["aliases"] == [])
            // A device of anna's has an anonymous id, which is enough for requests about her.
            var phone = Phone(shop.server, as: Phone.anonymous("phone"))
            _ = try await phone.logIn("anna")
            let shown = try await Phone(shop.server, as: "anna").info().json.text
            #expect(!shown.contains("RCAnonymousID"))
            // An id that already belongs to a person cannot be added to another person.
            var again = Phone(shop.server, as: Phone.anonymous("phone"))
            _ = try await again.logIn("ben")
            #expect(try await !Copies.isOpen("ben", in: shop))
            #expect(try await Copies.isOpen("anna", in: shop))
            try await Copies.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a RevenueCat key works only on RevenueCat's routes, and with proofs only for devices`(
        database: StoryDatabase
    ) async throws {
        var app = Phone.app()
        app.settings.proof = .hmac(AppSecret("0123456789abcdef0123456789abcdef"))
        try await withShop(on: database, app: app) { shop in
            let signed = try await shop.buyMonth("anna").text("signed_transaction")
            let phone = Phone(shop.server, as: "anna")
            #expect(try await phone.send("GET", Phone.path("anna")).status == 401)
            // The operator may stop requiring proofs: the transaction must not be finished.
            #expect(try await phone.post(signed).status == 503)
            let device = Phone(shop.server, as: Phone.anonymous("phone"))
            #expect(try await device.post(signed).status == 200)
            #expect(try await device.info().active == ["pro", "plus"])
            for path in ["/v1/customers/anna", "/v1/events", "/v1/offerings"] {
                #expect(try await phone.send("GET", path).status == 401, "\(path)")
            }
            // A secret key belongs to the app's server, and calls RevenueCat's REST API.
            let server = Phone(shop.server, as: "anna", key: Shop.secretKey)
            #expect(try await server.send("GET", Phone.path("anna")).status == 200)
            for key in [Shop.appKey, "appl_other"] {
                let other = Phone(shop.server, as: "anna", key: key)
                #expect(try await other.send("GET", Phone.path("anna")).status == 401)
                #expect(try await other.post(signed).status == 503)
            }
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a forged document gets 400, and a document that may be accepted later gets 503`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Phone.app()) { shop in
            let signed = try await shop.buyMonth("anna").text("signed_transaction")
            let phone = Phone(shop.server, as: "anna")
            let parts = signed.split(separator: ".").map(String.init)
            let forged = [parts[0], parts[1], String(parts[2].reversed())]
                .joined(separator: ".")
            for token in [forged, "a.b.c"] {
                let answer = try await phone.post(token)
                #expect(answer.status == 400, "\(token.prefix(10))")
                #expect(try answer.json["code"] == 7103, "\(token.prefix(10))")
            }
            // A later version of the server may understand these forms.
            for token in ["eyJ4IjogMX0=", "MIIB"] {
                #expect(try await phone.post(token).status == 503, "\(token.prefix(10))")
            }
            // A forged purchase is refused even if the app transaction is genuine.
            let app = try await shop.simulator.get("/_sim/devices/anna-1/app-transaction")
                .text("signed_app_transaction")
            #expect(try await phone.post(forged, appTransaction: app).status == 400)
            #expect(try await !Copies.isOpen("anna", in: shop))
            #expect(try await !Self.isFinal(signed, in: shop))
            // After others were refused, the buyer can still post the purchase.
            for stranger in ["guest", "null", ""] {
                #expect(try await Phone(shop.server, as: stranger).post(signed).status == 503)
            }
            #expect(try await phone.post(signed, "queue").status == 200)
            #expect(try await phone.info().active == ["pro", "plus"])
        }
    }

    /// Whether a server with another bundle id refuses a document for good: the configuration may
    /// be wrong.
    private static func isFinal(_ signed: String, in shop: Shop) async throws -> Bool {
        var cats = Phone.app()
        cats.settings.id = "cats"
        cats.settings.bundleID = "com.example.cats"
        let server = try await Assembly(
            apps: [cats], databaseAddress: shop.address, simulatorRoot: shop.authority.rootDER,
            now: { .machine }, reconciliation: .disabled,
            logger: Logger(label: "cats") { _ in SwiftLogNoOpLogHandler() })
        defer { server.database.close() }
        let posting = try await server.engine.recording.post(
            PurchaseEvidence(signedTransactions: [signed]), of: "anna", intent: .purchase,
            app: "cats")
        guard case .refused(let failure)? = posting.documents.first?.result else {
            throw Wire.Unexpected(description: "the other app accepted \(posting.documents)")
        }
        return failure.isFinalForDocument
    }
}

/// What a story returns.
private actor Outcomes {
    private(set) var all: [Bool] = []

    func add(_ outcome: Bool) { all.append(outcome) }
}
