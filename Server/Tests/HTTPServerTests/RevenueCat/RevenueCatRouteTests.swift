import AppStoreTrust
import Engine
import Foundation
import HTTPTypes
import Ledger
import Testing

@testable import HTTPServer

/// The routes for RevenueCat's SDK: their answers and statuses, and who gets which.
@Suite struct RevenueCatRouteTests {
    private static let key = "appl_test_birds"

    private struct Failure: Decodable {
        var code: Int
        var message: String
    }

    @Sendable private static func serve(_ app: inout AppSettings) {
        app.revenueCat = RevenueCatSettings(keys: [key])
        app.offerings = OfferingRules(placements: [
            Placement(id: "default", products: ["pro.monthly"])
        ])
    }

    private struct Row: Sendable {
        var method = HTTPRequest.Method.post
        var path: String
        var body: String?
        var status: Int
        /// The number in the body of an error.
        var code: Int?

        init(
            _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, _ status: Int,
            _ code: Int? = nil
        ) {
            (self.method, self.path, self.body) = (method, path, body)
            (self.status, self.code) = (status, code)
        }
    }

    private static let id = "/v1/subscribers/anna"

    private static func receipt(_ body: String, _ status: Int, _ code: Int = 7110) -> Row {
        Row(.post, "/v1/receipts", body, status, code)
    }

