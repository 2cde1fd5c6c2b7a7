import AppStoreFormats

// What a customer plans to do next, given the current state.

extension Life {
    private static let hour: Int64 = 3_600_000
    /// Probabilities that another act follows an occasional act, and that such an act follows at
    /// the same instant.
    private static let followsWhim = 0.05
    private static let atTheSameInstant = 0.3
    /// Probability that a customer without a subscription buys something again.
    private static let boughtOnceMore = 0.3

    /// The next plan. Returns nil if the customer does nothing more.
    mutating func plan(in world: World, at now: AppStoreDate) -> Plan? {
        guard actsLeft > 0 else { return nil }
        if let following = dequeueFollowing() {
            let isAtOnce = dice.happens(Self.atTheSameInstant)
            return Plan(
                intent: following,
                at: isAtOnce ? now : dice.moment(from: now, until: now.later(24 * Self.hour)))
        }
        guard let id = try? chain(in: world), let subscription = world.subscriptions[id] else {
            return planAssigned(in: world, at: now) ?? planWithoutSubscription(at: now)
        }
        switch subscription.phase {
        case .active: return planActive(subscription, in: world, at: now)
        case .grace(let until, let retryUntil):
            return planRetrying(subscription, graceUntil: until, until: retryUntil, at: now)
        case .retry(let until):
            return planRetrying(subscription, graceUntil: nil, until: until, at: now)
        case .ended: return planEnded(subscription, at: now)
        case .revoked: return planRevoked(subscription, at: now)
        }
    }

    private mutating func planWithoutSubscription(at now: AppStoreDate) -> Plan? {
        guard dice.happens(Self.boughtOnceMore) else { return nil }
        let at = dice.moment(from: now, until: now.later(60 * EdgeMoments.day))
        let intents: [Intent] = [.buyOnce, .buyOnce, .refundOnce, .refundOnce, .buyAgain]
        return dice.pick(intents).map { Plan(intent: $0, at: at) }
    }

    private mutating func planActive(
        _ subscription: Subscription, in world: World, at now: AppStoreDate
    ) -> Plan {
        let end = subscription.paidUntil
        let afterwards = Plan(intent: .look, at: max(now, end).later(1000))
        // The moment is at the period's end, or just after an early charge.
        guard now < end else { return afterwards }
        guard subscription.renews, !subscription.paymentFails else {
            guard subscription.renews == false, dice.happens(LifeWeights.resumption) else {
                return afterwards
            }
            return Plan(intent: .act(.resume), at: dice.momentNearEdge(from: now, until: end))
        }
        if subscription.pendingRise(at: subscription.paidUntil) != nil, dice.happens(0.7) {
            let answer: SubscriptionAct = dice.happens(0.7) ? .consent : .decline
            return Plan(intent: .act(answer), at: dice.momentNearEdge(from: now, until: end))
        }
        let isFreshPeriod = now.milliseconds - subscription.latest.purchased.milliseconds < 2000
        if isFreshPeriod, !dice.happens(LifeWeights.renewal(of: subscription)) {
            return planLeaving(subscription, at: now)
        }
        if let whim = groupWhim(subscription, in: world) {
            return Plan(intent: .group(whim), at: dice.momentNearEdge(from: now, until: end))
        }
        guard let whim = dice.pick(weighted: LifeWeights.whims) else { return afterwards }
        let intent = intent(of: whim, subscription)
        if dice.happens(Self.followsWhim) { follow(with: .changeProduct(isRepeated: false)) }
        return Plan(intent: intent, at: dice.momentNearEdge(from: now, until: end))
    }

    private mutating func planLeaving(_ subscription: Subscription, at now: AppStoreDate) -> Plan {
        let end = subscription.paidUntil
        guard dice.happens(LifeWeights.voluntary) else {
            return Plan(intent: .act(.failBilling), at: dice.momentNearEdge(from: now, until: end))
        }
        let isTrial = subscription.latest.offer?.discount == .freeTrial
        let soon = isTrial && dice.happens(LifeWeights.trialCancelledAtOnce)
        let at =
            soon
            ? dice.moment(from: now, until: min(end, now.later(Self.hour)))
            : dice.momentNearEdge(from: now, until: end)
        return Plan(intent: .act(.cancel), at: at)
    }

