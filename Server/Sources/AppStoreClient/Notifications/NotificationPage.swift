import AppStoreFormats

/// Up to twenty notifications, with the contents that Apple first sent.
package struct NotificationPage: Hashable, Sendable {
    package var signedPayloads: [String]
    /// The token of the next page, valid for a while; nil on the last page.
    package var token: String?
    package var hasMore: Bool
}

extension AppStoreClient {
    /// The earliest time for which notifications may be queried. Apple stores 180 days, or 30 days
    /// in the sandbox. The result is an hour later, because Apple's clock may be ahead of ours.
    package func earliestNotification(in environment: StoreEnvironment) -> AppStoreDate {
        let days: Int64 = environment == .production ? 180 : 30
        return AppStoreDate(milliseconds: now().milliseconds - days * 86_400_000 + 3_600_000)
    }

    /// Requests notifications that Apple has sent, or has tried to send: "Get Notification
    /// History".
    ///
    /// - Parameters:
    ///   - start: the beginning of the time range; not before ``earliestNotification(in:)``.
    ///   - onlyFailures: whether to return only notifications that have not reached us.
    ///   - transactionID: returns only notifications about this transaction's customer; nil for
    ///     all.
    ///   - token: the token of the previous page; nil for the first page. With a token, all other
    ///     parameters must be the same as for the previous page.
    package func notificationHistory(
        from start: AppStoreDate, to end: AppStoreDate, onlyFailures: Bool,
        transactionID: String? = nil, token: String? = nil, in environment: StoreEnvironment
    ) async throws(AppStoreFailure) -> NotificationPage {
        var members = [
            JSON.Member("startDate", start.json), .init("endDate", end.json),
            .init("onlyFailures", .bool(onlyFailures)),
        ]
        if let transactionID {
            members.append(.init("transactionId", .string(try Self.validated(transactionID))))
        }
        let answer = try await json(
            .notificationHistory, "/inApps/v1/notifications/history",
            query: token.map { [("paginationToken", $0)] } ?? [], body: .object(members),
            in: environment)
        return try NotificationPage(answer, after: token)
    }

    /// Checks whether Apple accepts the key, by querying the notifications of one second. In one
    /// second there are few notifications, or none.
    ///
    /// - Throws: any failure that prevented Apple from checking the key. A refusal of the query
    ///   itself is not a failure here, because the key was checked before.
    package func verifyKey(in environment: StoreEnvironment) async throws(AppStoreFailure) {
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
    /// Parses a page. A page should say whether more pages follow. If the page does not say so, a
    /// new token means that more follow, because only then Apple provides a new token.
    ///
    /// - Parameter former: the token of the previous page.
    fileprivate init(_ answer: JSON, after former: String?) throws(AppStoreFailure) {
        var payloads: [String] = []
        for sent in try answer.requiredArray("notificationHistory") {
            payloads.append(try sent.required("signedPayload"))
        }
        let token = answer["paginationToken"]?.string
        let hasMore = answer["hasMore"]?.bool ?? (token != nil && token != former)
        guard token != nil || !hasMore else {
            throw .unreadable("hasMore is true, but paginationToken is missing")
        }
        self.init(signedPayloads: payloads, token: hasMore ? token : nil, hasMore: hasMore)
    }
}
