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
    /// The product that has perhaps taken ``product``'s place: chosen by the customer, and not
    /// heard of. As long as that is not known, both are open.
    package var alternative: ProductID?

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
    /// The same of months that the customer has promised to pay.
    package static let committedRetryMax = Duration.days(90)
    /// How far the store's clock may be ahead of ours without a payer being shut out.
    package static let clockSkewMax = Duration.seconds(300)

    /// What this purchase gives at a moment; nil where it gives nothing by time or ownership
    /// (consumables, and terms whose length the store does not know), or nothing is known yet.
    ///
    /// A period that covers the moment opens it. Where none does, the period that began last
    /// decides, with what the store said of its renewal: taken back, grace, retry, ended, or not
    /// known.
    ///
    /// - Parameter products: those that give the same right. What is paid ahead for one of them
    ///   counts like a renewal of the present product.
    package func access(
        at now: Instant, rules: AccessRules = AccessRules(), through products: Set<ProductID> = []
    ) -> Access? {
        guard let period = period(at: now) else { return nil }
        if period.covers(now) || period.from > now { return open(period, products) }
        return lapsed(period, at: now, rules: rules)
    }

    /// The period that decides at a moment: the one that covers it, else the one that began last.
    /// Nil where none has begun that gives access.
    package func period(at now: Instant) -> Period? {
        last { $0.covers(now) }
            ?? last { $0.covers(now + Self.clockSkewMax) && $0.from > now }
            ?? last { $0.from <= now }
    }

    /// The last of the periods that give access and are as asked for.
    private func last(where isWanted: (Period) -> Bool) -> Period? {
        let index = periods.indices.last {
            periods[$0].payment.opensByItself && !periods[$0].isVoid && isWanted(periods[$0])
        }
        return index.map { periods[$0] }
    }

    private func answer(
        _ period: Period, _ state: Access.State, until: Instant?, _ reason: Reason
    ) -> Access {
        let isSubscription = period.payment.kind == .autoRenewable
        return Access(
            purchase: purchase, product: period.product, state: state, until: until, reason: reason,
            willRenew: isSubscription ? willRenew(after: period) : false)
    }

    /// Nil where the store has not said it. That renewal was off before the period began says
    /// nothing: somebody has come back, or bought something else.
    private func willRenew(after period: Period) -> Bool? {
        if let news = news(about: period) { return news.value.willRenew }
        return renewal?.value.willRenew == true ? true : nil
    }

    /// What is over for good: nothing follows, whatever the store's switch says.
    private func ended(
        _ period: Period, at end: Instant, _ ending: Renewal.Ending?, of due: Instant? = nil
    ) -> Access {
        var access = answer(period, .expired, until: end, .ended(at: due ?? end, ending))
        access.willRenew = false
        return access
    }

    private func unconfirmed(_ period: Period, until: Instant, _ reason: Reason) -> Access {
        var access = answer(period, .unconfirmed, until: until, reason)
        if let news = news(about: period), let next = news.value.renewsTo, next != period.product {
            access.alternative = next
        }
        return access
    }

    /// What the store last said of renewal, where that is about the end of a period: said since it
    /// began, or, of a period charged ahead, naming its end. That it tries to collect it says of
    /// the renewal before, unless the period's own end is near, or grace lasts beyond it: what
    /// recovers in grace begins where the period before has ended.
    package func news(about period: Period) -> Attested<Renewal>? {
        guard let renewal else { return nil }
        if let end = period.payment.until, renewal.value.renewsAt == end { return renewal }
        guard renewal.at >= period.from else { return nil }
        guard let end = period.payment.until, renewal.value.isCollecting(since: period.from),
            renewal.value.graceUntil.map({ $0 <= end }) ?? true
        else { return renewal }
        return renewal.at >= end - min(Self.chargedAheadMax, (end - period.from) / 2)
            ? renewal : nil
    }

    /// So long before a period ends the store begins to charge the next one.
    private static let chargedAheadMax = Duration.days(1)

    private func open(_ period: Period, _ products: Set<ProductID>) -> Access {
        guard let until = paidUntil(period, products) else {
            return answer(period, .owned, until: nil, .owned(since: period.from))
        }
        if period.isUpgradedToUnknown {
            return unconfirmed(period, until: until, .upgradedToUnknown(until: until))
        }
        let renewing = willRenew(after: period)
        switch period.payment.terms {
        case .full: return answer(period, .paid, until: until, .paid(until: until, renewing))
        case .trial: return answer(period, .trial, until: until, .trial(until: until, renewing))
        case .offer:
            let kind = period.payment.offer?.kind ?? .unknown
            return answer(period, .offer, until: until, .offer(kind, until: until, renewing))
        }
    }

    /// Where access ends that is paid for: periods that follow without a gap count, since a renewal
    /// can be charged early, also one that changes to another of the products that are asked about.
    private func paidUntil(_ period: Period, _ products: Set<ProductID>) -> Instant? {
        guard var until = period.openUntil else { return nil }
        let products = products.union([period.product])
        for next in periods
        where next.from == until && products.contains(next.product) && !next.isVoid {
            guard let end = next.openUntil, end > until else { continue }
            until = end
        }
        return until
    }

    private func lapsed(_ period: Period, at now: Instant, rules: AccessRules) -> Access {
        let end = period.openUntil ?? period.from
        if let revocation = period.payment.revocation, revocation.at <= now,
            !period.payment.isTakenByUpgrade
        {
            // Given back, and yet to be charged again when its time was over.
            if revocation.kind == .refund, let due = period.payment.until, due <= now,
                let news = news(about: period),
                news.at >= due, news.value.wasTried(at: due, after: revocation, told: news.at)
            {
                return lapsed(period, since: due, told: news, at: now, rules: rules)
            }
            switch revocation.kind {
            case .refund:
                let reason = Reason.refunded(at: revocation.at, revocation.percentage)
                return answer(period, .refunded, until: end, reason)
            case .sharingEnded:
                return answer(period, .revoked, until: end, .sharingEnded(at: revocation.at))
            }
        }
        guard let news = news(about: period) else {
            return silent(period, since: end, at: now, rules: rules)
        }
        return lapsed(period, since: end, told: news, at: now, rules: rules)
    }

    private func lapsed(
        _ period: Period, since end: Instant, told news: Attested<Renewal>, at now: Instant,
        rules: AccessRules
    ) -> Access {
        let renewal = news.value
        let mayGoOn = renewal.willRenew || renewal.isRetrying
        if mayGoOn, let grace = renewal.graceUntil, grace > end {
            if now < grace { return answer(period, .grace, until: grace, .grace(until: grace)) }
            return retrying(period, since: grace, at: now)
        }
        if renewal.isRetrying { return retrying(period, since: end, at: now) }
        if renewal.ending != nil { return ended(period, at: end, renewal.ending) }
        // The store has put the end off, or has renewed, and the payment is not heard of: then the
        // date that it names is the end, whatever follows there.
        let due = max(end, renewal.renewsAt ?? end)
        if now < due {
            return unconfirmed(period, until: due, .unconfirmed(since: end, until: due))
        }
        guard mayGoOn else { return ended(period, at: due, nil) }
        return silent(period, since: due, at: now, rules: rules)
    }

    private func retrying(_ period: Period, since: Instant, at now: Instant) -> Access {
        // It is due when the period ends that was paid, also where that was given back.
        let due = period.payment.revocation == nil ? period.openUntil : period.payment.until
        guard let due, now < due + period.retryMax else {
            return ended(period, at: since, .billing, of: due)
        }
        return answer(period, .retry, until: since, .retrying(due: due))
    }

    /// Nothing was heard since the end. Missing news takes nothing away at once: it is held open
    /// for a while.
    private func silent(
        _ period: Period, since end: Instant, at now: Instant, rules: AccessRules
    ) -> Access {
        let held = end + rules.unconfirmedHold
        if now < held {
            return unconfirmed(period, until: held, .unconfirmed(since: end, until: held))
        }
        var access = answer(period, .expired, until: end, .neverConfirmed(end: end, held: held))
        // What was said before the end is no longer worth telling.
        access.willRenew = nil
        return access
    }
}

