import Dashboard
import Engine
import HTTPTypes
import Hummingbird
import Ledger
import NIOCore
import PerennialContract

/// The pages that list signed documents and show one.
struct DocumentPages: PageGroup {
    let routes: DashboardRoutes

    func add(to router: Router<ServerContext>) {
        routes.get("/documents", for: .support, of: router) { page in
            // If the query names a transaction, the page lists the documents of that purchase.
            guard let transaction = page.query["transaction"] else {
                return routes.redirect(to: .customers, nil, page)
            }
            return routes.response(
                try await list(of: transaction, page).html(in: page.frame), to: page.request)
        }
        routes.get("/documents/{document_id}", for: .support, of: router) { page in
            let document = try await find(page)
            if page.query["format"] == "raw" { return Self.file(document) }
            return routes.response(
                Self.page(document, file: try page.documentPath).html(in: page.frame),
                to: page.request)
        }
    }

    private func list(
        of transaction: String, _ page: PageRequest
    ) async throws -> DocumentsPage {
        let purchase = PurchaseID(TransactionID(rawValue: transaction), in: page.environment)
        let list = try await server.documentRoutes.list(
            about: .purchase(purchase), of: app, after: page.cursor)
        return DocumentsPage(
            transaction: transaction, documents: list.items.map(DocumentLine.init),
            olderCursor: list.nextCursor)
    }

    private func find(_ page: PageRequest) async throws -> OpenedDocument {
        let hint = DocumentHint(
            purchase: page.query["transaction"].map {
                PurchaseID(TransactionID(rawValue: $0), in: page.environment)
            },
            knownAt: page.query["known"].flatMap(Int64.init).map(Instant.init(milliseconds:)))
        return try await server.documentRoutes.opened(
            try page.parameter("document_id"), of: app, hint)
    }

    private static func page(_ document: OpenedDocument, file: DashboardPath) -> DocumentPage {
        let isLong = document.text.utf8.count > DocumentPage.shownBytesMax
        return DocumentPage(
            document: DocumentLine(
                DocumentList.Line(.init(head: document.head, purchases: document.purchases))),
            refusal: document.refusal.map { ProblemError($0, subject: .purchases).problem.title },
            customerID: document.owner?.rawValue,
            transactions: document.purchases.map(\.original.rawValue),
            payload: document.payload,
            signed: isLong
                ? String(document.text.prefix(DocumentPage.shownBytesMax)) : document.text,
            bytesCount: isLong ? document.bytes.count : nil, file: file)
    }

    private static func file(_ document: OpenedDocument) -> Response {
        let name = String(DocumentID(bytes: document.head.id).rawValue.prefix(12))
        return Response(
            status: .ok,
            headers: [
                .contentType: "application/octet-stream",
                .contentDisposition: "attachment; filename=\"document-\(name)\"",
            ], body: ResponseBody(byteBuffer: ByteBuffer(bytes: document.bytes)))
    }
}

extension PageRequest {
    /// The file of the document in the path.
    fileprivate var documentPath: DashboardPath {
        get throws {
            DashboardPath.document(try parameter("document_id"))
                .with("transaction", query["transaction"]).with("known", query["known"])
                .with("format", "raw")
        }
    }
}

extension DocumentLine {
    init(_ line: DocumentList.Line) {
        let origin =
            switch line.source {
            case "notification": "a notification"
            case "device": "a device"
            case "reconciliation": "an answer of Apple’s"
            default: "an imported file"
            }
        self.init(
            id: line.documentID, kind: line.kind.replacing("_", with: " "),
            signedAt: line.signedAt, receivedAt: line.receivedAt, origin: origin)
    }
}
