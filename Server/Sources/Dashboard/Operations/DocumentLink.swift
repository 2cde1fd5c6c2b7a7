import PerennialContract

/// A signed document, shown as the first digits of its id. The id is a link for operators who may
/// see the document.
struct DocumentLink {
    var id: String
    /// How to find the document: the first transaction of a purchase that the document is about,
    /// and when the document became known.
    var transaction: String?
    var knownAt: Timestamp?

    static let digitsShown = 6

    func markup(in frame: Frame) -> Markup {
        let short = id.count > Self.digitsShown ? id.prefix(Self.digitsShown) + "…" : id
        guard frame.viewer.seesDocuments else {
            return "<span class=\"mono muted\">\(.bdi(short))</span>"
        }
        let path = DashboardPath.document(id, transaction: transaction, knownAt: knownAt)
        return """
            <a class="mono" href="\(frame.link(path))" title="\(id)">\(.bdi(short))</a>
            """
    }

    /// A link from the first transaction of a purchase to all documents about the purchase.
    static func all(of transaction: String, in frame: Frame) -> Markup {
        guard frame.viewer.seesDocuments else {
            return "<span class=\"mono\">\(.bdi(transaction))</span>"
        }
        return """
            <a class="mono" href="\(frame.link(.documents(of: transaction)))">\
            \(.bdi(transaction))</a>
            """
    }
}
