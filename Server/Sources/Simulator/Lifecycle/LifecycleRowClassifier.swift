import AppStoreFormats

/// Determines from a notification's content the row of the lifecycle table that it represents. If
/// the content is not sufficient, the world passes the row explicitly.
struct LifecycleRowClassifier {
    let type: NotificationType
    let subtype: NotificationSubtype?
    let transaction: StoreTransaction
    /// The subscription after the event. Nil if the purchase is not a subscription.
    let chain: Subscription?

    var row: LifecycleRow? {
        guard let chain else { return oneTimeRow }
        if isAboutSeats { return nil }
        switch type {
        case .didRenew: return renewed(chain)
        case .subscribed: return subscribed(chain)
        case .didChangeRenewalStatus: return renewalSwitched(chain)
        case .didChangeRenewalPref: return productChosen(chain)
        case .didFailToRenew: return paymentFailed(chain)
        case .gracePeriodExpired: return .graceRanOut
        case .expired: return expired(chain)
        case .refund: return refunded(chain)
        case .priceIncrease: return priceRaised(chain)
        case .offerRedeemed: return offerRedeemed
        default: return Self.rows[type]
        }
    }

    /// Whether the event is about seats, or about who has a seat. The lifecycle table has no rows
    /// for such events.
    private var isAboutSeats: Bool {
        transaction.ownership == .assigned
            || [.increaseQuantity, .decreaseQuantity, .seats].contains(subtype)
    }

    /// The types that belong to one row whatever their subtype.
    private static let rows: [NotificationType: LifecycleRow] = [
        .consumptionRequest: .consumptionRequested, .metadataUpdate: .advancedCommerce,
        .migration: .advancedCommerce, .priceChange: .advancedCommerce,
        .refundDeclined: .refundRequestDeclined, .refundReversed: .refundReversed,
        .renewalExtended: .extended, .renewalExtension: .extendedForAll,
        .revoke: .familySharingEnded,
    ]

    private var oneTimeRow: LifecycleRow? {
        switch type {
        case .oneTimeCharge:
            transaction.ownership == .familyShared ? .familyOneTimePurchase : .oneTimePurchase
        case .refund: .oneTimeRefund
        default: Self.rows[type]
        }
    }

    private func subscribed(_ chain: Subscription) -> LifecycleRow {
        if transaction.ownership == .familyShared { return .familySharingBegan }
        if transaction.commitment != nil { return .commitmentMonth }
        let offer = transaction.offer
        let isIntroductory = offer == nil || offer?.type == .introductory
        if subtype == .resubscribe {
            guard isIntroductory else { return .offerAfterLapse }
            let isSame = chain.previous?.product.id == transaction.product.id
            return isSame ? .resubscribedSameProduct : .resubscribedOtherProduct
        }
        guard isIntroductory else { return .offerCodeFirstPurchase }
        switch offer?.discount {
        case .freeTrial?: return .firstPurchaseTrial
        case .payAsYouGo?: return .firstPurchasePayAsYouGo
        case .payUpFront?: return .firstPurchasePayUpFront
        default: return .firstPurchase
        }
    }

    private func renewed(_ chain: Subscription) -> LifecycleRow {
        if transaction.commitment != nil { return .commitmentMonth }
        guard let previous = chain.previous else { return .renewal }
        if subtype == .billingRecovery {
            let keepsDate = transaction.purchased == previous.expires
            return keepsDate ? .recoveredInGrace : .recoveredInRetry
        }
        let isSame = previous.boxedProduct.value.id == transaction.boxedProduct.value.id
        guard isSame else { return .downgradeTookEffect }
        guard let offer = previous.boxedOffer else { return .renewal }
        return offer.value.discount == .freeTrial ? .trialConverts : .renewal
    }

    private func renewalSwitched(_ chain: Subscription) -> LifecycleRow {
        if subtype == .autoRenewEnabled { return .renewalOn }
        if case .ended = chain.phase { return .cancelledInRetry }
        if chain.isWithinCommitment { return .commitmentCancelled }
        return chain.announcedRise?.isPending == true ? .priceRiseDeclined : .renewalOff
    }

    private func productChosen(_ chain: Subscription) -> LifecycleRow {
        let latest = chain.latest.product.subscription
        switch subtype {
        case .upgrade?:
            let isSameLevel = chain.previous?.product.subscription?.level == latest?.level
            return isSameLevel ? .crossgradeSameDuration : .upgrade
        case .downgrade?:
            let isSameLevel = chain.nextProduct.subscription?.level == latest?.level
            return isSameLevel ? .crossgradeOtherDuration : .downgradeChosen
        default: return .downgradeReverted
        }
    }

    private func paymentFailed(_ chain: Subscription) -> LifecycleRow {
        if chain.commitment != nil { return .commitmentBillingFailed }
        return subtype == .gracePeriod ? .billingFailedIntoGrace : .billingFailed
    }

    private func expired(_ chain: Subscription) -> LifecycleRow {
        switch subtype {
        case .voluntary?:
            chain.announcedRise?.isPending == true ? .priceRiseDeclined : .expiredAfterCancelling
        case .billingRetry?: .retryExhausted
        case .priceIncrease?: .priceRiseUnanswered
        case .productNotForSale?: .productNotForSale
        default: .otherEnd
        }
    }

    private func refunded(_ chain: Subscription) -> LifecycleRow {
        if transaction.id != chain.latest.id { return .refundOfPastPeriod }
        return transaction.revocation?.type == .refundProrated ? .refundProrated : .refund
    }

    private func priceRaised(_ chain: Subscription) -> LifecycleRow {
        if subtype == .pending { return .priceRiseToBeAgreed }
        return chain.priceRises.last?.needsConsent == true
            ? .priceRiseAgreed : .priceRiseWithoutConsent
    }

    private var offerRedeemed: LifecycleRow {
        switch subtype {
        case .upgrade?: .offerUpgrade
        case .downgrade?: .offerDowngrade
        default: .offerOnActive
        }
    }
}
