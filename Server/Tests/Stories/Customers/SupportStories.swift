import AppStoreFormats
import Engine
import Ledger
import Testing

/// Support grants access, transfers purchases, and finds, explains and erases customers.
@Suite(.serialized) struct SupportStories {
    private static let token = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"

    /// Buys on an account's first device and posts the purchase as a customer.
    private static func buy(
        _ account: String, _ product: String = "pro.monthly", as customer: String, in shop: Shop,
        _ more: [String: JSON] = [:]
    ) async throws -> JSON {
        try await shop.addDevice(account, more)
        let bought = try await shop.simulator.post(
            "/_sim/devices/\(account)-1/purchases", ["product_id": .string(product)])
        try await shop.server.post(
            "/v1/purchases",
            [
                "customer_id": .string(customer),
                "signed_transactions": [.string(try bought.text("signed_transaction"))],
            ])
        return bought
    }

    private static func support(_ shop: Shop) -> Wire {
        Wire(base: shop.server.base, bearer: Shop.secretKey)
    }

    private static func types(_ shop: Shop, of customer: String? = nil) async throws -> [String] {
        let query = customer.map { "&customer_id=\($0)" } ?? ""
        let list = try await support(shop).get("/v1/events?limit=500\(query)")
        return try (list["items"]?.array ?? []).map { try $0.text("type") }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a grant ends at the given time, and an event reports the end`(database: StoryDatabase)
        async throws
    {
        try await withShop(on: database) { shop in
            let support = Self.support(shop)
            try await support.post(
                "/v1/customers/anna/grants",
                ["entitlement": "pro", "until": "2026-01-08T12:00:00Z", "reason": "outage"])
            #expect(try await shop.entitlement("pro", of: "anna")?["state"] == "granted")
            try await shop.simulator.post("/_sim/clock", ["set": "2026-01-08T11:59:59.999Z"])
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
            #expect(try await Self.types(shop) == ["granted"])
            try await shop.simulator.post("/_sim/clock", ["set": "2026-01-08T12:00:00Z"])
            #expect(try await shop.entitlement("pro", of: "anna")?["state"] == "expired")
            while try await shop.engine.events.emitTimeBased() > 0 {}
            #expect(try await Self.types(shop) == ["granted", "grant_ended"])
            #expect(try await shop.engine.events.emitTimeBased() == 0)
            let text = try await shop.engine.customers.explain(
                "anna", app: "birds", environment: .production)
            #expect(
                text.contains("pro granted until 2026-01-08 12:00 UTC: outage"), "\(text)")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `the facts of an erased customer's purchases are kept, but the purchases have no owner`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let support = Self.support(shop)
            try await support.post(
                "/v1/customers/anna/aliases", ["customer_id": .string(Self.token)])
            let bought = try await Self.buy(
                "anna", as: "anna", in: shop, ["app_account_token": .string(Self.token)])
            try await support.post(
                "/v1/customers/anna/grants", ["entitlement": "plus", "reason": "anna@example.com"])
            let documents = try await shop.engine.maintenance.rebuild(verifyOnly: true).documents

            let first = try await support.send("DELETE", "/v1/customers/\(Self.token)")
            #expect(try first.json["unlinked_purchases"] == 1)
            let again = try await support.send("DELETE", "/v1/customers/anna")
            #expect(try again.json["unlinked_purchases"] == 0)
            for id in ["anna", Self.token] {
                let customer = try await shop.server.get("/v1/customers/\(id)")
                #expect(customer["entitlements"]?.members?.isEmpty == true)
                #expect(customer["aliases"] == [])
                #expect(try await Self.types(shop, of: id) == [])
            }
            let log = try await support.send("GET", "/v1/events?limit=500")
            let text = String(decoding: log.body, as: UTF8.self)
            #expect(!text.contains("\"anna\"") && !text.contains("example.com"))
            #expect(text.contains("unlinked") && text.contains("customer_erased"))
            let rebuilt = try await shop.engine.maintenance.rebuild(verifyOnly: true)
            #expect(rebuilt.isClean && rebuilt.documents == documents, "\(rebuilt)")
            let original = try bought.text("original_transaction_id")
            let found = try await support.get("/v1/customers?query=\(original)")
            #expect(found["items"]?.array?.first?["customer_id"]?.string == nil)
            #expect(found["items"]?.array?.count == 1)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after an erasure, no event contains the customer's id or the reasons that support gave`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let support = Self.support(shop)
            // The purchase that named anna and had no owner goes to ben. Carl's purchase goes to
            // dora, who is later merged into emma.
            try await shop.support.post(
                "/v1/customers/anna-anderson/aliases", ["customer_id": .string(Self.token)])
            try await shop.addDevice("a", ["app_account_token": .string(Self.token)])
            let named = try await shop.simulator.post(
                "/_sim/devices/a-1/purchases", ["product_id": "seeds.100"])
            try await Self.move(named, to: "ben", support)
            let carls = try await Self.buy("c", as: "carl-carlson", in: shop)
            try await Self.move(carls, to: "dora", support)
            try await support.post("/v1/customers/emma/aliases", ["customer_id": "dora"])
            // The erasure of fred also erases the reason why his purchase was blocked.
            let freds = try await Self.buy("f", as: "fred-fredson", in: shop)
            try await support.post(
                "/v1/customers/fred-fredson/blocks",
                [
                    "original_transaction_id": .string(try freds.text("original_transaction_id")),
                    "reason": "fred-fredson divorced",
                ])
            for id in ["anna-anderson", "carl-carlson", "fred-fredson"] {
                #expect(try await support.send("DELETE", "/v1/customers/\(id)").status == 200)
            }
            try await shop.server.post(
                "/v1/purchases",
                [
                    "customer_id": "gina",
                    "signed_transactions": [.string(try freds.text("signed_transaction"))],
                ])
            let log = try await support.send("GET", "/v1/events?limit=500")
            let history = try await support.send("GET", "/v1/customers/gina/history")
            let text = String(decoding: log.body + history.body, as: UTF8.self)
            for name in ["anna-anderson", "carl-carlson", "fred-fredson"] {
                #expect(!text.contains(name), "\(name)")
            }
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    private static func move(_ bought: JSON, to customer: String, _ support: Wire) async throws {
        try await support.post(
            "/v1/customers/\(customer)/transfers",
            [
                "original_transaction_id": .string(try bought.text("original_transaction_id")),
                "reason": "ticket 7",
            ])
    }

    @Test
    func `ids that differ only in Unicode form are two aliases, and the customer can be erased`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            for id in ["zo\u{EB}", "zoe\u{308}"] {
                try await shop.support.post(
                    "/v1/customers/zed/aliases", ["customer_id": .string(id)])
            }
            let customer = try await shop.server.get("/v1/customers/zed")
            #expect(customer["aliases"]?.array?.count == 2)
            let gone = try await Self.support(shop).send("DELETE", "/v1/customers/zed")
            #expect(gone.status == 200)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `the order id of a purchase or renewal finds its customer`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, questions: .due) { shop in
            let support = Self.support(shop)
            let bought = try await Self.buy("anna", as: "anna", in: shop)
            _ = try await Self.buy("ben", as: "ben", in: shop)
            let original = try bought.text("original_transaction_id")
            try await shop.simulator.post("/_sim/clock", ["advance": "P40D"])
            let events = try await support.get("/v1/events?customer_id=anna")["items"]?.array ?? []
            let renewed = try #require(events.last { $0["type"] == "renewed" })
            for transaction in [original, try renewed.text("transaction_id")] {
                let order = try await shop.simulator.get("/_sim/transactions/\(transaction)")
                    .text("order_id")
                for written in [order, order.lowercased()] {
                    let found = try await support.get("/v1/customers?query=\(written)")
                    #expect(
                        found["items"] == [
                            [
                                "customer_id": "anna", "aliases": [], "by": "order_id",
                                "purchase_id": .string("production:\(original)"),
                            ]
                        ], "\(written)")
                    #expect(found["app_store"]?.string == "answered")
                    #expect(found["original_transaction_ids"] == [.string(original)])
                }
            }
            let none = try await support.get("/v1/customers?query=M0000000000")
            #expect(none["items"] == [])
            #expect(none["app_store"]?.string == "answered")
            #expect(none["original_transaction_ids"] == [])
            let id = try await support.get("/v1/customers?query=anna")
            #expect(id["app_store"]?.string == "not_asked")
        }
    }

    @Test func `an erased customer who returns has access again only after posting a purchase`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            let bought = try await Self.buy(
                "anna", as: Self.token, in: shop, ["app_account_token": .string(Self.token)])
            _ = try await Self.support(shop).send("DELETE", "/v1/customers/\(Self.token)")
            try await shop.support.post(
                "/v1/customers/anna/aliases", ["customer_id": .string(Self.token)])
            #expect(try await shop.entitlement("pro", of: "anna") == nil)
            try await shop.server.post(
                "/v1/purchases",
                [
                    "customer_id": "anna",
                    "signed_transactions": [.string(try bought.text("signed_transaction"))],
                ])
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a customer's history lists purchases, decisions and events in order`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let support = Self.support(shop)
            let bought = try await Self.buy("ben", as: "ben", in: shop)
            let original = try bought.text("original_transaction_id")
            try await shop.simulator.post("/_sim/clock", ["advance": "P1D"])
            let order: JSON = ["original_transaction_id": .string(original), "reason": "ticket 9"]
            try await support.post("/v1/customers/anna/transfers", order)
            try await shop.simulator.post("/_sim/clock", ["advance": "PT2H"])
            try await support.post("/v1/customers/anna/blocks", order)
            try await support.post(
                "/v1/customers/anna/grants", ["entitlement": "pro", "reason": "ticket 9"])
            for (query, count) in [("", 1), ("?environment=sandbox", 0)] {
                let list = try await support.get("/v1/customers/anna/transfers\(query)")
                #expect(list["items"]?.array?.count == count)
            }
            let history = try await support.get("/v1/customers/anna/history?limit=1000")
            let items = history["items"]?.array ?? []
            let times = try items.map { try $0.text("at") }
            #expect(times == times.sorted())
            let kinds = Set(try items.map { try $0.text("kind") })
            #expect(kinds == ["fact", "link", "transfer", "block", "grant", "event"])
            let moments = try Dictionary(
                grouping: items, by: { try $0.text("kind") }
            ).mapValues { try $0.map { try $0.text("at") } }
            #expect(moments["link"] == ["2026-01-02T12:00:00.000Z"])
            #expect(moments["block"] == ["2026-01-02T14:00:00.000Z"], "not that of the link")
            let sentences = try items.map { try $0.text("sentence") }
            #expect(
                sentences.contains(
                    "Purchase \(original) moved from ben to anna, by support: ticket 9.")
            )
            var paged: [JSON] = []
            var cursor = ""
            repeat {
                let page = try await support.get(
                    "/v1/customers/anna/history?limit=2&after=\(cursor)")
                let lines = page["items"]?.array ?? []
                paged += lines
                cursor = page["next_cursor"]?.string ?? ""
                #expect(lines.count == 2 || cursor.isEmpty)
            } while !cursor.isEmpty && paged.count < items.count
            #expect(paged == items && cursor.isEmpty)
            let unknown = try await support.send("GET", "/v1/customers/anna/history?after=2")
            #expect(unknown.status == 400)
            let text = try await shop.engine.customers.explain(
                "anna", app: "birds", environment: .production)
            #expect(text.contains("moved from ben to anna") && text.contains("granted"))
        }
    }

    @Test
    func `if terms may not overlap, a preview advises against a second term while one is active`()
        async throws
    {
        var app = birds
        app.settings.terms.overlap = .refuse
        try await withShop(on: .sqlite, app: app) { shop in
            let question: JSON = ["customer_id": "anna", "product_id": "season.spring"]
            let free = try await shop.server.post("/v1/purchases/preview", question)
            #expect(free["product"]?["buy"] == true)
            _ = try await Self.buy("anna", "season.spring", as: "anna", in: shop)
            let running = try await shop.server.post("/v1/purchases/preview", question)
            #expect(running["product"]?["buy"] == false)
            #expect(running["product"]?["why"] == "term_runs")
            try await shop.simulator.post("/_sim/clock", ["advance": "P95D"])
            let over = try await shop.server.post("/v1/purchases/preview", question)
            #expect(over["product"]?["buy"] == true)
        }
    }

    @Test func `a preview says if the store account already pays for another customer`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            let bought = try await Self.buy("shared", as: "anna", in: shop)
            let signed: JSON = [.string(try bought.text("signed_transaction"))]
            let question: JSON = [
                "customer_id": "ben", "signed_transactions": signed, "product_id": "pro.yearly",
            ]
            let byApp = try await shop.server.post("/v1/purchases/preview", question)
            #expect(byApp["product"]?["why"] == "store_account_of_another")
            #expect(byApp["purchases"]?.array?.first?["owner"] == "another")
            #expect(byApp["purchases"]?.array?.first?["owner_id"]?.string == nil)
            let byServer = try await Self.support(shop).post("/v1/purchases/preview", question)
            #expect(byServer["purchases"]?.array?.first?["owner_id"] == "anna")
            #expect(try await Self.types(shop, of: "ben") == [])
            let own: JSON = ["customer_id": "anna", "product_id": "pro.monthly"]
            let had = try await shop.server.post("/v1/purchases/preview", own)
            #expect(had["product"]?["why"] == "already_had")
        }
    }

    @Test func `with proofs required, an app key alone cannot act for a customer`() async throws {
        var app = birds
        app.settings.proof = .hmac(
            AppSecret("0123456789abcdef0123456789abcdef"), endless: true)
        // HMAC-SHA256 of "anna", computed with Python.
        let proof = "d662e85040070d4d15c292ca6947ef75c6ce569dbb36194cd0b7747d1d10dbb5"
        try await withShop(on: .sqlite, app: app) { shop in
            let header = ["Perennial-Customer-Proof": proof]
            func answer(_ path: String, _ headers: [String: String] = [:]) async throws -> JSON {
                try await shop.server.send("GET", path, headers: headers).json
            }
            #expect(try await answer("/v1/customers/anna")["code"] == "customer_proof_missing")
            #expect(
                try await answer("/v1/customers/ben", header)["code"]
                    == "customer_proof_not_valid")
            #expect(try await answer("/v1/customers/anna", header)["customer_id"] == "anna")
            let anonymous = "anon_0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"
            #expect(try await answer("/v1/customers/\(anonymous)")["customer_id"] != nil)
            let server = Self.support(shop)
            #expect(try await server.get("/v1/customers/ben")["customer_id"] == "ben")
            for (other, status) in [("ben", 401), (anonymous, 200)] {
                let body: JSON = ["customer_id": .string(other)]
                let united = try await shop.server.send(
                    "POST", "/v1/customers/anna/aliases", body: body.bytes, headers: header)
                #expect(united.status == status, "\(other)")
                let remedy = try united.json["remedy"]?.string
                #expect(status == 200 || remedy?.hasPrefix("Send the proof of each") == true)
            }
            let body: JSON = ["customer_id": "anna", "signed_transactions": ["a.b.c"]]
            let posted = try await shop.server.send(
                "POST", "/v1/purchases", body: body.bytes)
            #expect(posted.status == 401)
        }
    }
}
