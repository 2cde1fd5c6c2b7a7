/// Whether a purchase gives access now, until when, and why. A pure function of a timeline and the
/// time.
package struct Access: Hashable, Sendable {
    package var purchase: PurchaseID
    package var product: ProductID
    package var state: State
    /// If access is open, the time when it ends unless something else happens; nil if it never
    /// ends. If access is shut, the time since which it is shut.
    package var until: Instant?
    package var reason: Reason
    /// Whether the next renewal continues the access. Nil if the App Store has not reported it.
    package var willRenew: Bool?
    /// The product that may have replaced ``product``: the customer chose it, but no payment for it
    /// is known. Until such a payment is known, both products give access.
    package var alternative: ProductID?

    package enum State: String, Hashable, Sendable, CaseIterable {
        case paid, trial, offer, grace, unconfirmed, granted, owned
        case retry, expired, refunded, revoked

        /// Whether access is open. The only definition of "active".
        package var isOpen: Bool {
            switch self {
            case .paid, .trial, .offer, .grace, .unconfirmed, .granted, .owned: true
            case .retry, .expired, .refunded, .revoked: false
            }
        }
    }

    package var isOpen: Bool { state.isOpen }
}

extension Timeline {
    /// How long the App Store keeps trying to collect the payment of a renewal.
    package static let retryMax = Duration.days(retryDaysMax)
    package static let retryDaysMax = 60
    /// How long the App Store keeps trying to collect a payment of a commitment.
    package static let committedRetryMax = Duration.days(committedRetryDaysMax)
    package static let committedRetryDaysMax = 90
    /// The maximum time by which the App Store's clock may be ahead of ours. Up to this time, no
    /// paying customer is denied access.
    package static let clockSkewMax = Duration.seconds(300)

    /// The access that this purchase gives at a moment. Returns nil if the purchase gives no access
    /// by time or ownership (consumables, and terms whose length the App Store does not know), or
    /// if no payment is known yet.
    ///
    /// A period that covers the moment is open. If no period covers it, the period that began last
    /// decides, together with the latest renewal info: revoked, grace, retry, ended, or
    /// unconfirmed.
    ///
    /// - Parameter products: products that give the same entitlement. A period that was paid ahead
    ///   for one of these products counts like a renewal of the current product.
    package func access(
        at now: Instant, rules: AccessRules = AccessRules(), through products: Set<ProductID> = []
    ) -> Access? {
        guard let period = period(at: now) else { return nil }
        let isOpen = period.covers(now) || period.from > now
        var access = isOpen ? open(period, products) : lapsed(period, at: now, rules: rules)
        // The access through these products ends if the chain of renewals continues with another
        // product.
        if case .changes = continuation(after: period, through: products),
            access.willRenew == true
        {
            access.willRenew = false
        }
        return seat?.standing == .waiting ? access.withoutSeat : access
    }

    /// The period that decides about access at a moment: the period that covers the moment, or else
    /// the period that began last. Returns nil if no period that gives access has begun.
    ///
    /// If the first payment of a period was refunded, seats that were added to the period count
    /// instead. If two periods run at the same time, the period that was bought last counts.
    package func period(at now: Instant) -> Period? {
        boughtLast(covering: now)
            ?? last { $0.covers(now + Self.clockSkewMax) && $0.from > now }
            ?? lastBegun(by: now)
    }

    private func boughtLast(covering now: Instant) -> Period? {
        let found =
            last { $0.covers(now) && !$0.isOvertaken } ?? last { $0.covers(now) }
        guard let found, found.isAddition else { return found }
        let main = last {
            $0.from <= found.from && !$0.isAddition && !$0.isOvertaken
                && !$0.payment.isRefundedAhead
        }
        return main.flatMap { $0.covers(now) ? $0 : nil } ?? found
    }

    /// The period that began last. If the period has several payments, returns the payment that
    /// gave access for longest. If several payments lasted equally long, prefers a payment that was
    /// not refunded.
    private func lastBegun(by now: Instant) -> Period? {
        let main =
            last { $0.from <= now && !$0.isAddition && !$0.isOvertaken }
            ?? last { $0.from <= now && !$0.isAddition }
        guard let main else { return last { $0.from <= now } }
        return periods.filter {
            ($0.isAddition || $0.isOvertaken) && $0.from >= main.from && $0.from <= now
        }.reduce(main) { $1.outlasted($0) ? $1 : $0 }
    }

    /// The last period that gives access and satisfies the condition.
    private func last(where isWanted: (Period) -> Bool) -> Period? {
        let index = periods.indices.last {
            periods[$0].payment.opensByItself && !periods[$0].isVoid && isWanted(periods[$0])
        }
        return index.map { periods[$0] }
    }