    private mutating func planRetrying(
        _ subscription: Subscription, graceUntil: AppStoreDate?, until: AppStoreDate,
        at now: AppStoreDate
    ) -> Plan {
        if subscription.paymentFails, dice.happens(LifeWeights.recovery) {
            // The payment succeeds within the grace period or after it, sometimes at the very end
            // of either.
            let end = dice.pick([graceUntil ?? until, until]) ?? until
            return Plan(
                intent: .act(.recoverBilling), at: dice.momentNearEdge(from: now, until: end))
        }
        if dice.happens(0.1) {
            return Plan(intent: .act(.cancel), at: dice.momentNearEdge(from: now, until: until))
        }
        return Plan(intent: .look, at: (graceUntil ?? until).later(1))
    }

    private mutating func planEnded(
        _ subscription: Subscription, at now: AppStoreDate
    ) -> Plan? {
        if dice.happens(LifeWeights.returning(to: subscription)) {
            // After a gap of sixty days a customer counts as new.
            let gap = subscription.paidUntil.later(60 * EdgeMoments.day)
            return Plan(
                intent: .buyAgain, at: dice.momentNearEdge(from: now, until: max(now, gap)))
        }
        if dice.happens(0.03) {
            let at = dice.moment(from: now, until: now.later(60 * EdgeMoments.day))
            return Plan(intent: .act(.refund()), at: at)
        }
        return nil
    }

    private mutating func planRevoked(_ subscription: Subscription, at now: AppStoreDate) -> Plan? {
        let later = now.later(30 * EdgeMoments.day)
        if dice.happens(0.2) {
            return Plan(intent: .reverseRefund, at: dice.momentNearEdge(from: now, until: later))
        }
        guard dice.happens(0.2) else { return nil }
        return Plan(intent: .buyAgain, at: dice.moment(from: now, until: later))
    }

    private mutating func intent(
        of whim: LifeWeights.Whim, _ subscription: Subscription
    ) -> Intent {
        switch whim {
        case .refund: return .act(.refund(RefundOrder(share, reason: reason)))
        case .requestRefund: return .act(request)
        case .changeProduct: return .changeProduct(isRepeated: false)
        case .changeTwice: return .changeProduct(isRepeated: true)
        case .cancelAndResume:
            follow(with: .act(.resume))
            return .act(.cancel)
        case .raisePrice:
            let price = subscription.nextProduct.price * Int64(dice.number(in: 2...4))
            return .act(.raisePrice(.init(price: price, needsConsent: dice.happens(0.6))))
        case .extend: return .act(.extend(ExtensionOrder(days: dice.number(in: 1...90))))
        case .renewNow: return .act(.renewNow)
        case .expire: return .act(.expire)
        case .advancedCommerce:
            follow(with: .act(.advancedCommerce(.init(.metadataUpdate, displayName: "New"))))
            return .act(.advancedCommerce(.init(.migration)))
        case .removeFromSale: return .act(.removeFromSale)
        case .redeemOffer: return .redeemOffer
        case .externalToken: return .externalToken
        case .rescindConsent: return .rescindConsent
        case .refundPastPeriod: return .refundPastPeriod
        case .leaveFamily: return .leaveFamily
        case .stopSharing: return .stopSharing
        case .massExtension: return .massExtend
        case .testNotification: return .testNotification
        case .move:
            // The next purchase is made in the new storefront, at its price and in its currency.
            follow(with: dice.happens(0.7) ? .changeProduct(isRepeated: false) : .buyOnce)
            return .move
        case .buySomethingElse: return dice.happens(0.7) ? .buyOnce : .refundOnce
        }
    }

    private var share: RefundOrder.Share {
        mutating get { dice.happens(0.3) ? .prorated(nil) : .whole }
    }

    private var reason: RevocationReason {
        mutating get { dice.happens(0.3) ? .issueWithTheApp : .other }
    }

    private var request: SubscriptionAct {
        mutating get {
            let reasons: [ConsumptionRequestReason] = [
                .unintendedPurchase, .fulfillmentIssue, .unsatisfiedWithPurchase, .legal, .other,
            ]
            let decisions: [RefundRequest.Decision?] = [nil, .granted, .declined]
            return .requestRefund(
                dice.pick(reasons) ?? .other, (dice.pick(decisions) ?? nil))
        }
    }
}

extension AppStoreDate {
    fileprivate func later(_ milliseconds: Int64) -> Self {
        Self(milliseconds: self.milliseconds + milliseconds)
    }
}
