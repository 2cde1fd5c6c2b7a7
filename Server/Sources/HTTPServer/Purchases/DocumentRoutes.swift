import Engine
import Foundation
import HTTPBasics
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The routes that list signed documents and open one.
struct DocumentRoutes: RouteGroup {
    let server: PerennialServer

    /// The routes. To read signed documents, a key needs more than the scope `read`, because the
    /// documents may contain data that customers would not want to show.
    var all: [Route] {
        let purchase = OpenAPIParameter(
            name: "original_transaction_id",
            description: "The first transaction of a purchase that the document is about.")
        var requiredPurchase = purchase
        requiredPurchase.isRequired = true
        let page: [OpenAPIParameter] = [
            .environment, .after,
            .limit(usual: DocumentService.documentsDefault, most: DocumentService.documentsMax),
        ]
        return [
            server.secret(
                for: .support,
                OpenAPIOperation(
                    .get, "/v1/customers/{id}/documents", "customerDocuments",
                    "Documents about a customer's purchases, latest signature first",
                    parameters: page, output: .json(DocumentList.self)), customerDocuments),
            server.secret(
                for: .support,
                OpenAPIOperation(
                    .get, Paths.documents, "documents",
                    "Documents about a purchase, latest signature first",
                    parameters: [requiredPurchase] + page, output: .json(DocumentList.self)),
                list),
            server.secret(
                for: .support,
                OpenAPIOperation(
                    .get, "/v1/documents/{document_id}", "document",
                    "A signed document, verified again: its original and its decoded form",
                    description: """
                        Name a purchase that the document is about, or the time when it became \
                        known.
                        """,
                    parameters: [
                        purchase,
                        OpenAPIParameter(
                            name: "known_at",
                            description:
                                "When the document arrived, or when its content became known.",
                            schema: ["type": "string", "format": "date-time"]),
                        .environment,
                    ], output: .json(SignedDocument.self)), find),
        ]
    }

    @Sendable func customerDocuments(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let subject = DocumentSubject.customer(
            try RequestReader.customerID(in: context), try RequestReader.environment(in: request))
        return try await list(about: subject, request, holder)
    }

    @Sendable func list(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        guard let purchase = try Self.purchase(in: request) else {
            throw ProblemError(.transactionMissing)
        }
        return try await list(about: .purchase(purchase), request, holder)
    }

    private func list(
        about subject: DocumentSubject, _ request: Request, _ holder: StoredKey
    ) async throws -> Response {
        let limit = try RequestReader.limit(
            in: request, usual: DocumentService.documentsDefault, most: DocumentService.documentsMax
        )
        return try JSONResponse.ok(
            try await list(
                about: subject, of: holder.app,
                after: request.uri.queryParameters["after"].map { String($0) }, limit: limit))
    }

    @Sendable func find(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let knownAt = try request.uri.queryParameters["known_at"].map { text in
            guard let time = Timestamp(text) else { throw ProblemError(.knownAtNotUnderstood) }
            return Instant(milliseconds: time.milliseconds)
        }
        let id = try RequestReader.parameter("document_id", called: "document id", in: context)
        let hint = DocumentHint(purchase: try Self.purchase(in: request), knownAt: knownAt)
        return try JSONResponse.ok(
            SignedDocument(try await opened(id, of: holder.app, hint)))
    }

    private static func purchase(in request: Request) throws -> PurchaseID? {
        guard let text = request.uri.queryParameters["original_transaction_id"], !text.isEmpty
        else { return nil }
        return PurchaseID(
            TransactionID(rawValue: String(text)), in: try RequestReader.environment(in: request))
    }

    // MARK: - Operations, which the dashboard has in common

    /// Returns a page of documents, the latest signature first.
    ///
    /// - Parameter cursor: the `next_cursor` of an earlier page.
    func list(
        about subject: DocumentSubject, of app: AppID, after cursor: String? = nil,
        limit: Int = DocumentService.documentsDefault
    ) async throws -> DocumentList {
        let page = try await engine.documents.page(
            about: subject, of: app, before: try DocumentCursor(after: cursor), limit: limit)
        return DocumentList(
            items: page.documents.map(DocumentList.Line.init), nextCursor: page.next?.text)
    }

    /// Returns a document after verifying it again.
    ///
    /// - Throws: ``ProblemError`` if the document is not found.
    func opened(
        _ id: String, of app: AppID, _ hint: DocumentHint
    ) async throws -> OpenedDocument {
        let found = try await engine.documents.find(DocumentID(rawValue: id), of: app, hint)
        guard let found else { throw ProblemError(.documentUnknown) }
        return found
    }
}

extension DocumentList.Line {
    init(_ document: ListedDocument) {
        let head = document.head
        self.init(
            documentID: DocumentID(bytes: head.id).rawValue, kind: head.kind.rawValue,
            environment: StoreEnvironment(head.environment), source: head.source.rawValue,
            signedAt: Timestamp(head.signedAt), receivedAt: Timestamp(head.receivedAt),
            originalTransactionIDs: document.purchases.map(\.original.rawValue))
    }
}

extension SignedDocument {
    init(_ document: OpenedDocument) throws {
        let head = document.head
        let refusal = document.refusal.map { ProblemError($0, subject: .purchases).problem }
        self.init(
            documentID: DocumentID(bytes: head.id).rawValue, kind: head.kind.rawValue,
            environment: StoreEnvironment(head.environment), source: head.source.rawValue,
            signedAt: Timestamp(head.signedAt), receivedAt: Timestamp(head.receivedAt),
            customerID: document.owner?.rawValue,
            originalTransactionIDs: document.purchases.map(\.original.rawValue),
            refusal: refusal.map { Refusal(code: $0.code, title: $0.title) },
            payload: try document.payload.map {
                try JSONDecoder().decode(MetadataValue.self, from: Data($0.utf8))
            }, signed: document.text)
    }
}

extension DocumentCursor {
    /// Parses a cursor: milliseconds and an id, as ``text`` writes them. Nil if there is no text.
    ///
    /// - Throws: ``ProblemError`` if the text has another form.
    init?(after text: String?) throws {
        guard let text, !text.isEmpty else { return nil }
        let parts = text.split(separator: "-")
        guard parts.count == 2, let signedAt = Int64(parts[0]),
            let id = Hexadecimal.bytes(parts[1])
        else { throw ProblemError(.cursorUnknown) }
        self.init(signedAt: Instant(milliseconds: signedAt), id: id)
    }

    var text: String { "\(signedAt.milliseconds)-\(Hexadecimal.text(id))" }
}
