// The Advanced Commerce parts of transactions and renewal info.

/// The Advanced Commerce part of a transaction.
package struct AdvancedCommerceTransaction: WireObject {
    package var descriptors: AdvancedCommerceDescriptors?
    package var estimatedTax: Int64?
    package var items: [AdvancedCommerceTransactionItem]?
    package var period: String?
    package var requestReferenceId: String?
    package var taxCode: String?
    package var taxExclusivePrice: Int64?
    package var taxRate: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("descriptors", &descriptors)
        fields.field("estimatedTax", &estimatedTax)
        fields.field("items", &items)
        fields.field("period", &period)
        fields.field("requestReferenceId", &requestReferenceId)
        fields.field("taxCode", &taxCode)
        fields.field("taxExclusivePrice", &taxExclusivePrice)
        fields.field("taxRate", &taxRate)
    }
}

/// The Advanced Commerce part of renewal info.
package struct AdvancedCommerceRenewal: WireObject {
    package var consistencyToken: String?
    package var descriptors: AdvancedCommerceDescriptors?
    package var items: [AdvancedCommerceRenewalItem]?
    package var period: String?
    package var requestReferenceId: String?
    package var taxCode: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("consistencyToken", &consistencyToken)
        fields.field("descriptors", &descriptors)
        fields.field("items", &items)
        fields.field("period", &period)
        fields.field("requestReferenceId", &requestReferenceId)
        fields.field("taxCode", &taxCode)
    }
}

/// The texts that the customer sees.
package struct AdvancedCommerceDescriptors: WireObject {
    package var description: String?
    package var displayName: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("description", &description)
        fields.field("displayName", &displayName)
    }
}

/// One item of a transaction.
package struct AdvancedCommerceTransactionItem: WireObject {
    package var sku: String?
    package var description: String?
    package var displayName: String?
    package var offer: AdvancedCommerceOffer?
    package var price: Int64?
    package var refunds: [AdvancedCommerceRefund]?
    package var revocationDate: AppStoreDate?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("SKU", &sku)
        fields.field("description", &description)
        fields.field("displayName", &displayName)
        fields.field("offer", &offer)
        fields.field("price", &price)
        fields.field("refunds", &refunds)
        fields.field("revocationDate", &revocationDate)
    }
}

/// One item of the next renewal.
package struct AdvancedCommerceRenewalItem: WireObject {
    package var sku: String?
    package var description: String?
    package var displayName: String?
    package var offer: AdvancedCommerceOffer?
    package var price: Int64?
    package var priceIncreaseInfo: AdvancedCommercePriceIncrease?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("SKU", &sku)
        fields.field("description", &description)
        fields.field("displayName", &displayName)
        fields.field("offer", &offer)
        fields.field("price", &price)
        fields.field("priceIncreaseInfo", &priceIncreaseInfo)
    }
}

/// A discount on an item.
package struct AdvancedCommerceOffer: WireObject {
    package var period: String?
    package var periodCount: Int64?
    package var price: Int64?
    package var reason: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("period", &period)
        fields.field("periodCount", &periodCount)
        fields.field("price", &price)
        fields.field("reason", &reason)
    }
}

/// A refund of an item.
package struct AdvancedCommerceRefund: WireObject {
    package var refundAmount: Int64?
    package var refundDate: AppStoreDate?
    package var refundReason: String?
    package var refundType: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("refundAmount", &refundAmount)
        fields.field("refundDate", &refundDate)
        fields.field("refundReason", &refundReason)
        fields.field("refundType", &refundType)
    }
}

/// A price increase of an item.
package struct AdvancedCommercePriceIncrease: WireObject {
    package var dependentSKUs: [String]?
    package var price: Int64?
    package var status: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("dependentSKUs", &dependentSKUs)
        fields.field("price", &price)
        fields.field("status", &status)
    }
}
