import Ledger

// Refunds that were reversed. The movements of a purchase are computed from its present timeline,
// which no longer shows such refunds. But the movements must describe what happened at each moment.
// Between a refund and its reversal, the movements of the timeline with the refund apply. Before
// the refund and after the reversal, the movements of the timeline without the refund apply. At the
// reversal, the refunded amounts are charged again. The difference between what happened and the
// present knowledge is added as movements with `isMeanwhile`.

extension PurchaseBooks {
    /// The movements with `isMeanwhile`. Empty if no refund was reversed.
    func meanwhile(
        of timeline: Timeline, _ renewals: [Timeline.Attested<Renewal>],
        _ payments: [AttestedPayment], _ rules: MoneyRules
    ) -> [Movement] {
        let reversals = ReversedRefund.all(of: timeline, payments)
        guard !reversals.isEmpty else { return [] }
        let rates = Dictionary(
            zip(timeline.periods, transactions).map { ($0.id, $1.commissionRate) }
        ) { first, _ in first }
        var story = ReversalStory(movements)
        let moments = Set(reversals.flatMap { [$0.refund.at, $0.reversedAt] }).sorted()
        for (index, moment) in moments.enumerated() {
            let next = index + 1 < moments.count ? moments[index + 1] : nil
            let inForce = reversals.filter { $0.contains(moment) }
            var known = movements
            if !inForce.isEmpty {
                // Evidence from after the reversal says nothing about the time before the reversal.
                // For example, a renewal after the reversal does not mean that the App Store was
                // collecting while the refund was in force.
                let then = Timeline(
                    of: timeline.purchase,
                    Self.facts(of: timeline, payments, refundedBy: inForce, before: next))
                let told = renewals.filter { news in next.map { news.at < $0 } ?? true }
                known =
                    PurchaseBooks(of: then, told, commissionRates: rates, rules: rules)
                    .movements
                for reversal in inForce { story.expect(reversal, in: then, known) }
            }
            for reversal in reversals where reversal.reversedAt == moment {
                story.chargeAgain(reversal)
            }
            story.goOn(with: known, from: moment, to: next)
        }
        return story.meanwhile
    }

    /// The statements about payments, as if some refunds had not been reversed.
    ///
    /// - Parameter end: other periods that begin at this moment or later are left out; nil leaves
    ///   out no period.
    private static func facts(
        of timeline: Timeline, _ payments: [AttestedPayment],
        refundedBy reversals: [ReversedRefund], before end: Instant?
    ) -> [Fact] {
        var refunds: [String: ReversedRefund] = [:]
        for reversal in reversals { refunds[reversal.period] = reversal }
        let others = payments.filter { one in
            if let end, one.payment.from >= end { return false }
            let period = timeline.period(toldBy: one.payment, one.grade)
            return period.map { refunds[$0.id] == nil } ?? true
        }
        let refunded = timeline.periods.compactMap { period -> Fact? in
            guard let reversal = refunds[period.id] else { return nil }
            var payment = period.payment
            payment.revocation = reversal.refund
            return Fact(
                about: timeline.purchase, attestedAt: reversal.toldAt,
                grade: period.sources.grade, .payment(payment))
        }
        return others.map(\.fact) + refunded
    }
}

/// Builds the movements that happened to a purchase whose refunds were reversed, from the earliest
/// moment to the latest.
private struct ReversalStory {
    private let base: [Movement]
    /// The movements that happened, up to the moment that was processed last.
    private var told: [Movement] = []
    /// The movements with which the history continues after that moment.
    private var known: [Movement]
    private var hasBegun = false
    private var refunds: [ReversedRefund: Movement] = [:]

    /// - Parameter base: the movements according to present knowledge.
    init(_ base: [Movement]) {
        self.base = base
        known = base
    }

    /// Remembers the amounts of a refund.
    mutating func expect(_ reversal: ReversedRefund, in then: Timeline, _ movements: [Movement]) {
        let transaction = then.periods.first { $0.id == reversal.period }?.payment.transaction
        guard refunds[reversal] == nil,
            let refund = movements.first(where: {
                $0.kind == .refund && $0.transaction == transaction
                    && $0.at < reversal.reversedAt
            })
        else { return }
        refunds[reversal] = refund
    }

    /// Charges the refunded amounts again, as the App Store did.
    mutating func chargeAgain(_ reversal: ReversedRefund) {
        guard var refund = refunds[reversal] else { return }
        refund.at = reversal.reversedAt
        refund.amounts = -refund.amounts
        told.append(refund)
    }

    /// Continues the history with the given movements, from one moment to another.
    mutating func goOn(with movements: [Movement], from moment: Instant, to end: Instant?) {
        if !hasBegun {
            told += base.filter { $0.at < moment }
            hasBegun = true
        }
        told += Self.jump(from: known, to: movements, at: moment)
        told += movements.filter { one in
            one.at >= moment && end.map { one.at < $0 } ?? true
        }
        known = movements
    }

