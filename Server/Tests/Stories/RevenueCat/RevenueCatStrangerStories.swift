import AppStoreFormats
import Engine
import Ledger
import Testing

@testable import Program

/// What a stranger can do with only the public RevenueCat key of an app: no more than with an app
/// key, and nothing that stops another customer.
@Suite(.serialized) struct RevenueCatStrangerStories {
    private typealias Copies = CopiedDocumentStories
    private typealias Phone = RevenueCatPhone

    // MARK: - Copies

    /// A buyer, and somebody who posts a copy of the purchase afterwards.
    private struct Posting {
        /// The value of `initiation_source`, and our intent of the same meaning.
        var source: String
        var intent: String
        var isBuyerKnown: Bool
        var isClaimantKnown: Bool
        var isOld: Bool
        var number: Int

        static let all: [Posting] = {
            var all: [Posting] = []
            for (source, intent) in [
                ("purchase", "purchase"), ("restore", "restore"), ("queue", "sync"),
            ] {
                for flags in 0..<8 {
                    all.append(
                        Posting(
                            source: source, intent: intent, isBuyerKnown: flags & 1 == 0,
                            isClaimantKnown: flags & 2 == 0, isOld: flags & 4 == 0,
                            number: all.count))
                }
            }
            return all
        }()

        var name: String {
            "\(source), buyer \(isBuyerKnown ? "person" : "device"), claimant "
                + "\(isClaimantKnown ? "person" : "device"), \(isOld ? "old" : "new") copy"
        }

        func buyer(_ wire: String, _ anonymous: (String) -> String) -> String {
            isBuyerKnown ? "buyer-\(wire)\(number)" : anonymous("b\(wire)\(number)")
        }

        func claimant(_ wire: String, _ anonymous: (String) -> String) -> String {
            isClaimantKnown ? "claimant-\(wire)\(number)" : anonymous("c\(wire)\(number)")
        }
    }

