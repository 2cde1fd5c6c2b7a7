import AppStoreFormats

/// A transaction in the format of the older documents: in an app receipt, in a verifyReceipt
/// response, and in transaction receipts and V1 notifications.
///
/// Made from the payload of the newer documents, so that the content of old and new documents never
/// differs.
struct LegacyTransaction: Sendable {
    let payload: TransactionPayload

    private var isSubscription: Bool { payload.type == .autoRenewable }

    /// Whether the period is a free trial by an introductory offer. Apple does not document the
    /// field for free promotional offers and free codes.
    private var isTrial: Bool {
        payload.offerType == .introductory && payload.offerDiscountType == .freeTrial
    }

    private var isIntroductory: Bool {
        payload.offerType == .introductory && payload.offerDiscountType != .freeTrial
    }

    private var promotionalOfferID: String? {
        payload.offerType == .promotional ? payload.offerIdentifier : nil
    }

    /// The form of the transaction in `receipt.in_app` and in the receipt itself.
    var purchase: InAppReceipt {
        typealias Field = InAppReceipt.Field
        let kind = payload.type.flatMap(ReceiptProductKind.init)
        let order = payload.webOrderLineItemId.flatMap { Int64($0) }
        var attributes: [ReceiptAttribute] = [
            .integer(Field.quantity, payload.quantity ?? 1),
            .text(Field.productID, payload.productId ?? ""),
            .text(Field.transactionID, payload.transactionId ?? ""),
            .date(Field.purchased, payload.purchaseDate),
            .text(Field.originalTransactionID, payload.originalTransactionId ?? ""),
            .date(Field.originallyPurchased, payload.originalPurchaseDate),
            .integer(Field.kind, kind?.rawValue ?? 0),
            .date(Field.expires, payload.expiresDate),
            .integer(Field.zero, 0), .integer(Field.webOrderLineItemID, order ?? 0),
            .date(Field.cancelled, payload.revocationDate),
            .integer(Field.isTrial, isTrial ? 1 : 0),
            .integer(Field.isFamilyShared, payload.inAppOwnershipType == .familyShared ? 1 : 0),
        ]
        attributes += Self.emptyFields.map { .text($0, "") }
        if isSubscription {
            attributes.append(.integer(Field.isIntroductory, isIntroductory ? 1 : 0))
        }
        if let reason = payload.revocationReason {
            attributes.append(.integer(Field.cancellationReason, reason.rawValue))
        }
        if let offer = promotionalOfferID {
            attributes.append(.text(Field.promotionalOfferID, offer))
        }
        return InAppReceipt(attributes: attributes)
    }

    private static let emptyFields: [InAppReceipt.Field] = [
        .empty1709, .empty1714, .empty1715, .empty1716, .empty1717, .empty1718,
    ]

    /// The form in `latest_receipt_info`: the content of the receipt, and what only the account
    /// knows.
    var row: VerifyReceiptRow {
        var row = VerifyReceiptRow(purchase)
        row.isUpgraded = payload.isUpgraded
        row.promotionalOfferID = promotionalOfferID
        row.offerCodeReferenceName = payload.offerType == .code ? payload.offerIdentifier : nil
        row.subscriptionGroupID = payload.subscriptionGroupIdentifier
        row.appAccountToken = payload.appAccountToken?.lowercased()
        return row
    }

    /// The form of iOS 6. `device` provides the hardware identifiers that those receipts contained.
    func receipt(appAppleID: Int64, device: LegacyDevice) -> TransactionReceipt {
        var receipt = TransactionReceipt()
        let isProduction = payload.environment == .production
        receipt.bundleID = payload.bundleId
        receipt.bundleVersion = World.bundleVersion
        receipt.appItemID = isProduction ? String(appAppleID) : nil
        receipt.itemID = device.itemID(of: payload.productId ?? "")
        receipt.versionExternalIdentifier =
            isProduction ? String(World.versionExternalIdentifier) : nil
        receipt.productID = payload.productId
        receipt.quantity = payload.quantity
        receipt.transactionID = payload.transactionId
        receipt.originalTransactionID = payload.originalTransactionId
        receipt.purchased = payload.purchaseDate
        receipt.originallyPurchased = payload.originalPurchaseDate
        receipt.expires = payload.expiresDate
        receipt.cancelled = payload.revocationDate
        receipt.cancellationReason = payload.revocationReason
        receipt.webOrderLineItemID = payload.webOrderLineItemId
        receipt.isTrial = isTrial
        receipt.isIntroductory = isSubscription ? isIntroductory : false
        receipt.subscriptionGroupID = payload.subscriptionGroupIdentifier
        receipt.appAccountToken = payload.appAccountToken?.lowercased()
        receipt.uniqueIdentifier = device.uniqueIdentifier
        receipt.uniqueVendorIdentifier = device.vendorIdentifier
        return receipt
    }
}

extension VerifyReceiptRenewal {
    /// Converts the renewal info of the newer documents.
    init(_ payload: RenewalPayload) {
        self.init()
        expirationIntent = payload.expirationIntent
        autoRenewProductID = payload.autoRenewProductId
        isInBillingRetry = payload.isInBillingRetryPeriod.map { $0 ? .yes : .no }
        productID = payload.productId
        originalTransactionID = payload.originalTransactionId
        autoRenewStatus = payload.autoRenewStatus
        graceUntil = payload.gracePeriodExpiresDate
        priceConsentStatus = payload.priceIncreaseStatus
        priceIncreaseStatus = payload.priceIncreaseStatus
        offerCodeReferenceName = payload.offerType == .code ? payload.offerIdentifier : nil
        promotionalOfferID = payload.offerType == .promotional ? payload.offerIdentifier : nil
    }
}
