import AppStoreFormats

// The money in the ground truth.

/// One charge, and how much of it was refunded. Amounts are in thousandths of the currency unit.
package struct TrueCharge: Hashable, Sendable {
    package let transactionID: String
    /// Identifies the order, whatever transaction id it is reported under.
    package let webOrderLineItemID: String?
    package let productID: String
    /// When the paid period begins.
    package let at: AppStoreDate
    package let amount: Int64
    /// The currency's code in ISO 4217.
    package let currency: String
    package let refunded: Int64
    package let refundedAt: AppStoreDate?
    /// The number of seats that were bought. Nil for an ordinary purchase.
    package let seats: Int64?
    package let refundedSeats: Int64?
    /// The part of ``refunded`` for single seats.
    package let refundedForSeats: Int64

    package var json: JSON {
        let seats = [("seats", self.seats), ("refunded_seats", refundedSeats)].compactMap {
            name, count in
            count.map { JSON.Member(name, .integer($0)) }
        }
        return .object(charge + seats)
    }

    private var charge: [JSON.Member] {
        let json: JSON = [
            "transaction_id": .string(transactionID),
            "web_order_line_item_id": webOrderLineItemID.map { .string($0) } ?? .null,
            "product_id": .string(productID), "at": .string(RFC3339.text(at)),
            "amount_milliunits": .integer(amount), "currency": .string(currency),
            "refunded_milliunits": .integer(refunded),
            "refunded_at": refundedAt.map { .string(RFC3339.text($0)) } ?? .null,
        ]
        return json.members ?? []
    }
}

/// The state of a twelve-month commitment.
package struct TrueCommitment: Hashable, Sendable {
    /// The number of the last paid month, from 1.
    package let month: Int
    package let months: Int
    package let until: AppStoreDate
    /// Whether another twelve months follow.
    package let renews: Bool

    package var json: JSON {
        [
            "month": .integer(Int64(month)), "months": .integer(Int64(months)),
            "until": .string(RFC3339.text(until)), "renews": .bool(renews),
        ]
    }
}

extension StoreTransaction {
    /// The charge of the transaction. Empty for family members, because the purchaser has paid.
    var charges: [TrueCharge] {
        guard ownership == .purchased else { return [] }
        return [
            TrueCharge(
                transactionID: id, webOrderLineItemID: webOrderLineItemID, productID: product.id,
                at: purchased, amount: price, currency: storefront.currency, refunded: refunded,
                refundedAt: revocation?.at ?? seats?.lastRefund, seats: seats?.count,
                refundedSeats: seats.map { revocation == nil ? $0.revoked : $0.count },
                refundedForSeats: seats?.refunded ?? 0)
        ]
    }
}

extension Subscription {
    var trueCommitment: TrueCommitment? {
        guard let commitment, !isOver else { return nil }
        return TrueCommitment(
            month: commitment.month, months: Commitment.months, until: commitment.expires,
            renews: renews)
    }
}

extension PriceRise {
    var json: JSON {
        [
            "price_milliunits": .integer(price), "from": .string(RFC3339.text(from)),
            "needs_consent": .bool(needsConsent), "agreed": .bool(agreed != nil),
        ]
    }
}
