import Engine
import Foundation
import HTTPTypes
import Ledger
import Testing

@testable import HTTPServer

/// The routes of RevenueCat's SDK in token mode: what they answer, and by which status.
@Suite struct RevenueCatTokenRouteTests {
    private static let key = "appl_test_birds"

    @Sendable private static func serve(_ app: inout AppSettings) {
        app.revenueCat = RevenueCatSettings(keys: [key])
    }

    private struct Failure: Decodable {
        var code: Int
        var message: String
    }

    private struct Row: Sendable {
        var method: HTTPRequest.Method
        var path: String
        var key: String
        var body: String?
        var status: Int
        var code: Int?

        init(
            _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil,
            key: String = RevenueCatTokenRouteTests.key, _ status: Int, _ code: Int? = nil
        ) {
            (self.method, self.path, self.key, self.body) = (method, path, key, body)
            (self.status, self.code) = (status, code)
        }
    }

    private static func token(_ id: CustomerID, key: String = key) throws -> String {
        try RevenueCatToken(key: key, id: id, proof: nil).text
    }

    /// A token in another issuer's form, such as RevenueCat's: signed, and without our key.
    private static let foreign =
        "eyJhbGciOiJFUzI1NiJ9.eyJyYy5hcHBfdXNlcl9pZCI6ImFubmEifQ.c2ln"

    private static func rows() throws -> [Row] {
        let login = "/auth/login"
        return [
            Row(.post, login, #"{"method": "anonymous", "scope": "openid"}"#, 200),
            Row(.post, login, #"{"method": "google", "id_token": "a.b.c"}"#, 400, 7981),
            Row(.post, login, #"{"method": "oidc"}"#, 400, 7981),
            // The app requires no proofs, so nothing could prove who logs in.
            Row(.post, login, #"{"method": "oidc", "id_token": "a.b.c"}"#, 400, 7981),
            Row(.post, login, "{}", 400, 7226),
            Row(.post, login, #"{"method": "anonymous"}"#, key: TestServer.secret, 403, 7243),
            Row(.post, login, #"{"method": "anonymous"}"#, key: "appl_other", 401, 7225),
            Row(.post, "/auth/token", #"{"refresh_token": "x"}"#, 400, 7981),
            Row(.post, "/auth/revoke", #"{"token": "x"}"#, 200),
            // A device that has not logged in yet.
            Row(.get, "/v1/customer", nil, 401, 7981),
            Row(.get, "/v1/customer/offerings", nil, 401, 7981),
            Row(.post, "/v1/customer/attributes", #"{"attributes": {}}"#, 503, 7981),
            Row(.post, "/v1/customer/attribution", "{}", 200),
            Row(.get, "/v1/customer", nil, key: TestServer.secret, 403, 7243),
            Row(.get, "/v1/customer", nil, key: foreign, 401, 7225),
            Row(.post, "/v1/customer/attributes", "{}", key: foreign, 503, 7110),
            Row(.post, "/v1/receipts", #"{"app_user_id": "anna"}"#, key: foreign, 503, 7110),
            Row(.get, "/v1/customer", nil, key: try token("anna", key: "appl_other"), 401, 7225),
            Row(.get, "/v1/customer", nil, key: try token("guest"), 400, 7256),
            Row(.get, "/v1/customer", nil, key: try token("anna"), 200),
            Row(.get, "/v1/customer", nil, key: try token("a%2Fb"), 200),
            Row(.get, "/v1/customer/virtual_currencies", nil, key: try token("anna"), 200),
            Row(.post, "/v1/customer/attributes", "{}", key: try token("anna"), 400, 7226),
        ]
    }

    @Test func `each call of RevenueCat's SDK in token mode gets the expected status and code`()
        async throws
    {
        try await TestServer.run(Self.serve) { server in
            for row in try Self.rows() {
                let answer = try await server.send(
                    row.method, row.path, key: row.key, body: row.body)
                #expect(answer.status == row.status, "\(row.path): \(answer.text)")
                if let code = row.code {
                    let failure: Failure = try answer.decoded()
                    #expect(failure.code == code, "\(row.path): \(answer.text)")
                    #expect(!failure.message.isEmpty, "\(row.path)")
                }
                #expect((answer.status == 503) == (answer.headers[.retryAfter] != nil))
            }
        }
    }

    private struct Answer: Decodable {
        var subscriber: Subscriber

        struct Subscriber: Decodable {
            var id: String

            enum CodingKeys: String, CodingKey { case id = "original_app_user_id" }
        }
    }

    @Test func `a customer id in a token is used unchanged, without percent-decoding`()
        async throws
    {
        try await TestServer.run(Self.serve) { server in
            for id in ["a%2Fb", "a/b c", "ä$RC:+", "anna"] {
                let answer = try await server.send(
                    .get, "/v1/customer", key: try Self.token(CustomerID(rawValue: id)))
                #expect(answer.status == 200)
                let found = try JSONDecoder().decode(Answer.self, from: Data(answer.text.utf8))
                #expect(found.subscriber.id == id)
            }
        }
    }

    @Test func `a credential that is not a token of this server is read as an API key`() throws {
        let good = try Self.token("anna")
        #expect(RevenueCatToken(good)?.id == "anna")
        for text in [
            "", ".", "..", "appl_0", good + "x", String(good.dropLast()), "x" + good,
            good + String(repeating: ".", count: 3), Self.foreign,
            good + String(repeating: "A", count: 20_000),
        ] {
            #expect(RevenueCatToken(text) == nil, "\(text.prefix(40))")
        }
    }
}
