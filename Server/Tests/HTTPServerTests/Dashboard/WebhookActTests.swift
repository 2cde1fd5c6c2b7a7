import Ledger
import PerennialContract
import Synchronization
import Testing

@testable import Engine
@testable import HTTPServer

/// Tests forms about webhooks, some of which are sent twice, and pages of webhooks with many
/// deliveries.
@Suite struct WebhookActTests {
    private static let added = ["url": "http://127.0.0.1:9/hook", "format": "perennial"]

    /// Runs a server that creates the secrets `whsec_1`, `whsec_2` and so on.
    private func withServer(
        _ body: @escaping @Sendable (DashboardServer) async throws -> Void
    ) async throws {
        let secrets = Mutex(0)
        let transport = WebhookTransport(
            holder: "test", render: { _ in [[]] }, post: { _ in .failure("not posted here") },
            newSecret: {
                secrets.withLock { number in
                    number += 1
                    return "whsec_\(number)"
                }
            }, isSecret: { _ in true })
        try await DashboardServer.run(webhooks: transport, body)
    }

    private func add(to server: DashboardServer) async throws -> WebhookEndpoint {
        let added = try await server.post("/webhooks", Self.added)
        try #require(added.status == 200, "\(added.text)")
        return try #require(try await server.engine.webhooks.all(of: "birds").first)
    }

