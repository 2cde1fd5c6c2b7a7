import AppStoreFormats
import Dice
import Ledger
import Testing

@testable import Program

/// Compares what a backend reads by RevenueCat's REST API with our own answer.
@Suite(.serialized) struct RevenueCatServerStories {
    private typealias Phone = RevenueCatPhone

    private static let project = "/v2/projects/birds"

    private static func list(
        _ name: String, of user: String, in shop: Shop, _ query: String
    ) async throws -> [JSON] {
        var all: [JSON] = []
        var next: String? = "\(project)/customers/\(user)/\(name)?limit=100\(query)"
        while let path = next {
            let page = try await shop.support.get(path)
            all += page["items"]?.array ?? []
            next = page["next_page"]?.string.map { "\($0)&limit=100\(query)" }
        }
        return all
    }

    /// Both versions of the REST API about one customer, and our own answer at the same time.
    private static func compare(
        _ user: String, in shop: Shop, sandbox isSandbox: Bool, _ place: String
    ) async throws {
        let query = isSandbox ? "environment=sandbox" : ""
        let own = try await shop.support.get("/v1/customers/\(user)?\(query)")
        let first = try RevenueCatAnswer(
            try await shop.support.send(
                "GET", Phone.path(user), headers: ["X-Is-Sandbox": "\(isSandbox)"]
            ).json)
        let rights = RevenueCatAnswer.members(own["entitlements"])
        let open = rights.filter { $0.1["active"]?.bool == true }
        #expect(first.active == Set(open.map(\.0)), "\(user): \(place)")

        let known = try await shop.support.send("GET", "\(project)/customers/\(user)?\(query)")
        guard known.status == 200 else {
            #expect(known.status == 404 && rights.isEmpty, "\(user): \(place)")
            return
        }
        let active = try await list("active_entitlements", of: user, in: shop, "&\(query)")
        #expect(
            active.compactMap { $0["entitlement_id"]?.string } == open.map(\.0).sorted(),
            "\(user): \(place)")
        for (name, right) in open {
            let item = active.first { $0["entitlement_id"]?.string == name }
            #expect(item?["expires_at"]?.integer == moment(right["until"]), "\(user): \(place)")
        }
        try await compareSubscriptions(own, user, in: shop, query, place)
        try await comparePurchases(own, user, in: shop, query, place)
    }

    private static func compareSubscriptions(
        _ own: JSON, _ user: String, in shop: Shop, _ query: String, _ place: String
    ) async throws {
        let shown = try await list("subscriptions", of: user, in: shop, "&\(query)")
            .filter { $0["store"] == "app_store" }
        let all = own["subscriptions"]?.array ?? []
        #expect(shown.count == all.count, "\(user): \(place)")
        for subscription in all {
            let id = try subscription.text("purchase_id")
            let item = try #require(shown.first { $0["id"]?.string == id }, "\(id): \(place)")
            let state = subscription["state"]?.string
            let isOpen = ["paid", "trial", "offer", "grace", "unconfirmed"].contains(state)
            #expect(item["product_id"] == subscription["product_id"], "\(id): \(place)")
            #expect(item["environment"] == subscription["environment"], "\(id): \(place)")
            #expect(item["gives_access"]?.bool == isOpen, "\(id): \(place)")
            #expect((item["status"] == "in_grace_period") == (state == "grace"), "\(place)")
            #expect((item["status"] == "trialing") == (state == "trial"), "\(id): \(place)")
            #expect((item["status"] == "in_billing_retry") == (state == "retry"), "\(place)")
            #expect(
                item["current_period_ends_at"]?.integer == moment(subscription["period"]?["until"]),
                "\(id): \(place)")
            #expect(
                (item["auto_renewal_status"] == "will_not_renew")
                    == (subscription["will_renew"] == false), "\(id): \(place)")
        }
    }

    private static func comparePurchases(
        _ own: JSON, _ user: String, in shop: Shop, _ query: String, _ place: String
    ) async throws {
        let shown = try await list("purchases", of: user, in: shop, "&\(query)")
        for purchase in own["one_time"]?.array ?? [] {
            let item = shown.first {
                $0["product_id"] == purchase["product_id"]
                    && $0["purchased_at"]?.integer == moment(purchase["purchased_at"])
            }
            let isRefunded = purchase["revoked_at"].map { $0 != .null } ?? false
            #expect(
                item?["status"]?.string == (isRefunded ? "refunded" : "owned"),
                "\(user): \(place)")
        }
    }

    private static func moment(_ text: JSON?) -> Int64? {
        text?.string.flatMap { Instant($0) }?.milliseconds
    }

    private static let accounts: Int64 = 25
    private static let samples = 5

    @Test
    func `versions 1 and 2 of RevenueCat's API agree with our answer about random customers`()
        async throws
    {
        let seed = Dice.seed(announcedBy: "RevenueCatServerStories", usual: 1)
        try await withShop(on: .sqlite, app: Phone.app(), seed: seed) { shop in
            var dice = Dice(seed: seed)
            let made = try await shop.simulator.post(
                "/_sim/populations", ["accounts": .integer(Self.accounts), "within": "P6M"])
            let names = (made["accounts"]?.array ?? []).compactMap(\.string)
            var posted: Set<String> = []
            for sample in 1...Self.samples {
                let hours = Int.random(in: 500...900, using: &dice)
                try await CopiedDocumentStories.pass("PT\(hours)H", in: shop)
                let place = "sample \(sample) of seed \(seed)"
                for name in names {
                    try await RevenueCatAnswerStories.post(name, in: shop, &posted, place)
                    for isSandbox in [false, true] {
                        try await Self.compare(name, in: shop, sandbox: isSandbox, place)
                    }
                }
            }
            #expect(posted.count > Int(Self.accounts))
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `RevenueCat's API can grant, transfer and erase like our own API`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Phone.app()) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: "anna") == 200)
            let granted = try await shop.support.send(
                "POST", Phone.path("ben", "/entitlements/pro/promotional"),
                body: JSON.object([.init("duration", "monthly")]).bytes)
            #expect(granted.status == 201)
            #expect(try await shop.entitlement("pro", of: "ben")?["state"] == "granted")
            let ben = try await shop.server.get("/v1/customers/ben")
            let end = try #require(Self.moment(ben["entitlements"]?["pro"]?["until"]))
            let days = (end - (try #require(Self.moment(ben["as_of"])))) / 86_400_000
            #expect((27...31).contains(days), "\(days)")
            _ = try await shop.support.send(
                "POST", Phone.path("ben", "/entitlements/pro/revoke_promotionals"))
            #expect(try await shop.entitlement("pro", of: "ben")?["active"] == false)

            let moved = try await shop.support.send(
                "POST", "\(Self.project)/customers/anna/actions/transfer",
                body: JSON.object([.init("target_customer_id", "ben")]).bytes)
            #expect(moved.status == 200)
            #expect(try await shop.entitlement("pro", of: "ben")?["active"] == true)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] != true)
            let erased = try await shop.support.send("DELETE", Phone.path("ben"))
            #expect(try erased.json["deleted"] == true)
            let gone = try await shop.support.send("GET", "\(Self.project)/customers/ben")
            #expect(gone.status == 404)
            try await CopiedDocumentStories.expectClean(shop)
        }
    }
}

