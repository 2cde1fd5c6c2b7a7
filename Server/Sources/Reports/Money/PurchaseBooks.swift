import Ledger

/// All data of one purchase that reports use: a pure function of its facts and the rules of money.
///
/// Transactions describe the present knowledge. Movements describe what happened: they include a
/// reversed refund, and its reversal. Movements that differ from the present knowledge are marked:
/// see ``Movement/isMeanwhile``.
package struct PurchaseBooks: Hashable, Sendable {
    package private(set) var transactions: [TransactionLine] = []
    /// The movements of the purchase, sorted by time.
    package private(set) var movements: [Movement] = []

    private let rules: MoneyRules

    /// - Parameters:
    ///   - renewals: every statement about the purchase's renewal, in any order. The timeline
    ///     contains only the latest statement, but grace and retry of earlier years also count.
    ///   - payments: every statement about the purchase's payments, in any order. Without these
    ///     statements, reversed refunds are left out.
    package init(
        of timeline: Timeline, _ renewals: [Timeline.Attested<Renewal>],
        _ payments: [AttestedPayment] = [], rules: MoneyRules
    ) {
        self.init(of: timeline, renewals, commissionRates: [:], rules: rules)
        movements += meanwhile(of: timeline, renewals, payments, rules)
        movements.sort { $0.precedes($1) }
    }

    /// Computes everything that follows from a timeline alone.
    ///
    /// - Parameter commissionRates: the rates that are known already, by period.
    init(
        of timeline: Timeline, _ renewals: [Timeline.Attested<Renewal>],
        commissionRates: [String: Int64], rules: MoneyRules
    ) {
        self.rules = rules
        let renewals = renewals.sorted { $0.at < $1.at }
        transactions = Self.transactions(of: timeline, commissionRates, rules: rules)
        let spans = SubscriptionSpan.spans(of: timeline, renewals, clock: rules.storeClock) {
            payment, start in
            rules.monthly(
                payment, since: start, commissionRate: line(of: payment)?.commissionRate ?? 0)
        }
        addOneTimePurchases(of: timeline)
        addPaymentsWithoutAccess(of: timeline, besides: spans)
        addSubscription(spans)
        for (index, span) in spans.enumerated() {
            let next = index + 1 < spans.count ? spans[index + 1] : nil
            addTrouble(of: span, isRecovered: next?.start == span.retryEnd)
        }
        for span in spans where !span.isFree { addRenewalSwitches(of: span, renewals) }
        for line in transactions { addRefund(of: line) }
        movements.sort { $0.precedes($1) }
    }

    // MARK: - Money

    private func line(of payment: Payment) -> TransactionLine? {
        transactions.first { $0.transaction == payment.transaction && $0.from == payment.from }
    }

    private func charge(of payment: Payment) -> (Movement.Amounts, Movement.Counts) {
        guard let line = line(of: payment), line.gross > 0 else {
            return (Movement.Amounts(), Movement.Counts(payments: payment.isPaid ? 1 : 0))
        }
        let amounts = Movement.Amounts(
            gross: line.gross, tax: line.tax, commission: line.commission)
        return (amounts, Movement.Counts(payments: 1))
    }

    private func charge(of span: SubscriptionSpan) -> (Movement.Amounts, Movement.Counts) {
        span.charged.map(charge).reduce((Movement.Amounts(), Movement.Counts())) {
            ($0.0 + $1.0, $0.1 + $1.1)
        }
    }

    private mutating func addCharge(_ kind: Movement.Kind, of payment: Payment) {
        let (amounts, counts) = charge(of: payment)
        movements.append(
            Movement(
                kind, at: payment.from, of: payment.transaction, Segment(of: payment), amounts,
                counts))
    }

    private mutating func addOneTimePurchases(of timeline: Timeline) {
        for period in timeline.periods
        where !period.payment.isSubscription && period.payment.ownership == .purchased {
            addCharge(Self.kind(ofPurchase: period.payment.kind), of: period.payment)
        }
    }

    /// Adds payments for periods that never gave access: an upgrade replaced them before they
    /// began, or they were refunded at once.
    private mutating func addPaymentsWithoutAccess(
        of timeline: Timeline, besides spans: [SubscriptionSpan]
    ) {
        for period in timeline.periods
        where period.payment.isSubscription && period.payment.ownership == .purchased
            && !period.isCountedSubscription && period.payment.isPaid
            && !period.isSecondReport(
                among: timeline)
        {
            addCharge(period.payment.isRenewal ? .renewal : .new, of: period.payment)
        }
    }

    private mutating func addRefund(of line: TransactionLine) {
        guard line.refunded > 0, let at = line.refundedAt else { return }
        let amounts = Movement.Amounts(
            refunded: line.refunded, tax: -line.refundedTax, commission: -line.refundedCommission)
        movements.append(
            Movement(
                line.isReplaced ? .credit : .refund, at: at, of: line.transaction, line.segment,
                amounts))
    }

    // MARK: - Subscriptions

    private mutating func addSubscription(_ spans: [SubscriptionSpan]) {
        var hasPaid = false
        for (index, span) in spans.enumerated() {
            let before = index > 0 ? spans[index - 1] : nil
            if let before, before.isContinued(by: span) {
                addChange(from: before, to: span, hasPaid: hasPaid)
            } else {
                let isFirstAfterTrial = before?.isFree == true && span.payment.isRenewal
                addStart(of: span, hasPaid: hasPaid, isConverted: isFirstAfterTrial)
            }
            hasPaid = hasPaid || !span.isFree
            let next = index + 1 < spans.count ? spans[index + 1] : nil
            if next.map(span.isContinued) != true { addEnd(of: span) }
        }
    }

    /// - Parameter isConverted: whether the span begins with the first payment after a trial, and
    ///   that payment was collected late.
    private mutating func addStart(of span: SubscriptionSpan, hasPaid: Bool, isConverted: Bool) {
        if span.isFree {
            enter(span, as: .trialStarted)
        } else if hasPaid {
            enter(span, as: .reactivation)
        } else {
            enter(span, as: isConverted ? .converted : .new)
        }
    }

    private mutating func addEnd(of span: SubscriptionSpan) {
        leave(span, as: span.isFree ? .trialEnded : .churn, at: span.end)
    }

    private mutating func addChange(
        from before: SubscriptionSpan, to span: SubscriptionSpan, hasPaid: Bool
    ) {
        switch (before.isFree, span.isFree) {
        case (true, true): replace(before, by: span, leaving: .renewal, entering: .renewal)
        case (true, false):
            let kind = hasPaid ? Movement.Kind.reactivation : .converted
            replace(before, by: span, leaving: kind, entering: kind)
        case (false, true):
            replace(before, by: span, leaving: .churn, entering: .trialStarted)
        case (false, false) where before.isSameCurrency(as: span):
            let kind = Self.kind(ofChange: span.mrr - before.mrr)
            replace(before, by: span, leaving: kind, entering: kind)
        case (false, false) where before.becomesEuro(in: span):
            let kind = Self.kind(ofChange: before.change(toEuroOf: span))
            replace(before, by: span, leaving: kind, entering: kind)
        case (false, false):
            replace(before, by: span, leaving: .contraction, entering: .expansion)
        }
    }

    private static func kind(ofPurchase kind: ProductKind) -> Movement.Kind {
        switch kind {
        case .consumable: .consumable
        case .nonConsumable: .nonConsumable
        case .nonRenewing: .nonRenewing
        case .autoRenewable, .unknown: .oneTime
        }
    }

    private static func kind(ofChange difference: Int64) -> Movement.Kind {
        if difference == 0 { return .renewal }
        return difference > 0 ? .expansion : .contraction
    }

    /// Adds one movement if all properties that divide reports stay the same. Otherwise adds two
    /// movements: one leaves the old segment, and one enters the new segment.
    private mutating func replace(
        _ before: SubscriptionSpan, by span: SubscriptionSpan, leaving: Movement.Kind,
        entering: Movement.Kind
    ) {
        guard before.segment != span.segment || before.isFree != span.isFree else {
            var (amounts, counts) = charge(of: span)
            amounts = amounts + span.monthly - before.monthly
            counts.payments = span.isFree ? 0 : Int64(span.charged.count)
            counts.seats = span.seats - before.seats
            movements.append(
                Movement(
                    entering, at: span.start, of: span.payment.transaction, span.segment, amounts,
                    counts))
            return
        }
        leave(before, as: leaving, at: span.start)
        enter(span, as: entering)
    }

    private mutating func enter(_ span: SubscriptionSpan, as kind: Movement.Kind) {
        var (amounts, counts) = charge(of: span)
        amounts = amounts + span.monthly
        counts.active = span.isFree ? 0 : 1
        counts.trials = span.isFree ? 1 : 0
        counts.seats = span.seats
        movements.append(
            Movement(
                kind, at: span.start, of: span.payment.transaction, span.segment, amounts, counts))
    }

    private mutating func leave(_ span: SubscriptionSpan, as kind: Movement.Kind, at end: Instant) {
        let counts = Movement.Counts(
            active: span.isFree ? 0 : -1, trials: span.isFree ? -1 : 0, seats: -span.seats)
        var amounts = -span.monthly
        if span.isPromised { (amounts.contracted, amounts.promised) = (0, 0) }
        movements.append(
            Movement(kind, at: end, of: span.payment.transaction, span.segment, amounts, counts))
    }

    // MARK: - States

    /// - Parameter isRecovered: whether the next period begins when retry ends.
    private mutating func addTrouble(of span: SubscriptionSpan, isRecovered: Bool) {
        if !span.isFree {
            addSpell(of: span, .graceStarted, .graceEnded, from: span.paidEnd, until: span.end) {
                Movement.Counts(grace: $0)
            }
        }
        // A customer's commitment counts until the App Store gives up.
        var lost = Movement.Amounts()
        if span.isPromised {
            (lost.contracted, lost.promised) = (-span.monthly.contracted, -span.monthly.promised)
        }
        addSpell(
            of: span, .retryStarted, isRecovered ? .retryRecovered : .retryEnded,
            from: span.retryStart, until: span.retryEnd, atEnd: lost
        ) { Movement.Counts(retry: $0) }
    }

    private mutating func addSpell(
        of span: SubscriptionSpan, _ first: Movement.Kind, _ last: Movement.Kind,
        from start: Instant, until end: Instant,
        atEnd amounts: Movement.Amounts = Movement.Amounts(),
        _ counts: (Int64) -> Movement.Counts
    ) {
        guard start < end else { return }
        let transaction = span.payment.transaction
        movements += [
            Movement(
                first, at: start, of: transaction, span.segment, Movement.Amounts(), counts(1)),
            Movement(last, at: end, of: transaction, span.segment, amounts, counts(-1)),
        ]
    }

    /// Adds the times within a span when renewal was off. Statements from before the span began do
    /// not count, unless they name the span's own end: then the period was charged ahead.
    private mutating func addRenewalSwitches(
        of span: SubscriptionSpan, _ renewals: [Timeline.Attested<Renewal>]
    ) {
        var offSince: Instant?
        for news in renewals where news.at < span.end {
            let isAhead = news.value.renewsAt != nil && news.value.renewsAt == span.payment.until
            guard news.at >= span.start || isAhead else { continue }
            let at = max(news.at, span.start)
            if news.value.willRenew, let since = offSince {
                addNotRenewing(span, from: since, until: at)
                offSince = nil
            } else if !news.value.willRenew, offSince == nil {
                offSince = at
            }
        }
        if let offSince { addNotRenewing(span, from: offSince, until: span.end) }
    }

    private mutating func addNotRenewing(
        _ span: SubscriptionSpan, from start: Instant, until end: Instant
    ) {
        addSpell(of: span, .renewalOff, .renewalOn, from: start, until: end) {
            Movement.Counts(notRenewing: $0)
        }
    }
}

