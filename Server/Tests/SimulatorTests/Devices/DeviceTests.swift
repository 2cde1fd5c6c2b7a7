import AppStoreFormats
import Eventually
import Testing

@testable import Simulator

/// What StoreKit shows on a device, over HTTP.
@Suite struct DeviceTests {
    private let device = "/_sim/devices/anna-1"

    private func stage(_ change: (inout SimulatorSettings) -> Void = { _ in }) async throws -> Stage
    {
        let stage = try Stage(shop: try CatShop.file(), change)
        try await stage.simulator.addDevice(account: "anna")
        return stage
    }

    @Test func `a finished transaction is finished on all devices of the account`() async throws {
        let stage = try await stage()
        try await stage.simulator.addDevice(account: "anna")
        let gem = try await stage.buy("gem").transactionID
        try await stage.buy("book")
        let device = device
        try await stage.withClient { client in
            let path = "\(device)/unfinished"
            #expect(try await client.json(path)["signed_transactions"]?.array?.count == 2)
            for _ in 0..<2 {
                _ = try await client.json("\(device)/transactions/\(gem)/finish", "{}")
            }
            for name in ["anna-1", "anna-2"] {
                let left = try await client.json("/_sim/devices/\(name)/unfinished")
                let signed = try require(left["signed_transactions"]?.array?.first?.string, "none")
                let payload = try decode(TransactionPayload.self, signed)
                #expect(payload.productId == "book")
                #expect(left["signed_transactions"]?.array?.count == 1)
            }
            let unknown = try await client.json(
                "\(device)/transactions/1/finish", "{}", status: 404)
            #expect(unknown["code"] == "unknown_transaction")
        }
    }

    @Test func `a purchase is announced only on the other devices of the account`()
        async throws
    {
        let stage = try await stage()
        try await stage.simulator.addDevice(account: "anna")
        let device = device
        try await stage.withClient { client in
            async let first = client.text("\(device)/updates?limit=3")
            async let second = client.text("/_sim/devices/anna-2/updates?limit=2")
            try await eventually("two streams listen") {
                await stage.simulator.listeners.count == 2
            }
            try await stage.buy("pro.monthly", offer: "none")
            try await stage.advance("P1M")
            // The buyer gets the status, then the renewal and its status.
            #expect(try await Self.events(first.1) == ["status", "transaction", "status"])
            #expect(try await Self.events(second.1) == ["transaction", "status"])
            let text = try await second.1
            let line = try require(text.split(separator: "\n").first { $0.hasPrefix("data") }, "")
            let signed = try JSON(parsing: line.dropFirst(6).utf8)["signed_transaction"]?.string
            let payload = try decode(TransactionPayload.self, signed ?? "")
            #expect(payload.productId == "pro.monthly")
        }
        #expect(await stage.simulator.listeners.count == 0)
    }

