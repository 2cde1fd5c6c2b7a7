import HTTPTypes
import PerennialContract
import Testing

@testable import HTTPServer

/// Answers that are indented for people.
@Suite struct PrettyTests {
    @Test func `the parameter pretty indents an answer and keeps the order of its members`()
        async throws
    {
        try await TestServer.run { server in
            let compact = try await server.send(.get, Paths.customer("anna"))
            let pretty = try await server.send(.get, Paths.customer("anna") + "?pretty")
            #expect(compact.text.hasPrefix(#"{"customer_id":"anna","aliases":[],"environment":"#))
            #expect(compact.text.split(separator: "\n").count == 1)
            let begin = "{\n  \"customer_id\": \"anna\",\n  \"aliases\": [],\n"
            #expect(pretty.text.hasPrefix(begin), "\(pretty.text)")
            #expect(pretty.text.contains("\n  \"account_token\": null,\n  \"token\": \"eyJ"))
            #expect(pretty.text.hasSuffix("\"\n}\n"))
            #expect(pretty.headers[.contentLength] == String(pretty.text.utf8.count))
            #expect(try pretty.decoded(Customer.self) == compact.decoded(Customer.self))
        }
    }

    @Test(arguments: [
        ("pretty", true), ("pretty=", true), ("pretty=true", true), ("pretty=1", true),
        ("environment=sandbox&pretty", true), ("pretty=false", false), ("pretty=0", false),
        ("prettier", false),
    ])
    func `any value of the parameter pretty except false and 0 indents the answer`(
        query: String, isIndented: Bool
    ) async throws {
        try await TestServer.run { server in
            let answer = try await server.send(.get, Paths.customer("anna") + "?" + query)
            #expect(answer.text.hasPrefix("{\n  ") == isIndented, "\(answer.text)")
        }
    }

    @Test func `every route accepts the parameter pretty, and indents its answers and problems`()
        async throws
    {
        try await TestServer.run { server in
            let routes = PerennialServer(engine: server.engine, logger: .init(label: "test")).routes
            for route in routes where route.operation.isIndentable && route.path != Paths.metrics {
                let path = route.path.replacing("{id}", with: "anna")
                    .replacing("{currency}", with: "gems")
                let body = route.method == .post ? #"{"customer_id": "cleo"}"# : nil
                let answer = try await server.send(
                    route.method, path + "?pretty", key: TestServer.secret, body: body)
                #expect(answer.text.hasPrefix("{\n  "), "\(path) \(answer.text)")
                #expect(!answer.text.contains("`pretty`"), "\(path) \(answer.text)")
            }
        }
    }

    @Test func `an error that occurs before a route is called is also indented`() async throws {
        try await TestServer.run { server in
            let unknown = try await server.send(.get, "/nowhere?pretty")
            #expect(unknown.text.hasPrefix("{\n  \"type\": \"urn:perennial:problem:"))
            let withoutKey = try await server.send(.get, Paths.events + "?pretty", key: nil)
            #expect(withoutKey.status == 401 && withoutKey.text.hasPrefix("{\n  "))
            #expect(!withoutKey.text.contains("null"))
        }
    }

    @Test func `the response to HEAD has the length of the response to GET`() async throws {
        try await TestServer.run { server in
            let path = Paths.health + "?pretty"
            let get = try await server.send(.get, path, key: nil)
            let head = try await server.send(.head, path, key: nil)
            #expect(get.text == "{\n  \"status\": \"ok\"\n}\n" && head.text.isEmpty)
            #expect(head.headers[.contentLength] == get.headers[.contentLength])
        }
    }
}
