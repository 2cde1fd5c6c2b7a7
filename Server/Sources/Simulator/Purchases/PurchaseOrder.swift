import AppStoreFormats

/// A purchase request from a device.
package struct PurchaseOrder: Hashable, Sendable {
    /// What the customer does when the payment sheet appears.
    package enum Choice: String, Hashable, Sendable, CaseIterable {
        case confirm
        /// Asks a parent to decide.
        case ask
        case cancel
        /// The payment fails, which is not the customer's choice.
        case fail
    }

    package var productID: String
    /// The identifier of a promotional, code or win-back offer. `none` excludes the introductory
    /// offer.
    package var offerID: String?
    /// The server's signature for a promotional offer.
    package var offerProof: OfferProof?
    /// A JWS that states whether the customer is eligible for the introductory offer.
    package var introductoryEligibility: String?
    package var billingPlan = BillingPlanType.billedUpfront
    package var quantity: Int64
    /// The number of seats after the purchase. Nil if the order names none.
    package var seats: Int64?
    /// A UUID chosen by the app.
    package var appAccountToken: String?
    package var choice = Choice.confirm
    /// Whether the purchase is made in one of Apple's views. Such a purchase causes no event on the
    /// device.
    package var isInView = false

    /// Maximum quantity of one purchase, as at Apple.
    package static let quantityMax: Int64 = 10
    package static let noOffer = "none"

    package init(
        _ productID: String, offerID: String? = nil, quantity: Int64 = 1,
        seats: Int64? = nil, appAccountToken: String? = nil
    ) {
        self.productID = productID
        self.offerID = offerID
        self.quantity = quantity
        self.seats = seats
        self.appAccountToken = appAccountToken
    }
}

/// How a promotional offer is signed.
package enum OfferProof: Hashable, Sendable {
    /// The form of StoreKit 1 and of StoreKit 2 before iOS 26: an ECDSA signature, in Base64, of
    /// the order's fields joined by U+2063.
    case text(keyID: String, nonce: String, timestamp: Int64, signature: String)
    /// The form since iOS 26: a JWS.
    case compactJWS(String)
}
