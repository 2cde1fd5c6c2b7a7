import AppStoreFormats
import Dice
import Ledger
import Testing

@testable import Program

/// Compares what RevenueCat's SDK reads about a customer with our own answer.
@Suite(.serialized) struct RevenueCatAnswerStories {
    private typealias Phone = RevenueCatPhone

    /// Both answers about a customer in one environment at one time. If the server returns 304,
    /// RevenueCat's answer is the one that the SDK has stored.
    private static func compare(
        _ user: String, in shop: Shop, sandbox isSandbox: Bool = false, _ cache: TagCache,
        _ place: String
    ) async throws {
        var phone = Phone(shop.server, as: user)
        phone.isSandbox = isSandbox
        let info = try await cache.info(of: phone)
        let own = try await shop.server.get(
            "/v1/customers/\(user)" + (isSandbox ? "?environment=sandbox" : ""))
        for (name, right) in RevenueCatAnswer.members(own["entitlements"]) {
            let isActive = right["active"]?.bool == true
            #expect(
                info.rights[name]?.isActive ?? false == isActive, "\(user), \(name): \(place)")
            guard isActive, let shown = info.rights[name] else { continue }
            let until = right["until"]?.string.map { String($0.prefix { $0 != "." }) + "Z" }
            #expect(shown.expires == until, "\(user), \(name): \(place)")
            if right["grant_id"] == .null {
                #expect(shown.product == right["product_id"]?.string, "\(user): \(place)")
            }
        }
        let known = Set(RevenueCatAnswer.members(own["entitlements"]).map(\.0))
        #expect(Set(info.rights.keys).isSubset(of: known), "\(user): \(place)")
        try compareSubscriptions(info, own, place)
    }

    private static func compareSubscriptions(
        _ info: RevenueCatAnswer, _ own: JSON, _ place: String
    ) throws {
        let all = own["subscriptions"]?.array ?? []
        for subscription in all {
            let product = try subscription.text("product_id")
            let shown = try #require(info.subscriptions[product], "\(product): \(place)")
            let state = subscription["state"]?.string
            let isOpen = ["paid", "trial", "offer", "grace", "unconfirmed"].contains(state)
            guard isOpen else { continue }
            #expect(
                (shown["grace_period_expires_date"] != .null) == (state == "grace"), "\(place)")
            // Of several purchases of one product, the SDK sees one.
            guard all.filter({ $0["product_id"]?.string == product }).count == 1 else { continue }
            #expect((shown["period_type"] == "trial") == (state == "trial"), "\(place)")
            let isOff = shown["unsubscribe_detected_at"] != .null
            #expect(isOff == (subscription["will_renew"] == false), "\(product): \(place)")
        }
    }

    @Test(arguments: Life.all)
    func `after each step of a purchase history, RevenueCat's answer agrees with our own answer`(
        life: Life
    )
        async throws
    {
        try await withShop(on: .sqlite, app: Phone.app()) { shop in
            try await shop.addDevice(Stage.account)
            var stage = Stage(simulator: shop.simulator, server: shop.server)
            let cache = TagCache()
            for (number, act) in life.acts.enumerated() {
                try await stage.play(act) { _ in
                    try await Self.compare(Stage.account, in: shop, cache, "act \(number) \(act)")
                }
            }
        }
    }

    private static let accounts: Int64 = 40
    private static let samples = 8

    @Test
    func `RevenueCat's answer and our own answer agree about random customers`() async throws {
        let seed = Dice.seed(announcedBy: "RevenueCatAnswerStories", usual: 1)
        try await withShop(on: .sqlite, app: Phone.app(), seed: seed) { shop in
            var dice = Dice(seed: seed)
            let made = try await shop.simulator.post(
                "/_sim/populations", ["accounts": .integer(Self.accounts), "within": "P6M"])
            let names = (made["accounts"]?.array ?? []).compactMap(\.string)
            #expect(names.count == Int(Self.accounts))
            var posted: Set<String> = []
            let cache = TagCache()
            for sample in 1...Self.samples {
                let hours = Int.random(in: 400...620, using: &dice)
                try await CopiedDocumentStories.pass("PT\(hours)H", in: shop)
                let place = "sample \(sample) of seed \(seed)"
                for name in names {
                    try await Self.post(name, in: shop, &posted, place)
                    for isSandbox in [false, true] {
                        try await Self.compare(name, in: shop, sandbox: isSandbox, cache, place)
                    }
                }
            }
            #expect(await cache.hits > 0, "seed \(seed)")
            #expect(posted.count > Int(Self.accounts))
        }
    }

    /// The app posts each new transaction of the account's first device, if the account has
    /// arrived.
    static func post(
        _ name: String, in shop: Shop, _ posted: inout Set<String>, _ place: String
    ) async throws {
        let device = try await shop.simulator.send("GET", "/_sim/devices/\(name)-1/transactions")
        guard device.status == 200 else { return }
        let phone = Phone(shop.server, as: name)
        for signed in try device.json["signed_transactions"]?.array?.compactMap(\.string) ?? [] {
            let payload = try JSON(parsing: try #require(CompactJWS(signed)?.payload))
            let number = try payload.text("transactionId")
            guard posted.insert(number).inserted else { continue }
            let answer = try await phone.post(signed, "purchase")
            guard answer.status == 200 else {
                #expect(try answer.json["code"] == 7102, "\(name): \(place)")
                continue
            }
            let info = try RevenueCatAnswer(try answer.json)
            // Without this the SDK would never finish a consumable.
            if payload["type"] == "Consumable", payload["revocationDate"] == nil {
                #expect(info.oneTimeTransactions.contains(number), "\(name): \(place)")
            }
        }
    }
}

/// What the SDK has stored of its last answers, with their tags.
private actor TagCache {
    private var answers: [String: (tag: String, info: RevenueCatAnswer)] = [:]
    /// How often a stored answer was used.
    private(set) var hits = 0

    /// The customer as the SDK reads them: the stored answer if the response is 304.
    func info(of phone: RevenueCatPhone) async throws -> RevenueCatAnswer {
        let known = answers[phone.user]
        let path = RevenueCatPhone.path(phone.user)
        let answer = try await phone.send(
            "GET", path, nil, ["X-RevenueCat-ETag": known?.tag ?? ""])
        if let known, answer.status == 304 {
            hits += 1
            return known.info
        }
        #expect(answer.status == 200)
        let info = try RevenueCatAnswer(try answer.json)
        answers[phone.user] = (try #require(answer.revenueCatTag), info)
        return info
    }
}
