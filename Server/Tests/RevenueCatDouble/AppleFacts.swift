import AppStoreFormats

/// One notification of the App Store about a purchase, reduced to what RevenueCat's answers need.
struct AppleFacts: Hashable, Sendable {
    let type: NotificationType
    let subtype: NotificationSubtype?
    let signed: AppStoreDate
    /// The double's time when the notification arrived.
    let arrived: AppStoreDate
    let transaction: AppleTransaction
    let renewal: AppleRenewal?

    /// Decodes a signed notification without verifying its signature. Returns nil if it is not
    /// readable, or not about a purchase.
    init?(signedPayload: String, arrived: AppStoreDate) {
        guard let payload = Self.payload(NotificationPayload.self, of: signedPayload),
            let type = payload.notificationType, let signed = payload.signedDate,
            let text = payload.data?.signedTransactionInfo,
            let transaction = Self.payload(TransactionPayload.self, of: text)
                .flatMap(AppleTransaction.init)
        else { return nil }
        self.type = type
        subtype = payload.subtype
        self.signed = signed
        self.arrived = arrived
        self.transaction = transaction
        renewal = payload.data?.signedRenewalInfo
            .flatMap { Self.payload(RenewalPayload.self, of: $0) }.map(AppleRenewal.init)
    }

    private static func payload<Payload: WireObject>(
        _ type: Payload.Type, of document: String
    ) -> Payload? {
        CompactJWS(document)?.payload.flatMap { try? Payload(parsing: $0) }
    }

    /// Whether the transaction replaces the paid time of the same subscription at once.
    var replacesPaidTime: Bool {
        subtype == .upgrade && [.didChangeRenewalPref, .offerRedeemed].contains(type)
    }
}

/// A transaction as the newest document shows it.
struct AppleTransaction: Hashable, Sendable {
    let id: String
    let originalID: String
    var productID: String
    let type: ProductType
    let purchased: AppStoreDate
    let originallyPurchased: AppStoreDate
    let expires: AppStoreDate?
    /// When the transaction was refunded, or is no longer shared.
    var revoked: AppStoreDate?
    let isRefund: Bool
    let discount: OfferDiscountType?
    /// The price in thousandths of the currency's unit.
    let price: Int64?
    let currency: String?
    let country: String?
    let quantity: Int64
    var isFamilyShared: Bool
    var isSandbox: Bool
    let appAccountToken: String?

    init?(_ payload: TransactionPayload) {
        guard let id = payload.transactionId, let productID = payload.productId,
            let type = payload.type, let purchased = payload.purchaseDate
        else { return nil }
        self.id = id
        originalID = payload.originalTransactionId ?? id
        self.productID = productID
        self.type = type
        self.purchased = purchased
        originallyPurchased = payload.originalPurchaseDate ?? purchased
        expires = payload.expiresDate
        revoked = payload.revocationDate
        isRefund = payload.revocationDate != nil && payload.revocationType != .familyRevoke
        discount = payload.offerDiscountType
        price = payload.price
        currency = payload.currency
        country = payload.storefront
        quantity = payload.quantity ?? 1
        isFamilyShared = payload.inAppOwnershipType == .familyShared
        isSandbox = payload.environment == .sandbox
        appAccountToken = payload.appAccountToken
    }
}

/// The renewal info of a subscription.
struct AppleRenewal: Hashable, Sendable {
    let renews: Bool
    let nextProductID: String?
    let isRetrying: Bool
    let graceUntil: AppStoreDate?
    let intent: ExpirationIntent?
    let awaitsConsent: Bool

    init(_ payload: RenewalPayload) {
        renews = payload.autoRenewStatus == .on
        nextProductID = payload.autoRenewProductId
        isRetrying = payload.isInBillingRetryPeriod ?? false
        graceUntil = payload.gracePeriodExpiresDate
        intent = payload.expirationIntent
        awaitsConsent = payload.priceIncreaseStatus == .notAnswered
    }
}
