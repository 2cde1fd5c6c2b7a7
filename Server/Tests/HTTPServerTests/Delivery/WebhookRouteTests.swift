import PerennialContract
import Testing

@testable import HTTPServer

/// What requests may say of webhooks.
@Suite struct WebhookRouteTests {
    /// `"p1", "p2"`, and so on.
    private static func names(_ count: Int) -> String {
        (1...count).map { "\"p\($0)\"" }.joined(separator: ", ")
    }

    @Test(arguments: ["products", "types", "environments"])
    func `a filter has 200 names at most, and of more none is left out silently`(
        member: String
    ) async throws {
        try await TestServer.run { server in
            let added = try await server.send(
                .post, Paths.webhooks, key: TestServer.secret,
                body: #"{"url": "https://example.com/", "products": [\#(Self.names(200))]}"#)
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
}
