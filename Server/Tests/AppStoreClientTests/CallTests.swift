import AppStoreFormats
import Testing

@testable import AppStoreClient

/// Each call to the App Store sends one request and reads values from its response.
@Suite struct CallTests {
    private func check(
        _ request: AppStoreRequest?, _ line: String, query: String = "", body: JSON? = nil
    ) throws {
        let request = try #require(request)
        #expect("\(request.method) \(request.path)" == line)
        #expect(request.query.map { "\($0)=\($1)" }.joined(separator: "&") == query)
        #expect(try request.body.map { try JSON(parsing: $0) } == body)
    }

    @Test func `the client returns the statuses of all subscription groups`() async throws {
        func chain(_ id: String, _ status: JSON) -> JSON {
            [
                "originalTransactionId": .string(id), "status": status,
                "signedTransactionInfo": "t", "signedRenewalInfo": "r", "new": 1,
            ]
        }
        let bench = try Bench(
            .ok([
                "data": [
                    ["lastTransactions": [chain("1", 1), chain("2", 9)]],
                    ["lastTransactions": []], ["lastTransactions": [chain("3", 5)]],
                ]
            ]))
        let statuses = try await bench.client.statuses(of: "7", in: .sandbox)
        #expect(statuses.map(\.originalTransactionId) == ["1", "2", "3"])
        #expect(statuses.map(\.status.rawValue) == [1, 9, 5])
        #expect(bench.script.requests.first?.environment == .sandbox)
        try check(bench.script.requests.first, "GET /inApps/v1/subscriptions/7")
    }

