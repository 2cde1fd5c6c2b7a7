import AppStoreFormats

// What happens to a subscription without a request, at the end of the paid time and after it.

extension World {
    /// Processes what is due now on a chain.
    mutating func processDue(_ subscription: inout Subscription, at now: AppStoreDate)
        -> [NotificationDraft]
    {
        switch subscription.phase {
        case .active: return processActivePeriod(&subscription, at: now)
        case .grace(_, let retryUntil):
            subscription.phase = .retry(until: retryUntil)
            return [draft(.gracePeriodExpired, of: subscription, at: now)]
        case .retry:
            subscription.renews = settings.has(.retryEndKeepsRenewalOn)
            subscription.commitment = nil
            return expire(&subscription, .billingError, at: now)
        case .revoked:
            // Renewal has stayed on after the refund.
            subscription.phase = .active
            return processActivePeriod(&subscription, at: now)
        case .ended: return []
        }
    }

    private mutating func processActivePeriod(
        _ subscription: inout Subscription, at now: AppStoreDate
    ) -> [NotificationDraft] {
        if subscription.isChargeUnderWay {
            subscription.isChargeUnderWay = false
            return [renewOnTime(&subscription, at: now)]
        }
        guard subscription.continuesRenewing else {
            return expire(&subscription, .cancelled, at: now)
        }
        if let hindrance = renewalObstacle(to: subscription, from: subscription.paidUntil) {
            return expire(&subscription, hindrance, at: now)
        }
        if subscription.paymentFails { return [failToRenew(&subscription, at: now)] }
        return [renewOnTime(&subscription, at: now)]
    }

    /// Why nothing is charged, even if payments succeed. Nil if the renewal can be charged.
    private func renewalObstacle(
        to subscription: Subscription, from start: AppStoreDate
    ) -> ExpirationIntent? {
        if withdrawnProducts.contains(subscription.upcomingProduct.value.id) {
            return .productUnavailable
        }
        return subscription.pendingRise(at: start).map { _ in .noConsentToPriceIncrease }
    }

    /// Renews a chain. If the charge comes early, the period still begins when the old one ends.
    private mutating func renewOnTime(
        _ subscription: inout Subscription, at now: AppStoreDate
    ) -> NotificationDraft {
        renew(&subscription, from: subscription.paidUntil)
        guard settings.has(.renewalHasAnotherID) else {
            return draft(.didRenew, of: subscription, at: now)
        }
        let retold = subscription.latest.reissued(as: numbers.newID())
        transactionIDs.recordAlias(subscription.latest.id, as: retold.id)
        return draft(.didRenew, of: subscription, transaction: retold, at: now)
    }

    private mutating func failToRenew(
        _ subscription: inout Subscription, at now: AppStoreDate
    ) -> NotificationDraft {
        let ended = subscription.paidUntil
        let retryDays = subscription.commitment == nil ? Self.retryDays : Commitment.retryDays
        let retryUntil = moment(
            ended, plus: subscription.pace.retryLength(days: retryDays), orDays: retryDays)
        guard let graceUntil = graceEnd(of: subscription) else {
            subscription.phase = .retry(until: retryUntil)
            return draft(.didFailToRenew, of: subscription, at: now)
        }
        subscription.phase = .grace(until: graceUntil, retryUntil: retryUntil)
        return draft(.didFailToRenew, .gracePeriod, of: subscription, at: now)
    }

    /// The end of the grace period that a chain would have. Nil if there is no grace period: in a
    /// commitment, or after a free period if grace is given only after paid periods.
    private func graceEnd(of subscription: Subscription) -> AppStoreDate? {
        let period =
            subscription.boxedNextProduct.value.subscription?.period ?? BillingPeriod(1, .month)
        let days = settings.graceDays(for: period)
        let isFree = subscription.latest.offer?.discount == .freeTrial
        guard days > 0, subscription.commitment == nil, !(isFree && settings.graceForPaidOnly)
        else { return nil }
        let length = subscription.pace.graceLength(days: days, isWeekly: period.months == 0)
        return moment(subscription.paidUntil, plus: length, orDays: days)
    }

