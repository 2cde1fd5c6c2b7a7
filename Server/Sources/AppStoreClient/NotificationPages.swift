import AppStoreFormats

/// The pages of notifications of a stretch of time, read as ``HistoryPages`` are.
package struct NotificationPages: Sendable {
    /// Of one list: forty thousand notifications.
    static let pagesMax = 2000

    private let client: AppStoreClient
    private let start: AppStoreDate
    private let end: AppStoreDate
    private let onlyFailures: Bool
    private let environment: StoreEnvironment
    private var token: String?
    private var read = 0
    private var isAtEnd: Bool
    private var hasBegunAnew = false

    fileprivate init(
        _ client: AppStoreClient, from start: AppStoreDate, to end: AppStoreDate,
        onlyFailures: Bool, in environment: StoreEnvironment
    ) {
        self.client = client
        self.start = start
        self.end = end
        self.onlyFailures = onlyFailures
        self.environment = environment
        isAtEnd = end <= start
    }

    /// The next page; nil after the last one. Where Apple no longer knows the token, the list
    /// begins anew, once.
    package mutating func next() async throws(AppStoreFailure) -> NotificationPage? {
        guard !isAtEnd else { return nil }
        guard read < Self.pagesMax else {
            throw .unreadable("more than \(Self.pagesMax) pages of notifications in this time")
        }
        let page: NotificationPage
        do { page = try await self.page(token) } catch {
            guard error.hasLostPlace, token != nil, !hasBegunAnew else { throw error }
            (token, hasBegunAnew) = (nil, true)
            page = try await self.page(nil)
        }
        guard !page.hasMore || page.token != token else {
            throw .unreadable("a page of notifications that leads to itself")
        }
        read += 1
        token = page.token
        isAtEnd = !page.hasMore
        return page
    }

    private func page(_ token: String?) async throws(AppStoreFailure) -> NotificationPage {
        try await client.notificationHistory(
            from: start, to: end, onlyFailures: onlyFailures, token: token, in: environment)
    }
}

extension AppStoreClient {
    /// The notifications of a time, of which Apple has the last 180 days, in the sandbox 30: an
    /// earlier start is moved on.
    package func notificationPages(
        from start: AppStoreDate, to end: AppStoreDate, onlyFailures: Bool,
        in environment: StoreEnvironment
    ) -> NotificationPages {
        NotificationPages(
            self, from: max(start, earliestNotification(in: environment)), to: end,
            onlyFailures: onlyFailures, in: environment)
    }
}
