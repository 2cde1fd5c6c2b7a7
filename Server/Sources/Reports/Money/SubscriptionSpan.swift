import Ledger

/// One period of a subscription as reports count it: from its start to the end of access.
struct SubscriptionSpan: Hashable, Sendable {
    var payment: Payment
    var segment: Segment
    var start: Instant
    /// The end of the paid time.
    var paidEnd: Instant
    /// The end of access: later than ``paidEnd`` if grace followed.
    var end: Instant
    /// The end of retry: equal to ``end`` if there was none.
    var retryEnd: Instant
    var isFree: Bool
    /// The number of people for whom the span is paid. Zero in a free period.
    var seats: Int64
    /// The payments that begin with the span. Empty if the span begins because seats of a running
    /// period were refunded.
    var charged: [Payment]
    /// The monthly price. Zero for a free period, or if no document contains the price.
    var monthly: Movement.Amounts

    var mrr: Int64 { monthly.mrr }

    /// Whether the customer has committed to the next month, and the App Store still tries to
    /// collect its payment.
    var isPromised: Bool {
        payment.monthsPromised > 0 && paidEnd == payment.until && end < retryEnd
    }

    /// Whether the next span begins at the end of this span or earlier.
    func isContinued(by next: Self) -> Bool { next.start <= end }

    /// The spans of a purchase, in order, without overlaps. Periods that never gave access, and
    /// family members' periods, are left out. A period to which seats were added has a span for
    /// each number of seats.
    ///
    /// - Parameters:
    ///   - clock: the App Store's own clock.
    ///   - monthly: returns the monthly price of a payment, given when its period began.
    static func spans(
        of timeline: Timeline, _ renewals: [Timeline.Attested<Renewal>], clock: WallClock,
        monthly: (Payment, Instant) -> Movement.Amounts
    ) -> [SubscriptionSpan] {
        let groups = SeatGroup.groups(of: timeline.periods.filter(\.isCountedSubscription))
        return groups.indices.flatMap { index in
            let next = index + 1 < groups.count ? groups[index + 1].main : nil
            var spans = groups[index].spans(monthly)
            guard var last = spans.popLast() else { return [SubscriptionSpan]() }
            if let next {
                spans = spans.filter { $0.start < next.from }
                for index in spans.indices where spans[index].end > next.from {
                    spans[index].cut(at: next.from)
                }
            }
            last.extend(
                by: BillingTrouble(
                    after: groups[index].last, next: next?.from,
                    isRecovered: next?.payment.isRenewal ?? false, renewals, clock: clock))
            if let next, last.end > next.from { last.end = max(last.start, next.from) }
            if let next { last.retryEnd = min(last.retryEnd, next.from) }
            last.retryEnd = max(last.retryEnd, last.end)
            return spans + [last]
        }
    }

    /// - Parameter payment: the payment that begins with the span, or a payment that continues.
    fileprivate init(
        _ payment: Payment, in segment: Segment, from start: Instant, until end: Instant,
        isFree: Bool, seats: Int64, charged: [Payment], monthly: Movement.Amounts
    ) {
        self.payment = payment
        self.segment = segment
        self.start = start
        paidEnd = end
        self.end = end
        retryEnd = end
        self.isFree = isFree
        self.seats = isFree ? 0 : seats
        self.charged = charged
        self.monthly = monthly
    }

    private mutating func cut(at moment: Instant) {
        (paidEnd, end, retryEnd) = (moment, moment, moment)
    }

    private mutating func extend(by trouble: BillingTrouble?) {
        guard let trouble else { return }
        // After a refund there is no grace period, but the App Store still tries to collect the due
        // payment.
        if paidEnd == trouble.due { end = trouble.graceEnd }
        retryEnd = trouble.end
    }
}

/// A period with the seats that were added to it.
private struct SeatGroup {
    var main: Timeline.Period
    var added: [Timeline.Period] = []

    static func groups(of periods: [Timeline.Period]) -> [Self] {
        var groups: [Self] = []
        for period in periods {
            if period.isAddition, let until = groups.last?.main.payment.until, period.from < until {
                groups[groups.count - 1].added.append(period)
            } else {
                groups.append(Self(main: period))
            }
        }
        return groups
    }

    private var parts: [Timeline.Period] { [main] + added }

    /// The period of the group that ends last.
    var last: Timeline.Period {
        added.reduce(main) { ($0.openUntil ?? $0.from) < ($1.openUntil ?? $1.from) ? $1 : $0 }
    }

    /// One span for each time with the same number of seats.
    func spans(
        _ monthly: (Payment, Instant) -> Movement.Amounts
    ) -> [SubscriptionSpan] {
        let ends = parts.map { $0.openUntil ?? $0.from }
        let edges = Set(parts.map(\.from) + ends).sorted()
        return zip(edges, edges.dropFirst()).compactMap { start, end in
            let held = zip(parts, ends).filter { $0.from <= start && start < $1 }.map(\.0)
            guard let first = held.first else { return nil }
            let begun = held.filter { $0.from == start }.map(\.payment)
            return SubscriptionSpan(
                begun.first ?? first.payment, in: Segment(of: main.payment), from: start,
                until: end,
                isFree: main.payment.isFree,
                seats: held.reduce(0) { $0 + $1.payment.seatsPaid }, charged: begun,
                monthly: held.reduce(Movement.Amounts()) { sum, part in
                    sum + monthly(part.payment, main.from)
                })
        }
    }
}

extension Timeline.Period {
    /// Whether reports count the period among subscriptions: the customer paid for it, or began a
    /// trial.
    var isCountedSubscription: Bool {
        guard payment.isSubscription, payment.ownership == .purchased, !isVoid else { return false }
        return openUntil.map { $0 > from } ?? false
    }
}

extension Payment {
    /// Whether money was paid. Documents from the time before prices were signed contain only the
    /// terms of a period.
    var isPaid: Bool { price.map { $0.milliunits > 0 } ?? !isFree }

    /// The number of people for whom the payment was made, without seats that were refunded
    /// individually. The price does not include those seats either.
    var seatsPaid: Int64 {
        guard let seats else { return 1 }
        let left = quantity - seats.refunded
        return Int64(left > 0 || revocation == nil ? max(0, left) : quantity)
    }

    /// The months of the payment's commitment that follow its own month.
    var monthsPromised: Int64 {
        commitment.map { Int64(max($0.months - $0.month, 0)) } ?? 0
    }
}
