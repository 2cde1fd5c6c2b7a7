import AppStoreFormats

/// What a device asks the store for.
package struct PurchaseOrder: Hashable, Sendable {
    /// What the customer does when the sheet appears.
    package enum Choice: String, Hashable, Sendable, CaseIterable {
        case confirm
        /// A parent is to decide.
        case ask
        case cancel
        /// Nobody's choice: the payment fails.
        case fail
    }

    package var productID: String
    /// The identifier of a promotional, code or win-back offer; `none` leaves out the introductory
    /// one.
    package var offerID: String?
    /// The signature that a server made for a promotional offer.
    package var offerProof: OfferProof?
    /// A signed word (JWS) on whether the customer may have the introductory offer.
    package var introductoryEligibility: String?
    package var billingPlan = BillingPlanType.billedUpfront
    package var quantity: Int64
    /// A UUID of the app's choosing.
    package var appAccountToken: String?
    package var choice = Choice.confirm

    /// Apple's limit for one purchase.
    package static let quantityMax: Int64 = 10
    package static let noOffer = "none"

    package init(
        _ productID: String, offerID: String? = nil, quantity: Int64 = 1,
        appAccountToken: String? = nil
    ) {
        self.productID = productID
        self.offerID = offerID
        self.quantity = quantity
        self.appAccountToken = appAccountToken
    }
}

/// How a promotional offer is signed.
package enum OfferProof: Hashable, Sendable {
    /// The form of StoreKit 1 and of StoreKit 2 before iOS 26: an ECDSA signature, in base 64, of
    /// the order's words joined by U+2063.
    case text(keyID: String, nonce: String, timestamp: Int64, signature: String)
    /// The form since: a JWS.
    case compactJWS(String)
}
