/// The answer now: open or shut, until when, and why. A pure function of a timeline and the time.
package struct Access: Hashable, Sendable {
    package var purchase: PurchaseID
    package var product: ProductID
    package var state: State
    /// Open: where it ends if nothing else happens, nil for never. Shut: since when.
    package var until: Instant?
    package var reason: Reason
    /// Nil where the store has not told us.
    package var willRenew: Bool?

    package enum State: String, Hashable, Sendable, CaseIterable {
        case paid, trial, offer, grace, unconfirmed, granted, owned
        case retry, expired, refunded, revoked

        /// The one definition of "active".
        package var isOpen: Bool {
            switch self {
            case .paid, .trial, .offer, .grace, .unconfirmed, .granted, .owned: true
            case .retry, .expired, .refunded, .revoked: false
            }
        }
    }

    package var isOpen: Bool { state.isOpen }
}

/// What is decided by us and not by the store.
package struct AccessRules: Hashable, Sendable {
    /// How long access stays open past a period's end while it is not known whether the store
    /// renewed it.
    package var unconfirmedHold: Duration
    package static let unconfirmedHoldDefault = Duration.hours(24)

    package init(unconfirmedHold: Duration = Self.unconfirmedHoldDefault) {
        self.unconfirmedHold = unconfirmedHold
    }
}

extension Timeline {
    /// How long the store goes on trying to collect.
    package static let retryMax = Duration.days(60)
    /// How far the store's clock may be ahead of ours without a payer being shut out.
    package static let clockSkewMax = Duration.seconds(300)

    /// What this purchase gives at a moment; nil where it gives nothing by time or ownership
    /// (consumables, and terms whose length the store does not know), or nothing is known yet.
    ///
    /// A period that covers the moment opens it. Where none does, the period that began last
    /// decides, with what the store said of its renewal: taken back, grace, retry, ended, or not
    /// known.
    package func access(at now: Instant, rules: AccessRules = AccessRules()) -> Access? {
        guard let period = period(at: now) else { return nil }
        if period.covers(now) || period.from > now { return open(period, at: now) }
        return lapsed(period, at: now, rules: rules)
    }

    /// The period that decides at a moment: the one that covers it, else the one that began last.
    /// Nil where none has begun that gives access.
    package func period(at now: Instant) -> Period? {
        let candidates = periods.filter { $0.payment.opensByItself }
        return candidates.last { $0.covers(now) }
            ?? candidates.last { $0.covers(now + Self.clockSkewMax) && $0.from > now }
            ?? candidates.last { $0.from <= now }
    }

    private func answer(
        _ period: Period, _ state: Access.State, until: Instant?, _ reason: Reason
    ) -> Access {
        Access(
            purchase: purchase, product: period.product, state: state, until: until, reason: reason,
            willRenew: period.payment.kind == .autoRenewable ? renewal?.value.willRenew : false)
    }

    private func open(_ period: Period, at now: Instant) -> Access {
        guard let until = paidUntil(period) else {
            return answer(period, .owned, until: nil, .owned(since: period.from))
        }
        if period.payment.isUpgraded && !period.isReplaced {
            return answer(period, .unconfirmed, until: until, .upgradedToUnknown(until: until))
        }
        let renewing = renewal?.value.willRenew
        switch period.payment.terms {
        case .full: return answer(period, .paid, until: until, .paid(until: until, renewing))
        case .trial: return answer(period, .trial, until: until, .trial(until: until, renewing))
        case .offer: return answer(period, .offer, until: until, .offer(until: until, renewing))
        }
    }

    /// Where access ends that is paid for: periods that follow without a gap count, since a renewal
    /// can be charged early.
    private func paidUntil(_ period: Period) -> Instant? {
        guard var until = period.openUntil else { return nil }
        for next in periods where next.from == until && next.product == period.product {
            guard let end = next.openUntil, end > until else { continue }
            until = end
        }
        return until
    }

    private func lapsed(_ period: Period, at now: Instant, rules: AccessRules) -> Access {
        let end = period.openUntil ?? period.from
        if let revocation = period.payment.revocation, revocation.at <= now {
            switch revocation.kind {
            case .refund: return answer(period, .refunded, until: end, .refunded(at: end))
            case .sharingEnded: return answer(period, .revoked, until: end, .sharingEnded(at: end))
            }
        }
        guard let news = renewal, news.at >= period.from else {
            return silent(period, since: end, at: now, rules: rules)
        }
        return lapsed(period, since: end, told: news, at: now, rules: rules)
    }

    private func lapsed(
        _ period: Period, since end: Instant, told news: Attested<Renewal>, at now: Instant,
        rules: AccessRules
    ) -> Access {
        let renewal = news.value
        guard renewal.willRenew || renewal.isRetrying else {
            return answer(period, .expired, until: end, .ended(at: end, renewal.ending))
        }
        if let grace = renewal.graceUntil, grace > end {
            if now < grace { return answer(period, .grace, until: grace, .grace(until: grace)) }
            return retrying(period, since: grace, at: now)
        }
        if renewal.isRetrying { return retrying(period, since: end, at: now) }
        if renewal.ending != nil {
            return answer(period, .expired, until: end, .ended(at: end, renewal.ending))
        }
        if news.at >= end, let next = renewal.renewsAt, next > end, now < next {
            return answer(period, .unconfirmed, until: next, .unconfirmed(since: end, until: next))
        }
        return silent(period, since: end, at: now, rules: rules)
    }

    private func retrying(_ period: Period, since: Instant, at now: Instant) -> Access {
        guard let end = period.openUntil, now < end + Self.retryMax else {
            return answer(period, .expired, until: since, .ended(at: since, .billing))
        }
        return answer(period, .retry, until: since, .retrying(since: since))
    }

    /// Nothing was heard since the end. Missing news takes nothing away at once: it is held open
    /// for a while.
    private func silent(
        _ period: Period, since end: Instant, at now: Instant, rules: AccessRules
    ) -> Access {
        let held = end + rules.unconfirmedHold
        if now < held {
            return answer(period, .unconfirmed, until: held, .unconfirmed(since: end, until: held))
        }
        return answer(period, .expired, until: end, .neverConfirmed(end: end, held: held))
    }
}

extension Timeline.Period {
    /// The end that counts for access: earlier where the payment was taken back. Nil: none.
    package var openUntil: Instant? {
        guard let revocation = payment.revocation else { return end }
        return max(payment.from, min(revocation.at, end ?? revocation.at))
    }

    func covers(_ now: Instant) -> Bool {
        from <= now && (openUntil.map { now < $0 } ?? true)
    }
}

extension Payment {
    /// Subscriptions give access by their periods, non-consumables for ever. Consumables fill
    /// wallets, and the length of non-renewing terms is the app's, not the store's: neither opens
    /// anything by itself.
    var opensByItself: Bool {
        switch kind {
        case .autoRenewable: until != nil
        case .nonConsumable: true
        case .nonRenewing, .consumable, .unknown: false
        }
    }
}
