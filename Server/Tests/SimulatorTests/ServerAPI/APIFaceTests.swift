import AppStoreFormats
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

@testable import Simulator

/// The API over HTTP: paths, encodings, headers.
@Suite struct APIFaceTests {
    private func execute(
        _ stage: Stage, _ method: HTTPRequest.Method, _ uri: String, body: String? = nil,
        withToken: Bool = true
    ) async throws -> TestResponse {
        var headers = HTTPFields()
        // The API compares tokens with the machine's time or with virtual time. These tests sign
        // with virtual time.
        let token = try Token(at: stage.simulator.clock.milliseconds / 1000).signed()
        if withToken { headers[.authorization] = "Bearer " + token }
        let sent = headers
        let app = Application(router: stage.simulator.router())
        return try await app.test(.router) { client in
            try await client.execute(
                uri: uri, method: method, headers: sent, body: body.map { ByteBuffer(string: $0) })
        }
    }

    @Test func `production is at the root of the address, and the sandbox is below /sandbox`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").transactionID
        let found = try await execute(stage, .get, "/inApps/v1/transactions/\(id)")
        #expect(found.status == .ok && found.headers[.contentType] == "application/json")
        let absent = try await execute(stage, .get, "/sandbox/inApps/v1/transactions/\(id)")
        #expect(absent.status == .notFound)
        #expect(absent.headers[.contentType] == "application/json")
        let json = try JSON(parsing: String(buffer: absent.body).utf8)
        #expect(json["errorCode"] == 4_040_010)
    }

    @Test func `a refused token, and an unknown path, are answered without a body`() async throws {
        let stage = try Stage()
        for (uri, status) in [
            ("/inApps/v1/transactions/1", HTTPResponse.Status.unauthorized),
            ("/inApps/v9/birds", .notFound),
        ] {
            let answer = try await execute(stage, .get, uri, withToken: false)
            #expect(answer.status == status && answer.body.readableBytes == 0)
            #expect(answer.headers[.contentType] == nil && answer.headers[.contentLength] == "0")
        }
    }

    @Test(arguments: [
        // Node always appends a question mark; Python capitalizes its booleans.
        "/inApps/v2/history/ID?", "/inApps/v2/history/ID?revoked=False",
        "/inApps/v2/history/ID?productId=pro.monthly&productId=pro%2Emonthly",
        "/inApps/v2/history/ID?productType=AUTO_RENEWABLE&productType=CONSUMABLE",
    ])
    func `paths and queries of Apple's client libraries are understood`(uri: String) async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").transactionID
        let answer = try await execute(stage, .get, uri.replacing("ID", with: id))
        let json = try JSON(parsing: String(buffer: answer.body).utf8)
        #expect(json["signedTransactions"]?.array?.count == 1)
    }

    @Test func `a request identifier in upper case is the same as in lower case`() async throws {
        let stage = try Stage()
        let path = "/sandbox/inApps/v1/messaging/message/"
        let upper = "0CBE3F1B-7A5C-4B5E-8E54-D7C1F2A3B4C5"
        let body = #"{"header":"Stay","body":"Please."}"#
        #expect(try await execute(stage, .put, path + upper, body: body).status == .ok)
        let again = try await execute(stage, .put, path + upper.lowercased(), body: body)
        #expect(again.status == .conflict)
        let list = try await execute(stage, .get, path + "list")
        #expect(String(buffer: list.body).contains(upper.lowercased()))
    }

    @Test func `a refusal by the rate limit has the header Retry-After`() async throws {
        let stage = try Stage { $0.apiRateLimits = .virtual }
        let path = "/inApps/v1/notifications/test"
        #expect(try await execute(stage, .post, path).status == .ok)
        let answer = try await execute(stage, .post, path)
        #expect(answer.status == .tooManyRequests)
        #expect(answer.headers[.retryAfter] == "1768075201000")
    }

    @Test func `a body over the API's limit is refused`() async throws {
        let stage = try Stage()
        let body = String(repeating: "a", count: APIEndpoint.bodyBytesMax + 1)
        let answer = try await execute(
            stage, .post, "/inApps/v1/notifications/history", body: body)
        #expect(answer.status == .contentTooLarge)
    }

    @Test func `a token for manual calls is accepted by the API`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").transactionID
        let given = try await execute(stage, .get, "/_sim/api-token?only=token", withToken: false)
        let token = "Bearer " + String(buffer: given.body)
        let app = Application(router: stage.simulator.router())
        let status = try await app.test(.router) { client in
            try await client.execute(
                uri: "/inApps/v1/transactions/\(id)", method: .get,
                headers: [.authorization: token]
            ) { $0.status }
        }
        #expect(status == .ok)
    }

    @Test func `the control plane returns the key and the ids that tests need`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").transactionID
        let key = try await execute(stage, .get, "/_sim/api-key?only=private_key")
        #expect(String(buffer: key.body) == APIKey.wellKnownPEM)
        let numbers = try await execute(stage, .get, "/_sim/transactions/\(id)")
        let json = try JSON(parsing: String(buffer: numbers.body).utf8)
        #expect(json["order_id"]?.string == OrderID.text(of: id))
        #expect(json["environment"] == "production" && json["account"] == "anna")
    }
}
