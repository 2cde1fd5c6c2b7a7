import AppStoreFormats
import Crypto
import Engine
import HTTPTypes
import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

/// Attributes of customers: who may write them, who may read them, and which value stays.
@Suite struct AttributeRouteTests {
    private static let anonymous = "anon_0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"

    private static func path(_ id: String) -> String { Paths.customer(id) + "/attributes" }

    @discardableResult
    private static func set(
        _ server: TestServer, _ id: String, _ settings: String, key: String? = TestServer.secret,
        headers: HTTPFields = [:]
    ) async throws -> TestServer.Answer {
        try await server.send(
            .patch, path(id), key: key, body: #"{"attributes": [\#(settings)]}"#, headers: headers)
    }

    /// The values by their names.
    private static func values(_ server: TestServer, _ id: String) async throws -> [String: String]
    {
        let answer = try await server.send(.get, path(id), key: TestServer.secret)
        #expect(answer.status == 200)
        let list: AttributeList = try answer.decoded()
        return Dictionary(uniqueKeysWithValues: list.items.map { ($0.name, $0.value) })
    }

    @Test func `a server sets, reads and deletes attributes`() async throws {
        try await TestServer.run { server in
            #expect(try await Self.values(server, "anna").isEmpty)
            let answer = try await Self.set(
                server, "anna",
                #"{"name": "plan_color", "value": "red"}, {"name": "$email", "value": "a@b.c"}"#)
            let list: AttributeList = try answer.decoded()
            #expect(list.items.map(\.name) == ["$email", "plan_color"])
            #expect(list.items.allSatisfy { $0.author == "server" })
            for deleted in [
                #"{"name": "plan_color", "value": null}"#, #"{"name": "$email", "value": ""}"#,
            ] {
                try await Self.set(server, "anna", deleted)
            }
            #expect(try await Self.values(server, "anna").isEmpty)
        }
    }

    @Test func `an older value never replaces a newer value, and a time in the future becomes now`()
        async throws
    {
        try await TestServer.run { server in
            let now = Timestamp(TestServer.now)
            let later = Timestamp(milliseconds: now.milliseconds + 3_600_000)
            let earlier = Timestamp(milliseconds: now.milliseconds - 1)
            func set(_ value: String, at moment: Timestamp) async throws {
                try await Self.set(
                    server, "anna", #"{"name": "bird", "value": "\#(value)", "at": "\#(moment)"}"#)
            }
            try await set("kite", at: later)
            try await set("owl", at: earlier)
            #expect(try await Self.values(server, "anna") == ["bird": "kite"])
            let list: AttributeList = try await server.send(
                .get, Self.path("anna"), key: TestServer.secret
            ).decoded()
            #expect(list.items[0].at == now)
            // A time before 1970 counts as the beginning of 1970.
            let old = try await Self.set(
                server, "ben",
                #"{"name": "bird", "value": "owl", "at": "1950-01-01T00:00:00.000Z"}"#)
            let olds: AttributeList = try old.decoded()
            #expect(olds.items.map(\.at) == [Timestamp(milliseconds: 0)])
            // A change without a time counts as the latest one.
            try await Self.set(server, "anna", #"{"name": "bird", "value": "a"}"#)
            #expect(try await Self.values(server, "anna") == ["bird": "a"])
        }
    }

    @Test func `of two changes with a time in the future, the later arrival wins at one moment`()
        async throws
    {
        try await TestServer.run { server in
            let now = TestServer.now.milliseconds
            func set(_ name: String, _ value: String, in milliseconds: Int64) async throws {
                let at = Timestamp(milliseconds: now + milliseconds)
                try await Self.set(
                    server, "anna", #"{"name": "\#(name)", "value": \#(value), "at": "\#(at)"}"#)
            }
            // The clock of the test stands still, so both changes get the same time.
            for (first, second) in [(2, 1), (1, 2), (0, 1)] as [(Int64, Int64)] {
                try await set("bird", #""owl""#, in: first)
                try await set("bird", "null", in: second)
                #expect(try await Self.values(server, "anna").isEmpty)
                try await set("bird", #""kite""#, in: second + 1)
                #expect(try await Self.values(server, "anna") == ["bird": "kite"])
            }
            try await set("bird", "null", in: 9)
            // Of a write-once attribute, the first value stays.
            try await set("$campaign", #""fall""#, in: 1)
            try await set("$campaign", #""spring""#, in: 2)
            #expect(try await Self.values(server, "anna") == ["$campaign": "fall"])
        }
    }

    @Test func `if one attribute is invalid, all attributes of the request are refused`()
        async throws
    {
        try await TestServer.run { server in
            let good = #"{"name": "bird", "value": "owl"}"#
            for bad in [
                #"{"name": "9", "value": "x"}"#, #"{"name": "$email", "value": "nobody"}"#,
                #"{"name": "a", "value": "\#(String(repeating: "x", count: 501))"}"#,
            ] {
                let refused = try await Self.set(server, "anna", "\(good), \(bad)")
                #expect(refused.status == 422)
                #expect(try refused.problem.code == .attributeNotValid)
            }
            #expect(try await Self.values(server, "anna").isEmpty)
            let many = (0...50).map { #"{"name": "a\#($0)", "value": "x"}"# }
            #expect(
                try await Self.set(server, "anna", many.joined(separator: ", ")).status == 422)
            #expect(
                try await Self.set(server, "anna", many.dropLast().joined(separator: ", ")).status
                    == 200)
            let more = (0...100).map { #"{"name": "b\#($0)", "value": null}"# }
            #expect(
                try await Self.set(server, "anna", more.joined(separator: ", ")).status == 413)
        }
    }

    @Test func `a change without the member value is refused`() async throws {
        try await TestServer.run { server in
            try await Self.set(server, Self.anonymous, #"{"name": "bird", "value": "owl"}"#)
            for key in [TestServer.secret, TestServer.key] {
                let answer = try await Self.set(
                    server, Self.anonymous, #"{"name": "bird"}"#, key: key)
                #expect(answer.status == 400)
                #expect(try answer.problem.detail == "attributes[0].value is missing.")
            }
            #expect(try await Self.values(server, Self.anonymous) == ["bird": "owl"])
        }
    }

    // MARK: - App keys

    @Test func `an app key can write attributes of anonymous customers, and can read none`()
        async throws
    {
        try await TestServer.run { server in
            let bird = #"{"name": "bird", "value": "owl"}"#
            let named = try await Self.set(server, "anna", bird, key: TestServer.key)
            #expect(named.status == 403)
            #expect(try named.problem.code == .keyNotSecret)
            try await Self.set(server, Self.anonymous, #"{"name": "note", "value": "angry"}"#)
            let answer = try await Self.set(server, Self.anonymous, bird, key: TestServer.key)
            let list: AttributeList = try answer.decoded()
            #expect(list.items.map(\.name) == ["bird"] && list.items[0].author == "app")
            // A change without an effect does not show what others have set, either.
            for old in [#", "value": null"#, #", "value": "calm""#] {
                let answer = try await Self.set(
                    server, Self.anonymous,
                    #"{"name": "note", "at": "\#(Timestamp(milliseconds: 1))"\#(old)}"#,
                    key: TestServer.key)
                #expect(answer.status == 200)
                #expect(try answer.decoded(AttributeList.self).items.isEmpty)
            }
            let read = try await server.send(.get, Self.path(Self.anonymous))
            #expect(read.status == 403)
            // After the log-in, the id belongs to a person.
            _ = try await server.send(
                .post, Paths.aliases(of: "anna"), key: TestServer.secret,
                body: #"{"customer_id": "\#(Self.anonymous)"}"#)
            let after = try await Self.set(server, Self.anonymous, bird, key: TestServer.key)
            #expect(after.status == 403)
        }
    }

    private static let secret = "0123456789abcdef0123456789abcdef"

    @Test func `an app with a proof can write attributes of the proven customer only`() async throws
    {
        let proving: TestServer.Change = { $0.proof = .hmac(AppSecret(Self.secret)) }
        try await TestServer.run(proving) { server in
            let end = TestServer.now.milliseconds / 1000 + 3600
            let code = HMAC<SHA256>.authenticationCode(
                for: Array("anna\n\(end)".utf8), using: SymmetricKey(data: Array(Self.secret.utf8)))
            let name = try #require(HTTPField.Name("Perennial-Customer-Proof"))
            let proof: HTTPFields = [
                name: "\(end)." + code.withUnsafeBytes { Hexadecimal.text($0) }
            ]
            let bird = #"{"name": "bird", "value": "owl"}"#
            let own = try await Self.set(server, "anna", bird, key: TestServer.key, headers: proof)
            #expect(own.status == 200)
            let other = try await Self.set(server, "ben", bird, key: TestServer.key, headers: proof)
            #expect(other.status == 401)
            #expect(try await Self.values(server, "ben").isEmpty)
        }
    }

    // MARK: - Customers who are merged, found and erased

    @Test func `if a server merges customers, the later value of each attribute stays`()
        async throws
    {
        try await TestServer.run { server in
            let now = TestServer.now.milliseconds
            func at(_ before: Int64) -> Timestamp { Timestamp(milliseconds: now - before) }
            try await Self.set(
                server, "anna",
                #"{"name": "bird", "value": "owl", "at": "\#(at(9))"}, "#
                    + #"{"name": "plan", "value": "gold", "at": "\#(at(1))"}"#)
            try await Self.set(
                server, "ben",
                #"{"name": "bird", "value": "kite", "at": "\#(at(5))"}, "#
                    + #"{"name": "plan", "value": "free", "at": "\#(at(5))"}"#)
            _ = try await server.send(
                .post, Paths.aliases(of: "anna"), key: TestServer.secret,
                body: #"{"customer_id": "ben"}"#)
            for id in ["anna", "ben"] {
                #expect(
                    try await Self.values(server, id) == ["bird": "kite", "plan": "gold"])
            }
        }
    }

    @Test func `a log-in without a proof changes no existing attribute of the person`() async throws
    {
        try await TestServer.run { server in
            try await Self.set(server, "anna", #"{"name": "$email", "value": "anna@b.c"}"#)
            try await Self.set(
                server, Self.anonymous,
                #"{"name": "$email", "value": "thief@b.c"}, {"name": "bird", "value": "owl"}"#,
                key: TestServer.key)
            let joined = try await server.send(
                .post, Paths.aliases(of: "anna"), body: #"{"customer_id": "\#(Self.anonymous)"}"#)
            #expect(joined.status == 200)
            #expect(
                try await Self.values(server, "anna") == ["$email": "anna@b.c", "bird": "owl"])
        }
    }

    @Test func `support finds a customer by the full mail address, in upper or lower case`()
        async throws
    {
        try await TestServer.run { server in
            try await Self.set(server, "anna", #"{"name": "$email", "value": "Anna@Example.com"}"#)
            func found(_ query: String) async throws -> [CustomerList.Found] {
                let answer = try await server.send(
                    .get, Paths.customers + "?query=\(query)", key: TestServer.secret)
                return try answer.decoded(CustomerList.self).items
            }
            let items = try await found("anna@example.com")
            #expect(items.map(\.customerID) == ["anna"] && items.map(\.by) == ["mail_address"])
            #expect(try await found("anna@example.co").isEmpty)
            try await Self.set(server, "anna", #"{"name": "$email", "value": null}"#)
            #expect(try await found("anna@example.com").isEmpty)
        }
    }

    @Test func `an erasure deletes the attributes`() async throws {
        try await TestServer.run { server in
            try await Self.set(server, "anna", #"{"name": "$email", "value": "anna@example.com"}"#)
            _ = try await server.send(.delete, Paths.customer("anna"), key: TestServer.secret)
            #expect(try await Self.values(server, "anna").isEmpty)
            let rows = try await server.database.read {
                try $0.rows("SELECT name FROM customer_attributes WHERE app = $1", [.text("birds")])
            }
            #expect(rows.isEmpty)
        }
    }
}
