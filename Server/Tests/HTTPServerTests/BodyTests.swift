import HTTPTypes
import PerennialContract
import Testing

@testable import HTTPServer

/// Requests with a wrong body. Each answer says what is wrong and never repeats the body.
@Suite struct BodyTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var path: String
        var body: String
        var status: Int
        var code: ProblemCode
        var says: String?
        var testDescription: String { "\(path) \(body.prefix(60))" }
    }

    static let rows = [
        Row(
            path: Paths.purchases, body: "", status: 400, code: .bodyNotJSON,
            says: "The body is empty."),
        Row(
            path: Paths.purchases, body: "no", status: 400, code: .bodyNotJSON,
            says: "It is no JSON from line 1, column 1, on."),
        Row(
            path: Paths.purchases, body: "{\n  \"customer_id\": secret}", status: 400,
            code: .bodyNotJSON, says: "It is no JSON from line 2, column 18, on."),
        Row(
            path: Paths.purchases, body: #"{"customer_id": "anna""#, status: 400,
            code: .bodyNotJSON, says: "It ends too early."),
        Row(
            path: Paths.purchases, body: "{\"customer_id\": \"žofie\" secret}", status: 400,
            code: .bodyNotJSON, says: "It is no JSON from line 1, column 25, on."),
        Row(path: Paths.purchases, body: "[]", status: 400, code: .bodyNotJSON),
        Row(
            path: Paths.purchases, body: "{}", status: 400, code: .bodyNotUnderstood,
            says: "customer_id is missing."),
        Row(
            path: Paths.purchases, body: #"{"customer_id": 5}"#, status: 400,
            code: .bodyNotUnderstood, says: "customer_id is not text."),
        Row(
            path: Paths.purchases,
            body: #"{"customer_id": "anna", "signed_transactions": ["a", 5]}"#, status: 400,
            code: .bodyNotUnderstood, says: "signed_transactions[1] is not text."),
        Row(
            path: Paths.purchases, body: #"{"customer_id": "anna"}"#, status: 400,
            code: .purchasesMissing),
        Row(
            path: Paths.purchases,
            body: #"{"customer_id": "anna", "signed_transactions": ["secret"]}"#, status: 422,
            code: .purchaseNotTrusted,
            says: "The document is not signed: it has 1 part instead of 3. Was it cut off?"),
        Row(
            path: Paths.purchases,
            body: #"{"customer_id": "null", "signed_transactions": ["secret"]}"#, status: 422,
            code: .customerIDNotValid,
            says: "\"null\" is what programs send when they have no id, so many people would "
                + "share it."),
        Row(
            path: Paths.purchases,
            body: #"{"customer_id": "a", "x": ["# + String(repeating: "1,", count: 20_000) + "1]}",
            status: 413, code: .bodyHasTooManyItems),
        Row(
            path: Paths.purchases, body: #"{"customer_id": "an\u0000na"}"#, status: 400,
            code: .bodyNotUnderstood),
        Row(
            path: Paths.purchases, body: #"{"customer_id": "an\\u0000na"}"#, status: 400,
            code: .purchasesMissing),
        Row(
            path: "/v1/customers/an%00na/aliases", body: "{}", status: 400,
            code: .requestNotUnderstood),
        Row(path: Paths.notifications, body: "no", status: 400, code: .notificationNotUnderstood),
        Row(path: Paths.notifications, body: "{}", status: 400, code: .notificationNotUnderstood),
        Row(
            path: Paths.notifications, body: #"{"signedPayload": "secret"}"#, status: 400,
            code: .notificationNotUnderstood),
        Row(
            path: Paths.notifications, body: #"{"signedPayload": "\#(Self.otherApp)"}"#,
            status: 422, code: .notificationForAnotherApp, says: #"It is for "com.example.rage"."#),
        Row(
            path: Paths.notifications, body: #"{"signedPayload": "\#(Self.forged)"}"#,
            status: 422, code: .notificationNotTrusted),
        Row(
            path: Paths.aliases(of: "anna"), body: #"{"customer_id": null}"#, status: 400,
            code: .bodyNotUnderstood),
    ]

    /// Notifications with the header `{"alg":"none"}`, for a foreign bundle and for ours.
    static let otherApp = unsigned(for: "com.example.rage")
    static let forged = unsigned(for: "com.example.birds")

    @Test(arguments: rows)
    func `a request with a wrong body is refused with the reason`(row: Row) async throws {
        try await TestServer.run { server in
            let answer = try await server.send(.post, row.path, body: row.body)
            #expect(answer.status == row.status, "\(answer.text)")
            let problem = try answer.problem
            #expect(problem.code == row.code)
            #expect(problem.status == row.status)
            #expect(!problem.title.isEmpty && !problem.remedy.isEmpty)
            if let says = row.says { #expect(problem.detail == says) }
            #expect(!answer.text.contains("secret"))
        }
    }

    @Test(arguments: [
        (Paths.notifications, 1_048_577), (Paths.purchases, 12_582_913),
        (Paths.aliases(of: "anna"), 16_385),
    ])
    func `a body over the limit is refused`(path: String, bytes: Int) async throws {
        try await TestServer.run { server in
            let answer = try await server.send(
                .post, path, body: String(repeating: " ", count: bytes))
            #expect(answer.status == 413)
            #expect(try answer.problem.code == .bodyTooLarge)
            let within = try await server.send(
                .post, path, body: String(repeating: " ", count: bytes - 1))
            #expect(within.status == 400)
        }
    }

    @Test(arguments: [
        (Paths.grants(of: "anna"), #""entitlement": "pro""#),
        (Paths.debits("gems", of: "anna"), #""amount": 1"#),
        (Paths.credits("gems", of: "anna"), #""amount": 1"#),
        (Paths.transfers(of: "anna"), #""original_transaction_id": "1""#),
    ])
    func `if a reason is too long, the error names the limit`(
        path: String, rest: String
    ) async throws {
        try await TestServer.run { server in
            let reason = String(repeating: "ü", count: 251)
            let answer = try await server.send(
                .post, path, key: TestServer.secret, body: #"{"reason": "\#(reason)", \#(rest)}"#)
            #expect(answer.status == 400)
            let problem = try answer.problem
            #expect(problem.code == .bodyNotUnderstood)
            #expect(problem.detail == "reason must have at most 500 bytes of UTF-8.")
        }
    }

    @Test func `a request with too many documents is refused`() async throws {
        try await TestServer.run { server in
            let body = try JSONResponse.json(
                PurchasesRequest(
                    customerID: "anna", signedTransactions: Array(repeating: "a.b.c", count: 201)))
            let answer = try await server.send(.post, Paths.purchases, body: String(buffer: body))
            #expect(answer.status == 413)
            #expect(try answer.problem.code == .bodyHasTooManyItems)
        }
    }

    @Test func `a notification needs no key`() async throws {
        try await TestServer.run { server in
            let answer = try await server.send(.post, Paths.notifications, key: nil, body: "no")
            #expect(answer.status == 400)
        }
    }
}
