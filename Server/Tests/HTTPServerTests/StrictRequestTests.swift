import Foundation
import HTTPTypes
import PerennialContract
import Testing

@testable import HTTPServer

/// The server refuses unknown names in requests of servers. So a misspelt name is reported, and
/// not treated as a missing one.
@Suite struct StrictRequestTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var method: HTTPRequest.Method = .post
        var path: String
        var body: String
        var detail: String
        var remedy = "Compare it with /openapi.json."
        var testDescription: String { "\(path) \(body)" }
    }

    static let rows = [
        Row(
            path: Paths.grants(of: "anna"),
            body: #"{"entitlement": "pro", "untill": "2026-12-31T00:00:00Z", "reason": "r"}"#,
            detail: "`untill` is unknown. Known are: entitlement, reason, until."),
        Row(
            path: Paths.grants(of: "anna"), body: #"{"entitlment": "pro", "reason": "r"}"#,
            detail: "`entitlment` is unknown. Known are: entitlement, reason, until."),
        Row(
            path: Paths.grants(of: "anna"),
            body: #"{"entitlement": "pro", "reason": "r", "until": "next week"}"#,
            detail: "until cannot be read.",
            remedy: "Send RFC 3339, such as 2026-12-01T00:00:00Z."),
        Row(
            path: Paths.debits("gems", of: "anna"),
            body: #"{"amount": 1, "reason": "r", "currency": "gems"}"#,
            detail: "`currency` is unknown. Known are: amount, reason."),
        Row(
            path: Paths.debits("gems", of: "anna"), body: #"{"amount": 1.5, "reason": "r"}"#,
            detail: "A number is not whole or is too large, or a text cannot be read."),
        Row(
            path: Paths.credits("gems", of: "anna"), body: #"{"amount": 1, "reasons": "r"}"#,
            detail: "`reasons` is unknown. Known are: amount, reason."),
        Row(
            path: Paths.credits("gems", of: "anna"), body: #"{"amount": 1, "reason": " "}"#,
            detail: "reason must not be empty.", remedy: "Say why, for the customer's statement."),
        Row(
            path: Paths.transfers(of: "anna"),
            body: #"{"original_transaction_id": "1", "reason": "r", "environment": "sandbox"}"#,
            detail: "`environment` is unknown. Known are: original_transaction_id, reason."),
        Row(
            method: .put, path: "/v1/customers/anna/consumption",
            body: #"{"consented": true, "purchase": []}"#,
            detail: "`purchase` is unknown. Known are: consented, purchases, "
                + "sample_content_provided."),
        Row(
            method: .put, path: "/v1/customers/anna/consumption",
            body: #"{"consented": true, "purchases": [{"transaction_id": "1", "#
                + #""delivery": "other", "used": 5}]}"#,
            detail: "`purchases[0].used` is unknown. Known are: delivery, transaction_id, "
                + "used_percent."),
    ]

    @Test(arguments: rows)
    func `if a body from a server has an unknown member, it is refused`(row: Row) async throws {
        try await TestServer.run { server in
            let answer = try await server.send(
                row.method, row.path, key: TestServer.secret, body: row.body)
            #expect(answer.status == 400, "\(answer.text)")
            let problem = try answer.problem
            #expect(problem.code == .bodyNotUnderstood)
            #expect(problem.detail == row.detail)
            #expect(problem.remedy == row.remedy)
            let grants = try await server.send(
                .get, Paths.grants(of: "anna"), key: TestServer.secret)
            #expect(try grants.decoded(GrantList.self).items.isEmpty)
        }
    }

    @Test func `if a request from a server has an unknown parameter, it is refused`() async throws {
        try await TestServer.run { server in
            let rows = [
                (
                    Paths.events + "?limit=1&customer=anna",
                    "`customer` is unknown. Known are: after, customer_id, limit, wait."
                ),
                (
                    Paths.customers + "?query=1&environment=sandbox",
                    "`environment` is unknown. Known are: query."
                ),
                (
                    Paths.grants(of: "anna") + "?enviroment=sandbox",
                    "`enviroment` is unknown. Known are: environment."
                ),
            ]
            for (path, detail) in rows {
                let answer = try await server.send(.get, path, key: TestServer.secret)
                #expect(answer.status == 400, "\(answer.text)")
                let problem = try answer.problem
                #expect(problem.code == .requestNotUnderstood && problem.detail == detail)
            }
            let erasing = try await server.send(
                .delete, Paths.customer("anna") + "?environment=sandbox", key: TestServer.secret)
            let nothing = "`environment` is unknown. Known are: none."
            #expect(try erasing.problem.detail == nothing)
        }
    }

    @Test(arguments: [
        ("enviroment=sandbox", "`enviroment` is unknown. Did you mean environment?"),
        ("wiat=1", "`wiat` is unknown. Did you mean wait?"),
    ])
    func `a misspelt parameter from an app is refused`(query: String, detail: String) async throws {
        try await TestServer.run { server in
            let answer = try await server.send(.get, Paths.customer("anna") + "?" + query)
            #expect(answer.status == 400, "\(answer.text)")
            let problem = try answer.problem
            #expect(problem.code == .requestNotUnderstood && problem.detail == detail)
            let other = try await server.send(.get, Paths.customer("anna") + "?colour=green")
            #expect(other.status == 200)
        }
    }

    @Test func `a request from an app may have members that this server does not know`()
        async throws
    {
        try await TestServer.run { server in
            let answer = try await server.send(
                .post, Paths.aliases(of: "anna") + "?colour=green",
                body: #"{"customer_id": "anon_0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f", "colour": 1}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    // This test fails if a new route for servers is less strict than the others.
    @Test
    func `every route for servers refuses unknown names, and the problem lists the known names`()
        async throws
    {
        try await TestServer.run { server in
            let document = try await Self.document(of: server)
            let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
            let routes = PerennialServer(engine: server.engine, logger: .init(label: "test")).routes
            var strictCount = 0
            for route in routes {
                let path = route.path.replacing("{id}", with: "anna")
                    .replacing("{currency}", with: "gems")
                let byApp = try await server.send(route.method, path, body: "{}")
                guard (try? byApp.problem)?.code == .keyNotSecret else { continue }
                strictCount += 1
                let operation = try #require(
                    paths[route.path]?[route.method.rawValue.lowercased()])
                let described = Self.query(of: operation).sorted()
                let known = described.isEmpty ? "none" : described.joined(separator: ", ")
                let asked = try await server.send(
                    route.method, path + "?untill=1", key: TestServer.secret)
                #expect(
                    try asked.problem.detail == "`untill` is unknown. Known are: \(known).",
                    "\(path)")
                guard operation["requestBody"] != nil else { continue }
                let sent = try await server.send(
                    route.method, path, key: TestServer.secret, body: #"{"untill": 1}"#)
                #expect(try sent.problem.code == .bodyNotUnderstood, "\(path)")
                #expect(try sent.problem.detail?.hasPrefix("`untill` is unknown") == true)
            }
            #expect(strictCount > 15)
        }
    }

    private static func document(of server: TestServer) async throws -> [String: Any] {
        let text = try await server.send(.get, Paths.openAPI, key: nil).text
        return try #require(
            JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    /// The query parameters that an operation describes.
    private static func query(of operation: [String: Any]) -> Set<String> {
        let parameters = operation["parameters"] as? [[String: Any]] ?? []
        return Set(
            parameters.filter { $0["in"] as? String == "query" }.compactMap {
                $0["name"] as? String
            })
    }
}
