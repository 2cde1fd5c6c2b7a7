import AppStoreFormats

// Twelve-month commitments that are paid monthly.

extension World {
    /// Begins a commitment with its first month.
    mutating func commit(
        _ subscription: inout Subscription, to terms: Commitment.Terms,
        origin: Box<StoreTransaction.Origin>, reason: TransactionReason,
        from start: AppStoreDate
    ) {
        var anchor = subscription.anchor
        let expires = periodEnd(
            of: BillingPeriod(1, .month), times: Commitment.months, from: start, anchor: &anchor,
            at: subscription.pace)
        subscription.commitment = Commitment(terms: terms, expires: expires, month: 0)
        chargeMonth(
            &subscription, product: subscription.boxedNextProduct, origin: origin, reason: reason,
            from: start)
    }

    /// Charges the next month of a commitment, or the first month of the next commitment. Returns
    /// false if the commitment is over and another product follows.
    mutating func renewCommitment(
        _ subscription: inout Subscription, from start: AppStoreDate
    ) -> Bool {
        guard let commitment = subscription.commitment else { return false }
        let latest = subscription.latest
        if !commitment.isLastMonth {
            chargeMonth(
                &subscription, product: latest.boxedProduct, origin: latest.origin,
                reason: .renewal, from: start)
            return true
        }
        guard subscription.nextProduct.id == latest.product.id else {
            subscription.commitment = nil
            return false
        }
        commit(
            &subscription, to: commitment.terms, origin: latest.origin, reason: .renewal,
            from: start)
        return true
    }

    private mutating func chargeMonth(
        _ subscription: inout Subscription, product: Box<StoreKitProduct>,
        origin: Box<StoreTransaction.Origin>, reason: TransactionReason,
        from start: AppStoreDate
    ) {
        guard var commitment = subscription.commitment else { return }
        let expires = periodEnd(
            of: BillingPeriod(1, .month), times: 1, from: start, anchor: &subscription.anchor,
            at: subscription.pace)
        commitment.month += 1
        subscription.commitment = commitment
        add(
            &subscription, product, offer: nil, from: start, until: expires,
            price: commitment.terms.monthlyPrice, reason: reason, origin: origin)
        let month = StoreTransaction.CommitmentMonth(
            number: commitment.month, total: Commitment.months, expires: commitment.expires,
            price: commitment.terms.totalPrice)
        subscription.transactions[subscription.transactions.count - 1].commitment = Box(month)
    }
}
