import AppStoreFormats
import Hummingbird
import HummingbirdTesting
import Testing

@testable import Simulator

@Suite struct RouteTests {
    @Test func `the first steps of the simulator's guide work`() async throws {
        let stage = try Stage()
        try await stage.withClient { client in
            let device = try await client.json("/_sim/devices", #"{"account":"anna"}"#)
            #expect(device["device_id"] == "anna-1")
            let (code, signed) = try await client.text(
                "/_sim/devices/anna-1/purchases?only=signed_transaction",
                #"{"product_id":"pro.monthly"}"#)
            #expect(code == 200)
            let payload = try decode(TransactionPayload.self, signed)
            let id = try require(payload.originalTransactionId, "no id")
            let clock = try await client.json("/_sim/clock", #"{"advance":"P31D"}"#)
            #expect(clock["now"] == "2026-02-10T20:00:00.000Z")
            let answer = try await client.json("/_sim/subscriptions/\(id)/refund", "")
            #expect(answer["notifications"]?.array?.first?["type"] == "REFUND")
            #expect(answer["purchase"]?["state"] == "refunded")
            let truth = try await client.json("/_sim/truth/anna")
            #expect(truth["purchases"]?.array?.first?["open"] == false)
            let sent = try await client.json("/_sim/notifications")
            let last = sent["notifications"]?.array?.last
            #expect(last?["attempts"]?.array?.first?["status"] == 200)
        }
    }

    @Test func `a client may percent-encode the segments of a path`() async throws {
        try await Stage().withClient { client in
            _ = try await client.json("/_sim/devices", #"{"account":"anna"}"#)
            _ = try await client.json(
                "/_sim/devices/anna-1/purchases", #"{"product_id":"pro.monthly"}"#)
            let answer = try await client.json(
                "/_sim/subscriptions/anna%3Apro%2Emonthly/cancel", "{}")
            #expect(answer["purchase"]?["will_renew"] == false)
            let (status, _) = try await client.text("/_sim/truth/%FF")
            #expect(status == 400)
        }
    }

    @Test func `notifications are listed for all accounts or for selected ones`() async throws {
        try await Stage().withClient { client in
            for account in ["anna", "ben"] {
                _ = try await client.json("/_sim/devices", "{\"account\":\"\(account)\"}")
                _ = try await client.json(
                    "/_sim/devices/\(account)-1/purchases", #"{"product_id":"pro.monthly"}"#)
            }
            func accounts(_ query: String) async throws -> [String?]? {
                try await client.json("/_sim/notifications" + query)["notifications"]?.array?
                    .map { $0["account"]?.string }
            }
            #expect(try await accounts("") == ["anna", "ben"])
            #expect(try await accounts("?account=ben") == ["ben"])
            #expect(try await accounts("?account=ben,anna") == ["anna", "ben"])
            #expect(try await accounts("?account=cleo") == [])
        }
    }

    @Test func `a settings file accepts the fields of a reset's body, and refuses unknown fields`()
        throws
    {
        let given = SimulatorSettings(seed: 3, shop: try ExampleShop.file())
        let changed = try given.changed(
            by: ["grace_days": 28, "app": ["bundle_id": "com.example.cats"], "shop": "full"])
        #expect(changed.graceDays == 28 && changed.seed == 3)
        #expect(changed.bundleID == "com.example.cats")
        #expect(changed.shop.products.contains { $0.id == "tiers.gold" })
        let failure = #expect(throws: SimulatorProblem.self) {
            try given.changed(by: ["graec_days": 3])
        }
        #expect(failure?.message == "The file has the unknown field graec_days.")
    }

    @Test func `a reset begins a new world, and keeps settings that the request does not name`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        try await stage.withClient { client in
            let shop = #"{"products":[{"productID":"gem","type":"Consumable","displayPrice":"1"}]}"#
            _ = try await client.json(
                "/_sim/reset", #"{"now":"2025-05-05T05:05:05Z","seed":9,"shop":\#(shop)}"#)
            #expect(
                try await client.json("/_sim/clock")["now"] == "2025-05-05T05:05:05.000Z")
            let products = try await client.json("/_sim/products")["products"]?.array
            #expect(products?.map { $0["product_id"] } == ["gem"])
            #expect(try await client.json("/_sim/notifications")["notifications"] == [])
            _ = try await client.json("/_sim/reset", #"{"shop":"example","notification_url":null}"#)
            #expect(try await client.json("/_sim/products")["products"]?.array?.count == 7)
        }
        #expect(await stage.simulator.settings.notificationURL == nil)
        #expect(await stage.simulator.settings.seed == 9)
    }

    @Test func `a reset to a named shop replaces the settings that came from the previous shop`()
        async throws
    {
        let stage = try Stage(
            shop: try CatShop.file(
                settings: #"{"_billingGracePeriodEnabled": false, "_timeRate": 1003}"#))
        try await stage.withClient { client in
            _ = try await client.json(
                "/_sim/reset",
                #"{"grace_for_paid_only":true,"ask_to_buy":true,"prices":{"gem":{"DEU":"2"}},"#
                    + #""families":{"cats":["anna"]},"habits":{"expired_never_sent":true}}"#)
            // Without a shop in the request, all shop settings stay.
            _ = try await client.json("/_sim/reset", #"{"seed":4}"#)
            let before = await stage.simulator.settings
            #expect(before.graceDays == 0 && before.sandboxPace == .every(30_000))
            #expect(before.graceForPaidOnly && before.rules.asksToBuy)
            _ = try await client.json("/_sim/reset", #"{"shop":"example"}"#)
        }
        let after = await stage.simulator.settings
        let fresh = SimulatorSettings(shop: try ExampleShop.file())
        #expect(after.graceDays == fresh.graceDays && after.sandboxPace == fresh.sandboxPace)
        #expect(!after.graceForPaidOnly && !after.rules.asksToBuy)
        #expect(after.rules.prices == fresh.rules.prices)
        // Settings that do not belong to the shop stay.
        #expect(after.rules.families == ["cats": ["anna"]])
        #expect(after.quirks == [.expiredNeverSent] && after.seed == 4)
    }

    @Test(arguments: [
        ("/_sim/clock", #"{"advance":"x"}"#, 400, "bad_request"),
        ("/_sim/clock", #"{"advence":"P1D"}"#, 400, "bad_request"),
        ("/_sim/clock", "[", 400, "bad_request"),
        ("/_sim/reset", #"{"shop":{"products":[{}]}}"#, 400, "bad_request"),
        ("/_sim/reset", #"{"grace_days":29}"#, 400, "bad_request"),
        ("/_sim/faults", #"{"notifications":{"drop":2}}"#, 400, "bad_request"),
        ("/_sim/devices", #"{"account":"a/b"}"#, 400, "bad_request"),
        ("/_sim/devices", #"{"account":"anna","storefront":"ZZZ"}"#, 400, "unknown_storefront"),
        ("/_sim/devices", #"{"account":"a","app_account_token":"anna"}"#, 400, "bad_request"),
        (
            "/_sim/devices/zoe-1/purchases", #"{"product_id":"gem","app_account_token":"7"}"#, 400,
            "bad_request"
        ),
        ("/_sim/devices/zoe-1/restore", "", 404, "unknown_device"),
        ("/_sim/subscriptions/1/cancel", "", 404, "unknown_subscription"),
        ("/_sim/nothing", "", 404, "unknown_route"),
    ])
    func `a refused call is answered with a problem that has a remedy`(
        path: String, body: String, status: Int, code: String
    ) async throws {
        try await Stage().withClient { client in
            let problem = try await client.json(path, body, status: status)
            #expect(problem["code"]?.string == code)
            #expect(problem["status"]?.integer == Int64(status))
            #expect(problem["remedy"]?.string?.isEmpty == false)
        }
    }

    @Test func `if a subscription is named by its old product, the remedy names the new product`()
        async throws
    {
        try await Stage().withClient { client in
            _ = try await client.json("/_sim/devices", #"{"account":"anna"}"#)
            _ = try await client.json(
                "/_sim/devices/anna-1/purchases", #"{"product_id":"pro.monthly"}"#)
            _ = try await client.json(
                "/_sim/subscriptions/anna:pro.monthly/change-product",
                #"{"product_id":"premium.monthly"}"#)
            let problem = try await client.json(
                "/_sim/subscriptions/anna:pro.monthly/cancel", "{}", status: 404)
            #expect(problem["remedy"]?.string?.contains("anna:premium.monthly") == true)
        }
    }

    @Test func `an app account token is written in lower case`() async throws {
        let stage = try Stage()
        try await stage.withClient { client in
            let token = #""app_account_token":"0CBE3F1B-7A5C-4B5E-8E54-D7C1F2A3B4C"#
            _ = try await client.json("/_sim/devices", #"{"account":"anna",\#(token)5"}"#)
            let path = "/_sim/devices/anna-1/purchases"
            _ = try await client.json(path, #"{"product_id":"pro.monthly"}"#)
            _ = try await client.json(path, #"{"product_id":"guide",\#(token)6"}"#)
        }
        let tokens = try await stage.letters().map(\.transaction.appAccountToken)
        #expect(
            tokens == [
                "0cbe3f1b-7a5c-4b5e-8e54-d7c1f2a3b4c5", "0cbe3f1b-7a5c-4b5e-8e54-d7c1f2a3b4c6",
            ])
    }

    @Test(arguments: [
        #"{"advance":"P1D","rate":-1}"#, #"{"set":"2026-02-01T00:00:00Z","rate":1e9}"#,
        #"{"advance":"P1D","set":"2025-01-01T00:00:00Z"}"#,
        #"{"advance":"P1D","set":"2026-02-01T00:00:00Z"}"#,
    ])
    func `a refused call does not move the clock`(body: String) async throws {
        try await Stage().withClient { client in
            let problem = try await client.json("/_sim/clock", body, status: 400)
            #expect(problem["code"] == "bad_request")
            let clock = try await client.json("/_sim/clock")
            #expect(clock["now"] == "2026-01-10T20:00:00.000Z" && clock["rate"] == 0)
        }
    }

    @Test func `a body over the limit is refused`() async throws {
        try await Stage().withClient { client in
            let body = #"{"account":""# + String(repeating: "a", count: 70_000) + #""}"#
            let problem = try await client.json("/_sim/devices", body, status: 413)
            #expect(problem["code"] == "body_too_large")
        }
    }

    @Test func `a response with a single field is plain text`() async throws {
        try await Stage().withClient { client in
            let now = try await client.text("/_sim/clock?only=now")
            #expect(now.1 == "2026-01-10T20:00:00.000Z")
            let rate = try await client.text("/_sim/clock?only=rate")
            #expect(rate.1 == "0")
            let unknown = try await client.text("/_sim/clock?only=x")
            #expect(unknown.0 == 400)
        }
    }

    @Test func `the parameter pretty indents a response and a problem`() async throws {
        try await Stage().withClient { client in
            let clock = try await client.text("/_sim/clock?pretty").1
            #expect(clock.hasPrefix("{\n  \"now\": \"2026-01-10T20:00:00.000Z\",\n"), "\(clock)")
            #expect(clock.hasSuffix("\n}\n"))
            let problem = try await client.text("/_sim/truth/nobody?pretty=1")
            #expect(problem.0 == 404 && problem.1.hasPrefix("{\n  \"type\": "), "\(problem.1)")
            for query in ["", "?pretty=false", "?pretty=0"] {
                let compact = try await client.text("/_sim/clock" + query).1
                #expect(compact.split(separator: "\n").count == 1)
            }
        }
    }

    @Test func `the root certificate is served as bytes`() async throws {
        let stage = try Stage()
        let app = Application(router: stage.simulator.router())
        let served = try await app.test(.router) { client in
            try await client.execute(uri: "/_sim/root.cer", method: .get) { response in
                [UInt8](response.body.readableBytesView)
            }
        }
        #expect(served == stage.simulator.rootDER)
    }

    @Test func `every route in the simulator's OpenAPI document exists`() async throws {
        try await Stage().withClient { client in
            let document = try await client.json("/_sim/openapi.json")
            let paths = try require(document["paths"]?.members, "no paths")
            #expect(paths.count > 25)
            for path in paths {
                let concrete = path.key.replacing("{id}", with: "x").replacing(
                    "{account}", with: "x")
                for operation in path.value.members ?? [] {
                    let body = operation.key == "post" ? "{}" : nil
                    let answer = try await client.text(concrete, body)
                    #expect(!answer.1.contains("unknown_route"), "\(operation.key) \(path.key)")
                    #expect(answer.0 < 500, "\(operation.key) \(path.key): \(answer.1)")
                }
            }
        }
    }

    @Test func `faults that are set over HTTP affect posted notifications`() async throws {
        let stage = try Stage()
        try await stage.withClient { client in
            _ = try await client.json("/_sim/faults", #"{"next":{"notifications":"drop"}}"#)
            _ = try await client.json(
                "/_sim/faults", #"{"notifications":{"delay_seconds":{"max":60}}}"#)
            let odds = try await client.json("/_sim/faults", "{}")["notifications"]
            #expect(odds?["delay"] == .decimal("1.0"))
        }
        try await stage.buy("pro.monthly")
        try await stage.advance("P1D")
        #expect(stage.letterBox.count == 0)
    }

    @Test func `a device's purchases are listed over HTTP`() async throws {
        let stage = try Stage()
        try await stage.buy("pro.yearly")
        try await stage.advance("P1W")
        try await stage.withClient { client in
            let device = "/_sim/devices/anna-1"
            let all = try await client.json("\(device)/transactions")["signed_transactions"]
            #expect(all?.array?.count == 2)
            let open = try await client.json("\(device)/entitlements")["signed_transactions"]
            #expect(open?.array?.count == 1)
            let status = try await client.json("\(device)/statuses")["statuses"]?.array?.first
            #expect(status?["status"] == 1)
            #expect(try await client.json("\(device)/storefront")["currency"] == "USD")
            let (_, app) = try await client.text(
                "\(device)/app-transaction?only=signed_app_transaction")
            let payload = try decode(AppTransactionPayload.self, app)
            #expect(payload.bundleId == ExampleShop.bundleID && payload.receiptType == .production)
        }
    }
}
