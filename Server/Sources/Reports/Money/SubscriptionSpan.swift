import Ledger

/// One period of a subscription as reports count it: from its start to the end of access.
struct SubscriptionSpan: Hashable, Sendable {
    var payment: Payment
    var segment: Segment
    var start: Instant
    /// The end of what was paid.
    var paidEnd: Instant
    /// The end of access: later than ``paidEnd`` if grace followed.
    var end: Instant
    /// The end of retry: equal to ``end`` if there was none.
    var retryEnd: Instant
    var isFree: Bool
    /// What it is a month. Zero for a free period, or if no document names the price.
    var monthly: Movement.Amounts

    var mrr: Int64 { monthly.mrr }

    /// Whether the next month is promised, and the App Store still tries to collect it.
    var isPromised: Bool {
        payment.monthsPromised > 0 && paidEnd == payment.until && end < retryEnd
    }

    /// Whether the other one begins before this one is over.
    func isContinued(by next: Self) -> Bool { next.start <= end }

    /// The spans of a purchase, in order, none beginning before the one before is over. Periods
    /// that never gave access, and family members' periods, are left out.
    ///
    /// - Parameters:
    ///   - clock: the App Store's own.
    ///   - monthly: what a payment is a month.
    static func spans(
        of timeline: Timeline, _ renewals: [Timeline.Attested<Renewal>], clock: WallClock,
        monthly: (Payment) -> Movement.Amounts
    ) -> [SubscriptionSpan] {
        let periods = timeline.periods.filter(\.isCountedSubscription)
        return periods.indices.map { index in
            let next = periods[(index + 1)...].first
            var span = SubscriptionSpan(
                periods[index], monthly: monthly(periods[index].payment))
            span.extend(
                by: BillingTrouble(
                    after: periods[index], next: next?.from,
                    isRecovered: next?.payment.isRenewal ?? false, renewals, clock: clock))
            if let next, span.end > next.from { span.end = max(span.start, next.from) }
            if let next { span.retryEnd = min(span.retryEnd, next.from) }
            span.retryEnd = max(span.retryEnd, span.end)
            return span
        }
    }

    private init(_ period: Timeline.Period, monthly: Movement.Amounts) {
        payment = period.payment
        segment = Segment(of: payment)
        start = period.from
        paidEnd = period.openUntil ?? period.from
        end = paidEnd
        retryEnd = paidEnd
        isFree = payment.isFree
        self.monthly = monthly
    }

    private mutating func extend(by trouble: BillingTrouble?) {
        guard let trouble else { return }
        // After a refund there is no grace, but what is due is collected all the same.
        if paidEnd == trouble.due { end = trouble.graceEnd }
        retryEnd = trouble.end
    }
}

extension Timeline.Period {
    /// Whether reports count it among subscriptions: somebody paid for it here, or began a trial.
    var isCountedSubscription: Bool {
        guard payment.isSubscription, payment.ownership == .purchased, !isVoid else { return false }
        return openUntil.map { $0 > from } ?? false
    }
}

extension Payment {
    /// Whether money was paid. Documents from before prices were signed say only on which terms a
    /// period was obtained.
    var isPaid: Bool { price.map { $0.milliunits > 0 } ?? !isFree }

    /// The months of its commitment that follow this one.
    var monthsPromised: Int64 {
        commitment.map { Int64(max($0.months - $0.month, 0)) } ?? 0
    }
}
