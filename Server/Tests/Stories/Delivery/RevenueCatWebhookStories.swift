import AppStoreFormats
import Engine
import Ledger
import Storage
import Testing

@testable import Program

/// What a handler for RevenueCat's webhooks receives from us.
@Suite(.serialized) struct RevenueCatWebhookStories {
    private static func app(_ receiver: Receiver) -> AppConfiguration {
        var app = birds
        app.settings.webhooks.endpoints = [
            ConfiguredWebhook(
                id: "crm",
                settings: WebhookSettings(
                    url: receiver.url, format: .revenueCat, authorization: "a fixed string"),
                secrets: [webhookSecret])
        ]
        return app
    }

    @Test(arguments: StoryDatabase.allCases)
    func `every App Store transaction reaches a RevenueCat receiver once, with its customer`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver()
        try await withShop(on: database, app: Self.app(receiver)) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: "anna") == 200)
            try await shop.advance("P65D")
            let chain = try bought.text("original_transaction_id")
            try await shop.simulator.post("/_sim/subscriptions/\(chain)/fail-billing")
            try await shop.advance("P100D")

            let events = receiver.revenueCatEvents
            let payments = events.filter {
                $0["type"] == "INITIAL_PURCHASE" || $0["type"] == "RENEWAL"
            }
            let paid = try await shop.transactionIDs(of: "anna-1")
            #expect(paid.count >= 3)
            #expect(payments.compactMap { $0["transaction_id"]?.string }.sorted() == paid.sorted())
            let types = events.compactMap { $0["type"]?.string }
            let expected = [
                "INITIAL_PURCHASE", "RENEWAL", "BILLING_ISSUE", "CANCELLATION", "EXPIRATION",
            ]
            for type in expected { #expect(types.contains(type), "\(types)") }
            // The customer is the one who posted the purchase, as soon as the server knows that
            // customer.
            let owner = events.drop { $0["type"] != "TRANSFER" && $0["app_user_id"] != "anna" }
            #expect(
                owner.allSatisfy { $0["app_user_id"] == "anna" || $0["type"] == "TRANSFER" },
                "\(owner)")
            #expect(Set(events.compactMap { $0["id"]?.string }).count == events.count)
            #expect(receiver.heads.allSatisfy { $0["authorization"] == "a fixed string" })
            #expect(receiver.postings.allSatisfy { $0.isSigned(with: webhookSecret) })
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a webhook contains the customer's attributes until the customer is erased`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver()
        try await withShop(on: database, app: Self.app(receiver)) { shop in
            let bought = try await shop.buyMonth("anna")
            _ = try await shop.support.send(
                "PATCH", "/v1/customers/anna/attributes",
                body: JSON.object([
                    .init("attributes", [["name": "$email", "value": "anna@example.com"]])
                ]).bytes)
            #expect(try await shop.post(bought, as: "anna") == 200)
            try await shop.advance("P35D")
            let renewal = try #require(receiver.revenueCatEvents.last { $0["type"] == "RENEWAL" })
            let mail = renewal["subscriber_attributes"]?["$email"]
            #expect(mail?["value"] == "anna@example.com")
            #expect(mail?["updated_at_ms"] != nil)
            _ = try await shop.support.send("DELETE", "/v1/customers/anna")
            let count = receiver.revenueCatEvents.count
            try await shop.advance("P35D")
            let later = receiver.revenueCatEvents.dropFirst(count)
            #expect(
                later.allSatisfy { $0["subscriber_attributes"].map { $0 == [:] } ?? true },
                "\(later)")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if one event becomes several webhooks, they arrive in order and are replayed together`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver()
        try await withShop(on: database, app: Self.app(receiver)) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: "anna") == 200)
            let chain = try bought.text("original_transaction_id")
            try await shop.simulator.post("/_sim/subscriptions/\(chain)/fail-billing")
            // The receiver refuses the second webhook, so the following ones wait.
            receiver.reply(
                .chosen {
                    String(decoding: $0.body, as: UTF8.self).contains("\"CANCELLATION\"")
                        ? 500 : 200
                })
            try await shop.advance("P31DT1H")
            try await shop.give("anna")
            try await shop.advance("PT1M")
            #expect(receiver.types.contains("CANCELLATION"))
            #expect(!receiver.types.contains("NON_RENEWING_PURCHASE"))
            receiver.reply(.status(200))
            try await shop.advance("P1D")
            let order = ["BILLING_ISSUE", "CANCELLATION", "NON_RENEWING_PURCHASE"]
            let received = receiver.types.filter { order.contains($0) }
            #expect(received.first == order.first && received.last == order.last, "\(received)")

            let id = try await shop.failure()
            let first = receiver.postings
            let count = first.count
            try await shop.support.post("/v1/webhooks/crm/replay", ["event_id": .string(id)])
            try await shop.advance("PT1M")
            let again = receiver.postings.dropFirst(count)
            #expect(again.map(\.id).first == "birds_\(id)")
            #expect(again.map(\.id).dropFirst().first == "birds_\(id)_2")
            for posting in again {
                #expect(first.contains { $0.id == posting.id && $0.body == posting.body })
            }
        }
    }

    @Test func `after a change of format, a replay uses the new format`() async throws {
        let receiver = try Receiver()
        try await withShop(on: .sqlite) { shop in
            let added = try await shop.support.post("/v1/webhooks", ["url": .string(receiver.url)])
            let path = "/v1/webhooks/\(try added.text("webhook_id"))"
            try await shop.give("anna")
            try await shop.advance("PT1S")
            #expect(receiver.postings.last?.customer == "anna" && receiver.types.isEmpty)
            let changed = try await shop.support.send(
                "PATCH", path, body: (["format": "revenuecat"] as JSON).bytes)
            #expect(changed.status == 200)
            try await shop.support.post("\(path)/replay")
            try await shop.advance("PT1S")
            #expect(receiver.types == ["NON_RENEWING_PURCHASE"])
        }
    }

    /// The id of the first message of an event: `birds_evt_7` for `birds_evt_7_2`.
    private static func event(of message: String) -> String {
        message.split(separator: "_").prefix(3).joined(separator: "_")
    }

    /// Compares two webhooks: one got another format after all its deliveries had failed, the other
    /// had this format from the start.
    @Test(arguments: StoryDatabase.allCases, WebhookFormat.allCases)
    func `after a change of format, all parts of each waiting event arrive in the new format`(
        database: StoryDatabase, format: WebhookFormat
    ) async throws {
        let (receiver, other) = (try Receiver(.status(500)), try Receiver())
        try await withShop(on: database) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: "anna") == 200)
            let chain = try bought.text("original_transaction_id")
            try await shop.simulator.post("/_sim/subscriptions/\(chain)/fail-billing")
            try await shop.advance("P30D")
            let former: WebhookFormat = format == .perennial ? .revenueCat : .perennial
            let id = try await shop.addWebhook(receiver, former)
            _ = try await shop.addWebhook(other, format)
            try await shop.advance("P1DT1H")
            try await shop.give("anna")
            try await shop.advance("PT1S")
            let waiting = try await shop.deliveries("?state=waiting", of: id)
            let events = Set(try waiting.map { Self.event(of: try $0.text("delivery_id")) })
            let changed = try await shop.support.send(
                "PATCH", "/v1/webhooks/\(id)",
                body: (["format": .string(format.rawValue)] as JSON).bytes)
            #expect(changed.status == 200)
            let count = receiver.arrivals.count
            receiver.reply(.status(200))
            try await shop.advance("P1D")

            let expected = other.postings.filter { events.contains(Self.event(of: $0.id)) }
            #expect(expected.count >= 2 && (format == .perennial || other.sentParts))
            let arrived = receiver.postings.dropFirst(count)
            #expect(arrived.map(\.id) == expected.map(\.id))
            #expect(try await shop.deliveries("?state=waiting", of: id).isEmpty)
            #expect(try await shop.deliveries("?state=failed", of: id).isEmpty)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after an erasure, no TRANSFER contains the erased customer's account token`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver()
        let token = "a0000000-0000-4000-8000-000000000001"
        try await withShop(on: database, app: Self.app(receiver)) { shop in
            let bought = try await shop.buyMonth("anna", token: token)
            try await shop.advance("PT1S")
            #expect(try await shop.post(bought, as: token) == 200)
            let erased = try await shop.support.send("DELETE", "/v1/customers/\(token)")
            #expect(erased.status == 200)
            try await shop.advance("PT1S")
            let count = receiver.postings.count
            #expect(try await shop.post(bought, as: "ben") == 200)
            try await shop.advance("PT1S")
            let later = receiver.postings.dropFirst(count).map {
                String(decoding: $0.body, as: UTF8.self)
            }
            #expect(later.contains { $0.contains("TRANSFER") })
            #expect(later.allSatisfy { !$0.contains(token) }, "\(later)")
        }
    }

    @Test func `a test webhook arrives as RevenueCat's TEST`() async throws {
        let receiver = try Receiver()
        try await withShop(on: .sqlite, app: Self.app(receiver)) { shop in
            try await shop.support.post("/v1/webhooks/crm/test")
            try await shop.advance("PT1S")
            #expect(receiver.types == ["TEST"])
            #expect(receiver.revenueCatEvents[0]["app_id"] == "birds")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after an erasure, no webhook body contains the customer's id`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver(.status(500))
        try await withShop(on: database, app: Self.app(receiver)) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: "anna") == 200)
            try await shop.give("anna")
            try await shop.advance("P40D")
            #expect(try await shop.bodies().contains { $0.contains("\"anna\"") })
            let erased = try await shop.support.send("DELETE", "/v1/customers/anna")
            #expect(erased.status == 200)
            #expect(try await !shop.bodies().contains { $0.contains("anna") })
            let count = receiver.postings.count
            receiver.reply(.status(200))
            try await shop.advance("P1D")
            let later = receiver.postings.dropFirst(count)
            #expect(!later.isEmpty)
            #expect(later.allSatisfy { !String(decoding: $0.body, as: UTF8.self).contains("anna") })
            #expect(try await shop.deliveries("?state=waiting").isEmpty)
        }
    }
}

