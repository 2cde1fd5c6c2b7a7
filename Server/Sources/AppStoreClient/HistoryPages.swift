import AppStoreFormats

/// The pages of a customer's transactions after a revision.
///
/// A page is kept by whoever reads before the next is asked for. So a failure in between loses
/// nothing: `next()` again goes on where it stopped.
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

extension AppStoreClient {
    /// The transactions of a transaction's account that changed after a revision, or all of them.
    package func historyPages(
        of id: String, in environment: StoreEnvironment, after revision: String? = nil
    ) -> HistoryPages {
        HistoryPages(self, of: id, in: environment, after: revision)
    }
}
