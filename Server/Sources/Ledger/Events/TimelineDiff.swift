/// The changes that follow from the difference between two timelines of one purchase. The changes
/// have no order and no status yet.
struct TimelineDiff {
    let before: Timeline
    let after: Timeline
    /// The purchase's status as last reported.
    let told: PurchaseStatus?
    let now: Instant
    let rules: AccessRules
    private var found: [Change] = []

    init(
        before: Timeline, after: Timeline, told: PurchaseStatus?, now: Instant, rules: AccessRules
    ) {
        self.before = before
        self.after = after
        self.told = told
        self.now = now
        self.rules = rules
    }

    /// All changes. If the status has changed, at least one of them contains the new status.
    mutating func changes(endingWith final: PurchaseStatus?) -> [Change] {
        for period in removedPeriods {
            found += Self.difference(period.netAmount, nil).map {
                Change(.priceCorrected, at: now, of: period, money: $0)
            }
        }
        for (old, index) in changedPeriods {
            let period = after.periods[index]
            if old == nil { addBeginning(period, at: index) }
            addDifferences(old ?? period.asCharged, period)
        }
        let renewal = RenewalDiff(before, after, told: told, sofar: found)
        found += renewal?.changes ?? []
        if final != told { addStatusChange(final) }
        return found
    }

    // MARK: - Periods

    /// Periods that are new or have changed, by their index in the later timeline. An existing
    /// period usually stays at its index.
    private var changedPeriods: [(old: Timeline.Period?, index: Int)] {
        var known = before.periods[...]
        var changed: [(Timeline.Period?, Int)] = []
        for (index, period) in after.periods.enumerated() {
            if let first = known.first, first.isSame(as: period) {
                known.removeFirst()
                if first != period { changed.append((first, index)) }
            } else {
                changed.append((nil, index))
            }
        }
        guard !known.isEmpty else { return changed }
        return after.periods.indices.compactMap { index in
            let period = after.periods[index]
            let old = before.periods.first { $0.isSame(as: period) }
            return old == after.periods[index] ? nil : (old, index)
        }
    }

    /// Periods that the later timeline no longer has. There are two kinds: periods that no document
    /// describes any more, which happens only in a rebuild, and copies that were once reported as
    /// separate purchases.
    private var removedPeriods: [Timeline.Period] {
        if before.periods.count <= after.periods.count,
            zip(before.periods, after.periods).allSatisfy({ $0.isSame(as: $1) })
        {
            return []
        }
        var ids = Set(after.periods.map(\.id))
        return before.periods.filter { period in
            ids.remove(period.id) == nil
                && !after.periods.contains { $0.isSeated(as: period.payment) }
        }
    }

    private mutating func addBeginning(_ period: Timeline.Period, at index: Int) {
        let money = period.payment.paid.flatMap { $0.milliunits == 0 ? nil : $0 }
        let at = min(period.from, period.attestedAt)
        found.append(Change(kind(of: period, at: index), at: at, of: period, money: money))
    }

    private func kind(of period: Timeline.Period, at index: Int) -> Change.Kind {
        let payment = period.payment
        guard payment.kind == .autoRenewable || payment.kind == .unknown else {
            return payment.ownership == .purchased ? .purchased : payment.beginningOfOthers
        }
        if period.isAddition { return .seatsAdded }
        let previous = after.periods[..<index].last { !$0.isVoid && !$0.isAddition }
        if payment.ownership != .purchased { return shared(period, after: previous) }
        if payment.isRenewal || previous?.payment.until == period.from {
            return previous.map { renewal(period, after: $0) } ?? .renewed
        }
        // Legacy documents do not say that a payment after a gap is a renewal.
        if let previous, period.sources == .legacy, previous.product == period.product,
            wasOutstanding(period, after: previous)
        {
            return .billingRecovered
        }
        guard let previous else {
            let isFirst = payment.transaction == after.purchase.original
            return payment.isFree ? .trialStarted : isFirst ? .purchased : .resubscribed
        }
        let added = after.periods[..<index].filter { $0.isAddition && $0.from >= previous.from }
        guard previous.isReplaced || previous.payment.isUpgraded,
            !([previous] + added).allSatisfy({ $0.wasTakenBack(before: period.from) })
        else { return .resubscribed }
        return previous.product == period.product ? .renewed : .upgraded
    }

