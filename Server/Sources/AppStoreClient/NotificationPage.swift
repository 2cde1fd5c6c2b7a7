import AppStoreFormats

/// Up to twenty notifications, as they were first sent.
package struct NotificationPage: Hashable, Sendable {
    package var signedPayloads: [String]
    /// Leads to the next page, for a while; nil on the last.
    package var token: String?
    package var hasMore: Bool
}

extension AppStoreClient {
    /// The earliest moment that may be asked for: 180 days ago, in the sandbox 30; an hour less,
    /// for Apple's clock may be ahead of ours.
    package func earliestNotification(in environment: StoreEnvironment) -> AppStoreDate {
        let days: Int64 = environment == .production ? 180 : 30
        return AppStoreDate(milliseconds: now().milliseconds - days * 86_400_000 + 3_600_000)
    }

    /// What Apple sent, or tried to: "Get Notification History".
    ///
    /// - Parameters:
    ///   - start: not before ``earliestNotification(in:)``.
    ///   - onlyFailures: those that did not reach us, or not yet.
    ///   - transactionID: those about this transaction's customer; nil for all.
    ///   - token: of the page before. All else must be as it was then.
    package func notificationHistory(
        from start: AppStoreDate, to end: AppStoreDate, onlyFailures: Bool,
        transactionID: String? = nil, token: String? = nil, in environment: StoreEnvironment
    ) async throws(AppStoreFailure) -> NotificationPage {
        var members = [
            JSON.Member("startDate", start.json), .init("endDate", end.json),
            .init("onlyFailures", .bool(onlyFailures)),
        ]
        if let transactionID {
            members.append(.init("transactionId", .string(try Self.checked(transactionID))))
        }
        let answer = try await json(
            .notificationHistory, "/inApps/v1/notifications/history",
            query: token.map { [("paginationToken", $0)] } ?? [], body: .object(members),
            in: environment)
        return try NotificationPage(answer, after: token)
    }

    /// Whether the key is accepted: asks for a second's notifications, which are few or none.
    ///
    /// - Throws: whatever kept Apple from looking at the question. A refusal of the question is no
    ///   failure here: the key was looked at before it.
    package func tryKey(in environment: StoreEnvironment) async throws(AppStoreFailure) {
        let start = AppStoreDate(milliseconds: now().milliseconds - 60_000)
        let end = AppStoreDate(milliseconds: start.milliseconds + 1000)
        do {
            _ = try await notificationHistory(
                from: start, to: end, onlyFailures: false, in: environment)
        } catch {
            guard case .refused = error else { throw error }
        }
    }
}

extension NotificationPage {
    /// Every page says whether there are more. Of one that does not, a token that leads on says it:
    /// Apple gives one only then.
    ///
    /// - Parameter former: the token of the page before.
    fileprivate init(_ answer: JSON, after former: String?) throws(AppStoreFailure) {
        var payloads: [String] = []
        for sent in try answer.requiredArray("notificationHistory") {
            payloads.append(try sent.required("signedPayload"))
        }
        let token = answer["paginationToken"]?.string
        let hasMore = answer["hasMore"]?.bool ?? (token != nil && token != former)
        guard token != nil || !hasMore else {
            throw .unreadable("more notifications, and no paginationToken")
        }
        self.init(signedPayloads: payloads, token: hasMore ? token : nil, hasMore: hasMore)
    }
}
