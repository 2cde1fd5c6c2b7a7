import Crypto
import Engine
import Foundation
import HTTPTypes
import Ledger
import Storage
import Testing

@testable import HTTPServer

/// Signed answers, verified as a version of RevenueCat's SDK does that trusts the app's root key.
/// The verification is written here from the format's description, and shares no code with the
/// server.
@Suite struct RevenueCatSigningTests {
    private static let key = "appl_test_birds"
    private static let nonce = Data([UInt8](1...12))
    private static let anna = "/v1/subscribers/$RCAnonymousID%3A0a1b2c3d4e5f60718293a4b5c6d7e8f9"

    @Sendable private static func serve(_ app: inout AppSettings) {
        app.revenueCat = RevenueCatSettings(keys: [key])
        app.offerings = OfferingRules(placements: [
            Placement(id: "default", products: ["pro.monthly"])
        ])
    }

    /// A request, as the SDK remembers it to verify the answer.
    private struct Asked: Sendable {
        var method = HTTPRequest.Method.get
        var path: String
        var key: String? = RevenueCatSigningTests.key
        var body: String?
        var nonce: Data? = RevenueCatSigningTests.nonce
        var parametersHash: String?
        var isSandbox: String? = "false"
        var tag = ""

        var headersHash: String? {
            isSandbox.map { "X-Is-Sandbox:sha256:" + Asked.digest([$0]) }
        }

        static func digest(_ values: [String]) -> String {
            let joined = values.map { Data($0.utf8) }.reduce(Data()) { all, next in
                all.isEmpty ? next : all + [0] + next
            }
            return SHA256.hash(data: joined).map { String(format: "%02x", $0) }.joined()
        }

        var headers: HTTPFields {
            var fields = HTTPFields()
            func set(_ name: String, _ value: String?) {
                if let value, let name = HTTPField.Name(name) { fields[name] = value }
            }
            set("X-Nonce", nonce?.base64EncodedString())
            set("X-Is-Sandbox", isSandbox)
            set("X-Headers-Hash", headersHash)
            set("X-Post-Params-Hash", parametersHash)
            set("X-RevenueCat-ETag", tag)
            return fields
        }
    }

    private static func send(
        _ asked: Asked, to server: TestServer, _ more: HTTPFields = [:]
    ) async throws -> TestServer.Answer {
        var headers = asked.headers
        for field in more { headers[field.name] = field.value }
        return try await server.send(
            asked.method, asked.path, key: asked.key, body: asked.body, headers: headers)
    }

    /// Whether the answer's signature is right for the request.
    private static func verifies(
        _ answer: TestServer.Answer, to asked: Asked, by root: [UInt8]
    ) throws -> Bool {
        func header(_ name: String) -> String? {
            HTTPField.Name(name).flatMap { answer.headers[$0] }
        }
        guard let text = header("X-Signature"), let all = Data(base64Encoded: text) else {
            return false
        }
        #expect(all.count == 180)
        let rootKey = try Curve25519.Signing.PublicKey(rawRepresentation: root)
        let key = all[0..<32]
        guard rootKey.isValidSignature(all[36..<100], for: all[32..<36] + key) else { return false }
        let days = all[32..<36].reversed().reduce(0) { $0 << 8 | Int64($1) }
        guard days * 86_400_000 > TestServer.now.milliseconds else { return false }
        var message = all[100..<116] + Data((asked.key ?? "").utf8) + (asked.nonce ?? Data())
        message += Data(asked.path.utf8) + Data((asked.parametersHash ?? "").utf8)
        if asked.nonce != nil { message += Data((asked.headersHash ?? "").utf8) }
        message += Data((header("X-RevenueCat-Request-Time") ?? "").utf8)
        message += Data((header("X-RevenueCat-ETag") ?? "").utf8)
        message += answer.status == 304 ? Data() : Data(answer.text.utf8)
        return try Curve25519.Signing.PublicKey(rawRepresentation: key)
            .isValidSignature(all[116..<180], for: message)
    }

    private static func parameters(_ names: String, _ values: String...) -> String {
        "\(names):sha256:" + Asked.digest(values)
    }

    private static let identify = Asked(
        method: .post, path: "/v1/subscribers/identify",
        body: #"{"app_user_id": "anna", "new_app_user_id": "ben"}"#,
        parametersHash: parameters("app_user_id,new_app_user_id", "anna", "ben"))

    private static let receipt = Asked(
        method: .post, path: "/v1/receipts",
        body: #"{"app_user_id": "anna", "fetch_token": null}"#,
        parametersHash: parameters("app_user_id,fetch_token,app_transaction", "anna"))

    /// The requests whose answers the SDK verifies.
    private static let signed = [
        Asked(path: anna), Asked(path: "/v1/subscribers/a%2Bb%40example.com"), identify, receipt,
        Asked(path: anna + "/virtual_currencies"),
        Asked(path: anna + "/offerings", nonce: nil),
        Asked(path: "/v1/product_entitlement_mapping", nonce: nil),
        Asked(path: "/v1/health", key: nil), Asked(path: anna, isSandbox: nil),
        Asked(path: anna + "/health_report_availability", key: nil),
    ]

    @Test func `a client with the root key can verify each answer that the SDK verifies`()
        async throws
    {
        try await TestServer.run(Self.serve) { server in
            let root = try await server.engine.answerSigning.publicKey(of: "birds")
            // In token mode, the token is signed in place of the key.
            let token = try RevenueCatToken(key: Self.key, id: "anna", proof: nil).text
            let byToken = [
                Asked(path: "/v1/customer", key: token),
                Asked(path: "/v1/customer/virtual_currencies", key: token),
                Asked(path: "/v1/customer/offerings", key: token, nonce: nil),
            ]
            for asked in Self.signed + byToken {
                let answer = try await Self.send(asked, to: server)
                #expect([200, 201].contains(answer.status), "\(asked.path): \(answer.text)")
                #expect(try Self.verifies(answer, to: asked, by: root), "\(asked.path)")
            }
        }
    }