    /// The kind of change for a period that another person pays for. The kind says whether the use
    /// of the purchase begins, begins again, or continues. The kind of the buyer's payment does not
    /// matter.
    private func shared(
        _ period: Timeline.Period, after previous: Timeline.Period?
    ) -> Change.Kind {
        let begins = period.payment.beginningOfOthers
        guard let previous, !previous.wasTakenBack(before: period.from) else { return begins }
        if previous.isReplaced || previous.payment.isUpgraded {
            return previous.product == period.product ? .renewed : .upgraded
        }
        guard previous.payment.revocation == nil else { return begins }
        let goesOn = period.payment.isRenewal || previous.payment.until == period.from
        return goesOn ? renewal(period, after: previous) : begins
    }

    private func renewal(
        _ period: Timeline.Period, after previous: Timeline.Period
    ) -> Change.Kind {
        if isRecovered(period, after: previous) { return .billingRecovered }
        if previous.product != period.product { return .productChanged }
        return previous.payment.isFree && !period.payment.isFree ? .trialConverted : .renewed
    }

    /// Whether the period was paid after a failed payment or after a gap. If the App Store itself
    /// has postponed the renewal, there is no gap.
    private func isRecovered(
        _ period: Timeline.Period, after previous: Timeline.Period
    ) -> Bool {
        if wasOutstanding(period, after: previous) { return true }
        let hasGap = previous.end.map { $0 < period.from } ?? false
        return hasGap && before.renewal?.value.renewsAt != period.from
    }

    /// Whether this is the payment that the App Store tried to collect. That is the payment after
    /// the last known period, not an earlier payment that becomes known late. The document about
    /// the recovery may be the first document with the line item of that last period. Then the
    /// period's id has changed.
    private func wasOutstanding(
        _ period: Timeline.Period, after previous: Timeline.Period
    ) -> Bool {
        guard told?.state == .grace || told?.state == .retry else { return false }
        guard let last = before.latestPeriod else { return false }
        let lastNow = after.period(toldBy: last.payment, last.sources.grade)
        return lastNow?.id == previous.id && now >= period.from
    }

    /// Adds what happened to a period since it was last reported.
    private mutating func addDifferences(_ old: Timeline.Period, _ new: Timeline.Period) {
        var money = Self.difference(old.netAmount, new.netAmount)
        if let (kind, at) = Self.revocationChange(from: old, to: new, isMoneyMoved: !money.isEmpty)
        {
            let first = money.isEmpty ? nil : money.removeFirst()
            found.append(Change(kind, at: at, of: new, money: first))
        }
        if let until = new.payment.until, let was = old.payment.until, was < until {
            let first = money.isEmpty ? nil : money.removeFirst()
            found.append(Change(.extended, at: new.attestedAt, of: new, money: first))
        }
        let kind: Change.Kind = new.isVoid && !old.isVoid ? .credited : .priceCorrected
        found += money.map { Change(kind, at: new.attestedAt, of: new, money: $0) }
    }

    /// The change if the period was revoked or restored, and when that happened.
    private static func revocationChange(
        from old: Timeline.Period, to new: Timeline.Period, isMoneyMoved: Bool
    ) -> (Change.Kind, Instant)? {
        switch (old.payment.revocation, new.payment.revocation) {
        case (nil, nil): return nil
        case (nil, let revocation?): return (revocationKind(revocation, new), revocation.at)
        case (let was?, nil):
            guard !old.payment.isUpgraded else {
                return isMoneyMoved ? (.credited, new.attestedAt) : nil
            }
            let again = was.kind == .refund ? .refundReversed : new.payment.beginningOfOthers
            return (again, new.attestedAt)
        case (let was?, let revocation?):
            guard isMoneyMoved || was.kind != revocation.kind else { return nil }
            return (revocationKind(revocation, new), revocation.at)
        }
    }