/// A backend that asks for what only the App Store can do.
@Suite(.serialized) struct RevenueCatExtensionStories {
    private typealias Phone = RevenueCatPhone

    private static func extend(
        _ user: String, _ transaction: String, by days: Int64, in shop: Shop
    ) async throws -> Wire.Answer {
        let body: JSON = ["extend_by_days": .integer(days), "extend_reason_code": 3]
        return try await shop.support.send(
            "POST", Phone.path(user, "/subscriptions/\(transaction)/extend"), body: body.bytes,
            headers: ["Content-Type": "application/json"])
    }

    private static func expiry(_ json: JSON) -> String? {
        json["subscriber"]?["subscriptions"]?["pro.monthly"]?["expires_date"]?.string
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a backend extends a renewal date twice in a year, and the answer has the new date`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Phone.app(), questions: .due) { shop in
            let bought = try await shop.buyMonth("anna")
            let number = try bought.text("original_transaction_id")
            let phone = Phone(shop.server, as: "anna")
            let posted = try await phone.post(try bought.text("signed_transaction"))
            var before = try #require(Self.expiry(try posted.json))
            for _ in 0..<2 {
                let answer = try await Self.extend("anna", number, by: 10, in: shop)
                #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
                let after = try #require(Self.expiry(try answer.json))
                let truth = try await shop.simulator.get("/_sim/truth/anna")
                let until = try #require(truth["purchases"]?.array?.first).text("until")
                #expect(after > before && until.hasPrefix(after.prefix(19)), "\(after), \(until)")
                before = after
            }
            let third = try await Self.extend("anna", number, by: 10, in: shop)
            #expect(third.status == 400)
            #expect(try third.json.text("message").contains("365 days"))
            // Nobody extends another customer's subscription.
            for (user, transaction) in [("ben", number), ("anna", "1")] {
                let answer = try await Self.extend(user, transaction, by: 10, in: shop)
                #expect(answer.status == 404)
                #expect(try answer.json["code"] == 7259)
            }
            #expect(Self.expiry(try await phone.info().json) == before)
            try await CopiedDocumentStories.expectClean(shop)
        }
    }

    @Test func `without a key for the App Store, the answer says what to configure`()
        async throws
    {
        try await withShop(on: .sqlite, app: Phone.app()) { shop in
            let bought = try await shop.buyMonth("anna")
            let number = try bought.text("original_transaction_id")
            let phone = Phone(shop.server, as: "anna")
            #expect(try await phone.post(try bought.text("signed_transaction")).status == 200)
            let answer = try await Self.extend("anna", number, by: 10, in: shop)
            #expect(answer.status == 400)
            #expect(try answer.json.text("message").contains("app_store"))
        }
    }
}
