extension Payment {
    /// What the seller has of this payment now: its price, less what was given back. Nil where
    /// nothing was paid for it here, as for what a family member paid, or the store does not say.
    package var amount: Money? {
        guard let price = paid else { return nil }
        guard let revocation, revocation.kind == .refund, !isShareUntold else { return price }
        let back = Percentage.part(revocation.percentage, of: price.milliunits)
        return Money(milliunits: price.milliunits - back, currency: price.currency)
    }

    /// Whether something was given back, and how much is not known. Where no share is told it was
    /// all; but an upgrade gives back what is left of a period, and only the store can say how much
    /// that is.
    var isShareUntold: Bool {
        guard let revocation, revocation.kind == .refund, isUpgraded else { return false }
        return revocation.percentage == nil && revocation.at > from
    }

    /// What was paid for it, whatever was given back later.
    var paid: Money? { ownership == .purchased ? price : nil }
}

extension Timeline.Period {
    /// As ``Payment/amount``. What was charged ahead, and upgraded before it began, is given back
    /// whole.
    package var amount: Money? {
        guard isVoid, let price = payment.paid else { return payment.amount }
        return Money(milliunits: 0, currency: price.currency)
    }
}

extension Timeline {
    /// What the seller has of this purchase now, in thousandths of each currency's unit.
    package var money: [String: Int64] {
        periods.compactMap(\.amount).reduce(into: [:]) { sums, amount in
            sums[amount.currency, default: 0] += amount.milliunits
        }
    }
}