    @Test func `a signature is not valid for another request, body or root key`() async throws {
        try await TestServer.run(Self.serve) { server in
            let root = try await server.engine.answerSigning.publicKey(of: "birds")
            let asked = Self.identify
            let answer = try await Self.send(asked, to: server)
            #expect(try Self.verifies(answer, to: asked, by: root))
            let changes: [@Sendable (inout Asked) -> Void] = [
                { $0.nonce = Data([UInt8](2...13)) }, { $0.path = "/v1/subscribers/ben" },
                { $0.key = "appl_other" }, { $0.isSandbox = "true" },
                { $0.parametersHash = Self.parameters("app_user_id", "anna") },
            ]
            for change in changes {
                var other = asked
                change(&other)
                #expect(try !Self.verifies(answer, to: other, by: root))
            }
            var changed = answer
            changed.text += " "
            #expect(try !Self.verifies(changed, to: asked, by: root))
            let stranger = Curve25519.Signing.PrivateKey().publicKey.rawRepresentation
            #expect(try !Self.verifies(answer, to: asked, by: Array(stranger)))
        }
    }

    @Test func `an answer of 304 is signed without a body, and with the tag`() async throws {
        try await TestServer.run(Self.serve) { server in
            let root = try await server.engine.answerSigning.publicKey(of: "birds")
            for path in [Self.anna, Self.anna + "/offerings"] {
                var asked = Asked(path: path)
                if path != Self.anna { asked.nonce = nil }
                let name = try #require(HTTPField.Name("X-RevenueCat-ETag"))
                let first = try await Self.send(asked, to: server)
                asked.tag = try #require(first.headers[name])
                let answer = try await Self.send(asked, to: server)
                #expect(answer.status == 304 && answer.text.isEmpty)
                #expect(try Self.verifies(answer, to: asked, by: root), "\(path)")
            }
        }
    }

    @Test func `errors, and answers to requests that were modified in transit, are not signed`()
        async throws
    {
        try await TestServer.run(Self.serve) { server in
            var rows: [(asked: Asked, more: HTTPFields, status: Int)] = []
            let sandbox = try #require(HTTPField.Name("X-Is-Sandbox"))
            rows.append((Asked(path: Self.anna, nonce: nil), [:], 200))
            rows.append((Asked(path: Self.anna, nonce: Data([1])), [:], 200))
            rows.append((Asked(path: "/v1/subscribers/guest"), [:], 400))
            rows.append((Asked(path: Self.anna, key: "appl_other"), [:], 401))
            rows.append((Asked(path: Self.anna), [sandbox: "true"], 200))
            for body in [
                #"{"app_user_id": "cleo", "new_app_user_id": "ben"}"#,
                #"{"app_user_id": ["anna"], "new_app_user_id": "ben"}"#,
            ] {
                var asked = Self.identify
                asked.body = body
                rows.append((asked, [:], body.contains("[") ? 400 : 200))
            }
            _ = try await Self.send(Self.identify, to: server)
            let signature = try #require(HTTPField.Name("X-Signature"))
            for (asked, more, status) in rows {
                let answer = try await Self.send(asked, to: server, more)
                #expect(answer.headers[signature] == nil, "\(asked.path) \(answer.text)")
                #expect(
                    answer.status == status || status == 200 && answer.status == 201,
                    "\(asked.path) \(answer.text)")
            }
        }
    }

    @Test func `if signing fails, the answer is sent unsigned, with its usual status`()
        async throws
    {
        try await TestServer.run(Self.serve) { server in
            // A root key that cannot be read fails like one that cannot be written.
            try await Database(server.database).transaction { tx in
                try tx.secrets.add([1], "revenuecat answers", of: "birds", at: TestServer.now)
            }
            await #expect(throws: EngineFailure.self) {
                try await server.engine.answerSigning.publicKey(of: "birds")
            }
            let signature = try #require(HTTPField.Name("X-Signature"))
            // In token mode, the token is signed in place of the key.
            let token = try RevenueCatToken(key: Self.key, id: "anna", proof: nil).text
            let byToken = [
                Asked(path: "/v1/customer", key: token),
                Asked(path: "/v1/customer/virtual_currencies", key: token),
                Asked(path: "/v1/customer/offerings", key: token, nonce: nil),
            ]
            for asked in Self.signed + byToken {
                let answer = try await Self.send(asked, to: server)
                #expect([200, 201].contains(answer.status), "\(asked.path): \(answer.text)")
                #expect(answer.headers[signature] == nil && !answer.text.isEmpty)
            }
        }
    }

    @Test func `all servers on one database sign with the same root key`() async throws {
        try await TestServer.run(Self.serve) { server in
            let root = try await server.engine.answerSigning.publicKey(of: "birds")
            let other = server.otherEngine
            #expect(try await other.answerSigning.publicKey(of: "birds") == root)
            let certified: @Sendable ([UInt8], UInt32) -> [UInt8] = { key, _ in key }
            let signers = [
                try await other.answerSigning.signer(of: "birds", certified: certified),
                try await server.engine.answerSigning.signer(of: "birds", certified: certified),
            ]
            #expect(signers[0].publicKey != signers[1].publicKey)
            let again = try await other.answerSigning.signer(of: "birds", certified: certified)
            #expect(again.publicKey == signers[0].publicKey)
        }
    }
}
