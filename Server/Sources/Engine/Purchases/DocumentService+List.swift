import Ledger
import Storage

/// The subject of a list of documents.
package enum DocumentSubject: Hashable, Sendable {
    case purchase(PurchaseID)
    /// All purchases of a customer, including purchases that are shared with the customer.
    case customer(CustomerID, Environment)
}

/// A document of a list, and the purchases about which it attests something.
package struct ListedDocument: Hashable, Sendable {
    package var head: DocumentHead
    package var purchases: [PurchaseID]

    package init(head: DocumentHead, purchases: [PurchaseID]) {
        self.head = head
        self.purchases = purchases
    }
}

/// A part of a list of documents, the last signed first.
package struct DocumentListPage: Sendable {
    package var documents: [ListedDocument]
    /// The position of the next page, with earlier documents. Nil on the last page.
    package var next: DocumentCursor?
}

extension DocumentService {
    /// The maximum and default number of documents on a page.
    package static let documentsMax = 500
    package static let documentsDefault = 100

    /// The documents that attest something about a purchase, or about the purchases of a customer.
    /// Empty for an unknown purchase or customer.
    ///
    /// - Parameter limit: at most ``documentsMax``.
    package func page(
        about subject: DocumentSubject, of appID: AppID, before place: DocumentCursor?, limit: Int
    ) async throws(EngineFailure) -> DocumentListPage {
        let (app, _) = try context.app(appID)
        if case .customer(let id, _) = subject { try id.requireValid() }
        guard limit <= Self.documentsMax else {
            throw .limitExceeded(what: "documents", limit: Self.documentsMax)
        }
        let now = context.now()
        return try await context.read { tx in
            let documents = try PurchaseDecisions(tx).purchases(of: subject, in: app, at: now)
                .flatMap { purchase in
                    try PurchaseDecisions(tx).documents(about: purchase, in: appID)
                }
            let rest = documents.merged.drop { document in
                place.map { !document.head.isOlder(than: $0) } ?? false
            }
            let page = Array(rest.prefix(limit))
            return DocumentListPage(
                documents: page,
                next: page.count < rest.count ? page.last.map { DocumentCursor($0.head) } : nil)
        }
    }
}

extension [ListedDocument] {
    /// The list with each document only once, the last signed first.
    fileprivate var merged: [ListedDocument] {
        let each = Dictionary(map { ($0.head.id, $0) }) { one, other in
            var latest = one.head.signedAt < other.head.signedAt ? other : one
            latest.purchases = Set(one.purchases + other.purchases).sorted()
            return latest
        }
        return each.values.sorted { $1.head.isOlder(than: DocumentCursor($0.head)) }
    }
}

extension DocumentCursor {
    fileprivate init(_ head: DocumentHead) { self.init(signedAt: head.signedAt, id: head.id) }
}

extension DocumentHead {
    fileprivate func isOlder(than place: DocumentCursor) -> Bool {
        signedAt == place.signedAt
            ? id.lexicographicallyPrecedes(place.id) : signedAt < place.signedAt
    }
}
