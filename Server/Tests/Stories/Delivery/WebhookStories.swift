import AppStoreFormats
import Engine
import Eventually
import Foundation
import Ledger
import Storage
import Testing

@testable import Program

/// Events that are posted to webhooks.
@Suite(.serialized) struct WebhookStories {
    private static func app(
        _ receiver: Receiver, _ filter: WebhookFilter = WebhookFilter()
    ) -> AppConfiguration {
        var app = birds
        app.settings.webhooks.endpoints = [
            ConfiguredWebhook(
                id: "crm", settings: WebhookSettings(url: receiver.url + "?k=1", filter: filter),
                secrets: [webhookSecret])
        ]
        return app
    }

    @Test(arguments: StoryDatabase.allCases)
    func `every event arrives signed, with the customer's state, and in order for each customer`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver()
        try await withShop(on: database, app: Self.app(receiver)) { shop in
            for name in ["anna", "ben", "cleo"] {
                let bought = try await shop.buyMonth(name)
                #expect(try await shop.post(bought, as: name) == 200)
            }
            try await shop.advance("P65D")
            let events = try await shop.events()
            let postings = receiver.postings
            #expect(postings.count == events.count && events.count > 10)
            #expect(Set(postings.map(\.id)) == Set(try events.map { "birds_\(try $0.text("id"))" }))
            for posting in postings {
                let event = try #require(posting.event)
                // The body contains the event exactly as the API returns it.
                #expect(events.contains(event))
                #expect(posting.id == "birds_\(try event.text("id"))")
                #expect(posting.isSigned(with: webhookSecret))
                let message = try JSON(parsing: posting.body)
                #expect(message["type"] == event["type"])
                #expect(message["timestamp"] == event["known_at"])
                let customer = message["data"]?["customer"]
                guard event["customer_id"] != .null else {
                    #expect(customer == .null)
                    continue
                }
                #expect(customer?["customer_id"] == event["customer_id"])
                #expect(customer?["entitlements"]?["pro"] != nil)
            }
            let byCustomer = Dictionary(grouping: postings.filter { $0.customer != nil }) {
                $0.customer
            }
            #expect(byCustomer.count == 3)
            for (_, own) in byCustomer {
                #expect(own.compactMap(\.sequence) == own.compactMap(\.sequence).sorted())
            }
            #expect(receiver.arrivals.allSatisfy { $0.path == "/apple?k=1" })
        }
    }

    @Test
    func `a webhook's signature is invalid if body, id, timestamp or secret is different`()
        async throws
    {
        let receiver = try Receiver()
        try await withShop(on: .sqlite, app: Self.app(receiver)) { shop in
            try await shop.give("anna")
            try await shop.advance("PT1S")
            let posting = try #require(receiver.postings.first)
            #expect(posting.isSigned(with: webhookSecret))
            var other = posting
            other.body[other.body.count / 2] ^= 1
            #expect(!other.isSigned(with: webhookSecret))
            other = posting
            other.id += "0"
            #expect(!other.isSigned(with: webhookSecret))
            other = posting
            other.timestamp += "0"
            #expect(!other.isSigned(with: webhookSecret))
            let wrong = "whsec_" + Data(repeating: 1, count: 32).base64EncodedString()
            #expect(!posting.isSigned(with: wrong))
            try Self.checkByLibrary(posting)
        }
    }

    /// Verifies the webhook with the library of Standard Webhooks for Python, if it is installed.
    private static func checkByLibrary(_ posting: WebhookPosting) throws {
        let python = ProcessInfo.processInfo.environment["PERENNIAL_PYTHON"] ?? "python3"
        let script = """
            import sys, json
            try: from standardwebhooks.webhooks import Webhook, WebhookVerificationError
            except ImportError: sys.exit(77)
            secret, id, timestamp, signature, body = sys.argv[1:]
            headers = {"webhook-id": id, "webhook-timestamp": timestamp,
                       "webhook-signature": signature}
            Webhook(secret).verify(body, headers)
            try: Webhook(secret).verify(body + " ", headers)
            except WebhookVerificationError: sys.exit(0)
            sys.exit(1)
            """
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            python, "-c", script, webhookSecret, posting.id, posting.timestamp,
            posting.signatures.joined(separator: " "),
            String(decoding: posting.body, as: UTF8.self),
        ]
        try process.run()
        let status = try process.waitForEnd()
        if [77, 126, 127].contains(status) {
            print("Skipped: Python's standardwebhooks is not installed (PERENNIAL_PYTHON).")
        } else {
            #expect(status == 0)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a failed delivery delays only its customer's events, and is repeated with equal bytes`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver(
            .chosen { String(decoding: $0.body, as: UTF8.self).contains("\"anna\"") ? 500 : 200 })
        try await withShop(on: database, app: Self.app(receiver)) { shop in
            for _ in 1...3 {
                try await shop.give("anna")
                try await shop.give("ben")
            }
            try await shop.advance("PT1S")
            #expect(Set(receiver.postings.filter { $0.customer == "ben" }.map(\.id)).count == 3)
            for pause: JSON in ["PT7S", "PT7M", "PT40M"] { try await shop.advance(pause) }
            let tried = receiver.postings.filter { $0.customer == "anna" }
            // The first event alone is tried: immediately, and after 5 s, 5 min and 30 min.
            #expect(tried.count == 4)
            #expect(Set(tried.map(\.id)).count == 1 && Set(tried.map(\.body)).count == 1)
            receiver.reply(.status(200))
            try await shop.advance("P1D")
            let own = receiver.postings.filter { $0.customer == "anna" }
            #expect(own.count == 5 + 2)
            let numbers = own.compactMap(\.sequence)
            #expect(numbers == numbers.sorted())
        }
    }

    @Test
    func `a receiver that is down for 72 hours is listed in /ready, and later gets all events`()
        async throws
    {
        let receiver = try Receiver()
        try await withShop(on: .sqlite, app: Self.app(receiver)) { shop in
            receiver.stop()
            for name in ["anna", "ben"] {
                try await shop.give(name)
                try await shop.give(name)
            }
            try await shop.advance("PT30M")
            #expect(try await shop.server.get("/ready")["failing_webhooks"]?.array == nil)
            for _ in 1...72 { try await shop.advance("PT1H") }
            let ready = try await shop.server.get("/ready")
            #expect(ready["status"] == "ready")
            #expect(ready["failing_webhooks"]?.array == ["birds/crm"])
            let metrics = String(
                decoding: try await shop.server.send("GET", "/metrics").body, as: UTF8.self)
            let waiting = #"perennial_webhook_deliveries_waiting{app="birds",webhook="crm"} 4"#
            #expect(metrics.contains(waiting))
            #expect(receiver.arrivals.isEmpty)
            try receiver.listen()
            for _ in 1...24 { try await shop.advance("PT1H") }
            #expect(Set(receiver.postings.map(\.id)).count == 4)
            #expect(try await shop.deliveries("?state=waiting").isEmpty)
            #expect(try await shop.server.get("/ready")["failing_webhooks"]?.array == nil)
        }
    }

    @Test
    func `a failed delivery can be replayed after 20 days, and is deleted 31 days later`()
        async throws
    {
        let receiver = try Receiver(.status(500))
        try await withShop(on: .sqlite, app: Self.app(receiver)) { shop in
            try await shop.give("anna")
            for _ in 1...100 { try await shop.advance("PT1H") }
            let failed = try #require(try await shop.deliveries("?state=failed").first)
            #expect(failed["attempts"]?.integer == Int64(WebhookVerdict.attemptsMax))
            #expect(failed["next_attempt_at"] == .null)
            #expect(receiver.postings.count == WebhookVerdict.attemptsMax)
            receiver.reply(.status(200))
            try await shop.advance("P20D")
            let answer = try await shop.support.post("/v1/webhooks/crm/replay", [:])
            #expect(answer["count"] == 1 && answer["next_cursor"] == .null)
            try await shop.advance("PT1S")
            #expect(try await shop.deliveries("?state=delivered").count == 1)
            let postings = receiver.postings
            #expect(Set(postings.map(\.id)).count == 1 && Set(postings.map(\.body)).count == 1)
            try await shop.advance("P31D")
            #expect(try await shop.deliveries("").isEmpty)
        }
    }

    @Test func `a 410 pauses the webhook, and every event is delivered after the webhook resumes`()
        async throws
    {
        let receiver = try Receiver(.status(410))
        try await withShop(on: .sqlite, app: Self.app(receiver)) { shop in
            try await shop.give("anna")
            try await shop.advance("PT1S")
            let paused = try await shop.support.get("/v1/webhooks/crm")
            #expect(paused["paused"] == true && paused["pause_reason"] == "gone")
            receiver.reply(.status(200))
            try await shop.give("ben")
            try await shop.advance("P5D")
            #expect(receiver.arrivals.count == 1)
            let body: JSON = ["paused": false]
            let open = try await shop.support.send("PATCH", "/v1/webhooks/crm", body: body.bytes)
            #expect(open.status == 200)
            try await shop.advance("PT1S")
            #expect(receiver.postings.compactMap(\.customer).sorted() == ["anna", "anna", "ben"])
        }
    }

    @Test func `a redirect of a webhook is not followed, and Retry-After is honoured`() async throws
    {
        let other = try Receiver()
        let receiver = try Receiver(
            .redirect(to: other.url), .answer(503, headers: ["Retry-After": "600"], body: "later"),
            .status(200))
        try await withShop(on: .sqlite, app: Self.app(receiver)) { shop in
            try await shop.give("anna")
            try await shop.advance("PT1S")
            #expect(try await shop.deliveries("").first?["last_status"] == 302)
            try await shop.advance("PT8S")
            #expect(receiver.arrivals.count == 2)
            // The other deliveries of the webhook wait, too.
            try await shop.give("ben")
            try await shop.advance("PT8M")
            #expect(receiver.arrivals.count == 2)
            try await shop.advance("PT3M")
            #expect(receiver.arrivals.count == 4 && other.arrivals.isEmpty)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `erasing a customer removes the customer's id from webhooks that wait for delivery`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver(.answer(500, headers: [:], body: "broken"))
        try await withShop(on: database, app: Self.app(receiver)) { shop in
            try await shop.give("anna")
            try await shop.give("anna")
            try await shop.give("ben")
            try await shop.advance("PT1S")
            let before = try #require(
                try await shop.deliveries("?customer_id=anna").last?.text("delivery_id"))
            let tried = try await shop.support.get("/v1/webhooks/crm/deliveries/\(before)")
            #expect(tried["log"]?.array?.first?["answer"] == "broken")
            #expect(try await shop.bodies().contains { $0.contains("anna") })
            let erased = try await shop.support.send("DELETE", "/v1/customers/anna")
            #expect(erased.status == 200)
            #expect(try await !shop.bodies().contains { $0.contains("anna") })
            let log = try await shop.support.get("/v1/webhooks/crm/deliveries/\(before)")
            #expect(log["log"]?.array?.isEmpty == true && log["attempts"] == 1)
            #expect(try await shop.deliveries("?customer_id=anna").isEmpty)
            let count = receiver.postings.count
            receiver.reply(.status(200))
            try await shop.advance("P1D")
            let later = receiver.postings.dropFirst(count)
            #expect(later.allSatisfy { !String(decoding: $0.body, as: UTF8.self).contains("anna") })
            // The events are still delivered, with the pseudonym in place of the customer.
            #expect(Set(later.map(\.id)).count == 4)
            #expect(try await shop.deliveries("?state=waiting").isEmpty)
        }
    }
}

