import AppStoreFormats
import Testing

@testable import Simulator

/// The App Store's sheets, messages and purchase intents on a device.
@Suite(.timeLimit(.minutes(5))) struct DeviceSheetTests {
    private let device = "/_sim/devices/anna-1"

    private func stage() async throws -> Stage {
        let stage = try Stage(shop: try CodeShop.file())
        try await stage.simulator.addDevice(account: "anna")
        return stage
    }

    @Test func `a refund is requested once; a second request is a duplicate`() async throws {
        let stage = try await stage()
        let gem = try await stage.buy("gem").transactionID
        let path = device + "/refund-request"
        try await stage.withClient { client in
            func ask(_ more: String = "") async throws -> JSON? {
                try await client.json(path, #"{"transaction_id":"\#(gem)"\#(more)}"#)["result"]
            }
            #expect(try await ask(#","choice":"cancel""#) == "user_cancelled")
            #expect(try await stage.story().contains { $0.hasPrefix("CONSUMPTION") } == false)
            #expect(try await ask() == "success")
            #expect(try await ask() == "duplicate_request")
            try await stage.advance("P3D")
            _ = try await client.json(path, #"{"transaction_id":"1"}"#, status: 404)
        }
        #expect(try await stage.story().filter { $0.hasPrefix("CONSUMPTION") }.count == 1)
    }

    @Test func `a subscription that is cancelled in the sheet is not renewed`() async throws {
        let stage = try await stage()
        try await stage.buy("pro.monthly", offer: "none")
        let path = device + "/manage-subscriptions"
        try await stage.withClient { client in
            let seen = try await client.json(path, "{}")
            #expect(seen["original_transaction_ids"]?.array?.count == 1)
            #expect(try await stage.truth().willRenew)
            _ = try await client.json(path, #"{"choice":"cancel","group_id":"cats"}"#)
            #expect(try await stage.truth().willRenew == false)
            _ = try await client.json(path, #"{"choice":"cancel","group_id":"dogs"}"#, status: 409)
            _ = try await client.json(path, #"{"choice":"resume"}"#)
            _ = try await client.json(path, #"{"choice":"change","product_id":"basic"}"#)
            #expect(try await stage.truth().renewsTo == "basic")
        }
    }

    @Test func `an offer code that is redeemed in the sheet is announced on the same device`()
        async throws
    {
        let stage = try await stage()
        let device = device
        try await stage.withClient { client in
            #expect(try await client.json(device + "/redeem-code", "{}")["result"] == "cancelled")
            let updates = try await stage.simulator.updates(on: "anna-1", limit: 1)
            let bought = try await client.json(device + "/redeem-code", #"{"code":"NEWCAT"}"#)
            #expect(bought["result"] == "purchased")
            var names: [String] = []
            for await event in updates { names.append(event.name) }
            #expect(names == ["transaction"])
            _ = try await client.json(device + "/redeem-code", #"{"code":"NONE"}"#, status: 404)
        }
    }

    @Test func `an offer code makes one purchase of a one-time product cheaper`() async throws {
        let stage = try await stage()
        let device = device
        let signed = try await stage.buy("gem", offer: "FREEGEM").signedTransaction
        let payload = try decode(TransactionPayload.self, signed)
        #expect(payload.price == 0)
        #expect(payload.offerType == .code)
        #expect(payload.offerIdentifier == "FREEGEM")
        #expect(payload.offerDiscountType == .oneTime)
        #expect(payload.offerPeriod == nil)
        try await stage.withClient { client in
            let again = try await client.json(
                device + "/purchases", #"{"product_id":"gem","offer":"FREEGEM"}"#, status: 409
            )
            #expect(again["code"] == "offer_not_eligible")
            let redeemed = try await client.json(device + "/redeem-code", #"{"code":"HALFBOOK"}"#)
            let text = try require(redeemed["signed_transaction"]?.string, "nothing bought")
            let book = try decode(TransactionPayload.self, text)
            #expect(book.productId == "book")
            #expect(book.price == 4990)
        }
        let full = try await stage.buy("gem").signedTransaction
        #expect(try decode(TransactionPayload.self, full).price == 990)
    }

    @Test
    func `an App Store message waits until it is displayed, and then the choice takes effect`()
        async throws
    {
        let stage = try await stage()
        let path = device + "/messages"
        try await stage.buy("pro.monthly", offer: "none")
        try await stage.withClient { client in
            func waiting() async throws -> [JSON] {
                try await client.json(path)["messages"]?.array ?? []
            }
            func show(_ choice: String) async throws {
                let id = try require(try await waiting().first?["id"]?.string, "no message")
                _ = try await client.json("\(path)/\(id)/display", #"{"choice":"\#(choice)"}"#)
                #expect(try await waiting().isEmpty)
            }
            #expect(try await waiting().isEmpty)
            _ = try await client.json(
                "/_sim/subscriptions/anna:pro.monthly/raise-price", #"{"price":"12.99"}"#)
            #expect(try await waiting().map { $0["reason"] } == ["price_increase_consent"])
            try await show("accept")
            #expect(try await stage.story().last?.hasPrefix("PRICE_INCREASE/ACCEPTED") == true)
            _ = try await client.json("/_sim/subscriptions/anna:pro.monthly/fail-billing", "{}")
            try await stage.advance("P1M")
            #expect(try await waiting().map { $0["reason"] } == ["billing_issue"])
            try await show("accept")
            #expect(try await stage.truth().state == .paid)
            _ = try await client.json("/_sim/subscriptions/anna:pro.monthly/cancel", "{}")
            try await stage.advance("P2M")
            #expect(try await waiting().map { $0["reason"] } == ["win_back_offer"])
            try await show("close")
            #expect(try await stage.truth().isOpen == false)
            _ = try await client.json(path, "{}")
            #expect(try await waiting().map { $0["reason"] } == ["generic"])
            try await show("close")
        }
    }

    @Test func `a purchase intent survives a cold start, and is delivered once`() async throws {
        let stage = try await stage()
        let path = device + "/purchase-intents"
        let device = device
        try await stage.withClient { client in
            _ = try await client.json(path, #"{"product_id":"none"}"#, status: 404)
            _ = try await client.json(path, #"{"product_id":"pro.monthly"}"#)
            _ = try await client.json(device + "/launch", "{}")
            let waiting = try await client.json(path)["intents"]?.array ?? []
            #expect(waiting.map { $0["product_id"] } == ["pro.monthly"])
            let id = try require(waiting.first?["id"]?.string, "no id")
            let left = try await client.json("\(path)/\(id)/take", "{}")
            #expect(left["intents"]?.array?.isEmpty == true)
            _ = try await client.json("\(path)/\(id)/take", "{}", status: 404)
        }
    }

    @Test func `a signed-out device lists no purchases and buys nothing`() async throws {
        let stage = try await stage()
        let device = device
        try await stage.buy("book")
        try await stage.withClient { client in
            _ = try await client.json(device + "/sign-out", "{}")
            #expect(try await client.json(device)["account"] == .null)
            let nothing = try await client.json(device + "/entitlements")
            #expect(nothing["signed_transactions"]?.array?.isEmpty == true)
            for read in ["app-transaction", "receipt"] {
                let refused = try await client.json("\(device)/\(read)", status: 409)
                #expect(refused["code"] == "signed_out")
            }
            let purchase = try await client.json(
                device + "/purchases", #"{"product_id":"gem"}"#)
            #expect(purchase["result"] == "cancelled")
            _ = try await client.json(device + "/account", #"{"account":"anna"}"#)
            let back = try await client.json(device + "/entitlements")
            #expect(back["signed_transactions"]?.array?.count == 1)
        }
        #expect(stage.letterBox.count == 1)
    }

    @Test func `a device whose restrictions forbid purchases buys nothing`() async throws {
        let stage = try await stage()
        let device = device
        try await stage.withClient { client in
            let state = try await client.json(
                device + "/settings", #"{"can_make_payments":false}"#)
            #expect(state["can_make_payments"] == false)
            let refused = try await client.json(
                device + "/purchases", #"{"product_id":"gem"}"#)
            #expect(refused["error"] == "purchase_not_allowed")
            _ = try await client.json(device + "/settings", #"{"can_make_payments":true}"#)
            let bought = try await client.json(
                device + "/purchases", #"{"product_id":"gem"}"#)
            #expect(bought["result"] == "purchased")
        }
    }
}
