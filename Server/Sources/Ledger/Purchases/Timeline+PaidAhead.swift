// Renewals that were charged before their period begins. Actions of the customer before the period
// begins can decide whether such a renewal counts.

extension Timeline {
    /// Whether a renewal that was charged ahead was refunded because the customer bought another
    /// product before the renewal began.
    ///
    /// A renewal begins when the previous period ends. If that moment lies within a period of
    /// another product, or within a renewal of that other product, then the renewal was charged
    /// before the other product was bought. The App Store marks such a renewal as upgraded, but
    /// does not send a notification about that. When this becomes known, the other product's period
    /// may have ended already.
    func isVoid(_ renewal: Payment, after last: Int) -> Bool {
        let end = periods[last].payment.until
        let isWithin = end.map { renewal.from < $0 } ?? false
        // If the period of the other product ends at that moment, that product's renewal begins
        // then.
        let isWithdrawn = renewal.neverBegan && end != renewal.from
        guard renewal.isRenewal, isWithin || isWithdrawn,
            let before = periods[..<last].lastIndex(where: { $0.payment.until == renewal.from })
        else { return false }
        // If the customer has changed back since then, the customer has bought the renewal's
        // product again.
        return periods[(before + 1)...last].contains {
            !$0.payment.isRenewal && $0.payment.product != renewal.product
        }
    }

    /// Whether the product of a renewal was bought again after the period before the renewal began,
    /// and the new purchase lasts beyond the renewal's start. A payment begins when the latest
    /// period ends, so the renewal must have been charged before the product was bought again. This
    /// happens if a renewal is charged ahead and refunded, and the refund is reversed after the
    /// customer has bought again.
    func isOvertaken(_ index: Int) -> Bool {
        let from = periods[index].from
        guard
            let before = periods[..<index].lastIndex(where: {
                $0.payment.until == from && !$0.isAddition && !$0.isVoid
            })
        else { return false }
        return periods[(before + 1)..<index].contains { bought in
            !bought.isAddition && !bought.isVoid && bought.product == periods[index].product
                && bought.payment.revocation == nil && !bought.payment.isUpgraded
                && bought.payment.until.map { from < $0 } ?? false
        }
    }
}

extension Payment {
    /// Whether the payment was revoked before its period began, or another product replaced it.
    fileprivate var neverBegan: Bool { isUpgraded || revocation.map { $0.at <= from } == true }

    /// Whether the payment is for a renewal that was charged ahead and refunded before it began.
    /// Any other purchase begins at once, so `isRenewal` need not be checked.
    var isRefundedAhead: Bool {
        !isUpgraded && revocation.map { $0.kind == .refund && $0.at < from } == true
    }
}
