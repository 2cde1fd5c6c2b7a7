import AppStoreFormats

// What happens to a subscription by itself, at the end of what was paid and after.

extension World {
    mutating func settle(_ subscription: Subscription, at now: AppStoreDate) -> [Notice] {
        var subscription = subscription
        let notices: [Notice]
        switch subscription.phase {
        case .active: notices = settleActive(&subscription, at: now)
        case .grace(_, let retryUntil):
            subscription.phase = .retry(until: retryUntil)
            notices = [notice(.gracePeriodExpired, of: subscription, at: now)]
        case .retry:
            subscription.renews = false
            notices = [expire(&subscription, .billingError, .billingRetry, at: now)]
        case .ended, .revoked: notices = []
        }
        keep(subscription)
        return notices
    }

    private mutating func settleActive(
        _ subscription: inout Subscription, at now: AppStoreDate
    ) -> [Notice] {
        if subscription.renews, !subscription.paymentFails {
            // Also where the charge comes early: the period begins when the old one ends.
            renew(&subscription, from: subscription.paidUntil)
            return [notice(.didRenew, of: subscription, at: now)]
        }
        guard subscription.renews else {
            return [expire(&subscription, .cancelled, .voluntary, at: now)]
        }
        return [failToRenew(&subscription, at: now)]
    }

    private mutating func failToRenew(
        _ subscription: inout Subscription, at now: AppStoreDate
    ) -> Notice {
        let environment = subscription.account.environment
        let ended = subscription.paidUntil
        let retryUntil = moment(ended, plusDays: Self.retryDays, in: environment)
        let period = subscription.nextProduct.subscription?.period ?? BillingPeriod(1, .month)
        let graceDays = settings.graceDays(for: period)
        guard graceDays > 0 else {
            subscription.phase = .retry(until: retryUntil)
            return notice(.didFailToRenew, of: subscription, at: now)
        }
        let graceUntil = moment(ended, plusDays: graceDays, in: environment)
        subscription.phase = .grace(until: graceUntil, retryUntil: retryUntil)
        return notice(.didFailToRenew, .gracePeriod, of: subscription, at: now)
    }

    private mutating func expire(
        _ subscription: inout Subscription, _ intent: ExpirationIntent,
        _ subtype: NotificationSubtype?, at now: AppStoreDate
    ) -> Notice {
        subscription.phase = .ended(intent)
        subscription.runningOffer = nil
        return notice(.expired, subtype, of: subscription, at: now)
    }

    /// From now on the bank refuses. Nothing is notified before a renewal fails.
    mutating func failBilling(_ id: String) throws(StoreProblem) -> [Notice] {
        var subscription = try running(id)
        subscription.paymentFails = true
        keep(subscription)
        return []
    }

    /// The bank accepts again. In grace the billing date stays; later the chain counts from now.
    mutating func recoverBilling(_ id: String, at now: AppStoreDate) throws(StoreProblem)
        -> [Notice]
    {
        var subscription = try running(id)
        subscription.paymentFails = false
        var notices: [Notice] = []
        if subscription.isRetrying {
            var start = subscription.paidUntil
            if case .retry = subscription.phase {
                start = now
                subscription.anchor = calendar.anchor(at: now)
            }
            subscription.phase = .active
            renew(&subscription, from: start)
            notices = [notice(.didRenew, .billingRecovery, of: subscription, at: now)]
        }
        keep(subscription)
        return notices
    }

    /// Charges the next period now; it begins when the present one ends.
    mutating func renewNow(_ id: String, at now: AppStoreDate) throws(StoreProblem) -> [Notice] {
        var subscription = try running(id)
        guard subscription.phase == .active, subscription.renews, !subscription.paymentFails else {
            throw .wrongState(
                "The subscription \(id) would not renew.",
                remedy: "POST …/resume or …/recover-billing first.")
        }
        renew(&subscription, from: subscription.paidUntil)
        let notices = [notice(.didRenew, of: subscription, at: now)]
        keep(subscription)
        return notices
    }

    /// Ends a subscription now for no reason of the customer's. Its last period is cut short.
    mutating func expire(_ id: String, at now: AppStoreDate) throws(StoreProblem) -> [Notice] {
        var subscription = try running(id)
        subscription.renews = false
        for index in subscription.transactions.indices {
            let expires = subscription.transactions[index].expires ?? now
            subscription.transactions[index].expires = min(expires, now)
        }
        let notices = [expire(&subscription, .other, nil, at: now)]
        keep(subscription)
        return notices
    }

    /// A subscription that is not over.
    func running(_ id: String) throws(StoreProblem) -> Subscription {
        let subscription = try subscription(id)
        guard !subscription.isOver else {
            throw .wrongState(
                "The subscription \(id) is over.",
                remedy: "Buy it again: POST /_sim/devices/{id}/purchases.")
        }
        return subscription
    }
}
