import Ledger

/// One subscription as a row for people: its latest period, and its state at the last change.
package struct SubscriptionLine: Hashable, Sendable {
    package var transaction: TransactionID
    package var segment: Segment
    package var ownership: Ownership
    package var state: Access.State?
    package var until: Instant?
    /// When the state will change without new facts. Nil if it will not change.
    package var changesAt: Instant?
    package var willRenew: Bool?
    package var renewsTo: ProductID?
    package var graceUntil: Instant?
    package var periodFrom: Instant
    package var periodUntil: Instant?
    package var firstPaidAt: Instant?
    package var endedBecause: String?
    /// The number of people for whom the latest period is paid. Nil if it was not bought in seats.
    package var seats: Int?
    /// The number of people for whom the next period is paid. Nil if the App Store does not report
    /// it.
    package var seatsAtRenewal: Int?

    /// Creates the row of a subscription. Returns nil if the purchase is not a subscription.
    ///
    /// - Parameters:
    ///   - status: the last reported status of the purchase.
    ///   - changesAt: when the status will change without new facts.
    package init?(of timeline: Timeline, _ status: PurchaseStatus?, changesAt: Instant?) {
        guard let period = timeline.latestPeriod, period.payment.isSubscription else { return nil }
        transaction = period.payment.transaction
        segment = Segment(of: period.payment)
        ownership = period.payment.ownership
        state = status?.state
        until = status?.until
        self.changesAt = changesAt
        willRenew = status?.willRenew
        let renewal = timeline.renewalInfo(about: period)?.value
        renewsTo = renewal?.renewsTo
        graceUntil = renewal?.graceUntil ?? timeline.graceEnd(after: period)
        periodFrom = period.from
        periodUntil = period.payment.until
        firstPaidAt = timeline.periods.first { !$0.isVoid && $0.payment.isPaid }?.from
        endedBecause = Self.reason(status?.state, renewal?.ending)
        seats = timeline.seats(of: period)
        if seats != nil, status?.willRenew == true, let news = timeline.renewalInfo(about: period),
            news.value.willRenew, timeline.knowsAdditions(news, to: period)
        {
            seatsAtRenewal = news.value.seats
        }
    }

    private static func reason(_ state: Access.State?, _ ending: Renewal.Ending?) -> String? {
        switch state {
        case .refunded: "refunded"
        case .revoked: "sharing_ended"
        case .expired: ending?.word ?? "unknown"
        case .paid, .trial, .offer, .grace, .unconfirmed, .granted, .owned, .retry, nil: nil
        }
    }
}

extension Timeline {
    /// The number of people for whom a period is paid at its end, including the purchaser. Nil if
    /// it was not bought in seats.
    fileprivate func seats(of period: Period) -> Int? {
        guard period.payment.ownership == .purchased, let until = period.payment.until,
            periods.contains(where: { $0.payment.seats != nil && $0.payment.until == until })
        else { return nil }
        return seats(at: until - .milliseconds(1))
    }
}

extension Renewal.Ending {
    /// The name of the state in rows and reports.
    package var word: String {
        switch self {
        case .cancelled: "cancelled"
        case .billing: "billing"
        case .priceNotAgreed: "price_not_agreed"
        case .productUnavailable: "product_unavailable"
        case .other: "other"
        }
    }
}
