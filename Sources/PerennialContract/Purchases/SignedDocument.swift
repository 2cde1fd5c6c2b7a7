/// The response of `GET /v1/documents/{document_id}`: a document that Apple signed, in its original
/// form and decoded.
public struct SignedDocument: Hashable, Sendable, Codable {
    /// The id of the document: a SHA-256 in hexadecimal, like ``Event/Cause/documentID``.
    public var documentID: String
    /// The kind of the document: `notification`, `transaction`, `renewal`, `app_transaction`,
    /// `app_receipt`, …
    public var kind: String
    public var environment: StoreEnvironment
    /// How the document arrived: `notification`, `device`, `reconciliation` (an answer of the App
    /// Store), or `import` (a file of the operator).
    public var source: String
    public var signedAt: Timestamp
    public var receivedAt: Timestamp
    /// A customer who has one of the document's purchases. Nil if no customer has one.
    public var customerID: String?
    /// The original transaction ids of the purchases about which the document contains facts.
    public var originalTransactionIDs: [String]
    /// Why the document would be refused if it were verified again now, with the clock at the time
    /// of its arrival. Nil if the document would be accepted.
    public var refusal: Refusal?
    /// The decoded payload. Documents inside it are replaced by their payloads. Nil for a receipt,
    /// which is not JSON.
    public var payload: MetadataValue?
    /// The document in its original form: a compact JWS, JSON, or the Base64 of a receipt.
    public var signed: String

    /// Why a document is not trusted.
    public struct Refusal: Hashable, Sendable, Codable {
        public var code: ProblemCode
        /// Why the document is not trusted, in one sentence for people.
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

/// The response of `GET /v1/documents` and `GET /v1/customers/{id}/documents`: documents about
/// purchases that Apple signed, the latest signature first.
public struct DocumentList: Hashable, Sendable, Codable {
    public var items: [Line]
    /// The cursor of the page with older documents. Nil on the last page.
    public var nextCursor: String?

    /// One document, without its content.
    public struct Line: Hashable, Sendable, Codable {
        /// The id of the document: a SHA-256 in hexadecimal. All members have the same meaning as
        /// those of ``SignedDocument``.
        public var documentID: String
        public var kind: String
        public var environment: StoreEnvironment
        public var source: String
        public var signedAt: Timestamp
        public var receivedAt: Timestamp
        /// The original transaction ids of the listed purchases about which the document contains
        /// facts.
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