    private static func revocationKind(
        _ revocation: Revocation, _ period: Timeline.Period
    ) -> Change.Kind {
        switch revocation.kind {
        case .refund: period.payment.isUpgraded ? .credited : .refunded
        case .sharingEnded: period.payment.ownership == .assigned ? .seatRevoked : .revoked
        }
    }

    /// The difference between the new and the old amount. If the currencies differ, one amount for
    /// each currency.
    private static func difference(_ old: Money?, _ new: Money?) -> [Money] {
        guard let old, let new, old.currency == new.currency else {
            let gone = old.map { Money(milliunits: -$0.milliunits, currency: $0.currency) }
            return [gone, new].compactMap { $0 }.filter { $0.milliunits != 0 }
        }
        let more = new.milliunits - old.milliunits
        return more == 0 ? [] : [Money(milliunits: more, currency: new.currency)]
    }

    // MARK: - Status

    /// Adds a change if no other change explains why the status is different.
    private mutating func addStatusChange(_ final: PurchaseStatus?) {
        let access = after.reportedAccess(at: now, rules: rules)
        var kind: Change.Kind?
        if !found.contains(where: { $0.kind.isBeginning }), let state = final?.state,
            state != told?.state
        {
            kind = kindOfTransition(to: state)
        }
        guard let kind = kind ?? (found.isEmpty ? .accessChanged : nil) else { return }
        let at = moment(of: kind, access)
        var change = Change(kind, at: at, product: final?.product)
        if kind == .expired {
            change.expirationReason = access.flatMap { Change.ExpirationReason($0.reason) }
        }
        if let period = after.period(at: now) {
            change.transaction = period.payment.transaction
            change.ownership = period.payment.ownership
        }
        found.append(change)
    }

    /// The kind of the change that reports the new state. Returns nil if another change has
    /// reported the state, or if no kind of change stands for the transition to it.
    private func kindOfTransition(to state: Access.State) -> Change.Kind? {
        switch state {
        case .expired: told?.isOpen == true || told?.state == .retry ? .expired : nil
        case .grace: hasFailed ? nil : .graceBegan
        case .retry where told?.state == .grace: .graceEnded
        case .retry: hasFailed ? nil : .retryBegan
        case .unconfirmed: found.isEmpty ? .accessUnconfirmed : nil
        case .paid, .trial, .offer, .granted, .owned, .refunded, .revoked: nil
        }
    }

    /// The moment of the change. If access is shut, this is the moment since which it is shut, but
    /// never later than now. If a purchase expires after grace or retry, it is the moment at which
    /// the App Store reported that.
    private func moment(of kind: Change.Kind, _ access: Access?) -> Instant {
        if kind == .expired, told?.state == .grace || told?.state == .retry {
            return after.renewal?.at ?? now
        }
        guard let access, !access.isOpen, let since = access.until else { return now }
        return min(since, now)
    }

    private var hasFailed: Bool { found.contains { $0.kind == .billingFailed } }
}

extension Payment {
    /// The kind of change that reports the beginning of a period that another person pays for.
    fileprivate var beginningOfOthers: Change.Kind {
        ownership == .assigned ? .seatAssigned : .familyShared
    }
}

extension Timeline.Period {
    /// Whether a refund, or the end of sharing, had ended the period before the next period began.
    /// A refund caused by an upgrade does not count.
    fileprivate func wasTakenBack(before next: Instant) -> Bool {
        guard let revocation = payment.revocation, !payment.isUpgraded else { return false }
        return revocation.at < next
    }

    /// The period as it was when it was charged.
    fileprivate var asCharged: Self {
        var charged = self
        charged.payment.revocation = nil
        charged.isVoid = false
        return charged
    }
}
