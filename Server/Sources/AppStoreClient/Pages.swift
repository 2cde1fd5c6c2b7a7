import AppStoreFormats

// Lists that are read page by page. A page is kept by the caller before the next is asked for, so
// that a failure in between loses nothing: `next()` again goes on where it stopped.

/// The pages of a customer's transactions after a revision.
package struct HistoryPages: Sendable {
    /// Of one list: ten thousand transactions.
    static let pagesMax = 500

    private let client: AppStoreClient
    private let id: String
    private let environment: StoreEnvironment
    private var revision: String?
    private var read = 0
    private var isAtEnd = false
    private var hasBegunAnew = false

    fileprivate init(
        _ client: AppStoreClient, of id: String, in environment: StoreEnvironment,
        after revision: String?
    ) {
        self.client = client
        self.id = id
        self.environment = environment
        self.revision = revision
    }

    /// The next page; nil after the last one. Where Apple no longer knows the revision, the list
    /// begins anew, once.
    package mutating func next() async throws(AppStoreFailure) -> HistoryPage? {
        guard !isAtEnd else { return nil }
        guard read < Self.pagesMax else {
            throw .unreadable("a history of more than \(Self.pagesMax) pages")
        }
        let page: HistoryPage
        do { page = try await client.history(of: id, in: environment, revision: revision) } catch {
            guard error.hasLostPlace, revision != nil, !hasBegunAnew else { throw error }
            (revision, hasBegunAnew) = (nil, true)
            page = try await client.history(of: id, in: environment, revision: nil)
        }
        guard !page.hasMore || page.revision != revision else {
            throw .unreadable("a page of the history that leads to itself")
        }
        read += 1
        revision = page.revision
        isAtEnd = !page.hasMore
        return page
    }
}

/// The pages of notifications of a stretch of time.
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
    /// The transactions of a transaction's account that changed after a revision, or all of them.
    package func historyPages(
        of id: String, in environment: StoreEnvironment, after revision: String? = nil
    ) -> HistoryPages {
        HistoryPages(self, of: id, in: environment, after: revision)
    }

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

extension AppStoreFailure {
    fileprivate var hasLostPlace: Bool {
        guard case .refused(let code, _) = self else { return false }
        return ErrorCode.lostPlace.contains(ErrorCode(rawValue: code))
    }
}
