/// One purchase in an app receipt: a one-time purchase, or one period of a subscription.
package struct InAppReceipt: ReceiptAttributes {
    package var attributes: [ReceiptAttribute]

    package init(attributes: [ReceiptAttribute]) { self.attributes = attributes }

    package init(parsing bytes: [UInt8]) throws(ReceiptFailure) {
        attributes = try ReceiptAttribute.list(parsing: bytes[...])
    }

    package var bytes: [UInt8] { ReceiptAttribute.bytes(attributes) }

    /// The numbers of attributes whose meaning is known. An absent date is an empty text; an absent
    /// web order line item is 0.
    package enum Field: Int64, Hashable, Sendable, CaseIterable {
        case quantity = 1701
        case productID = 1702
        case transactionID = 1703
        case purchased = 1704
        case originalTransactionID = 1705
        case originallyPurchased = 1706
        case kind = 1707
        case expires = 1708
        case empty1709 = 1709
        /// An unknown attribute, which is always 0.
        case zero = 1710
        case webOrderLineItemID = 1711
        case cancelled = 1712
        case isTrial = 1713
        case empty1714 = 1714
        case empty1715 = 1715
        case empty1716 = 1716
        case empty1717 = 1717
        case empty1718 = 1718
        /// Whether the period is an introductory offer. Absent for purchases that do not renew, and
        /// before 2017.
        case isIntroductory = 1719
        case cancellationReason = 1720
        case promotionalOfferID = 1721
        /// Whether the purchase is shared by a family: 1 if it is. Inferred from few receipts.
        case isFamilyShared = 1722
    }
}

/// The kind of product, as numbered in a receipt.
package struct ReceiptProductKind: OpenEnumeration {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static let nonConsumable = Self(rawValue: 0)
    package static let consumable = Self(rawValue: 1)
    package static let nonRenewing = Self(rawValue: 2)
    package static let autoRenewable = Self(rawValue: 3)
    /// A Newsstand subscription. Used until 2015.
    package static let freeSubscription = Self(rawValue: 4)

    /// The number of a product type. Returns nil for a type for which receipts have no number.
    package init?(_ type: ProductType) {
        switch type {
        case .nonConsumable: self = .nonConsumable
        case .consumable: self = .consumable
        case .nonRenewing: self = .nonRenewing
        case .autoRenewable: self = .autoRenewable
        default: return nil
        }
    }
}
