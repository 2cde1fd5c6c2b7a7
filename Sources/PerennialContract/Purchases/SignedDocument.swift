/// The response of `GET /v1/documents/{document_id}`: what Apple signed, as it came and decoded.
public struct SignedDocument: Hashable, Sendable, Codable {
    /// A SHA-256 in hexadecimal, like ``Event/Cause/documentID``.
    public var documentID: String
    /// `notification`, `transaction`, `renewal`, `app_transaction`, `app_receipt`, …
    public var kind: String
    public var environment: StoreEnvironment
    /// By what it came: `notification`, `device`, `reconciliation` (an answer of the App Store), or
    /// `import` (a file of the operator's).
    public var source: String
    public var signedAt: Timestamp
    public var receivedAt: Timestamp
    /// Who has one of the purchases. Nil if nobody has.
    public var customerID: String?
    /// The first transactions of the purchases about which it attests something.
    public var originalTransactionIDs: [String]
    /// Why it would not be accepted now, as of the time when it came. Nil if it would.
    public var refusal: Refusal?
    /// What it says: the payload, with the payloads of documents inside in their places. Nil for a
    /// receipt, which is not JSON.
    public var payload: MetadataValue?
    /// As it came: a compact JWS, or JSON, or the Base64 of a receipt.
    public var signed: String

    /// Why a document is not trusted.
    public struct Refusal: Hashable, Sendable, Codable {
        public var code: ProblemCode
        /// One sentence for a person.
        public var title: String

        public init(code: ProblemCode, title: String) {
            self.code = code
            self.title = title
        }
    }

    public init(
        documentID: String, kind: String, environment: StoreEnvironment, source: String,
        signedAt: Timestamp, receivedAt: Timestamp, customerID: String? = nil,
        originalTransactionIDs: [String], refusal: Refusal? = nil, payload: MetadataValue? = nil,
        signed: String
    ) {
        self.documentID = documentID
        self.kind = kind
        self.environment = environment
        self.source = source
        self.signedAt = signedAt
        self.receivedAt = receivedAt
        self.customerID = customerID
        self.originalTransactionIDs = originalTransactionIDs
        self.refusal = refusal
        self.payload = payload
        self.signed = signed
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case documentID = "document_id"
        case kind
        case environment
        case source
        case signedAt = "signed_at"
        case receivedAt = "received_at"
        case customerID = "customer_id"
        case originalTransactionIDs = "original_transaction_ids"
        case refusal
        case payload
        case signed
    }
}

/// The response of `GET /v1/documents` and `GET /v1/customers/{id}/documents`: what Apple signed
/// about purchases, signed last first.
public struct DocumentList: Hashable, Sendable, Codable {
    public var items: [Line]
    /// The cursor of the page with older ones. Nil on the last page.
    public var nextCursor: String?

    /// One document, without its content.
    public struct Line: Hashable, Sendable, Codable {
        /// As in ``SignedDocument``, like the other members.
        public var documentID: String
        public var kind: String
        public var environment: StoreEnvironment
        public var source: String
        public var signedAt: Timestamp
        public var receivedAt: Timestamp
        /// The first transactions of those purchases of the list about which it attests something.
        public var originalTransactionIDs: [String]

        public init(
            documentID: String, kind: String, environment: StoreEnvironment, source: String,
            signedAt: Timestamp, receivedAt: Timestamp, originalTransactionIDs: [String]
        ) {
            self.documentID = documentID
            self.kind = kind
            self.environment = environment
            self.source = source
            self.signedAt = signedAt
            self.receivedAt = receivedAt
            self.originalTransactionIDs = originalTransactionIDs
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case documentID = "document_id"
            case kind
            case environment
            case source
            case signedAt = "signed_at"
            case receivedAt = "received_at"
            case originalTransactionIDs = "original_transaction_ids"
        }
    }

    public init(items: [Line], nextCursor: String?) {
        self.items = items
        self.nextCursor = nextCursor
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case items
        case nextCursor = "next_cursor"
    }
}
