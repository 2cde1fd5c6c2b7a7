import AppStoreFormats

/// Notification history, and test notifications.
enum NotificationEndpoints {
    static let all = [
        APIEndpoint(.post, "v1/notifications/history", perSecond: 50) { simulator, call in
            try notificationHistory(call, in: simulator)
        },
        APIEndpoint(.post, "v1/notifications/test", perSecond: 1) { simulator, call in
            try await requestTest(call, in: simulator)
        },
        APIEndpoint(.get, "v1/notifications/test/{token}", perSecond: 1) { simulator, call in
            try testStatus(call, in: simulator)
        },
    ]
}

/// A test notification that a client requested.
struct TestNotification: Hashable, Sendable {
    /// How long a test notification can be looked up: six months, in milliseconds.
    static let retentionMilliseconds: Int64 = 180 * 86_400_000
    /// Maximum number of test notifications stored in one world; the oldest is removed first.
    static let storedMax = 1000

    let uuid: String
    let at: AppStoreDate

    /// The token in Apple's form: a UUID and milliseconds.
    var token: String { "\(uuid)_\(at.milliseconds)" }

    /// Whether a text has the form of a token.
    static func isToken(_ text: String) -> Bool {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0].utf8.count == 36 && Int64(parts[1]) != nil
    }
}

extension NotificationEndpoints {
    private static func notificationHistory(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let query = try NotificationHistoryQuery(
            call.body(), in: call.environment, at: simulator.clock.now)
        var account: Account.Key?
        if let id = query.transactionID {
            account = try simulator.world.account(ofAny: id, in: call.environment)
        }
        let found = try unread(by: call, query, in: simulator).filter {
            query.includes($0, account: account)
        }
        return .ok(page(of: found, query))
    }

    /// The notifications after the notification that the page token names. All notifications if
    /// there is no token. The named notification need not match the query any more: if only
    /// failures are requested, it may have been delivered since.
    private static func unread(
        by call: APICall, _ query: NotificationHistoryQuery,
        in simulator: isolated AppStoreSimulator
    ) throws(APIError) -> ArraySlice<SentNotification> {
        let all = simulator.notifications.filter { $0.draft.environment == call.environment }
        guard let token = call.value("paginationToken") else { return all[...] }
        let uuid = try query.uuid(in: token)
        guard let last = all.firstIndex(where: { $0.draft.uuid == uuid }) else {
            throw .invalidPaginationToken
        }
        return all[(last + 1)...]
    }

    private static func page(
        of found: [SentNotification], _ query: NotificationHistoryQuery
    ) -> [JSON.Member] {
        let page = found.prefix(AppStoreSimulator.pageLength)
        let history = page.map { sent -> JSON in
            ["sendAttempts": sent.sendAttempts, "signedPayload": .string(sent.signedPayload)]
        }
        let hasMore = found.count > page.count
        var members: [JSON.Member] = []
        if hasMore, let last = page.last {
            members.append(.init("paginationToken", .string(query.token(after: last.draft.uuid))))
        }
        return members + [
            .init("hasMore", .bool(hasMore)), .init("notificationHistory", .array(history)),
        ]
    }

    private static func requestTest(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) async throws -> APIResponse {
        guard simulator.settings.notificationURL != nil else {
            throw APIError.notificationURLNotFound
        }
        let (test, _) = try await simulator.perform { world, now in
            let notice = world.testNotification(in: call.environment, at: now)
            return (TestNotification(uuid: notice.uuid, at: now), [notice])
        }
        simulator.api.record(test)
        return .ok([.init("testNotificationToken", .string(test.token))])
    }

    private static func testStatus(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let token = call.parameter("token")
        guard TestNotification.isToken(token) else { throw APIError.invalidTestNotificationToken }
        guard let test = simulator.api.testNotifications[token],
            simulator.clock.milliseconds - test.at.milliseconds
                <= TestNotification.retentionMilliseconds,
            let sent = simulator.notifications.last(where: { $0.draft.uuid == test.uuid }),
            sent.draft.environment == call.environment
        else { throw APIError.testNotificationNotFound }
        var members: [JSON.Member] = [.init("signedPayload", .string(sent.signedPayload))]
        if let first = sent.attempts.first {
            let result = JSON.string(first.result.sendAttemptResult)
            members.append(.init("firstSendAttemptResult", result))
        }
        return .ok(members + [.init("sendAttempts", sent.sendAttempts)])
    }
}

extension ServerAPI {
    fileprivate mutating func record(_ test: TestNotification) {
        if testNotifications.count >= TestNotification.storedMax,
            let oldest = testNotifications.values.min(by: { ($0.at, $0.uuid) < ($1.at, $1.uuid) })
        {
            testNotifications[oldest.token] = nil
        }
        testNotifications[test.token] = test
    }
}

extension SentNotification {
    fileprivate var sendAttempts: JSON {
        .array(
            attempts.map { attempt in
                [
                    "attemptDate": attempt.at.json,
                    "sendAttemptResult": .string(attempt.result.sendAttemptResult),
                ]
            })
    }
}

extension PostResult {
    /// Apple's name for the result of an attempt (`sendAttemptResult`). Without a response, the
    /// name is derived from the error message.
    var sendAttemptResult: String {
        if isSuccess { return "SUCCESS" }
        if status != nil { return "UNSUCCESSFUL_HTTP_RESPONSE_CODE" }
        let words = (error ?? "").lowercased()
        let known = [
            (["timeout", "timed out", "deadline"], "TIMED_OUT"),
            (["redirect"], "CIRCULAR_REDIRECT"),
            (["tls", "ssl", "certificate", "handshake"], "TLS_ISSUE"),
            (["closed", "reset"], "PREMATURE_CLOSE"),
            (["refused", "connect", "socket", "dns", "unknown host"], "SOCKET_ISSUE"),
        ]
        let found = known.first { causes, _ in causes.contains { words.contains($0) } }
        return found?.1 ?? (words.isEmpty ? "NO_RESPONSE" : "OTHER")
    }
}
