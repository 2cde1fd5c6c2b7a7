/// The movements behind a number of a report: `GET /v1/reports/{name}/transactions`. The values of
/// all pages add up to the number.
public struct ReportTransactionList: Hashable, Sendable, Codable {
    /// The column of the number whose movements are listed.
    public var column: String
    public var items: [Source]
    /// The cursor to send as `after` for the next page. Nil on the last page.
    public var nextCursor: String?

    public init(column: String, items: [Source], nextCursor: String?) {
        self.column = column
        self.items = items
        self.nextCursor = nextCursor
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case column
        case items
        case nextCursor = "next_cursor"
    }

    /// One movement of the number. If the number describes the state at a period's end, the item is
    /// a purchase, with the sum of its movements.
    public struct Source: Hashable, Sendable, Codable {
        public var at: Timestamp
        /// The kind of the movement, such as `renewal`. Nil if the item is a purchase.
        public var kind: String?
        /// The owner of the purchase. Nil if the purchase belongs to no customer.
        public var customerID: String?
        public var originalTransactionID: String
        /// The transaction of the movement. Nil if the item is a purchase.
        public var transactionID: String?
        public var productID: String?
        public var currency: String?
        /// The movement's part of the number, as decimal text.
        public var value: String
        /// The signed documents from which the movement follows, at most ten, the latest first.
        public var documentIDs: [String]

        public init(
            at: Timestamp, kind: String?, customerID: String?, originalTransactionID: String,
            transactionID: String?, productID: String?, currency: String?, value: String,
            documentIDs: [String]
        ) {
            self.at = at
            self.kind = kind
            self.customerID = customerID
            self.originalTransactionID = originalTransactionID
            self.transactionID = transactionID
            self.productID = productID
            self.currency = currency
            self.value = value
            self.documentIDs = documentIDs
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case at
            case kind
            case customerID = "customer_id"
            case originalTransactionID = "original_transaction_id"
            case transactionID = "transaction_id"
            case productID = "product_id"
            case currency
            case value
            case documentIDs = "document_ids"
        }
    }
}
