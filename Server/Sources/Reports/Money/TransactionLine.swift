import Ledger

/// One transaction as a row for people: its product, its price, and its refund.
package struct TransactionLine: Hashable, Sendable {
    package var transaction: TransactionID
    /// The App Store's identifier of the period (Apple: `webOrderLineItemId`).
    package var line: String?
    package var segment: Segment
    package var kind: ProductKind
    package var terms: Terms
    package var ownership: Ownership
    package var quantity: Int
    /// The seats of a subscription that were bought. Nil if none were.
    package var seats: Seats?
    package var isRenewal: Bool
    package var from: Instant
    /// The end of the time that was paid for. Nil if it has no end.
    package var until: Instant?
    /// The actual end: earlier than ``until`` if the period was refunded or replaced.
    package var endedAt: Instant?
    /// The amount charged, in thousandths of the currency's unit; 0 for a family member, or if no
    /// document contains it.
    package var gross: Int64
    package var tax: Int64
    /// The App Store's share of the price without tax, in thousandths of a percent.
    package var commissionRate: Int64
    package var commission: Int64
    package var refundedAt: Instant?
    package var refunded: Int64
    /// The sales tax that ``refunded`` contains. ``refundedCommission`` is the App Store's share
    /// that ``refunded`` contains.
    package var refundedTax: Int64
    package var refundedCommission: Int64
    /// Whether the refund is for the rest of the period after another product replaced it.
    package var isReplaced: Bool

    init(of period: Timeline.Period, commissionRate: Int64, _ rules: MoneyRules) {
        let payment = period.payment
        isReplaced = period.gaveWayToAnother
        transaction = payment.transaction
        line = payment.line
        segment = Segment(of: payment)
        kind = payment.kind
        terms = payment.terms
        ownership = payment.ownership
        quantity = payment.quantity
        seats = payment.ownership == .purchased ? payment.seats : nil
        isRenewal = payment.isRenewal
        from = payment.from
        until = payment.until
        endedAt = period.openUntil
        self.commissionRate = commissionRate
        gross = payment.ownership == .purchased ? payment.price?.milliunits ?? 0 : 0
        let units = Int64(payment.quantity)
        func split(_ amount: Int64) -> PriceSplit {
            if let tiers = payment.tiers(of: amount) {
                return rules.split(
                    tiers, storefront: payment.storefront, commissionRate: commissionRate)
            }
            return rules.split(
                amount, units: units, storefront: payment.storefront,
                commissionRate: commissionRate)
        }
        let charged = split(gross)
        (tax, commission) = (charged.tax, charged.commission)
        let left = period.netAmount?.milliunits ?? gross
        let rest = split(left)
        refunded = gross - left
        refundedTax = charged.tax - rest.tax
        refundedCommission = charged.commission - rest.commission
        // If a renewal was charged ahead and never began, its refund gets the date of the renewal's
        // planned start, or a later date if the App Store names one.
        refundedAt =
            refunded == 0
            ? nil : payment.revocation.map { max($0.at, payment.from) } ?? payment.from
    }
}

extension Payment {
    /// The tiers whose sum is the amount: the tiers of all seats, or of the seats that are left
    /// after the cheapest seats were refunded. Nil for any other amount.
    fileprivate func tiers(of amount: Int64) -> [Seats.Tier]? {
        guard let seats, !seats.tiers.isEmpty else { return nil }
        return [seats.tiers, seats.tiersLeft].first { $0.isWorth(amount) }
    }
}

extension Seats {
    /// The tiers without the refunded seats. The cheapest seats count as refunded.
    fileprivate var tiersLeft: [Tier] {
        var rest = refunded
        return tiers.compactMap { tier in
            let taken = min(rest, tier.count)
            rest -= taken
            return taken < tier.count ? Tier(price: tier.price, count: tier.count - taken) : nil
        }
    }
}

extension [Seats.Tier] {
    /// Whether the seats together cost an amount.
    fileprivate func isWorth(_ amount: Int64) -> Bool {
        var rest = amount
        for tier in self {
            let (price, isTooMuch) = tier.price.multipliedReportingOverflow(by: Int64(tier.count))
            guard !isTooMuch, price <= rest else { return false }
            rest -= price
        }
        return rest == 0
    }
}

extension Timeline.Period {
    /// Whether another product replaced the period. If a renewal was charged ahead and never began,
    /// the App Store does not always mark it as upgraded. If a refund of such a renewal was
    /// reported, the customer asked for the refund.
    package var gaveWayToAnother: Bool {
        payment.isUpgraded || isVoid && payment.revocation == nil
    }
}