    private static func events(_ text: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix("event: ") }.map {
            String($0.dropFirst(7))
        }
    }

    @Test func `when a device begins to listen, it gets its unfinished transactions`() async throws
    {
        let stage = try await stage()
        try await stage.buy("gem")
        try await stage.buy("book")
        let device = device
        try await stage.withClient { client in
            let (_, text) = try await client.text("\(device)/updates?limit=2")
            #expect(Self.events(text) == ["transaction", "transaction"])
        }
    }

    @Test func `a reset ends every stream of updates`() async throws {
        let stage = try await stage()
        let device = device
        try await stage.withClient { client in
            async let open = client.text("\(device)/updates")
            try await eventually("one stream listens") {
                await stage.simulator.listeners.count == 1
            }
            _ = try await client.json("/_sim/reset", "{}")
            #expect(try await open == (200, "retry: 1000\n\n"))
        }
    }

    @Test func `a purchase call ends as purchased, pending, cancelled or failed`() async throws {
        let stage = try await stage()
        let device = device
        try await stage.withClient { client in
            let path = "\(device)/purchases"
            let paid = try await client.json(path, #"{"product_id": "book"}"#)
            #expect(paid["result"] == "purchased" && paid["signed_transaction"]?.string != nil)
            let waits = try await client.json(path, #"{"product_id": "gem", "choice": "ask"}"#)
            #expect(waits["result"] == "pending" && waits["reason"] == "ask_to_buy")
            let id = try require(waits["transaction_id"]?.string, "no id")
            let cancelled = try await client.json(
                path, #"{"product_id": "gem", "choice": "cancel"}"#)
            #expect(cancelled == ["result": "cancelled"])
            let failed = try await client.json(path, #"{"product_id": "gem", "choice": "fail"}"#)
            #expect(failed == ["result": "failed", "error": "unknown"])
            let truth = try await client.json("/_sim/truth/anna")
            #expect(truth["pending"]?.array?.first?["id"]?.string == id)
            let approved = try await client.json("/_sim/transactions/\(id)/approve", "{}")
            #expect(approved["result"] == "purchased")
            let again = try await client.json("/_sim/transactions/\(id)/decline", "{}", status: 404)
            #expect(again["code"] == "unknown_pending_purchase")
        }
    }

    @Test
    func `products have the device's prices and eligibility; unknown ids are listed separately`()
        async throws
    {
        let stage = try await stage()
        try await stage.buy("pro.monthly")
        try await stage.withClient { client in
            let answer = try await client.json(
                "/_sim/products?ids=pro.monthly,pro.yearly,nothing&device=anna-1")
            #expect(answer["invalid_ids"] == ["nothing"])
            let products = try require(answer["products"]?.array, "no products")
            #expect(products.map { $0["price"] } == ["9.99", "59.99"])
            #expect(products.allSatisfy { $0["currency"] == "USD" })
            let terms = products[0]["subscription"]
            let introductory = terms?["introductory_offer"]
            #expect(introductory?["eligible"] == false && introductory?["reason"] != .null)
            let promotional = terms?["promotional_offers"]?.array
            #expect(promotional?.map { $0["eligible"] } == [true, true, true])
            let plans = products[1]["subscription"]?["billing_plans"]?.array
            #expect(plans?.map { $0["commitment_price"] } == ["59.99", "71.88"])
            let all = try await client.json("/_sim/products")["products"]?.array
            #expect(all?.count == 6)
            #expect(all?.first?["subscription"] == .null)
        }
    }

    @Test func `a reset applies the families and prices in its request, and warns about the rest`()
        async throws
    {
        let stage = try await stage()
        try await stage.withClient { client in
            let shop = CatShop.text(settings: #"{"_storefront": "DEU", "_timeRate": 77}"#)
            let reset = try await client.json(
                "/_sim/reset",
                """
                {"shop": \(shop), "families": {"cats": ["anna", "ben"]},
                 "prices": {"book": {"DEU": "8.99"}},
                 "price_history": {"gem": [{"from": "2026-02-01T00:00:00Z", "price": "2.99"}]},
                 "now": "2026-01-10T20:00:00Z"}
                """)
            let warnings = reset["warnings"]?.array?.compactMap(\.string)
            #expect(
                warnings == ["settings: the time rate 77 is not known; the sandbox keeps its own"])
            for name in ["anna", "ben"] {
                _ = try await client.json("/_sim/devices", #"{"account": "\#(name)"}"#)
            }
            let ben = try await client.json("/_sim/truth/ben")["family"]
            #expect(ben == ["name": "cats", "members": ["anna", "ben"]])
            let before = try await client.json("/_sim/products?ids=book,gem&device=anna-1")
            #expect(before["products"]?.array?.map { $0["price"] } == ["8.99", "0.99"])
            #expect(before["products"]?.array?.first?["currency"] == "EUR")
            _ = try await client.json("/_sim/clock", #"{"advance": "P1M"}"#)
            let after = try await client.json("/_sim/products?ids=book,gem&device=anna-1")
            #expect(after["products"]?.array?.map { $0["price"] } == ["8.99", "2.99"])
        }
    }

    @Test(arguments: [
        ("/_sim/reset", #"{"families": {"cats": []}}"#, "bad_request"),
        ("/_sim/reset", #"{"families": {"cats": ["a"], "dogs": ["a"]}}"#, "bad_request"),
        ("/_sim/reset", #"{"prices": {"nothing": {"DEU": "1"}}}"#, "unknown_product"),
        ("/_sim/reset", #"{"prices": {"book": {"ATL": "1"}}}"#, "unknown_storefront"),
        ("/_sim/reset", #"{"prices": {"book": {"DEU": "1,99"}}}"#, "bad_request"),
        ("/_sim/reset", #"{"price_history": {"book": [{"price": "1"}]}}"#, "bad_request"),
        ("/_sim/reset", #"{"time_rate": 77}"#, "bad_request"),
        (
            "/_sim/devices/anna-1/purchases", #"{"product_id": "book", "choice": "x"}"#,
            "bad_request"
        ),
        (
            "/_sim/devices/anna-1/purchases",
            #"{"product_id": "basic", "billing_plan": "MONTHLY"}"#, "unknown_billing_plan"
        ),
        (
            "/_sim/devices/anna-1/purchases",
            #"{"product_id": "basic", "offer": {"id": "promo.basic", "key": "x"}}"#, "bad_request"
        ),
        ("/_sim/families/cats/leave", #"{"account": "anna"}"#, "wrong_state"),
        ("/_sim/families/cats/join", #"{"account": "zoe"}"#, "unknown_account"),
        ("/_sim/transactions/1/stop-sharing", "{}", "unknown_subscription"),
    ])
    func `a request with an invalid value is refused, and the problem names the value`(
        path: String, body: String, code: String
    ) async throws {
        let stage = try await stage()
        try await stage.withClient { client in
            let (status, text) = try await client.text(path, body)
            #expect(status >= 400 && status < 500)
            #expect(try JSON(parsing: text.utf8)["code"]?.string == code, "\(text)")
        }
    }

    @Test func `the API has routes for redeeming codes, win-back offers and the end of sharing`()
        async throws
    {
        let stage = try await stage()
        try await stage.withClient { client in
            for name in ["anna", "ben"] {
                _ = try await client.json(
                    "/_sim/devices", #"{"account": "\#(name)", "family": "cats"}"#)
            }
            let bought = try await client.json(
                "/_sim/devices/anna-1/purchases", #"{"product_id": "pro.monthly"}"#)
            let id = try require(bought["original_transaction_id"]?.string, "no id")
            let chain = "/_sim/subscriptions/\(id)"
            let redeemed = try await client.json("\(chain)/redeem-code", #"{"offer": "ANYCAT"}"#)
            #expect(redeemed["notifications"]?.array?.first?["type"] == "OFFER_REDEEMED")
            _ = try await client.json("\(chain)/stop-sharing", "{}")
            let last = try await client.json("/_sim/notifications")["notifications"]?.array?.last
            #expect(last?["type"] == "REVOKE" && last?["account"] == "ben")
            _ = try await client.json("\(chain)/cancel", "{}")
            _ = try await client.json("/_sim/clock", #"{"advance": "P3M"}"#)
            let back = try await client.json("\(chain)/win-back", "{}")
            #expect(back["purchase"]?["state"] == "offer")
            #expect(back["notifications"]?.array?.first?["subtype"] == "RESUBSCRIBE")
        }
    }
}
