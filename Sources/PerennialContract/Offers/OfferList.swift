/// The response of `GET /v1/customers/{id}/offers`: the offers for which the customer is eligible,
/// as far as the server knows. The App Store decides.
public struct OfferList: Hashable, Sendable, Codable {
    public var items: [Offer]
    /// The storefront of the request, in three letters (ISO 3166-1). Nil if the request named none.
    public var storefront: String?

    public init(items: [Offer], storefront: String? = nil) {
        self.items = items
        self.storefront = storefront
    }

    /// One offer, and whether the customer is eligible for it.
    public struct Offer: Hashable, Sendable, Codable {
        public var productID: String
        /// One of `introductory`, `promotional`, `win_back`, `code`.
        public var kind: String
        /// Nil for an introductory offer, which has no id.
        public var offerID: String?
        public var eligible: Bool
        /// The reason in one word, for programs.
        public var why: String
        /// The reason in one sentence, for people.
        public var reason: String
        /// Whether this is only a guess, because the App Store decides by data that only it has, as
        /// for win-back offers and codes. Nil in responses of earlier versions.
        public var appleDecides: Bool?

        public init(
            productID: String, kind: String, offerID: String?, eligible: Bool, why: String,
            reason: String, appleDecides: Bool? = nil
        ) {
            self.productID = productID
            self.kind = kind
            self.offerID = offerID
            self.eligible = eligible
            self.why = why
            self.reason = reason
            self.appleDecides = appleDecides
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case productID = "product_id"
            case kind
            case offerID = "offer_id"
            case eligible
            case why
            case reason
            case appleDecides = "apple_decides"
        }
    }
}

/// The body of `POST /v1/offers/signatures`.
public struct OfferSignatureRequest: Hashable, Sendable, Codable {
    public var customerID: String
    public var productID: String
    /// One of `promotional` (JWS), `promotional_v1` (for StoreKit before iOS 15), `introductory`
    /// (JWS).
    public var kind: String
    /// The id of a promotional offer.
    public var offerID: String?
    /// The `appAccountToken` of the coming purchase. Only for `promotional_v1`.
    public var appAccountToken: String?
    /// The id of any transaction of the customer, or of the app transaction.
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

/// The signature to pass to StoreKit with a purchase. Valid for one day and one purchase.
public struct OfferSignature: Hashable, Sendable, Codable {
    public var keyID: String
    /// A UUID in lower case.
    public var nonce: String
    /// When the offer was signed.
    public var at: Timestamp
    /// Set only for `promotional_v1`: milliseconds since 1970. ``signature`` is in Base64.
    public var timestamp: Int64?
    public var signature: String?
    /// Only for `promotional` and `introductory`.
    public var compactJWS: String?
    /// Only for `introductory`: the value that the JWS contains.
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