    private mutating func expire(
        _ subscription: inout Subscription, _ intent: ExpirationIntent, at now: AppStoreDate
    ) -> [NotificationDraft] {
        subscription.phase = .ended(intent)
        subscription.endedBy = intent
        subscription.runningOffer = nil
        switch intent {
        case .billingError: break
        default: subscription.renews = false
        }
        // The end is always notified if its cause is unknown.
        if settings.has(.expiredNeverSent), intent != .other { return [] }
        return [draft(.expired, intent.subtype, of: subscription, at: now)]
    }

    /// Makes payments fail from now on. No notification is sent until a renewal fails.
    mutating func failBilling(_ id: String) throws(SimulatorProblem) -> [NotificationDraft] {
        var subscription = try running(id)
        subscription.paymentFails = true
        save(subscription)
        return []
    }

    /// Makes payments succeed again. In grace, the billing date stays; after grace, the chain's
    /// dates are counted from now.
    mutating func recoverBilling(_ id: String, at now: AppStoreDate) throws(SimulatorProblem)
        -> [NotificationDraft]
    {
        var subscription = try running(id)
        subscription.paymentFails = false
        let notices = subscription.isRetrying ? chargeOutstanding(&subscription, at: now) : []
        save(subscription, at: now)
        return notices
    }

    private mutating func chargeOutstanding(
        _ subscription: inout Subscription, at now: AppStoreDate
    ) -> [NotificationDraft] {
        let isLate = if case .retry = subscription.phase { true } else { false }
        let start = isLate ? now : subscription.paidUntil
        if let hindrance = renewalObstacle(to: subscription, from: start) {
            return expire(&subscription, hindrance, at: now)
        }
        if isLate { subscription.anchor = calendar.anchor(at: now) }
        subscription.phase = .active
        renew(&subscription, from: start)
        return [draft(.didRenew, .billingRecovery, of: subscription, at: now)]
    }

    /// Charges the next period now. The period begins when the current one ends.
    mutating func renewNow(_ id: String, at now: AppStoreDate) throws(SimulatorProblem)
        -> [NotificationDraft]
    {
        var subscription = try running(id)
        guard subscription.phase == .active, subscription.continuesRenewing,
            !subscription.paymentFails,
            renewalObstacle(to: subscription, from: subscription.paidUntil) == nil
        else {
            throw .wrongState(
                "The subscription \(id) would not renew.",
                remedy: "POST …/resume, …/consent or …/recover-billing first.")
        }
        let notices = [renewOnTime(&subscription, at: now)]
        save(subscription, at: now)
        return notices
    }

    /// Ends a subscription now, for a reason other than the customer's choice. Shortens its last
    /// period.
    mutating func expire(_ id: String, at now: AppStoreDate) throws(SimulatorProblem)
        -> [NotificationDraft]
    {
        var subscription = try running(id)
        guard subscription.latest.purchased <= now else {
            throw .wrongState(
                "The next period of \(id) is already paid.",
                remedy: "Refund it first: POST …/refund.")
        }
        for index in subscription.transactions.indices {
            let expires = subscription.transactions[index].expires ?? now
            subscription.transactions[index].expires = min(expires, now)
        }
        let notices = expire(&subscription, .other, at: now)
        save(subscription, at: now)
        return notices
    }

    /// A subscription that is not over, or that renews after a refund.
    func running(_ id: String) throws(SimulatorProblem) -> Subscription {
        let subscription = try subscription(id)
        try checkIsPurchased(subscription.latest)
        guard !subscription.isOver || (subscription.phase == .revoked && subscription.renews) else {
            throw .wrongState(
                "The subscription \(id) is over.",
                remedy: "Buy it again: POST /_sim/devices/{id}/purchases.")
        }
        return subscription
    }
}

extension ExpirationIntent {
    /// The subtype of the EXPIRED notification.
    var subtype: NotificationSubtype? {
        switch self {
        case .cancelled: .voluntary
        case .billingError: .billingRetry
        case .noConsentToPriceIncrease: .priceIncrease
        case .productUnavailable: .productNotForSale
        default: nil
        }
    }
}
