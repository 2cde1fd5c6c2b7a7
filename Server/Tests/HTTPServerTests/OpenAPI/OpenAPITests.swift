import Engine
import Foundation
import HTTPTypes
import NIOCore
import PerennialContract
import Testing

@testable import HTTPServer

/// The OpenAPI document must describe what the server does.
@Suite struct OpenAPITests {
    private func document(of server: TestServer) async throws -> [String: Any] {
        let text = try await server.send(.get, Paths.openAPI, key: nil).text
        return try #require(
            JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    private func operations(
        in document: [String: Any]
    ) throws -> [(method: HTTPRequest.Method, path: String, operation: [String: Any])] {
        let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
        return try paths.flatMap { path, operations in
            try operations.map { name, operation in
                let method = try #require(HTTPRequest.Method(rawValue: name.uppercased()))
                return (method: method, path: path, operation: operation)
            }
        }
    }

    @Test func `every route is described, and every described route exists`() async throws {
        try await TestServer.run { server in
            let described = try operations(in: await document(of: server)).map {
                "\($0.method) \($0.path)"
            }
            let routes = PerennialServer(engine: server.engine, logger: .init(label: "test")).routes
                .map { "\($0.method) \($0.path)" }
            #expect(Set(described) == Set(routes))
            #expect(described.count == routes.count)
        }
    }

    @Test func `every described route answers as described`() async throws {
        try await TestServer.run { server in
            _ = try await server.engine.grants.add(
                NewGrant(entitlement: "pro", reason: "sorry"), to: "dora", app: "birds",
                environment: .production)
            for (method, path, operation) in try operations(in: await document(of: server)) {
                let real = path.replacing("{id}", with: "anna")
                    .replacing("{currency}", with: "gems")
                    .replacing("{content_id}", with: "first")
                    .replacing("{transfer_id}", with: "trf_1")
                    .replacing("{original_transaction_id}", with: "1000")
                    .replacing("{grant_id}", with: "grt_1")
                // This parameter ends the stream after one event.
                let end = path == Paths.eventStream ? "?limit=1" : ""
                let answer = try await server.send(
                    method, real + end, key: TestServer.secret,
                    body: method == .post ? #"{"customer_id": "cleo"}"# : nil)
                let responses = try #require(operation["responses"] as? [String: Any])
                #expect(![405, 500].contains(answer.status), "\(method) \(path)")
                if answer.status == 404 {
                    #expect(try answer.problem.code != .routeUnknown, "\(method) \(path)")
                }
                #expect(
                    responses["\(answer.status)"] != nil || responses["default"] != nil,
                    "\(method) \(path) answered \(answer.status)")
                let withoutKey = try await server.send(method, real, key: nil, body: "{}")
                #expect((withoutKey.status == 401) == (operation["security"] != nil), "\(path)")
            }
        }
    }

    @Test func `every route describes the answer 429, except the routes without a rate limit`()
        async throws
    {
        let always = [
            Paths.notifications, Paths.health, Paths.ready, Paths.metrics, Paths.openAPI,
            // In Apple's form.
            Paths.verifyReceipt, Paths.sandboxVerifyReceipt,
        ]
        try await TestServer.run { server in
            let document = try await document(of: server)
            for (_, path, operation) in try operations(in: document) {
                let responses = try #require(operation["responses"] as? [String: Any])
                #expect((responses["429"] == nil) == always.contains(path), "\(path)")
            }
            let components = try #require(document["components"] as? [String: Any])
            let shared = try #require(components["responses"] as? [String: Any])
            #expect(Set(shared.keys) == ["problem", "limited"])
        }
    }

    @Test
    func `the OpenAPI document is encoded once, and sent only to a client that does not have it`()
        async throws
    {
        try await TestServer.run { server in
            let first = try await server.send(.get, Paths.openAPI, key: nil)
            let tag = try #require(first.headers[.eTag])
            let again = try await server.send(.get, Paths.openAPI + "?pretty", key: nil)
            #expect(again.text == first.text)
            #expect(again.headers[.eTag] == tag)
            let known = try await server.send(
                .get, Paths.openAPI, key: nil, headers: [.ifNoneMatch: tag])
            #expect(known.status == 304)
            #expect(known.text.isEmpty)
            // A strong tag: the bytes are always the same.
            #expect(tag.hasPrefix("\""))
        }
        let served = ServedDescription()
        var encodings = 0
        for _ in 0..<2 {
            _ = try served.body {
                encodings += 1
                return ByteBuffer(string: "{}")
            }
        }
        #expect(encodings == 1)
    }

    /// The schemas of all customer ids that a client sends, in parameters and in bodies.
    private static func customerIDs(in document: [String: Any]) -> [[String: Any]] {
        var found: [[String: Any]] = []
        let paths = document["paths"] as? [String: [String: [String: Any]]] ?? [:]
        for operation in paths.values.flatMap(\.values) {
            for parameter in operation["parameters"] as? [[String: Any]] ?? []
            where ["id", "alias", "customer_id"].contains(parameter["name"] as? String) {
                found.append(parameter["schema"] as? [String: Any] ?? [:])
            }
        }
        let components = document["components"] as? [String: Any]
        let schemas = components?["schemas"] as? [String: [String: Any]] ?? [:]
        for (name, schema) in schemas where name.hasSuffix("Request") {
            let properties = schema["properties"] as? [String: [String: Any]]
            if let id = properties?["customer_id"] { found.append(id) }
        }
        return found
    }

    @Test func `the description of a customer id matches what the server accepts`() async throws {
        let long = String(repeating: "a", count: 255)
        try await TestServer.run { server in
            let found = Self.customerIDs(in: try await document(of: server))
            #expect(found.count > 30)
            for schema in found {
                #expect(schema["minLength"] as? Int == 1)
                #expect(schema["maxLength"] as? Int == 255)
                #expect(schema["pattern"] as? String == OpenAPI.customerIDPattern)
            }
            let pattern = try Regex(OpenAPI.customerIDPattern)
            for id in [
                "anna", "a b", "a  b", " a", "a ", "a\u{A0}b", "a\u{2003}b", "ä", "\u{7F}",
                "\u{85}",
                "a\tb", "安娜", "👩‍👩‍👧‍👦", "a\u{200B}b", long, long + "a", "a/b", "[U+200B]",
            ] {
                let answer = try await server.send(.get, Paths.customer(id))
                let isDescribed =
                    id.wholeMatch(of: pattern) != nil && id.unicodeScalars.count <= 255
                #expect((answer.status == 200) == isDescribed, "\(id.debugDescription)")
            }
        }
    }

    @Test func `for each text in a request body, the OpenAPI document describes a limit`()
        async throws
    {
        try await TestServer.run { server in
            let components = try #require(
                try await document(of: server)["components"] as? [String: Any])
            let schemas = try #require(components["schemas"] as? [String: [String: Any]])
            for (name, member) in [
                ("GrantRequest", "reason"), ("OwnershipRequest", "reason"),
                ("DebitRequest", "reason"), ("CreditRequest", "reason"),
                ("WebhookRequest", "url"), ("ConfigurationPreviewRequest", "configuration"),
            ] {
                let properties = schemas[name]?["properties"] as? [String: [String: Any]]
                let limit = try #require(properties?[member]?["maxLength"] as? Int, "\(name)")
                // The route refuses a longer text, or the whole body is too large.
                #expect(limit > 0 && limit < BodyLimit.configuration)
            }
            #expect(
                Set(OpenAPI.textLimits.keys.map { $0.prefix { $0 != "." } }.map(String.init))
                    .isSubset(of: Set(schemas.keys)))
        }
    }

    @Test func `every reference in the OpenAPI document has a target`() async throws {
        try await TestServer.run { server in
            let text = try await server.send(.get, Paths.openAPI).text
            let document = try await document(of: server)
            let references = text.matches(of: /"\$ref": "#\/([^"]+)"/).map { String($0.1) }
            #expect(references.count > 20)
            for reference in Set(references) {
                let target = reference.split(separator: "/").reduce(document as Any?) {
                    ($0 as? [String: Any])?[String($1)]
                }
                #expect(target != nil, "\(reference)")
            }
        }
    }

    @Test func `the OpenAPI schemas have exactly the members of the contract`() async throws {
        try await TestServer.run { server in
            let components = try #require(
                try await document(of: server)["components"] as? [String: Any])
            let schemas = try #require(components["schemas"] as? [String: [String: Any]])
            for (name, value) in try Self.samples() {
                let properties = try #require(schemas[name]?["properties"] as? [String: Any])
                #expect(Set(properties.keys) == Set(value.keys), "\(name)")
            }
        }
    }

    @Test func `an answer has every required member, and null only in nullable members`()
        async throws
    {
        try await TestServer.run { server in
            let components = try #require(
                try await document(of: server)["components"] as? [String: Any])
            let schemas = try #require(components["schemas"] as? [String: [String: Any]])
            // Clients send `AttributeSetting`, and also `PurchaseUse`. `Problem` follows RFC 9457.
            let others = ["AttributeSetting", "PurchaseUse", "Problem"]
            for (name, value) in try Self.samples()
            where !name.hasSuffix("Request") && !others.contains(name) {
                let schema = try #require(schemas[name])
                let required = try #require(schema["required"] as? [String])
                let always = value.keys.filter {
                    !OpenAPI.omittedMembers.contains("\(name).\($0)")
                }
                #expect(Set(required) == Set(always), "\(name)")
                for (member, value) in value where value is NSNull {
                    let properties = schema["properties"] as? [String: [String: Any]]
                    #expect(Self.mayBeNull(properties?[member] ?? [:]), "\(name).\(member)")
                }
            }
        }
    }

    private static func mayBeNull(_ schema: [String: Any]) -> Bool {
        let choices = schema["anyOf"] as? [[String: Any]] ?? []
        return (schema["type"] as? [String])?.contains("null") == true
            || (schema["enum"] as? [Any])?.contains { $0 is NSNull } == true
            || choices.contains { $0["type"] as? String == "null" }
    }

    @Test func `every limit is described as an integer, and a search's query as required`()
        async throws
    {
        try await TestServer.run { server in
            let document = try await document(of: server)
            let parameters = try operations(in: document)
                .flatMap { $0.operation["parameters"] as? [[String: Any]] ?? [] }
            let queries = parameters.filter { $0["name"] as? String == "query" }
            #expect(queries.map { $0["required"] as? Bool } == [true])
            let limits = parameters.filter { $0["name"] as? String == "limit" }
            #expect(limits.count == 12)
            for limit in limits {
                let schema = try #require(limit["schema"] as? [String: Any])
                #expect(schema["type"] as? String == "integer")
                #expect(schema["minimum"] as? Int == 1 && schema["maximum"] is Int)
            }
        }
    }
}
