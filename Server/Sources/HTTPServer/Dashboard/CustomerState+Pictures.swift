import Dashboard
import Engine
import Ledger
import PerennialContract

extension CustomerState {
    /// The beginning of the first purchase, seat or grant; nil if the customer has none of these.
    var since: Timestamp? {
        let purchases = purchases.compactMap { purchase in
            purchase.timeline.seat?.since ?? purchase.timeline.periods.first?.from
        }
        return (purchases + grants.map(\.from)).min().map { Timestamp($0) }
    }

    /// What the customer paid in each currency, after refunds.
    var paid: [PerennialContract.Money] { Self.sums(of: purchases) }

    private static func sums(of purchases: [PurchaseState]) -> [PerennialContract.Money] {
        purchases.reduce(into: [String: Int64]()) { sums, purchase in
            sums.merge(purchase.timeline.netAmounts, uniquingKeysWith: +)
        }.sorted { $0.key < $1.key }.map { .init(milliunits: $0.value, currency: $0.key) }
    }

    /// The storefront of the latest payment.
    var storefront: String? {
        purchases.flatMap { $0.timeline.periods.map(\.payment) }.max { $0.from < $1.from }?
            .storefront
    }

    /// Returns the line. If all payments for the purchase are in one currency, adds the amount that
    /// was paid.
    private func priced(_ line: PurchaseLine) -> PurchaseLine {
        var line = line
        if line.kind == .term, let own = purchases.first(where: { $0.has(line) }) {
            line.originalTransactionIDs = [own.timeline.purchase.original.rawValue]
        }
        let sums = Self.sums(
            of: purchases.filter {
                line.originalTransactionIDs.contains($0.timeline.purchase.original.rawValue)
            })
        line.paid = sums.count == 1 ? sums[0] : nil
        return line
    }

    /// The purchases as the page lists them: purchases of one consumable product are one line.
    var purchaseLines: [PurchaseLine] {
        let customer = Customer(self)
        var lines = PurchaseLine.lines(of: customer).filter { $0.kind != .kept }
        lines += purchases.flatMap { $0.lines }
        let consumables = Dictionary(grouping: purchases.flatMap(\.consumables)) { $0.productID }
        lines += consumables.values.compactMap { lines in
            guard var line = lines.min(by: { $0.from < $1.from }) else { return nil }
            line.count = lines.map(\.count).reduce(0, +)
            line.originalTransactionIDs = lines.flatMap(\.originalTransactionIDs)
            return line
        }.sorted { ($0.from, $0.productID) < ($1.from, $1.productID) }
        return lines.map(priced)
    }
}

extension PurchaseState {
    /// Whether this purchase paid for the non-renewing term of a line.
    fileprivate func has(_ term: PurchaseLine) -> Bool {
        timeline.payments { $0 == .nonRenewing }.contains {
            $0.product.rawValue == term.productID && Timestamp($0.from) == term.from
        }
    }

    private func line(_ payment: Payment, _ kind: PurchaseLine.Kind) -> PurchaseLine {
        PurchaseLine(
            productID: payment.product.rawValue, count: kind == .consumable ? payment.quantity : 1,
            kind: kind,
            state: kind == .consumable ? nil : payment.revocation == nil ? .owned : .refunded,
            from: Timestamp(payment.from), revokedAt: payment.revocation.map { Timestamp($0.at) },
            originalTransactionIDs: [timeline.purchase.original.rawValue])
    }

    /// The products that are owned permanently.
    fileprivate var lines: [PurchaseLine] {
        timeline.payments { $0 == .nonConsumable }.map { line($0, .kept) }
    }

    fileprivate var consumables: [PurchaseLine] {
        timeline.payments { $0 == .consumable }.filter { $0.revocation == nil }
            .map { line($0, .consumable) }
    }
}

// MARK: - Picture

extension TimelinePicture {
    /// Makes the picture: subscriptions with all their periods, then terms, then products that are
    /// owned permanently.
    init(_ state: CustomerState) {
        let subscriptions = state.purchases.compactMap { Self.subscription($0, at: state.asOf) }
        let terms = Dictionary(grouping: state.displayedTerms, by: \.product).sorted {
            $0.key < $1.key
        }.map { product, terms in
            Lane(
                name: product.rawValue,
                spans: terms.map {
                    Span(.term, from: Timestamp($0.from), until: Timestamp($0.until))
                })
        }
        let owned = state.purchases.flatMap { purchase in
            purchase.timeline.payments { $0 == .nonConsumable }.map { payment in
                Lane(
                    name: payment.product.rawValue,
                    spans: [
                        Span(
                            payment.revocation == nil ? .paid : .refunded,
                            from: Timestamp(payment.from),
                            until: payment.revocation.map { Timestamp($0.at) })
                    ])
            }
        }
        self.init(lanes: subscriptions + terms + owned)
    }

    private static func subscription(_ state: PurchaseState, at now: Instant) -> Lane? {
        let periods = state.timeline.sinceSeat.periods.filter {
            $0.payment.kind == .autoRenewable && !$0.isVoid && !$0.isAddition
        }
        guard let last = periods.last else { return nil }
        var spans = periods.map { period in
            Span(
                kind(of: period.payment), from: Timestamp(period.from),
                until: lastMoment(of: period).map { Timestamp($0) }, label: period.product.rawValue)
        }
        spans += trouble(state, after: last, at: now)
        return Lane(name: last.product.rawValue, spans: spans)
    }

    /// The credit of an upgrade is not a refund, because the customer continues with the higher
    /// product.
    private static func kind(of payment: Payment) -> Kind {
        if payment.revocation != nil, !payment.isUpgraded { return .refunded }
        return payment.terms == .trial ? .trial : .paid
    }

    private static func lastMoment(of period: Timeline.Period) -> Instant? {
        guard let revocation = period.payment.revocation else { return period.end }
        return max(period.from, min(period.end ?? revocation.at, revocation.at))
    }

    /// The stretch of time after the last period during which the App Store tries, or tried, to
    /// collect the payment.
    private static func trouble(
        _ state: PurchaseState, after last: Timeline.Period, at now: Instant
    ) -> [Span] {
        guard let access = state.access, let end = last.end else { return [] }
        let grace = state.timeline.graceEnd(after: last)
        let graceSpan = grace.map {
            Span(.grace, from: Timestamp(end), until: Timestamp(access.isOpen ? $0 : min($0, now)))
        }
        switch access.state {
        case .grace, .expired: return [graceSpan].compactMap(\.self)
        case .retry:
            let begin = max(end, grace ?? end)
            let retry = Span(.retry, from: Timestamp(begin), until: Timestamp(max(now, begin)))
            return [graceSpan, retry].compactMap(\.self)
        case .paid, .trial, .offer, .unconfirmed, .granted, .owned, .refunded, .revoked:
            return []
        }
    }
}
