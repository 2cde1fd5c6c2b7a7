/// Everything known about a customer, in chronological order.
public struct History: Hashable, Sendable, Codable {
    public var items: [Line]
    /// The cursor of the page with later lines. Nil on the last page.
    public var nextCursor: String?

    public init(items: [Line], nextCursor: String?) {
        self.items = items
        self.nextCursor = nextCursor
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case items
        case nextCursor = "next_cursor"
    }

    /// One line of a history.
    public struct Line: Hashable, Sendable, Codable {
        public var at: Timestamp
        /// The kind of the line: `fact`, `link`, `share`, `transfer`, `block`, `grant`, `debit`,
        /// `credit`, `consumption` or `event`. Later versions may add kinds.
        public var kind: String
        /// What happened, in one sentence for people.
        public var sentence: String
        public var purchaseID: String?
        public var documentID: String?
        /// The id of the transfer, grant, debit, manual credit or event. Nil for other lines.
        public var reference: String?

        public init(
            at: Timestamp, kind: String, sentence: String, purchaseID: String?,
            documentID: String?, reference: String?
        ) {
            self.at = at
            self.kind = kind
            self.sentence = sentence
            self.purchaseID = purchaseID
            self.documentID = documentID
            self.reference = reference
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case at
            case kind
            case sentence
            case purchaseID = "purchase_id"
            case documentID = "document_id"
            case reference
        }
    }
}
