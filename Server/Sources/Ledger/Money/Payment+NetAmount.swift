extension Payment {
    /// How much of this payment the seller still has: its price minus refunds. Nil if this customer
    /// paid nothing, as for a family member's purchase, or if the App Store does not report the
    /// price.
    package var netAmount: Money? {
        guard let price = paid else { return nil }
        guard let revocation, revocation.kind == .refund, !isRefundShareUnknown else {
            return price
        }
        let back = Percentage.part(revocation.percentage, of: price.milliunits)
        return Money(milliunits: price.milliunits - back, currency: price.currency)
    }

    /// Whether an unknown part of the price was refunded. If no share is reported, usually
    /// everything was refunded. But an upgrade refunds the remainder of a period, and only the App
    /// Store knows the amount of the remainder.
    var isRefundShareUnknown: Bool {
        guard let revocation, revocation.kind == .refund, isUpgraded else { return false }
        return revocation.percentage == nil && revocation.at > from
    }

    /// The price that this customer paid, regardless of later refunds. Nil if somebody else paid,
    /// or if the price is unknown.
    var paid: Money? { ownership == .purchased ? price : nil }

    /// The amount that this customer was charged, regardless of later refunds: nothing if an offer
    /// makes the period free, or if somebody else pays. Nil if the App Store has not reported the
    /// price.
    package var charge: Money? {
        guard isFree || ownership != .purchased else { return price }
        return price.map { Money(milliunits: 0, currency: $0.currency) }
    }

    /// Whether the customer was charged nothing, even if the currency is unknown.
    package var costsNothing: Bool {
        isFree || ownership != .purchased || price?.milliunits == 0
    }
}

extension Timeline.Period {
    /// How much of the period's payment the seller still has: see ``Payment/netAmount``. A period
    /// that was charged ahead and replaced before it began is refunded in full.
    package var netAmount: Money? {
        guard isVoid, let price = payment.paid else { return payment.netAmount }
        return Money(milliunits: 0, currency: price.currency)
    }
}

extension Timeline {
    /// How much the seller still has from this purchase, in thousandths of each currency's unit.
    package var netAmounts: [String: Int64] {
        periods.compactMap(\.netAmount).reduce(into: [:]) { sums, amount in
            sums[amount.currency, default: 0] += amount.milliunits
        }
    }
}