extension SubscriptionSpan {
    /// When retry begins: after grace. But if the period was refunded and there was no grace, retry
    /// begins when the next payment was due.
    fileprivate var retryStart: Instant {
        guard paidEnd < (payment.until ?? paidEnd), end == paidEnd else { return end }
        return payment.until ?? end
    }

    fileprivate func isSameCurrency(as other: Self) -> Bool {
        segment.price?.currency == other.segment.price?.currency
    }

    /// Whether the storefront's currency has changed to the euro, and the customer has stayed in
    /// this storefront.
    fileprivate func becomesEuro(in other: Self) -> Bool {
        other.segment.price?.currency == EuroChangeover.euro
            && segment.price.flatMap { EuroChangeover($0.currency) } != nil
            && segment.storefront == other.segment.storefront
    }

    /// The maximum rounding, as a fraction of the price. A price that was only rounded at the
    /// changeover to the euro counts as the same price.
    private static let roundingPart: Int64 = 100

    /// The other monthly price, in euros, minus this monthly price converted to euros. Zero if the
    /// price was only rounded.
    fileprivate func change(toEuroOf other: Self) -> Int64 {
        let euro = segment.price.flatMap { EuroChangeover($0.currency) }
        let difference = other.mrr - (euro?.euros(mrr) ?? 0)
        return difference.magnitude <= (other.mrr / Self.roundingPart).magnitude ? 0 : difference
    }
}

extension Timeline.Period {
    /// Whether the period is void only because another document describes the same period better.
    fileprivate func isSecondReport(among timeline: Timeline) -> Bool {
        guard isVoid, payment.line == nil else { return false }
        return timeline.periods.contains {
            $0.payment.line != nil && $0.payment.until == payment.until && $0.product == product
        }
    }
}

extension Movement {
    /// Whether this movement comes before another movement: by time, and then by a fixed order.
    fileprivate func precedes(_ other: Self) -> Bool {
        if at != other.at { return at < other.at }
        if transaction != other.transaction { return transaction < other.transaction }
        if kind != other.kind { return kind.rawValue < other.kind.rawValue }
        if isMeanwhile != other.isMeanwhile { return other.isMeanwhile }
        return counts.active + counts.trials < other.counts.active + other.counts.trials
    }
}