    private func makeAccess(
        _ period: Period, _ state: Access.State, until: Instant?, _ reason: Reason
    ) -> Access {
        Access(
            purchase: purchase, product: period.product, state: state, until: until, reason: reason,
            willRenew: continuation(after: period).willRenew)
    }

    /// The access after a period that no other period follows. Ignores the renewal status.
    private func ended(
        _ period: Period, at end: Instant, _ ending: Renewal.Ending?, of due: Instant? = nil
    ) -> Access {
        var access = makeAccess(period, .expired, until: end, .ended(at: due ?? end, ending))
        access.willRenew = false
        return access
    }

    private func unconfirmed(_ period: Period, until: Instant, _ reason: Reason) -> Access {
        var access = makeAccess(period, .unconfirmed, until: until, reason)
        if let news = renewalInfo(about: period), let next = news.value.renewsTo,
            next != period.product
        {
            access.alternative = next
        }
        return access
    }

    /// The latest renewal info that applies to this period's end. If renewal info was signed before
    /// the period began, it applies only if it contains the period's end. This is the case for
    /// periods that were charged ahead.
    ///
    /// Renewal info that reports a failed payment is usually about the payment for this period. The
    /// reason is this: if a payment is collected in a grace period, its period begins at the end of
    /// the previous period. The renewal info is about the end of this period if it was signed near
    /// that end, or if its grace period lasts beyond that end.
    package func renewalInfo(about period: Period) -> Attested<Renewal>? {
        guard let renewal else { return nil }
        if let end = period.payment.until, renewal.value.renewsAt == end { return renewal }
        guard renewal.at >= period.from else { return nil }
        guard let end = period.payment.until, renewal.value.isCollecting(since: period.from),
            renewal.value.graceUntil.map({ $0 <= end }) ?? true
        else { return renewal }
        return renewal.at >= end - min(Self.chargedAheadMax, (end - period.from) / 2)
            ? renewal : nil
    }

    /// How long before a period's end the App Store begins to charge for the next period.
    private static let chargedAheadMax = Duration.days(1)

    private func open(_ period: Period, _ products: Set<ProductID>) -> Access {
        guard let until = paidUntil(period, products) else {
            return makeAccess(period, .owned, until: nil, .owned(since: period.from))
        }
        if period.isUpgradedToUnknown {
            return unconfirmed(period, until: until, .upgradedToUnknown(until: until))
        }
        let next = continuation(after: period, through: products)
        switch period.payment.terms {
        case .full: return makeAccess(period, .paid, until: until, .paid(until: until, next))
        case .trial: return makeAccess(period, .trial, until: until, .trial(until: until, next))
        case .offer:
            let kind = period.payment.offer?.kind ?? .unknown
            return makeAccess(period, .offer, until: until, .offer(kind, until: until, next))
        }
    }

    /// The end of paid access. Periods that follow without a gap also count, because a renewal can
    /// be charged early. A following period may be for another of the given products.
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
            !period.payment.isReplacedByUpgrade
        {
            // The period was refunded, but renewal was still on, and the App Store tried to charge
            // when the paid time was over.
            if revocation.kind == .refund, let due = period.payment.until, due <= now,
                let news = renewalInfo(about: period),
                news.at >= due,
                news.value.wasCollectionAttempted(at: due, after: revocation, told: news.at)
            {
                return lapsed(period, since: due, told: news, at: now, rules: rules)
            }
            switch revocation.kind {
            case .refund:
                let reason = Reason.refunded(at: revocation.at, revocation.percentage)
                return makeAccess(period, .refunded, until: end, reason)
            case .sharingEnded:
                let isSeat = period.payment.ownership == .assigned
                return makeAccess(
                    period, .revoked, until: end,
                    isSeat ? .seatRevoked(at: revocation.at) : .sharingEnded(at: revocation.at))
            }
        }
        guard let news = renewalInfo(about: period) else {
            return unconfirmedOrExpired(period, since: end, at: now, rules: rules)
        }
        return lapsed(period, since: end, told: news, at: now, rules: rules)
    }

    private func lapsed(
        _ period: Period, since end: Instant, told news: Attested<Renewal>, at now: Instant,
        rules: AccessRules
    ) -> Access {
        let renewal = news.value
        let grace = GracePeriod(after: end, of: renewal)?.until
        if let grace, now < grace {
            return makeAccess(period, .grace, until: grace, .grace(until: grace))
        }
        let ended = grace ?? endedGrace(after: end, before: news)
        if grace != nil || renewal.isRetrying {
            return retrying(period, graceUntil: ended, since: end, at: now)
        }
        if renewal.ending != nil {
            let due = renewal.ending == .billing ? end : nil
            return self.ended(period, at: ended ?? end, renewal.ending, of: due)
        }
        // The App Store has extended the period, or has renewed it and the payment is not known
        // yet. In both cases the date in the renewal info is the end, whether or not a renewal
        // follows.
        let due = max(end, renewal.renewsAt ?? end)
        if now < due {
            return unconfirmed(period, until: due, .unconfirmed(since: end, until: due))
        }
        guard renewal.mayContinue else {
            return self.ended(period, at: max(due, ended ?? due), nil)
        }
        return unconfirmedOrExpired(period, since: due, at: now, rules: rules)
    }

    /// - Parameters:
    ///   - grace: the end of the grace period; nil if there was no grace period.
    ///   - end: when access ended, if there was no grace period.
    private func retrying(
        _ period: Period, graceUntil grace: Instant?, since end: Instant, at now: Instant
    ) -> Access {
        // The renewal is due at the end of the paid period, even if that period was refunded.
        let due = period.payment.revocation == nil ? period.openUntil : period.payment.until
        let since = grace ?? end
        guard let due, now < due + period.retryMax else {
            return ended(period, at: since, .billing, of: due)
        }
        return makeAccess(period, .retry, until: since, .retrying(due: due, graceUntil: grace))
    }

    /// The access if the App Store has reported nothing since the period's end. Missing information
    /// does not remove access at once: access is held open for a while.
    private func unconfirmedOrExpired(
        _ period: Period, since end: Instant, at now: Instant, rules: AccessRules
    ) -> Access {
        let held = end + rules.unconfirmedHold
        if now < held {
            return unconfirmed(period, until: held, .unconfirmed(since: end, until: held))
        }
        var access = makeAccess(period, .expired, until: end, .neverConfirmed(end: end, held: held))
        // Renewal info from before the end is outdated.
        access.willRenew = nil
        return access
    }
}

