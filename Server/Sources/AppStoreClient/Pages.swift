import AppStoreFormats

/// The pages of a list that Apple returns in parts.
///
/// The caller stores each page before it requests the next one. After a failure, `next()` continues
/// where it stopped, so no page is lost.
package struct Pages<Page: ListPage>: Sendable {
    typealias Fetch = @Sendable (_ place: String?) async throws(AppStoreFailure) -> Page

    private let fetch: Fetch
    private var cursor: String?
    private var pagesRead = 0
    private var isAtEnd: Bool
    private var hasRestarted = false

    /// - Parameter place: the position of the first page; nil for the beginning of the list.
    /// - Parameter isEmpty: whether the list is known to be empty, so that no request is needed.
    fileprivate init(after place: String? = nil, isEmpty: Bool = false, ask: @escaping Fetch) {
        self.fetch = ask
        self.cursor = place
        isAtEnd = isEmpty
    }

    /// Requests the next page. Returns nil after the last one. If Apple no longer knows the
    /// position, the list restarts from its beginning, once.
    package mutating func next() async throws(AppStoreFailure) -> Page? {
        guard !isAtEnd else { return nil }
        guard pagesRead < Page.pagesMax else {
            throw .unreadable("more than \(Page.pagesMax) pages of \(Page.list)")
        }
        let page: Page
        do { page = try await fetch(cursor) } catch {
            guard error.requiresRestart, cursor != nil, !hasRestarted else { throw error }
            (cursor, hasRestarted) = (nil, true)
            page = try await fetch(nil)
        }
        guard !page.hasMore || page.next != cursor else {
            throw .unreadable("a page of \(Page.list) whose next page is itself")
        }
        pagesRead += 1
        cursor = page.next
        isAtEnd = !page.hasMore
        return page
    }
}

/// What a page says about its list.
package protocol ListPage: Sendable {
    /// The maximum number of pages of one list.
    static var pagesMax: Int { get }
    /// The name of the list, for failures.
    static var list: String { get }
    /// The position of the next page; nil if the page names none.
    var next: String? { get }
    var hasMore: Bool { get }
}

extension HistoryPage: ListPage {
    /// Enough for ten thousand transactions: a page has twenty.
    package static let pagesMax = 500
    package static let list = "a history"
    package var next: String? { revision }
}

extension NotificationPage: ListPage {
    /// Enough for forty thousand notifications: a page has twenty.
    package static let pagesMax = 2000
    package static let list = "the notifications of this time"
    package var next: String? { token }
}

extension AppStoreClient {
    /// The transactions of a transaction's account, in pages: all of them, or only those that
    /// changed after a revision.
    package func historyPages(
        of id: String, in environment: StoreEnvironment, after revision: String? = nil
    ) -> Pages<HistoryPage> {
        Pages(after: revision) { (revision) async throws(AppStoreFailure) in
            try await history(of: id, in: environment, revision: revision)
        }
    }

    /// The notifications of a time range, in pages. Apple stores the last 180 days, or 30 days in
    /// the sandbox. An earlier start is moved to that limit.
    package func notificationPages(
        from start: AppStoreDate, to end: AppStoreDate, onlyFailures: Bool,
        in environment: StoreEnvironment
    ) -> Pages<NotificationPage> {
        let start = max(start, earliestNotification(in: environment))
        return Pages(isEmpty: end <= start) { (token) async throws(AppStoreFailure) in
            try await notificationHistory(
                from: start, to: end, onlyFailures: onlyFailures, token: token, in: environment)
        }
    }
}