    @Test(arguments: OwnershipClaim.RestorePolicy.allCases, StoryDatabase.allCases)
    func `a copied document has the same effect on RevenueCat's routes as on our own`(
        policy: OwnershipClaim.RestorePolicy, database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Phone.app(policy)) { shop in
            var copies: [Int: (ours: String, theirs: String)] = [:]
            for posting in Posting.all {
                let number = posting.number
                let ours = try await shop.buyMonth("o\(number)").text("signed_transaction")
                let theirs = try await shop.buyMonth("t\(number)").text("signed_transaction")
                copies[number] = (ours, theirs)
                _ = try await Copies.post(
                    ours, as: posting.buyer("o", Copies.device), "purchase", in: shop)
                let buyer = Phone(shop.server, as: posting.buyer("t", Phone.anonymous))
                #expect(try await buyer.post(theirs).status == 200)
            }
            try await Self.compare(Posting.all.filter { !$0.isOld }, copies, in: shop)
            try await Copies.pass("P20D", in: shop)
            try await Copies.pass("P20D", in: shop)
            try await Self.compare(Posting.all.filter(\.isOld), copies, in: shop)
            try await Copies.expectClean(shop)
        }
    }

    private static func compare(
        _ postings: [Posting], _ copies: [Int: (ours: String, theirs: String)], in shop: Shop
    ) async throws {
        for posting in postings {
            let copy = try #require(copies[posting.number])
            let claimant = posting.claimant("o", Copies.device)
            _ = try await Copies.post(copy.ours, as: claimant, posting.intent, in: shop)
            let phone = Phone(shop.server, as: posting.claimant("t", Phone.anonymous))
            let answer = try await phone.post(copy.theirs, posting.source)
            #expect([200, 400].contains(answer.status), "\(posting.name)")
            let ours = [
                try await Copies.isOpen(posting.buyer("o", Copies.device), in: shop),
                try await Copies.isOpen(claimant, in: shop),
            ]
            let buyer = Phone(shop.server, as: posting.buyer("t", Phone.anonymous))
            let theirs = [
                try await buyer.info().active.contains("pro"),
                try await phone.info().active.contains("pro"),
            ]
            #expect(ours == theirs, "\(posting.name): ours \(ours)")
        }
    }

    // MARK: - Ids

    @Test(arguments: StoryDatabase.allCases)
    func `after a stranger has used up the hourly limit for new ids, devices still log in and buy`(
        database: StoryDatabase
    ) async throws {
        var app = Phone.app()
        app.settings.growthPerHour = 4
        try await withShop(on: database, app: app) { shop in
            try await shop.addDevice("anna")
            try await shop.addDevice("ben")
            var bought = Phone(shop.server, as: Phone.anonymous("bought"))
            #expect(try await bought.post(try await Self.buy("anna", in: shop)).status == 200)
            var gifted = Phone(shop.server, as: Phone.anonymous("gifted"))
            try await shop.support.post(
                Self.path(gifted.user, "grants"), ["entitlement": "plus", "reason": "story"])
            for number in 0..<6 {
                var stranger = Phone(shop.server, as: Phone.anonymous("stranger\(number)"))
                try await stranger.logIn("stranger-\(number)")
            }
            #expect(try await Self.isUsedUp(shop))
            // A new device logs in and buys.
            var new = Phone(shop.server, as: Phone.anonymous("new"))
            #expect(try await new.logIn("ben"))
            #expect(try await new.post(try await Self.buy("ben", in: shop)).status == 200)
            #expect(try await new.info().active == ["pro", "plus"])
            // The log-in also gives the device's purchase to the person.
            #expect(try await bought.logIn("anna"))
            #expect(try await bought.info().active == ["pro", "plus"])
            // A restore would not find the device's grant, so this log-in is refused until later.
            let later = try await gifted.send(
                "POST", "/v1/subscribers/identify",
                ["app_user_id": .string(gifted.user), "new_app_user_id": "cleo"])
            #expect(later.status == 503 && later.retryAfter != nil)
            try await Copies.pass("PT2H", in: shop)
            #expect(try await gifted.logIn("cleo"))
            #expect(try await gifted.info().active == ["plus"])
            try await Copies.expectClean(shop)
        }
    }

    private static func buy(_ account: String, in shop: Shop) async throws -> String {
        try await shop.simulator.post(
            "/_sim/devices/\(account)-1/purchases", ["product_id": "pro.monthly"]
        ).text("signed_transaction")
    }

    /// The path of our own route.
    private static func path(_ id: String, _ rest: String) -> String {
        "/v1/customers/\(id.replacing(":", with: "%3A"))/\(rest)"
    }

    private static func isUsedUp(_ shop: Shop) async throws -> Bool {
        let body: JSON = ["customer_id": .string(Phone.anonymous("probe"))]
        let path = "/v1/customers/probe/aliases"
        return try await shop.server.send("POST", path, body: body.bytes).status == 429
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an anonymous customer with the maximum number of ids can still log in`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Phone.app()) { shop in
            var phone = Phone(shop.server, as: Phone.anonymous("phone"))
            try await shop.addDevice("anna")
            let signed = try await Self.buy("anna", in: shop)
            #expect(try await phone.post(signed).status == 200)
            for number in 1..<CustomerService.idsByAppMax {
                try await shop.server.post(
                    Self.path(phone.user, "aliases"),
                    ["customer_id": .string(Phone.anonymous("more\(number)"))])
            }
            #expect(try await phone.logIn("anna"))
            // The purchase stayed with the device, and a restore gives it to the person.
            #expect(try await phone.info().active.isEmpty)
            let now = try await Copies.signedNow(in: shop)
            #expect(try await phone.post(now, "restore").status == 200)
            #expect(try await phone.info().active == ["pro", "plus"])
            try await Copies.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `the alias route of old RevenueCat SDKs does not merge two people`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Phone.app()) { shop in
            try await shop.addDevice("anna")
            let anna = Phone(shop.server, as: "anna")
            #expect(try await anna.post(try await Self.buy("anna", in: shop)).status == 200)
            for (current, wanted) in [("anna", "stranger"), ("stranger", "anna")] {
                let answer = try await anna.send(
                    "POST", Phone.path(current, "/alias"), ["new_app_user_id": .string(wanted)])
                #expect([200, 201].contains(answer.status))
            }
            #expect(try await !Copies.isOpen("stranger", in: shop))
            // An anonymous device gives its purchases to the person.
            let device = Phone(shop.server, as: Phone.anonymous("phone"))
            let alias = try await device.send(
                "POST", Phone.path(device.user, "/alias"), ["new_app_user_id": "anna"])
            #expect(alias.status == 200)
            #expect(try await device.info().active == ["pro", "plus"])
            try await Copies.expectClean(shop)
        }
    }

    // MARK: - Wallets

    @Test(arguments: WalletRules.Spender.allCases, StoryDatabase.allCases)
    func `RevenueCat's routes credit no wallet, and spend only if apps may spend`(
        spender: WalletRules.Spender, database: StoryDatabase
    ) async throws {
        var app = Phone.app()
        app.settings.wallets.currencies["seeds"] = .init(spender: spender)
        try await withShop(on: database, app: app) { shop in
            try await shop.addDevice("anna")
            let signed = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "seeds.100"]
            ).text("signed_transaction")
            let phone = Phone(shop.server, as: "anna")
            #expect(try await phone.post(signed).status == 200)
            // The same purchase credits nobody twice.
            #expect(try await Phone(shop.server, as: "stranger").post(signed).status == 400)
            let path = Phone.path("anna", "/virtual_currencies")
            let amounts: [Int64] = [10, -10, 1000, .min]
            for (number, amount) in amounts.enumerated() {
                let answer = try await phone.send(
                    "POST", path + "/spend", ["adjustments": ["seeds": .integer(amount)]],
                    ["Idempotency-Key": "key-\(number)"])
                let isSpent = spender == .app && [10, -10].contains(amount)
                #expect((answer.status == 200) == isSpent, "\(amount)")
            }
            let balances = try await phone.send("GET", path).json["virtual_currencies"]
            #expect(balances?["seeds"]?["balance"] == (spender == .app ? 80 : 100))
            let stranger = try await phone.send(
                "GET", Phone.path("stranger", "/virtual_currencies")
            ).json["virtual_currencies"]
            #expect(stranger?["seeds"]?["balance"] == 0)
        }
    }
}
