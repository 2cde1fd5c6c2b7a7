import AppStoreFormats
import Testing

@testable import Simulator

@Suite struct NotificationEndpointTests {
    private static let line = "POST v1/notifications/history"

    private func body(_ changes: [JSON.Member] = []) -> JSON {
        .object(
            [.init("startDate", 1_768_000_000_000), .init("endDate", 1_790_000_000_000)] + changes)
    }

    private func history(
        _ stage: Stage, _ changes: [JSON.Member] = []
    ) async throws -> [JSON] {
        try await stage.json(Ask(Self.line, body: body(changes)))["notificationHistory"]?.array
            ?? []
    }

    @Test func `pages of twenty have every notification once, as it was sent`() async throws {
        let stage = try Stage(shop: TableShop.file())
        for _ in 0..<45 { try await stage.buy("gem") }
        var found: [JSON] = []
        var counts: [Int] = []
        var token: String?
        repeat {
            let query = token.map { [("paginationToken", $0)] } ?? []
            let json = try await stage.json(Ask(Self.line, query, body: body()))
            let page = json["notificationHistory"]?.array ?? []
            counts.append(page.count)
            found += page
            token = json["paginationToken"]?.string
            #expect((json["hasMore"] == true) == (token != nil))
        } while token != nil && counts.count < 10
        #expect(counts == [20, 20, 5])
        let sent = await stage.simulator.notifications.map { JSON.string($0.signedPayload) }
        #expect(found.compactMap { $0["signedPayload"] } == sent)
    }

    @Test func `a pagination token is valid only for the query that returned it`()
        async throws
    {
        let stage = try Stage(shop: TableShop.file())
        for _ in 0..<21 { try await stage.buy("gem") }
        let json = try await stage.json(Ask(Self.line, body: body()))
        let token = try require(json["paginationToken"]?.string, "no token")
        let other = body([.init("notificationType", "ONE_TIME_CHARGE")])
        let refused = try await stage.refusal(
            Ask(Self.line, [("paginationToken", token)], body: other))
        #expect(refused == Refused(400, 4_000_014))
    }

    @Test
    func `a list of failed notifications continues even if earlier ones have been delivered`()
        async throws
    {
        let stage = try Stage(shop: TableShop.file())
        stage.letterBox.answer(otherwise: PostResult(status: 503))
        for _ in 0..<21 { try await stage.buy("gem") }
        let failures = body([.init("onlyFailures", true)])
        let first = try await stage.json(Ask(Self.line, body: failures))
        #expect(first["notificationHistory"]?.array?.count == 20)
        let token = try require(first["paginationToken"]?.string, "no token")
        stage.letterBox.answer()
        try await stage.advance("PT1H")
        stage.letterBox.answer(otherwise: PostResult(status: 503))
        try await stage.buy("gem")
        let next = try await stage.json(
            Ask(Self.line, [("paginationToken", token)], body: failures))
        let told = next["notificationHistory"]?.array ?? []
        let last = try require(await stage.simulator.notifications.last, "none")
        #expect(told.map { $0["signedPayload"] } == [.string(last.signedPayload)])
        #expect(next["hasMore"] == false)
    }

    @Test
    func `attempts to send are named in Apple's words, and the list can be limited to failures`()
        async throws
    {
        let stage = try Stage()
        stage.letterBox.answer(
            [PostResult(status: 503), PostResult(error: "connectTimeout"), PostResult(status: 204)])
        let bought = try await stage.buy("pro.monthly")
        #expect(try await history(stage, [.init("onlyFailures", true)]).count == 1)
        try await stage.advance("P1D")
        let attempts = try await history(stage).first?["sendAttempts"]?.array ?? []
        let noon: Int64 = 1_768_075_200_000
        #expect(
            attempts == [
                [
                    "attemptDate": .integer(noon),
                    "sendAttemptResult": "UNSUCCESSFUL_HTTP_RESPONSE_CODE",
                ],
                ["attemptDate": .integer(noon + 3_600_000), "sendAttemptResult": "TIMED_OUT"],
                ["attemptDate": .integer(noon + 46_800_000), "sendAttemptResult": "SUCCESS"],
            ])
        #expect(try await history(stage, [.init("onlyFailures", true)]).isEmpty)
        try await stage.simulator.change(bought.originalTransactionID, .cancel)
        let changed = [JSON.Member("notificationType", "DID_CHANGE_RENEWAL_STATUS")]
        #expect(try await history(stage, changed).count == 1)
        let enabled = changed + [.init("notificationSubtype", "AUTO_RENEW_ENABLED")]
        #expect(try await history(stage, enabled).isEmpty)
    }

    @Test func `a customer's notifications are found by any of their transactions`() async throws {
        let stage = try Stage(shop: TableShop.file())
        let gem = try await stage.buy("gem").transactionID
        try await stage.buy("pro")
        try await stage.simulator.addDevice(account: "ben")
        try await stage.buy("gem", on: "ben-1")
        #expect(try await history(stage, [.init("transactionId", .string(gem))]).count == 2)
        #expect(try await history(stage).count == 3)
    }

    @Test(arguments: [
        ("connect refused", "SOCKET_ISSUE"), ("deadlineExceeded", "TIMED_OUT"),
        ("TLS handshake failed", "TLS_ISSUE"), ("remoteConnectionClosed", "PREMATURE_CLOSE"),
        ("too many redirects", "CIRCULAR_REDIRECT"), ("who knows", "OTHER"), ("", "NO_RESPONSE"),
    ])
    func `each connection error is named in Apple's words`(error: String, word: String) {
        #expect(PostResult(error: error).sendAttemptResult == word)
    }

    @Test func `a test notification can be requested and looked up`() async throws {
        let stage = try Stage()
        let json = try await stage.json(Ask("POST v1/notifications/test"))
        let token = try require(json["testNotificationToken"]?.string, "no token")
        let status = try await stage.json(Ask("GET v1/notifications/test/\(token)"))
        #expect(status["sendAttempts"]?.array?.first?["sendAttemptResult"] == "SUCCESS")
        #expect(status["firstSendAttemptResult"] == "SUCCESS")
        let payload = try decode(
            NotificationPayload.self, require(status["signedPayload"]?.string, "none"))
        #expect(payload.notificationType == .test && payload.data?.signedTransactionInfo == nil)
        #expect(stage.letterBox.count == 1)
        try await stage.advance("P181D")
        let late = try await stage.refusal(Ask("GET v1/notifications/test/\(token)"))
        #expect(late == Refused(404, 4_040_008))
    }

    @Test func `without a URL, a test notification is refused`() async throws {
        let stage = try Stage { $0.notificationURL = nil }
        let refused = try await stage.refusal(Ask("POST v1/notifications/test"))
        #expect(refused == Refused(404, 4_040_007))
    }
}