    private static let rows = [
        Row(.get, id, nil, 200), Row(.get, id + "/offerings", nil, 200),
        Row(.get, "/v1/subscribers/$RCAnonymousID%3A0a1b2c3d4e5f60718293a4b5c6d7e8f9", nil, 200),
        Row(.get, "/v1/subscribers/a%2Bb%40example.com", nil, 200),
        Row(.get, "/v1/subscribers/guest", nil, 400, 7256),
        Row(.get, "/v1/product_entitlement_mapping", nil, 200),
        Row(.get, id + "/virtual_currencies", nil, 200),
        Row(
            .post, "/v1/subscribers/identify",
            #"{"app_user_id": "anna", "new_app_user_id": "ben"}"#, 201),
        Row(.post, "/v1/subscribers/identify", #"{"app_user_id": "anna"}"#, 400, 7226),
        Row(
            .post, "/v1/subscribers/identify",
            #"{"app_user_id": "anna", "new_app_user_id": "null"}"#, 400, 7256),
        Row(.post, "/v1/receipts", #"{"app_user_id": "anna"}"#, 200),
        receipt(#"{"app_user_id": "anna", "fetch_token": "a.b.c"}"#, 400, 7103),
        // Base64 of {"environment": "Xcode"}.
        receipt(
            #"{"app_user_id": "anna", "fetch_token": "eyJlbnZpcm9ubWVudCI6ICJYY29kZSJ9"}"#, 400,
            7103),
        // Base64 of {"environment": "moon"}.
        receipt(
            #"{"app_user_id": "anna", "fetch_token": "eyJlbnZpcm9ubWVudCI6ICJtb29uIn0="}"#, 503),
        receipt(#"{"app_user_id": "anna", "fetch_token": "MIIB"}"#, 503),
        receipt(#"{"app_user_id": "anna", "fetch_token": "?"}"#, 503),
        receipt(#"{"app_user_id": "guest", "fetch_token": "a.b.c"}"#, 503),
        receipt(#"{"app_user_id": "anna", "fetch_token": 1}"#, 503),
        receipt(#"{"app_user_id": "anna", "fetch_token": "\u0000"}"#, 503),
        // The SDK would finish a transaction that the server has not seen.
        receipt(#"{"app_user_id": "anna", "transaction_id": "7"}"#, 503),
        receipt(#"{"app_user_id": "anna", "product_id": "p", "fetch_token": ""}"#, 503),
        receipt(#"{"app_user_id": "anna", "initiation_source": "purchase"}"#, 503),
        receipt(#"{"fetch_token": "a.b.c"}"#, 503), receipt("{", 503), receipt("", 503),
        Row(.post, id + "/attributes", #"{"attributes": {}}"#, 200),
        Row(.post, id + "/attribution", "{}", 200),
        Row(.post, id + "/adservices_attribution", "{}", 200),
        Row(.post, "/v1/events", #"{"events": []}"#, 200),
        Row(.post, "/v1/diagnostics", #"{"entries": []}"#, 200),
        Row(.post, "/v1/config/app", "{}", 404, 7226),
        Row(.post, "/v1/subscribers/redeem_purchase", "{}", 400, 7849),
        Row(.get, id + "/health_report", nil, 404, 7226),
        Row(.get, "/v1/customercenter/anna", nil, 404, 7226),
        Row(
            .post, id + "/intro_eligibility", #"{"product_identifiers": ["pro.monthly"]}"#, 200),
        Row(
            .post, id + "/virtual_currencies/spend", #"{"adjustments": {"gems": 1, "x": 1}}"#, 400,
            7226),
    ]

    @Test func `every call of RevenueCat's SDK gets the expected status and error code`()
        async throws
    {
        try await TestServer.run(Self.serve) { server in
            for row in Self.rows {
                let answer = try await server.send(
                    row.method, row.path, key: Self.key, body: row.body)
                #expect(answer.status == row.status, "\(row.path): \(answer.text)")
                #expect(answer.headers[.contentType] == "application/json", "\(row.path)")
                if let code = row.code {
                    let failure: Failure = try answer.decoded()
                    #expect(failure.code == code && !failure.message.isEmpty, "\(row.path)")
                }
                #expect((answer.status == 503) == (answer.headers[.retryAfter] != nil))
            }
        }
    }

    @Test func `only four reasons make the refusal of a document final`() {
        let final: Set<Refusal.Reason> = [
            .notAJWS, .headerUnreadable, .badSignature, .environmentNeverTrusted,
        ]
        for reason in Refusal.Reason.allCases {
            let failure = EngineFailure.notTrusted(Refusal(reason, expected: "", found: ""))
            #expect(failure.isFinalForDocument == final.contains(reason), "\(reason)")
        }
        let later: [EngineFailure] = [
            .invalidCustomerID("guest"), .unreadable("no Base64"), .busy, .storage("away"),
            .limitExceeded(what: "items", limit: 1), .notForAnyApp(found: nil, known: []),
            .legacyDisabled("birds"), .tooManyIDs(limit: 1),
            .growthBudgetExhausted(wait: .seconds(1)), .identityNotProven(.missing),
        ]
        for failure in later { #expect(!failure.isFinalForDocument, "\(failure)") }
    }

    @Test func `an unknown key gets 401, but a receipt with an unknown key gets 503`() async throws
    {
        try await TestServer.run(Self.serve) { server in
            for key in ["appl_other", TestServer.key, "sk_other", nil] {
                let read = try await server.send(.get, Self.id, key: key)
                #expect(read.status == 401)
                let posted = try await server.send(
                    .post, "/v1/receipts", key: key, body: #"{"app_user_id": "anna"}"#)
                #expect(posted.status == 503)
            }
            for path in ["/v1/health", Self.id + "/health_report_availability"] {
                #expect(try await server.send(.get, path, key: nil).status == 200)
            }
            #expect(try await server.send(.get, "/v1/customers/anna", key: Self.key).status == 401)
        }
    }

    @Test
    func `without RevenueCat keys in the configuration, a receipt gets 503, and reads get 404`()
        async throws
    {
        try await TestServer.run { server in
            for path in [Self.id, "/v1/health", "/v1/product_entitlement_mapping"] {
                #expect(try await server.send(.get, path, key: Self.key).status == 404)
            }
            #expect(try await server.send(.post, "/v1/events", key: Self.key).status == 405)
            // The SDK would finish the transaction after a 404.
            let posted = try await server.send(
                .post, "/v1/receipts", key: Self.key, body: #"{"app_user_id": "anna"}"#)
            #expect(posted.status == 503)
        }
    }

    @Test func `a current ETag gets 304, and an empty or unknown ETag gets the whole answer`()
        async throws
    {
        let tagName = try #require(HTTPField.Name("X-RevenueCat-ETag"))
        let timeName = try #require(HTTPField.Name("X-RevenueCat-Request-Time"))
        try await TestServer.run(Self.serve) { server in
            for path in [Self.id, Self.id + "/offerings", "/v1/product_entitlement_mapping"] {
                let first = try await server.send(.get, path, key: Self.key, headers: [tagName: ""])
                let tag = try #require(first.headers[tagName])
                #expect(first.status == 200 && !tag.isEmpty)
                let again = try await server.send(
                    .get, path, key: Self.key, headers: [tagName: tag])
                #expect(again.status == 304 && again.text.isEmpty)
                #expect(again.headers[tagName] == tag && again.headers[timeName] != nil)
                let other = try await server.send(
                    .get, path, key: Self.key, headers: [tagName: "0"])
                #expect(other.status == 200)
            }
            // The SDK stores one tag for the answers to all receipts, regardless of the customer.
            let posted = try await server.send(
                .post, "/v1/receipts", key: Self.key, body: #"{"app_user_id": "anna"}"#)
            #expect(posted.headers[tagName] == nil)
            let failed = try await server.send(.get, "/v1/subscribers/guest", key: Self.key)
            #expect(failed.headers[tagName] == nil)
        }
    }
}