extension Renewal {
    /// Whether the store has charged when it was due, or tried to, although the period before was
    /// given back. A grace that was over by then is one of an earlier failure; and once renewal is
    /// off, a grace still named means nothing.
    fileprivate func wasTried(
        at due: Instant, after refund: Revocation, told: Instant
    ) -> Bool {
        guard told > refund.at else { return false }
        return isRetrying || willRenew && graceUntil.map({ $0 > due }) == true || ending == .billing
    }

    /// Whether it says that the store tries to collect what was due at a moment or after it.
    fileprivate func isCollecting(since due: Instant) -> Bool {
        isRetrying || ending == .billing || graceUntil.map { $0 > due } == true
    }
}

extension Timeline.Period {
    /// The end that counts for access: earlier where the payment was taken back. Nil: none.
    package var openUntil: Instant? {
        // An upgrade gives money back too, and takes nothing away: the next period begins there.
        guard let revocation = payment.revocation, !payment.isTakenByUpgrade else { return end }
        return max(payment.from, min(revocation.at, end ?? revocation.at))
    }

    func covers(_ now: Instant) -> Bool {
        from <= now && (openUntil.map { now < $0 } ?? true)
    }

    /// A higher product has taken its place, and the store has not named it yet.
    package var isUpgradedToUnknown: Bool { payment.isTakenByUpgrade && !isReplaced }

    /// How long the store tries to collect what is due at its end.
    var retryMax: Duration {
        payment.commitment == nil ? Timeline.retryMax : Timeline.committedRetryMax
    }
}

extension Payment {
    /// What the family shared is gone also where its buyer went on to a higher product: that one is
    /// not shared, or is told by a payment of its own.
    fileprivate var isTakenByUpgrade: Bool {
        isUpgraded && revocation?.kind != .sharingEnded
    }
}

extension Payment {
    /// Subscriptions give access by their periods, and so does what we do not know but has an end;
    /// non-consumables for ever. Consumables fill wallets, and the length of non-renewing terms is
    /// the app's, not the store's: neither opens anything by itself.
    var opensByItself: Bool {
        switch kind {
        case .autoRenewable, .unknown: until != nil
        case .nonConsumable: true
        case .nonRenewing, .consumable: false
        }
    }
}