extension Shop {
    /// Returns the id of a new webhook.
    fileprivate func addWebhook(_ receiver: Receiver, _ format: WebhookFormat) async throws
        -> String
    {
        try await support.post(
            "/v1/webhooks",
            ["url": .string(receiver.url), "format": .string(format.rawValue)]
        ).text("webhook_id")
    }

    /// The id of the event about the failed payment.
    fileprivate func failure() async throws -> String {
        try #require(try await events().first { $0["type"] == "billing_failed" }).text("id")
    }

    /// The transaction ids in the App Store's books about a device's account.
    fileprivate func transactionIDs(of device: String) async throws -> [String] {
        let books = try await simulator.get("/_sim/devices/\(device)/transactions")
        return try #require(books["signed_transactions"]?.array).map {
            let payload = try #require(CompactJWS($0.string ?? "")?.payload)
            return try JSON(parsing: payload).text("transactionId")
        }
    }
}

extension Receiver {
    fileprivate var revenueCatEvents: [JSON] {
        postings.compactMap { (try? JSON(parsing: $0.body))?["event"] }
    }

    /// Whether an event arrived in several messages.
    fileprivate var sentParts: Bool { postings.contains { $0.id.hasSuffix("_2") } }

    fileprivate var types: [String] { revenueCatEvents.compactMap { $0["type"]?.string } }
}
