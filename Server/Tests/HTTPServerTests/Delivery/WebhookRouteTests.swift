import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

/// What a request about a webhook may contain.
@Suite struct WebhookRouteTests {
    /// Returns the members of a list in JSON: `"p1", "p2"`, and so on.
    private static func names(_ count: Int) -> String {
        (1...count).map { "\"p\($0)\"" }.joined(separator: ", ")
    }

    @Test(arguments: ["products", "types", "environments"])
    func `a filter of a webhook may have 200 names, and a longer filter is refused`(
        member: String
    ) async throws {
        let products = Set((1...200).map { ProductID(rawValue: "p\($0)") })
        let change: TestServer.Change = { $0.entitlements["pro"] = products }
        try await TestServer.run(change) { server in
            let added = try await server.send(
                .post, Paths.webhooks, key: TestServer.secret,
                body: #"{"url": "https://example.com/", "products": [\#(Self.names(200))]}"#)
            try #require(added.status == 200, "\(added.text)")
            let webhook: Webhook = try added.decoded()
            #expect(webhook.products?.count == 200)
            let filter = #""\#(member)": [\#(Self.names(201))]"#
            let path = "\(Paths.webhooks)/\(webhook.webhookID)"
            let refusals = [
                try await server.send(
                    .post, Paths.webhooks, key: TestServer.secret,
                    body: #"{"url": "https://example.com/", \#(filter)}"#),
                try await server.send(
                    .patch, path, key: TestServer.secret, body: "{\(filter)}"),
            ]
            for refused in refusals {
                let problem = try refused.problem
                #expect(problem.code == .webhookNotValid)
                #expect(
                    problem.detail == "\(member) has 201 names. The maximum is 200.",
                    "\(problem)")
                #expect(!problem.remedy.isEmpty)
            }
            let list: WebhookList = try await server.send(
                .get, Paths.webhooks, key: TestServer.secret
            ).decoded()
            #expect(list.items.map { $0.products?.count } == [200])
        }
    }

    @Test(arguments: [
        (
            #""products": ["pro.montly"]"#,
            "perennial.yaml lists no product “pro.montly”. Did you mean pro.monthly?"
        ),
        (#""products": ["x"]"#, "perennial.yaml lists no product “x”."),
        (#""types": ["grantd"]"#, "There is no event type “grantd”. Did you mean granted?"),
        (
            #""environments": ["sandbx"]"#,
            "There is no environment “sandbx”. Did you mean sandbox?"
        ),
    ])
    func `a webhook filter that names something unknown is refused`(
        filter: String, detail: String
    ) async throws {
        try await TestServer.run { server in
            let good = try await server.send(
                .post, Paths.webhooks, key: TestServer.secret,
                body: #"{"url": "https://example.com/", "products": ["pro.monthly"]}"#)
            let webhook: PerennialContract.Webhook = try good.decoded()
            for answer in [
                try await server.send(
                    .post, Paths.webhooks, key: TestServer.secret,
                    body: #"{"url": "https://example.com/", \#(filter)}"#),
                try await server.send(
                    .patch, "\(Paths.webhooks)/\(webhook.webhookID)", key: TestServer.secret,
                    body: "{\(filter)}"),
            ] {
                #expect(answer.status == 400, "\(answer.text)")
                #expect(try answer.problem.detail == detail)
            }
        }
    }

    @Test(arguments: ["evt_1", "evt_99", "evt_x", "1"])
    func `a replay from an event that is not in the log is refused`(id: String) async throws {
        try await TestServer.run { server in
            let added: PerennialContract.Webhook = try await server.send(
                .post, Paths.webhooks, key: TestServer.secret,
                body: #"{"url": "https://example.com/"}"#
            ).decoded()
            let answer = try await server.send(
                .post, "\(Paths.webhooks)/\(added.webhookID)/replay", key: TestServer.secret,
                body: #"{"event_id": "\#(id)"}"#)
            #expect(answer.status == 400, "\(answer.text)")
            let problem = try answer.problem
            #expect(problem.title == "The log has no such event.")
            #expect(problem.detail == #"Found "\#(id)"."#)
        }
    }
}