    @Test func `a request for the transaction history continues after a given revision`()
        async throws
    {
        let bench = try Bench(
            .ok(["signedTransactions": ["a", "b"], "revision": "5_6", "hasMore": true]))
        let page = try await bench.client.history(of: "7", in: .production, revision: "3_4")
        #expect(
            page == HistoryPage(signedTransactions: ["a", "b"], revision: "5_6", hasMore: true))
        try check(
            bench.script.requests.first, "GET /inApps/v2/history/7",
            query: "sort=ASCENDING&revision=3_4")
    }

    @Test func `a known order number returns its transactions, and an unknown one returns none`()
        async throws
    {
        let bench = try Bench(
            .ok(["status": 0, "signedTransactions": ["a", "b"]]), .ok(["status": 1]),
            .ok(["status": 2]))
        #expect(try await bench.client.transactions(ofOrder: "MK5TTTVWJH") == ["a", "b"])
        #expect(try await bench.client.transactions(ofOrder: "MK5TTTVWJH") == [])
        let failure = await #expect(throws: AppStoreFailure.self) {
            try await bench.client.transactions(ofOrder: "MK5TTTVWJH")
        }
        #expect(failure == .unreadable("status must be 0 or 1"))
        try check(bench.script.requests.first, "GET /inApps/v1/lookup/MK5TTTVWJH")
        #expect(bench.script.requests.first?.environment == .production)
    }

    @Test func `notifications of a time range are requested`() async throws {
        let bench = try Bench(
            .ok([
                "hasMore": true, "paginationToken": "next",
                "notificationHistory": [["signedPayload": "n", "sendAttempts": []]],
            ]))
        let page = try await bench.client.notificationHistory(
            from: AppStoreDate(milliseconds: 1), to: AppStoreDate(milliseconds: 2),
            onlyFailures: true, transactionID: "7", token: "this", in: .production)
        #expect(page == NotificationPage(signedPayloads: ["n"], token: "next", hasMore: true))
        try check(
            bench.script.requests.first, "POST /inApps/v1/notifications/history",
            query: "paginationToken=this",
            body: ["startDate": 1, "endDate": 2, "onlyFailures": true, "transactionId": "7"])
    }

    @Test func `a test notification is requested, and its status is read`() async throws {
        let bench = try Bench(
            .ok(["testNotificationToken": "abc_12"]),
            .ok([
                "signedPayload": "n",
                "sendAttempts": [["attemptDate": 1, "sendAttemptResult": "SUCCESS"]],
            ]))
        let token = try await bench.client.sendTestNotification(in: .sandbox)
        let status = try await bench.client.testNotificationStatus(token, in: .sandbox)
        #expect(status == TestNotificationStatus(signedPayload: "n", results: ["SUCCESS"]))
        try check(bench.script.requests.first, "POST /inApps/v1/notifications/test")
        try check(bench.script.requests.last, "GET /inApps/v1/notifications/test/abc_12")
    }

    @Test func `the client sends consumption in Apple's terms`() async throws {
        let bench = try Bench(AppStoreResponse(status: 202), AppStoreResponse(status: 202))
        try await bench.client.sendConsumption(
            Consumption(
                delivery: .delivered(consumedMilliunits: 25_000), hadSample: false,
                preference: .grantProrated), of: "7", in: .production)
        try await bench.client.sendConsumption(
            Consumption(delivery: .undelivered(.serverOutage), hadSample: true), of: "7",
            in: .production)
        let path = "PUT /inApps/v2/transactions/consumption/7"
        try check(
            bench.script.requests.first, path,
            body: [
                "customerConsented": true, "sampleContentProvided": false,
                "deliveryStatus": "DELIVERED", "consumptionPercentage": 25_000,
                "refundPreference": "GRANT_PRORATED",
            ])
        try check(
            bench.script.requests.last, path,
            body: [
                "customerConsented": true, "sampleContentProvided": true,
                "deliveryStatus": "UNDELIVERED_SERVER_OUTAGE",
            ])
    }

    @Test func `the response to an extension contains the new renewal date`() async throws {
        let bench = try Bench(.ok(["success": true, "effectiveDate": 1_767_000_000_000]))
        let wish = RenewalExtension(days: 30, reason: .outage, requestID: "r")
        let renews = try await bench.client.extend("7", by: wish, in: .production)
        #expect(renews.milliseconds == 1_767_000_000_000)
        try check(
            bench.script.requests.first, "PUT /inApps/v1/subscriptions/extend/7",
            body: ["extendByDays": 30, "extendReasonCode": 3, "requestIdentifier": "r"])
    }

    // MARK: - Which store

    struct Places: Sendable {
        var answers: [AppStoreResponse]
        var known: StoreEnvironment?
        var failure: AppStoreFailure?
        var calls: Int
    }

    static let places = [
        Places(answers: [.transaction], known: .production, calls: 1),
        Places(answers: [.error(4_040_010), .transaction], known: .sandbox, calls: 2),
        Places(
            answers: [.error(4_040_010), .error(4_040_010)], failure: .unknownID, calls: 2),
        // In this row, the app was never released.
        Places(answers: [AppStoreResponse(status: 401), .transaction], known: .sandbox, calls: 2),
        Places(
            answers: [AppStoreResponse(status: 401), .error(4_040_010)],
            failure: .unauthorized("The App Store does not accept the key KEY1."), calls: 2),
        Places(
            answers: [AppStoreResponse(status: 500)], failure: .unavailable("status 500"),
            calls: 1),
        Places(
            answers: [.error(4_040_010), AppStoreResponse(status: 500)],
            failure: .unavailable("status 500"), calls: 2),
    ]

    @Test(arguments: places)
    func `production is asked first, and the sandbox is asked if production does not know the id`(
        row: Places
    ) async throws {
        let bench = try Bench(Script(row.answers))
        if let failure = row.failure {
            await #expect(throws: failure) { try await bench.client.findEnvironment("7") }
        } else {
            #expect(try await bench.client.findEnvironment("7") == row.known)
        }
        let asked: [StoreEnvironment] = [.production, .sandbox]
        #expect(bench.script.requests.map(\.environment) == Array(asked.prefix(row.calls)))
    }

    // MARK: - Budgets

    @Test func `a call that exceeds the client's rate limit is not sent`() async throws {
        let answers = Array(repeating: AppStoreResponse.transaction, count: 20)
        let bench = try Bench(Script(answers), pacing: .inProcess())
        for _ in 0..<10 { _ = try await bench.client.transaction("1", in: .production) }
        let until = AppStoreDate(milliseconds: bench.clock.now().milliseconds + 25)
        await #expect(throws: AppStoreFailure.rateLimited(until: until)) {
            try await bench.client.transaction("1", in: .production)
        }
        #expect(bench.script.requests.count == 10)
        // The sandbox has a budget separate from production's, and each endpoint has a separate
        // budget.
        _ = try await bench.client.transaction("1", in: .sandbox)
        #expect(bench.script.requests.count == 11)
    }

    @Test func `after Apple refuses a call, no call is sent until the time that the refusal names`()
        async throws
    {
        let bench = try Bench(
            .error(4_290_000, retryAfter: "1767268860000"), .transaction, pacing: .inProcess())
        for _ in 0..<3 {
            await #expect(
                throws: AppStoreFailure.rateLimited(
                    until: AppStoreDate(milliseconds: 1_767_268_860_000))
            ) { try await bench.client.transaction("1", in: .production) }
        }
        #expect(bench.script.requests.count == 1)
        bench.clock.advance(seconds: 60)
        _ = try await bench.client.transaction("1", in: .production)
        #expect(bench.script.requests.count == 2)
    }
}