    /// The value of a hidden field in the first form that has this action and this field.
    private func field(
        _ name: String, of action: String, on page: TestServer.Answer
    ) throws -> String {
        let expression = try Regex(
            "name=\"\(name)\" value=\"([^\"]*)\"", as: (Substring, Substring).self)
        let forms = page.text.split(separator: "<form ").dropFirst()
            .filter { $0.contains("action=\"\(action)\"") }
        let found = forms.lazy.compactMap { $0.firstMatch(of: expression) }.first
        return String(try #require(found).1)
    }

    // MARK: - Mistakes

    @Test func `a form with a mistake says what is wrong and keeps the entered values`()
        async throws
    {
        try await withServer { server in
            let form = [
                "url": "http://127.0.0.1:9/hook", "format": "revenuecat", "types": "grantd",
                "authorization": "Basic x",
            ]
            let page = try await server.post("/webhooks", form)
            #expect(page.status == 400)
            #expect(page.text.contains("There is no event type “grantd”. Did you mean granted?"))
            for value in ["http://127.0.0.1:9/hook", "grantd", "Basic x"] {
                #expect(page.text.contains("value=\"\(value)\""), "\(value)")
            }
            #expect(page.text.contains("value=\"revenuecat\" selected"))
            #expect(try await server.engine.webhooks.all(of: "birds").isEmpty)
            let list: AuditList = try await server.api(Paths.audit)
            #expect(list.items.isEmpty)
        }
    }

    // MARK: - Forms sent twice

    @Test
    func `a form that is sent twice adds one webhook, and a form with another URL adds a second`()
        async throws
    {
        try await withServer { server in
            var form = Self.added
            form["key"] = try field("key", of: "/webhooks", on: try await server.get("/webhooks"))
            for _ in 0..<2 {
                let page = try await server.post("/webhooks", form)
                #expect(page.status == 200 && page.text.contains("whsec_1<"), "\(page.text)")
            }
            #expect(try await server.engine.webhooks.all(of: "birds").count == 1)
            form["url"] = "http://127.0.0.1:9/other"
            #expect(try await server.post("/webhooks", form).status == 200)
            #expect(try await server.engine.webhooks.all(of: "birds").count == 2)
            let audit: AuditList = try await server.api(Paths.audit)
            #expect(audit.items.map(\.act) == ["webhooks", "webhooks"])
        }
    }

    @Test func `a form that is sent twice creates one secret, and the earlier secret stays valid`()
        async throws
    {
        try await withServer { server in
            let path = "/webhooks/\(try await add(to: server).id)"
            let page = try await server.get(path)
            let form = ["key": try field("key", of: "\(path)/secret", on: page)]
            for _ in 0..<2 {
                let page = try await server.post("\(path)/secret", form)
                #expect(page.status == 200 && page.text.contains("whsec_2<"), "\(page.text)")
            }
            let known = try #require(try await server.engine.webhooks.all(of: "birds").first)
            #expect(known.secrets == ["whsec_2", "whsec_1"])
            let audit: AuditList = try await server.api(Paths.audit)
            #expect(audit.items.map(\.act).sorted() == ["webhooks", "webhooks.secret"])

            let old = try await server.post("\(path)/secret", ["key": "0123456789abcdef"])
            #expect(old.status == 403 && old.text.contains("form_outdated"))
            let other = try await server.get(path)
            let again = try await server.post(
                "\(path)/secret", ["key": try field("key", of: "\(path)/secret", on: other)])
            #expect(again.status == 200)
            let signing = try #require(try await server.engine.webhooks.all(of: "birds").first)
                .secrets
            #expect(signing.count == 3 && signing.dropFirst() == ["whsec_2", "whsec_1"])
        }
    }

    // MARK: - Filters

    @Test func `a form with too many types in its filter is refused with the reason`()
        async throws
    {
        try await withServer { server in
            var form = Self.added
            form["types"] = Array(repeating: "renewed", count: 201).joined(separator: ", ")
            let refused = try await server.post("/webhooks", form)
            #expect(refused.status == 400 && refused.text.contains("The maximum is 200."))
            #expect(try await server.engine.webhooks.all(of: "birds").isEmpty)
        }
    }

    // MARK: - Many deliveries

    @Test
    func `above 2,000 deliveries, a page shows exact numbers only after the backlog is counted`()
        async throws
    {
        try await withServer { server in
            let webhook = try await add(to: server)
            for _ in 0..<2_000 {
                _ = try await server.engine.webhooks.test(webhook.id, of: "birds")
            }
            let all = try await server.get("/webhooks").text
            #expect(all.contains("<b>2,000 deliveries</b>") && all.contains("the oldest since"))
            _ = try await server.engine.webhooks.test(webhook.id, of: "birds")
            for path in ["/webhooks", "/webhooks/\(webhook.id)"] {
                let page = try await server.get(path).text
                #expect(page.contains("more than 2,000 deliveries"), "\(path)")
                let said = ["the oldest since", "Next attempt", "By the hour"].filter {
                    page.contains($0)
                }
                #expect(said == [], "\(path)")
            }
            try await server.engine.webhooks.refreshStates()
            let page = try await server.get("/webhooks").text
            #expect(page.contains("<b>2,001 deliveries</b>, the oldest since"))
        }
    }

    @Test func `a page shows the earliest time at which retries of a delivery can end`()
        async throws
    {
        try await withServer { server in
            let webhook = try await add(to: server)
            _ = try await server.engine.webhooks.test(webhook.id, of: "birds")
            for path in ["/webhooks", "/webhooks/\(webhook.id)"] {
                let page = try await server.get(path).text
                // This is 75 hours, 35 minutes and 5 seconds after the delivery was added.
                let end = "then again until 24 Nov 2026, 11:35 UTC at least"
                #expect(page.contains(end), "\(path)")
            }
        }
    }

    @Test func `events are replayed in parts, and the page shows the end of each part`()
        async throws
    {
        try await withServer { server in
            let webhook = try await add(to: server)
            for number in 0...500 {
                _ = try await server.engine.grants.add(
                    NewGrant(entitlement: "pro", reason: "sorry"),
                    to: CustomerID(rawValue: "c\(number)"), app: "birds",
                    environment: .production)
            }
            _ = try await server.engine.events.numberEvents()
            while try await server.engine.webhooks.enqueueDeliveries(to: webhook) > 0 {}
            let path = "/webhooks/\(webhook.id)/replay"
            var form = ["from": "2026-01-01T00:00", "to": "2027-01-01T00:00"]
            let first = try await server.post(path, form)
            #expect(first.status == 200)
            #expect(first.text.contains("500 events are sent again, up to event 500"))
            for name in ["after", "from", "to"] {
                form[name] = try field(name, of: path, on: first)
            }
            let last = try await server.post(path, form)
            #expect(last.text.contains("1 event is sent again."), "\(last.text)")
            #expect(!last.text.contains("Send the rest"))
            let audit: AuditList = try await server.api(Paths.audit)
            let counts = audit.items.compactMap { $0.after?["count"] }
            #expect(counts.sorted() == ["1", "500"])
        }
    }
}
