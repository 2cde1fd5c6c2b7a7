import PerennialContract

/// The page `/documents/{document_id}`: what Apple signed, byte for byte.
package struct DocumentPage: Sendable {
    package var document: DocumentLine
    /// Why the document would be refused if it were verified again now, with the clock at the
    /// moment of its arrival. Nil if it would be accepted.
    package var refusal: String?
    package var customerID: String?
    /// The first transactions of the purchases that the document is about.
    package var transactions: [String]
    /// The payload, decoded and indented. Nil for a receipt, which is not JSON.
    package var payload: String?
    /// The document in its original form, or the beginning of it.
    package var signed: String
    /// The full size of the document in bytes, if `signed` is incomplete. Nil if `signed` is
    /// complete.
    package var bytesCount: Int?
    /// The file with the original document.
    package var file: DashboardPath

    /// The maximum size of a document that is written into the page, in bytes. The file has the
    /// whole document.
    package static let shownBytesMax = 14_000

    package init(
        document: DocumentLine, refusal: String? = nil, customerID: String? = nil,
        transactions: [String] = [], payload: String?, signed: String, bytesCount: Int? = nil,
        file: DashboardPath
    ) {
        self.document = document
        self.refusal = refusal
        self.customerID = customerID
        self.transactions = transactions
        self.payload = payload
        self.signed = signed
        self.bytesCount = bytesCount
        self.file = file
    }

    package func html(in frame: Frame) -> String {
        Layout(
            title: "Document", section: .none, heading: "What Apple signed",
            lede: "Stored unchanged. Every number comes from such documents.",
            content: """
                <div class="stack"><section class="panel">\(facts(in: frame))</section>\
                \(contents(in: frame))</div>
                """
        ).html(in: frame)
    }

    private func facts(in frame: Frame) -> Markup {
        let customer: Markup =
            customerID == nil ? "" : "<dt>Of</dt><dd>\(frame.customer(customerID))</dd>"
        let purchases = transactions.map { DocumentLink.all(of: $0, in: frame) }
        let about: Markup =
            purchases.isEmpty ? "" : "<dt>About</dt><dd>\(purchases.joined(by: ", "))</dd>"
        let verdict: Markup =
            refusal.map { "\(Chip("not accepted now", .bad).markup) \(.bdi($0))" }
                ?? """
                \(Chip("valid", .open).markup) Checked again for this page, as of the time when it \
                came.
                """
        return """
            <dl class="facts"><dt>Is</dt><dd>\(.bdi(document.kind))</dd><dt>Signed</dt>\
            <dd>\(frame.longTime(document.signedAt))</dd><dt>Came</dt>\
            <dd>\(frame.longTime(document.receivedAt)), by \(.bdi(document.origin))</dd>\
            <dt>Signature</dt><dd>\(verdict)</dd>\(customer)\(about)\
            <dt>Id</dt><dd class="mono">\(.bdi(document.id))</dd></dl>
            """
    }

    private func contents(in frame: Frame) -> Markup {
        guard frame.viewer.seesDocuments else {
            return Notice(
                .about, "Only support and admins see what was signed.",
                "It may contain personal data of the customer."
            ).markup(in: frame)
        }
        let says: Markup =
            payload.map { "<pre>\(.bdi($0))</pre>" }
            ?? "<p class=\"soft\">It is not JSON. The text below is unchanged.</p>"
        let part: Markup =
            bytesCount.map {
                """
                <p class="muted small">The beginning of \(Figures.count($0)) bytes; the file has \
                all of them.</p>
                """
            } ?? ""
        let copy: Markup =
            bytesCount == nil
            ? "<button class=\"link\" type=\"button\" data-copy>Copy</button> · " : ""
        return Panel(title: "Contents", content: says).markup
            + Panel(
                title: "Unchanged",
                side: "\(copy)<a href=\"\(frame.link(file))\">File</a>",
                content: "\(part)<pre>\(.bdi(signed))</pre>"
            ).markup
    }
}

/// The description of a document in a list.
package struct DocumentLine: Hashable, Sendable {
    package var id: String
    /// `transaction`, `notification`, `renewal info`
    package var kind: String
    package var signedAt: Timestamp
    package var receivedAt: Timestamp
    /// `a notification`, `a device`, `an answer of Apple’s`
    package var origin: String

    package init(
        id: String, kind: String, signedAt: Timestamp, receivedAt: Timestamp, origin: String
    ) {
        self.id = id
        self.kind = kind
        self.signedAt = signedAt
        self.receivedAt = receivedAt
        self.origin = origin
    }
}

/// The page `/documents`: all documents about a purchase.
package struct DocumentsPage: Sendable {
    /// The first transaction of the purchase.
    package var transaction: String
    /// The documents, the latest signature first.
    package var documents: [DocumentLine]
    /// The cursor of the page with older documents.
    package var olderCursor: String?

    package init(transaction: String, documents: [DocumentLine], olderCursor: String? = nil) {
        self.transaction = transaction
        self.documents = documents
        self.olderCursor = olderCursor
    }

    package func html(in frame: Frame) -> String {
        Layout(
            title: "Documents", section: .none, heading: "What Apple signed about a purchase",
            lede: """
                Everything known about <span class="mono">\(.bdi(transaction))</span> comes from \
                these documents. The one signed last comes first.
                """,
            content: """
                <div class="stack"><section class="panel flush">\(content(in: frame))</section>\
                \(older(in: frame))</div>
                """
        ).html(in: frame)
    }

    private func older(in frame: Frame) -> Markup {
        guard let olderCursor else { return "" }
        let path = DashboardPath.documents(of: transaction).with("cursor", olderCursor)
        return """
            <div class="row end"><span></span><a class="btn s" href="\(frame.link(path))">Older</a>\
            </div>
            """
    }

    private func content(in frame: Frame) -> Markup {
        guard !documents.isEmpty else {
            return Empty(
                title: "No document about “\(.bdi(transaction))”",
                text: "No purchase here begins with this transaction."
            ).markup
        }
        let rows = documents.map { document -> Markup in
            let link = DocumentLink(
                id: document.id, transaction: transaction, knownAt: document.receivedAt)
            return Table.row(
                .init("\(frame.shortTime(document.signedAt))"),
                [
                    .init(.bdi(document.kind)), .init("\(frame.shortTime(document.receivedAt))"),
                    .init(.bdi(document.origin)), .init(link.markup(in: frame), "r"),
                ])
        }
        return Table(
            name: "Documents about the purchase",
            columns: [
                .init("Signed"), .init("Is"), .init("Came"), .init("By"), .init("Document"),
            ], rows: rows
        ).markup
    }
}
