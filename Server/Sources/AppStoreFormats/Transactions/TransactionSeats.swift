/// The number of seats that were bought at one price (Apple: `MultiSeatPriceTier`).
package struct SeatPriceTier: WireObject {
    /// The price of one seat, in thousandths of the currency's unit.
    package var price: Int64?
    package var quantity: Int64?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("price", &price)
        fields.field("quantity", &quantity)
    }
}

/// The seats of a transaction (Apple: `TransactionMultiSeatInfo`). A member's transaction repeats
/// the purchaser's numbers.
package struct TransactionSeats: WireObject {
    package var invitationManagement: InvitationManagement?
    /// The tiers, in no particular order.
    package var priceTiers: [SeatPriceTier]?
    /// The number of seats of this transaction that were refunded. Only in the purchaser's
    /// transaction.
    package var revokedSeatQuantity: Int64?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("invitationManagement", &invitationManagement)
        fields.field("priceTiers", &priceTiers)
        fields.field("revokedSeatQuantity", &revokedSeatQuantity)
    }
}

/// The seats of the next period (Apple: `RenewalMultiSeatInfo`).
package struct RenewalSeats: WireObject {
    package var renewalPriceTiers: [SeatPriceTier]?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("renewalPriceTiers", &renewalPriceTiers)
    }
}