    // MARK: - What comes and goes at a moment

    /// The persistent counts of one segment.
    private struct Stock {
        var transaction: TransactionID
        var amounts = Movement.Amounts()
        var counts = Movement.Counts()

        var isNothing: Bool { amounts == .init() && counts == .init() }
    }

    /// The difference between the amounts and counts that two lists of movements give at a moment.
    /// Ignores charges, refunds and numbers of payments, because they belong to a single moment.
    private static func jump(
        from before: [Movement], to after: [Movement], at moment: Instant
    ) -> [Movement] {
        var stocks: [Segment: Stock] = [:]
        for (movements, isAfter) in [(before, false), (after, true)] {
            for one in movements where one.at < moment {
                var stock = stocks[one.segment] ?? Stock(transaction: one.transaction)
                let (amounts, counts) = (one.amounts.ofStock, one.counts.ofStock)
                stock.amounts =
                    isAfter ? stock.amounts + amounts : stock.amounts - amounts
                stock.counts = isAfter ? stock.counts + counts : stock.counts + -counts
                stock.transaction = max(stock.transaction, one.transaction)
                stocks[one.segment] = stock
            }
        }
        return stocks.filter { !$0.value.isNothing }.flatMap { segment, stock in
            movements(of: stock, segment, at: moment)
        }
    }

    private static func movements(
        of stock: Stock, _ segment: Segment, at moment: Instant
    ) -> [Movement] {
        func movement(
            _ kind: Movement.Kind, _ counts: Movement.Counts,
            _ amounts: Movement.Amounts = Movement.Amounts()
        ) -> Movement {
            Movement(kind, at: moment, of: stock.transaction, segment, amounts, counts)
        }
        let counts = stock.counts
        let isLess =
            counts.active < 0
            || counts.active == 0
                && (stock.amounts.mrr, counts.seats) < (0, 0)
        let own: [(Int64, Movement)] = [
            (
                counts.trials,
                movement(
                    counts.trials < 0 ? .trialEnded : .trialStarted, .init(trials: counts.trials))
            ),
            (
                counts.grace,
                movement(counts.grace < 0 ? .graceEnded : .graceStarted, .init(grace: counts.grace))
            ),
            (
                counts.retry,
                movement(counts.retry < 0 ? .retryEnded : .retryStarted, .init(retry: counts.retry))
            ),
            (
                counts.notRenewing,
                movement(
                    counts.notRenewing < 0 ? .renewalOn : .renewalOff,
                    .init(notRenewing: counts.notRenewing))
            ),
        ]
        let main = movement(
            isLess ? .churn : .reactivation, .init(active: counts.active, seats: counts.seats),
            stock.amounts)
        return (main.counts == .init() && main.amounts == .init() ? [] : [main])
            + own.filter { $0.0 != 0 }.map(\.1)
    }

    // MARK: - The difference

    private struct Key: Hashable {
        var at: Instant
        var transaction: TransactionID
        var kind: Movement.Kind

        init(_ movement: Movement) {
            (at, transaction, kind) = (movement.at, movement.transaction, movement.kind)
        }
    }

    /// The movements that happened, minus the movements according to present knowledge.
    var meanwhile: [Movement] {
        var differences: [Key: Movement] = [:]
        func add(_ movement: Movement, _ isTaken: Bool) {
            var one = differences[Key(movement)] ?? movement.emptied
            one.amounts =
                isTaken ? one.amounts - movement.amounts : one.amounts + movement.amounts
            one.counts = one.counts + (isTaken ? -movement.counts : movement.counts)
            differences[Key(movement)] = one
        }
        for movement in told { add(movement, false) }
        for movement in base { add(movement, true) }
        let found = differences.values.filter { $0.amounts != .init() || $0.counts != .init() }
        // A reversed refund always leaves at least one movement, so that it stays visible.
        return found.isEmpty ? refunds.values.map(\.emptied) : Array(found)
    }
}

extension Movement {
    /// A movement with `isMeanwhile` that changes nothing.
    fileprivate var emptied: Self {
        var movement = self
        (movement.amounts, movement.counts) = (Amounts(), Counts())
        movement.isMeanwhile = true
        return movement
    }
}

extension Movement.Counts {
    /// The counts that stay in force until another movement changes them. The count of payments is
    /// set to zero.
    fileprivate var ofStock: Self {
        var stock = self
        stock.payments = 0
        return stock
    }

    fileprivate static prefix func - (counts: Self) -> Self {
        Self(
            payments: -counts.payments, active: -counts.active, trials: -counts.trials,
            grace: -counts.grace, retry: -counts.retry, notRenewing: -counts.notRenewing,
            seats: -counts.seats)
    }
}
