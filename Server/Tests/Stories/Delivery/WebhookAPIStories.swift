import AppStoreFormats
import Engine
import Foundation
import Ledger
import Storage
import Testing

@testable import Program

/// Webhooks are managed by requests: their settings, secrets, deliveries and replays.
@Suite(.serialized) struct WebhookAPIStories {
    @Test(arguments: StoryDatabase.allCases)
    func `a webhook is added, filtered, changed and deleted, and its secret is shown once`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver()
        try await withShop(on: database) { shop in
            try await shop.give("before")
            let added = try await shop.support.post(
                "/v1/webhooks",
                [
                    "url": .string(receiver.url + "/secret-path"), "types": ["granted"],
                    "environments": ["production"], "authorization": "Bearer x",
                ])
            let id = try added.text("webhook_id")
            let secret = try added.text("secret")
            #expect(secret.hasPrefix("whsec_") && added["url"]?.string == receiver.origin)
            #expect(added["has_authorization"] == true && added["configured"] == false)
            let shown = try await shop.support.get("/v1/webhooks")
            #expect(!shown.text.contains(secret) && !shown.text.contains("secret-path"))
            #expect(!shown.text.contains("Bearer x"))
            try await shop.give("anna")
            let other: JSON = ["customer_id": "anna-2"]
            _ = try await shop.support.send(
                "POST", "/v1/customers/anna/aliases", body: other.bytes)
            try await shop.advance("PT1S")
            #expect(receiver.postings.compactMap(\.customer) == ["anna"])
            #expect(receiver.postings.allSatisfy { $0.isSigned(with: secret) })
            #expect(receiver.heads.allSatisfy { $0["authorization"] == "Bearer x" })
            let change: JSON = ["types": [], "authorization": ""]
            let changed = try await shop.support.send(
                "PATCH", "/v1/webhooks/\(id)", body: change.bytes)
            #expect(try changed.json["types"] == .null)
            #expect(try changed.json["has_authorization"] == false)
            try await shop.give("ben")
            try await shop.advance("PT1S")
            #expect(receiver.heads.last?["authorization"] == nil)
            #expect(try await shop.support.send("DELETE", "/v1/webhooks/\(id)").status == 200)
            #expect(try await shop.support.send("GET", "/v1/webhooks/\(id)").status == 404)
            let count = receiver.arrivals.count
            try await shop.give("cleo")
            try await shop.advance("PT1S")
            #expect(receiver.arrivals.count == count)
            #expect(try await shop.bodies().isEmpty)
        }
    }

    @Test
    func `during a rotation both secrets sign webhooks, and afterwards only the new secret`()
        async throws
    {
        let receiver = try Receiver()
        try await withShop(on: .sqlite) { shop in
            let added = try await shop.support.post("/v1/webhooks", ["url": .string(receiver.url)])
            let (id, first) = (try added.text("webhook_id"), try added.text("secret"))
            let rotated = try await shop.support.post(
                "/v1/webhooks/\(id)/secret", ["overlap_hours": 2])
            let second = try rotated.text("secret")
            #expect(first != second)
            try await shop.give("anna")
            try await shop.advance("PT1S")
            let both = try #require(receiver.postings.last)
            #expect(both.isSigned(with: first) && both.isSigned(with: second))
            #expect(both.signatures.count == 2)
            try await shop.advance("PT3H")
            try await shop.give("anna")
            try await shop.advance("PT1S")
            let after = try #require(receiver.postings.last)
            #expect(!after.isSigned(with: first) && after.isSigned(with: second))
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after repeated rotations, three secrets sign: the oldest valid, the previous and the new`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver()
        try await withShop(on: database) { shop in
            let added = try await shop.support.post("/v1/webhooks", ["url": .string(receiver.url)])
            let id = try added.text("webhook_id")
            var secrets = [try added.text("secret")]
            func rotated(_ hours: JSON) async throws {
                let answer = try await shop.support.post(
                    "/v1/webhooks/\(id)/secret", ["overlap_hours": hours])
                secrets.append(try answer.text("secret"))
            }
            func signing() async throws -> [Int] {
                try await shop.give("anna")
                try await shop.advance("PT1S")
                let posting = try #require(receiver.postings.last)
                let found = secrets.indices.filter { posting.isSigned(with: secrets[$0]) }
                #expect(posting.signatures.count == found.count)
                return found
            }
            for _ in 0..<2 { try await rotated(2) }
            #expect(try await signing() == [0, 1, 2])
            try await rotated(1)
            #expect(try await signing() == [0, 2, 3])
            try await shop.advance("PT2H")
            #expect(try await signing() == [3])
            try await rotated(2)
            try await rotated(0)
            #expect(try await signing() == [5])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a replay selects events by cursor, time, id or customer, and keeps the webhook ids`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver()
        try await withShop(on: database) { shop in
            let added = try await shop.support.post("/v1/webhooks", ["url": .string(receiver.url)])
            let path = "/v1/webhooks/\(try added.text("webhook_id"))/replay"
            for name in ["anna", "ben", "anna", "cleo"] {
                try await shop.give(name)
                try await shop.advance("PT1H")
            }
            let events = try await shop.events()
            let first = receiver.postings
            #expect(first.count == 4)
            func replayed(_ body: JSON) async throws -> [Int64] {
                let count = receiver.arrivals.count
                let answer = try await shop.support.post(path, body)
                try await shop.advance("PT1S")
                let again = receiver.postings.dropFirst(count)
                #expect(answer["count"]?.integer == Int64(again.count))
                for posting in again {
                    #expect(first.contains { $0.id == posting.id && $0.body == posting.body })
                }
                return again.compactMap(\.sequence).sorted()
            }
            #expect(try await replayed(["after": "1", "until": "3"]) == [2, 3])
            #expect(try await replayed(["event_id": "evt_4"]) == [4])
            #expect(try await replayed(["customer_id": "anna"]) == [1, 3])
            let from = events[1]["known_at"] ?? .null
            let to = events[3]["known_at"] ?? .null
            #expect(try await replayed(["from": from, "to": to]) == [2, 3])
            #expect(try await replayed([:]) == [1, 2, 3, 4])
            for body: JSON in [["event_id": "evt_99"], ["after": "x"], ["event_id": "4"]] {
                let answer = try await shop.support.send("POST", path, body: body.bytes)
                #expect(answer.status == 400)
            }
        }
    }

    @Test
    func `the log of delivery attempts shows the response's beginning, with the secret removed`()
        async throws
    {
        let receiver = try Receiver()
        try await withShop(on: .sqlite) { shop in
            let added = try await shop.support.post("/v1/webhooks", ["url": .string(receiver.url)])
            let (id, secret) = (try added.text("webhook_id"), try added.text("secret"))
            receiver.reply(
                .answer(500, headers: [:], body: "broken \(secret)"), .status(200))
            let sent = try await shop.support.post("/v1/webhooks/\(id)/test")
            #expect(sent["type"] == "test" && sent["state"] == "waiting")
            for _ in 1...2 { try await shop.advance("PT1M") }
            let path = "/v1/webhooks/\(id)/deliveries/\(try sent.text("delivery_id"))"
            let found = try await shop.support.get(path)
            #expect(found["state"] == "delivered" && found["attempts"] == 2)
            let log = try #require(found["log"]?.array)
            #expect(log.map { $0["status"] } == [500, 200])
            #expect(log[0]["answer"] == "broken …")
            #expect((log[0]["milliseconds"]?.integer ?? -1) >= 0)
            #expect(try JSON(parsing: receiver.arrivals[0].body)["type"] == "test")
        }
    }

    @Test func `a webhook's deliveries are listed in pages, filtered as requested`() async throws {
        let receiver = try Receiver()
        try await withShop(on: .sqlite) { shop in
            let added = try await shop.support.post("/v1/webhooks", ["url": .string(receiver.url)])
            let id = try added.text("webhook_id")
            for number in 1...7 { try await shop.give("c\(number % 2)") }
            try await shop.advance("PT1S")
            var (found, cursor): ([JSON], String) = ([], "")
            repeat {
                let page = try await shop.support.get(
                    "/v1/webhooks/\(id)/deliveries?limit=3&after=\(cursor)")
                found += page["items"]?.array ?? []
                cursor = page["next_cursor"]?.string ?? ""
            } while !cursor.isEmpty
            #expect(found.count == 7 && Set(found).count == 7)
            #expect(try await shop.deliveries("?customer_id=c0", of: id).count == 3)
            #expect(try await shop.deliveries("?state=failed", of: id).isEmpty)
            for query in ["?state=x", "?after=x", "?limit=0", "?who=anna"] {
                let answer = try await shop.support.send(
                    "GET", "/v1/webhooks/\(id)/deliveries\(query)")
                #expect(answer.status == 400, "\(query)")
            }
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `webhooks removed from the configuration do not count towards the limit of webhooks`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let store = Database(shop.database)
            let now = Instant(milliseconds: 1_767_268_800_000)
            let delivery = NewDelivery(
                message: "birds_evt_1", sequence: 1, kind: "granted", stream: "anna", body: [1])
            try await store.transaction { tx in
                for number in 1...WebhookRules.webhooksMax {
                    let id = WebhookID(rawValue: "old-\(number)")
                    try tx.webhooks.add(
                        StoredWebhook(id: id, createdAt: now, cursor: 0), of: "birds")
                    try tx.deliveries.add([delivery], to: id, of: "birds", at: now)
                }
            }
            let body: JSON = ["url": "https://example.com/", "paused": true]
            for _ in 1...WebhookRules.webhooksMax {
                try await shop.support.post("/v1/webhooks", body)
            }
            let refused = try await shop.support.send("POST", "/v1/webhooks", body: body.bytes)
            #expect(refused.status == 409)
            #expect(try refused.json["code"] == "too_many_webhooks")
            #expect(try refused.json["remedy"]?.string?.contains("DELETE") == true)
            for number in 1...WebhookRules.webhooksMax {
                let path = "/v1/webhooks/old-\(number)"
                let deleted = try await shop.support.send("DELETE", path)
                #expect(deleted.status == 200)
                #expect(try deleted.json["url"] == "" && deleted.json["configured"] == true)
                #expect(try await shop.support.send("DELETE", path).status == 404)
            }
            try await shop.advance("PT1S")
            #expect(try await shop.bodies().isEmpty)
        }
    }

    @Test
    func `a configured webhook cannot be edited or deleted, and an invalid webhook is refused`()
        async throws
    {
        let receiver = try Receiver()
        var app = birds
        app.settings.webhooks.endpoints = [
            ConfiguredWebhook(
                id: "crm", settings: WebhookSettings(url: receiver.url),
                secrets: [webhookSecret])
        ]
        try await withShop(on: .sqlite, app: app) { shop in
            let url: JSON = ["url": "https://example.com/"]
            for (method, path, body) in [
                ("PATCH", "/v1/webhooks/crm", url), ("DELETE", "/v1/webhooks/crm", [:]),
                ("POST", "/v1/webhooks/crm/secret", [:]),
            ] {
                let answer = try await shop.support.send(method, path, body: body.bytes)
                #expect(answer.status == 409)
                #expect(try answer.json["code"] == "webhook_in_configuration")
            }
            for body: JSON in [
                ["url": "http://example.com/"], ["url": "https://u:p@example.com/"],
                ["url": "https://example.com:0/"], ["url": "https://example.com:65536/"],
                ["url": "https://example.com/#x"], ["url": "file:///etc/passwd"], ["url": ""],
                ["url": "https://exam ple.com/"], ["url": "https:///x"],
                ["url": "https://example.com/", "secret": "whsec_x"],
                ["url": "https://example.com/", "types": ["nonsense"]],
                ["url": "https://example.com/", "format": "nonsense"],
                ["url": "https://example.com/", "authorization": "a\nb"],
            ] {
                let answer = try await shop.support.send("POST", "/v1/webhooks", body: body.bytes)
                #expect(answer.status == 400, "\(body.text)")
            }
            let refused = try await shop.server.send("GET", "/v1/webhooks")
            #expect(refused.status == 403)
        }
    }
}