extension WebhookStories {
    /// A delivery may wait for its response while its customer is erased. The customer's next
    /// delivery must still start.
    @Test(arguments: StoryDatabase.allCases)
    func `after an erasure, a webhook's late response is not stored, and the next delivery starts`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let store = Database(shop.database)
            let (app, hook) = (AppID(rawValue: "birds"), WebhookID(rawValue: "crm"))
            let now = Instant(milliseconds: 1_767_268_800_000)
            let deliveries = ["evt_1", "evt_2"].map {
                NewDelivery(message: $0, sequence: 1, kind: "granted", stream: "anna", body: [1])
            }
            let lease = try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                try tx.deliveries.add(deliveries, to: hook, of: app, at: now)
                return try tx.deliveries.lease(
                    to: hook, of: app, dueBy: now, limit: 1, for: "me", lease: .seconds(60)
                ).first
            }
            let first = try #require(lease)
            let erased = try await shop.support.send("DELETE", "/v1/customers/anna")
            #expect(erased.status == 200)
            let found = try await store.transaction { tx in
                try tx.deliveries.complete(
                    first, to: hook, of: app,
                    DeliveryAttempt(at: now, milliseconds: 1, status: 200, answer: "hello anna"))
                return (
                    try tx.deliveries.attempts(of: "evt_1", to: hook, of: app),
                    try tx.deliveries.find("evt_2", to: hook, of: app)
                )
            }
            #expect(found.0.map(\.status) == [200] && found.0[0].answer == nil)
            #expect(found.1?.dueAt != nil)
        }
    }
}

extension Shop {
    func advance(_ time: JSON) async throws {
        try await simulator.post("/_sim/clock", ["advance": time])
    }

    /// Causes one event of a customer.
    func give(_ customer: String) async throws {
        try await support.post(
            "/v1/customers/\(customer)/grants", ["entitlement": "pro", "reason": "story"])
    }

    func events() async throws -> [JSON] {
        try await support.get("/v1/events?limit=500")["items"]?.array ?? []
    }

    func deliveries(_ query: String, of webhook: String = "crm") async throws -> [JSON] {
        try await support.get("/v1/webhooks/\(webhook)/deliveries\(query)")["items"]?.array ?? []
    }

    /// The stored texts of deliveries: bodies, streams, and answers.
    func bodies() async throws -> [String] {
        try await database.read { connection in
            try connection.rows("SELECT body, stream FROM webhook_deliveries", []) {
                row throws(StorageFailure) in
                [String(decoding: try row.optionalBytes() ?? [], as: UTF8.self), try row.text()]
            }.flatMap(\.self)
                + connection.rows("SELECT answer FROM webhook_attempts", []) {
                    row throws(StorageFailure) in
                    try row.optionalText() ?? ""
                }
        }
    }
}
