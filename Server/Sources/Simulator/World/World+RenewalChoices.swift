import AppStoreFormats

// What customers do with an existing subscription.

extension World {
    /// Switches renewal off. While a payment is being retried, this ends the subscription at once.
    /// Within a commitment, the subscription ends after the last month.
    mutating func cancel(_ id: String, at now: AppStoreDate) throws(SimulatorProblem)
        -> [NotificationDraft]
    {
        var subscription = try running(id)
        guard subscription.renews else {
            throw .wrongState(
                "Renewal of \(id) is already off.", remedy: "POST …/resume switches it on.")
        }
        subscription.renews = false
        subscription.isChargeUnderWay =
            settings.has(.lateTrialCancellationRenews) && isNearTrialEnd(subscription, at: now)
        let endsNow = subscription.isRetrying && !subscription.isWithinCommitment
        if endsNow { subscription.phase = .ended(.cancelled) }
        let isUntold =
            subscription.isWithinCommitment && settings.has(.commitmentCancellationIsSilent)
        var notices: [NotificationDraft] = []
        if !isUntold {
            notices.append(
                draft(.didChangeRenewalStatus, .autoRenewDisabled, of: subscription, at: now))
        }
        if endsNow, !settings.has(.cancellationInRetrySendsNoExpired),
            !settings.has(.expiredNeverSent)
        {
            notices.append(
                draft(.expired, .voluntary, of: subscription, row: .cancelledInRetry, at: now))
        }
        save(subscription, at: now)
        return notices
    }

    /// Switches renewal on again before the end.
    mutating func resume(_ id: String, at now: AppStoreDate) throws(SimulatorProblem)
        -> [NotificationDraft]
    {
        var subscription = try running(id)
        guard !subscription.renews else {
            throw .wrongState(
                "Renewal of \(id) is already on.", remedy: "POST …/cancel switches it off.")
        }
        subscription.renews = true
        subscription.isChargeUnderWay = false
        let notices = [
            draft(.didChangeRenewalStatus, .autoRenewEnabled, of: subscription, at: now)
        ]
        save(subscription, at: now)
        return notices
    }

    /// Whether a free trial ends within a day.
    private func isNearTrialEnd(_ subscription: Subscription, at now: AppStoreDate) -> Bool {
        guard subscription.latest.offer?.discount == .freeTrial else { return false }
        let left = subscription.paidUntil.milliseconds - now.milliseconds
        return left <= (subscription.pace.length(ofDays: 1) ?? RFC3339.millisecondsPerDay)
    }

    /// Chooses another product of the group, or the current one again.
    ///
    /// A product of a higher level, or of the same level and duration, begins at once. Any other
    /// product begins at the next renewal, or after a commitment. A choice also switches renewal
    /// on.
    mutating func changeProduct(
        _ id: String, to productID: String, device: Device? = nil, token: String? = nil,
        seats: Int64? = nil, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        var subscription = try running(id)
        if let seats {
            openGroup(of: &subscription, seats: seats)
            subscription.plannedSeats = seats
        }
        let storefront = device?.storefront ?? subscription.latest.storefront
        let product = try productForSale(productID, in: storefront, at: now)
        guard let terms = product.subscription, terms.groupID == subscription.groupID,
            let present = subscription.latest.product.subscription
        else {
            throw .badRequest(
                "The product \(productID) is not in the group \(subscription.groupID).",
                remedy: "Choose a product of the same group.")
        }
        try checkCost(of: product, seats: subscription.plannedSeats, in: storefront)
        let wasOff = !subscription.renews
        subscription.renews = true
        let isPresent = product.id == subscription.latest.product.id
        let isCrossgrade = terms.level == present.level && terms.period == present.period
        var notices: [NotificationDraft]
        if !isPresent, terms.level < present.level || isCrossgrade {
            notices = try upgrade(&subscription, to: product, device: device, token: token, at: now)
        } else {
            guard wasOff || product.id != subscription.nextProduct.id else {
                throw .wrongState(
                    "The subscription will already renew as \(productID).",
                    remedy: "Choose another product of the group.")
            }
            // A change that begins later is charged in the storefront of the current period,
            // wherever it was chosen.
            let later = try productForSale(
                productID, in: subscription.latest.storefront, at: now)
            notices = choose(later, for: &subscription, at: now)
        }
        if wasOff {
            notices.append(
                draft(.didChangeRenewalStatus, .autoRenewEnabled, of: subscription, at: now))
        }
        save(subscription, at: now)
        return notices
    }

    /// Sets the product of the next renewal.
    private mutating func choose(
        _ product: StoreKitProduct, for subscription: inout Subscription, at now: AppStoreDate
    ) -> [NotificationDraft] {
        guard product.id != subscription.nextProduct.id else { return [] }
        subscription.nextProduct = product
        let isPresent = product.id == subscription.latest.product.id
        if settings.has(.productChangeNearTrialEndRenews), isNearTrialEnd(subscription, at: now) {
            renew(&subscription, from: subscription.paidUntil)
            return [draft(.didRenew, of: subscription, at: now)]
        }
        let subtype: NotificationSubtype? = isPresent ? nil : .downgrade
        return [draft(.didChangeRenewalPref, subtype, of: subscription, at: now)]
    }

    /// Begins another product at once, with an offer if one is redeemed with the product.
    mutating func upgrade(
        _ subscription: inout Subscription, to product: StoreKitProduct,
        offer: StoreKitOffer? = nil, device: Device?, token: String?, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        guard !subscription.isRetrying, !subscription.paymentFails else {
            throw .wrongState(
                "The payment for \(product.id) fails.", remedy: "POST …/recover-billing first."
            )
        }
        let latest = subscription.latest
        markRemainderReplaced(of: &subscription, at: now)
        let buyer = Device(
            id: device?.id ?? "", account: subscription.account,
            storefront: device?.storefront ?? latest.storefront, appAccountToken: nil,
            pace: device?.pace ?? subscription.pace)
        buy(
            &subscription, product, offer: offer, device: buyer,
            token: token ?? latest.appAccountToken, at: now)
        let type: NotificationType = offer == nil ? .didChangeRenewalPref : .offerRedeemed
        return [draft(type, .upgrade, of: subscription, at: now)]
    }

    /// Marks the paid time after now as replaced and refunds it: the rest of the current period,
    /// and a period that was charged early.
    func markRemainderReplaced(of subscription: inout Subscription, at now: AppStoreDate) {
        for index in subscription.transactions.indices {
            let transaction = subscription.transactions[index]
            guard let expires = transaction.expires, expires > now, transaction.revocation == nil,
                !transaction.isUpgraded
            else { continue }
            subscription.transactions[index].isUpgraded = true
            subscription.transactions[index].revocation = .init(
                at: now, reason: .other, type: .refundProrated,
                percentage: transaction.unusedPercentage(at: now),
                earlier: transaction.seats?.refunded ?? 0)
        }
    }
}

extension StoreTransaction {
    /// The unused part of a period, in thousandths of a percent. The whole if the period has not
    /// begun or has no end.
    func unusedPercentage(at now: AppStoreDate) -> Int64 {
        guard let expires else { return RefundPercentage.whole }
        let length = expires.milliseconds - purchased.milliseconds
        let left = min(max(expires.milliseconds - now.milliseconds, 0), length)
        return length > 0 ? left * RefundPercentage.whole / length : 0
    }
}
