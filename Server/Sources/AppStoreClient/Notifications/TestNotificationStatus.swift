import AppStoreFormats

/// The result of a test notification.
package struct TestNotificationStatus: Hashable, Sendable {
    package var signedPayload: String
    /// Apple's word for the result of each attempt, oldest first: `SUCCESS`, `TIMED_OUT` and so on.
    package var results: [String]
}

extension AppStoreClient {
    /// Asks Apple to send a notification of type TEST: "Request a Test Notification". Each call
    /// causes one notification.
    ///
    /// - Returns: the token with which to query the delivery status.
    package func sendTestNotification(
        in environment: StoreEnvironment
    ) async throws(AppStoreFailure) -> String {
        try await json(.testRequest, "/inApps/v1/notifications/test", in: environment)
            .required("testNotificationToken")
    }

    /// Returns the delivery status of the test notification with this token: "Get Test Notification
    /// Status". Apple keeps it for six months. Before the first attempt, `results` is empty.
    package func testNotificationStatus(
        _ token: String, in environment: StoreEnvironment
    ) async throws(AppStoreFailure) -> TestNotificationStatus {
        let id = try Self.validated(token, else: .invalidTestNotificationToken)
        let answer = try await json(
            .testStatus, "/inApps/v1/notifications/test/\(id)", in: environment)
        var results: [String] = []
        for attempt in answer["sendAttempts"]?.array ?? [] {
            results.append(try attempt.required("sendAttemptResult"))
        }
        return TestNotificationStatus(
            signedPayload: try answer.required("signedPayload"), results: results)
    }
}
