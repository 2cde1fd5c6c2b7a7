import PerennialContract

/// The page `/documents/{document_id}`: what Apple signed, byte for byte.
package struct DocumentPage: Sendable {
    package var documentID: String
    /// `transaction`, `notification`, `renewal info`
    package var kind: String
    package var receivedAt: Timestamp
    /// `a notification`, `a device`, `an answer of Apple’s`
    package var origin: String
    package var customerID: String?
    /// The payload, decoded and indented.
    package var payload: String
    /// As it came.
    package var signed: String

    package init(
        documentID: String, kind: String, receivedAt: Timestamp, origin: String,
        customerID: String? = nil, payload: String, signed: String
    ) {
        self.documentID = documentID
        self.kind = kind
        self.receivedAt = receivedAt
        self.origin = origin
        self.customerID = customerID
        self.payload = payload
        self.signed = signed
    }

    package func html(in frame: Frame) -> String {
        let customer: Markup =
            customerID == nil ? "" : "<dt>Of</dt><dd>\(frame.customer(customerID))</dd>"
        let facts: Markup = """
            <dl class="facts"><dt>Is</dt><dd>\(.bdi(kind))</dd><dt>Came</dt>\
            <dd>\(frame.time(receivedAt)), by \(.bdi(origin))</dd>\(customer)\
            <dt>Id</dt><dd class="mono">\(.bdi(documentID))</dd></dl>
            """
        return Layout(
            title: "Document", section: .none, heading: "What Apple signed",
            lede: "Kept as it came. Every number rests on such documents.",
            content: """
                <div class="stack"><section \
                class="panel">\(facts)</section>\(contents(in: frame))</div>
                """
        ).html(in: frame)
    }

    private func contents(in frame: Frame) -> Markup {
        guard frame.viewer.seesDocuments else {
            return Notice(
                .about, "Only support and admins see what was signed.",
                "It may hold what customers would not want to show."
            ).markup(in: frame)
        }
        return Panel(title: "What it says", content: "<pre>\(.bdi(payload))</pre>").markup
            + Panel(
                title: "Byte for byte",
                side: """
                    <button class="link" type="button" data-copy="\(.value(signed))">Copy</button>
                    """, content: "<pre>\(.bdi(signed))</pre>"
            ).markup
    }
}
