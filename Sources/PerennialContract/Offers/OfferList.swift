/// The response of `GET /v1/customers/{id}/offers`: the offers for which the customer is eligible,
/// as far as the server knows. The App Store decides.
public struct OfferList: Hashable, Sendable, Codable {
    public var items: [Offer]
    /// The storefront that the request named, in three letters (ISO 3166-1 alpha-3). Nil if the
    /// request named no storefront.
    public var storefront: String?

    public init(items: [Offer], storefront: String? = nil) {
        self.items = items
        self.storefront = storefront
    }

    /// One offer, and whether the customer is eligible for it.
    public struct Offer: Hashable, Sendable, Codable {
        public var productID: String
        /// The kind of the offer: `introductory`, `promotional`, `win_back` or `code`.
        public var kind: String
        /// The offer's id. Nil for an introductory offer, which has no id.
        public var offerID: String?
        public var eligible: Bool
        /// Why the customer is eligible or not, in one word for programs.
        public var why: String
        /// Why the customer is eligible or not, in one sentence for people.
        public var reason: String
        /// Whether the result is only a guess, as for win-back offers and codes: the App Store
        /// decides with data that the server does not have. Nil in responses of earlier versions.
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
    /// The kind of signature: `promotional` (JWS), `promotional_v1` (for StoreKit before iOS 15) or
    /// `introductory` (JWS).
    public var kind: String
    /// The id of a promotional offer. Nil for an introductory offer.
    public var offerID: String?
    /// The `appAccountToken` that the purchase will have. Only for `promotional_v1`.
    public var appAccountToken: String?
    /// The id of any transaction of the customer, or of the customer's app transaction.
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
    /// The nonce of the signature: a UUID in lower case.
    public var nonce: String
    /// When the signature was made.
    public var at: Timestamp
    /// The time of the signature in milliseconds since 1970, for `promotional_v1` only.
    public var timestamp: Int64?
    /// The signature in Base64, for `promotional_v1` only.
    public var signature: String?
    /// The signature as a compact JWS, for `promotional` and `introductory` only.
    public var compactJWS: String?
    /// Whether the JWS allows the introductory offer, for `introductory` only.
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