extension Renewal {
    /// Whether the App Store charged, or tried to charge, at the due date. The period that ended at
    /// that date was refunded. A grace period that was over at the due date belongs to an earlier
    /// failure. Once renewal is off, a grace period has no meaning even if renewal info still
    /// contains it.
    fileprivate func wasCollectionAttempted(
        at due: Instant, after refund: Revocation, told: Instant
    ) -> Bool {
        guard told > refund.at else { return false }
        return isRetrying || willRenew && graceUntil.map({ $0 > due }) == true || ending == .billing
    }

    /// Whether the renewal info says that the App Store tries to collect a payment that was due at
    /// the given moment or later.
    fileprivate func isCollecting(since due: Instant) -> Bool {
        isRetrying || ending == .billing || graceUntil.map { $0 > due } == true
    }
}

extension Timeline.Period {
    /// The end of the access that the period gives. This is earlier than the period's end if the
    /// payment was revoked. Nil if the access never ends.
    package var openUntil: Instant? {
        // An upgrade also refunds money, but removes no access: the next period begins at the
        // upgrade.
        guard let revocation = payment.revocation, !payment.isReplacedByUpgrade else { return end }
        return max(payment.from, min(revocation.at, end ?? revocation.at))
    }

    /// Whether this payment gave access for longer than another payment. If both payments gave
    /// access until the same moment, returns whether only the other payment was refunded.
    fileprivate func outlasted(_ other: Self) -> Bool {
        guard let end = openUntil, let otherEnd = other.openUntil else { return false }
        guard end == otherEnd else { return end > otherEnd }
        return payment.revocation == nil && other.payment.revocation != nil
    }

    func covers(_ now: Instant) -> Bool {
        from <= now && (openUntil.map { now < $0 } ?? true)
    }

    /// Whether a higher product has replaced the product of this period, and the App Store has not
    /// named the higher product yet.
    package var isUpgradedToUnknown: Bool { payment.isReplacedByUpgrade && !isReplaced }

    /// How long the App Store tries to collect the payment that is due at this period's end.
    var retryMax: Duration {
        payment.commitment == nil ? Timeline.retryMax : Timeline.committedRetryMax
    }
}

extension Payment {
    /// Whether an upgrade has replaced the payment. False if family sharing has ended: then access
    /// ends even if the buyer upgraded, because the higher product is not shared, or is reported by
    /// a separate payment.
    package var isReplacedByUpgrade: Bool {
        isUpgraded && revocation?.kind != .sharingEnded
    }
}

extension Payment {
    /// Whether the payment gives access by itself. Subscriptions, and unknown kinds with an end,
    /// give access during their periods. Non-consumables give access for ever. Consumables credit
    /// wallets. The length of non-renewing terms is set by the app, not by the App Store. So
    /// neither consumables nor non-renewing terms give access by themselves.
    var opensByItself: Bool {
        switch kind {
        case .autoRenewable, .unknown: until != nil
        case .nonConsumable: true
        case .nonRenewing, .consumable: false
        }
    }
}
