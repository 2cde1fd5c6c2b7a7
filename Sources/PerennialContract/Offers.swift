/// What `GET /v1/customers/{id}/offers` answers: by what we know of the customer. The store has the
/// last word.
public struct OfferList: Hashable, Sendable, Codable {
    public var items: [Offer]

    public init(items: [Offer]) { self.items = items }

    public struct Offer: Hashable, Sendable, Codable {
        public var productID: String
        /// `introductory`, `promotional`, `win_back`, `code`.
        public var kind: String
        /// Nil of an introductory offer, which has none.
        public var offerID: String?
        public var eligible: Bool
        /// In one word, for programs.
        public var why: String
        /// In one sentence, for a person.
        public var reason: String

        public init(
            productID: String, kind: String, offerID: String?, eligible: Bool, why: String,
            reason: String
        ) {
            self.productID = productID
            self.kind = kind
            self.offerID = offerID
            self.eligible = eligible
            self.why = why
            self.reason = reason
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case productID = "product_id"
            case kind
            case offerID = "offer_id"
            case eligible
            case why
            case reason
        }
    }
}

/// What `POST /v1/offers/signatures` takes.
public struct OfferSignatureRequest: Hashable, Sendable, Codable {
    public var customerID: String
    public var productID: String
    /// `promotional` (JWS), `promotional_v1` (for StoreKit before iOS 15), `introductory` (JWS).
    public var kind: String
    /// Of a promotional offer.
    public var offerID: String?
    /// The `appAccountToken` of the purchase to come; only in `promotional_v1`.
    public var appAccountToken: String?
    /// Any transaction of the customer's, or the app transaction's.
    public var transactionID: String?

    public init(
        customerID: String, productID: String, kind: String, offerID: String? = nil,
        appAccountToken: String? = nil, transactionID: String? = nil
    ) {
        self.customerID = customerID
        self.productID = productID
        self.kind = kind
        self.offerID = offerID
        self.appAccountToken = appAccountToken
        self.transactionID = transactionID
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case customerID = "customer_id"
        case productID = "product_id"
        case kind
        case offerID = "offer_id"
        case appAccountToken = "app_account_token"
        case transactionID = "transaction_id"
    }
}

/// What StoreKit is shown with a purchase. Good for a day, and for one purchase.
public struct OfferSignature: Hashable, Sendable, Codable {
    public var keyID: String
    /// A UUID in lower case.
    public var nonce: String
    public var at: Timestamp
    /// Of `promotional_v1`: milliseconds since 1970, and Base64 of the signature.
    public var timestamp: Int64?
    public var signature: String?
    /// Of the others.
    public var compactJWS: String?
    /// Of `introductory`: what the JWS says.
    public var allowsIntroductory: Bool?

    public init(keyID: String, nonce: String, at: Timestamp) {
        self.keyID = keyID
        self.nonce = nonce
        self.at = at
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case keyID = "key_id"
        case nonce
        case at
        case timestamp
        case signature
        case compactJWS = "compact_jws"
        case allowsIntroductory = "allows_introductory"
    }
}
