import AppStoreFormats

/// Maps a version 2 notification to version 1 notifications, in order: often none, sometimes two.
///
/// Apple's own table covers most rows. The other rows are derived from published notifications.
struct V1Translation {
    let era: V1Era
    let type: NotificationType
    let subtype: NotificationSubtype?
    let transaction: TransactionPayload
    let environment: SimulatedEnvironment
    /// The product of the previous transaction. Nil if this is the chain's first transaction.
    let previous: StoreKitProduct?
    let product: StoreKitProduct
    /// Whether renewal was switched on or off since the last notification.
    let hasRenewalSwitched: Bool

    var types: [V1NotificationType] { candidates.filter(isSent) }

    private func isSent(_ type: V1NotificationType) -> Bool {
        guard era.types.contains(type), transaction.billingPlanType != .monthly else {
            return false
        }
        let isShared = transaction.inAppOwnershipType == .familyShared
        if isShared, !V1Era.familyTypes.contains(type) { return false }
        switch environment {
        case .production: return true
        case .sandbox: return !isShared && V1Era.sandboxTypes.contains(type)
        }
    }

    private var candidates: [V1NotificationType] {
        switch type {
        case .subscribed: return subtype == .initialBuy ? [.initialBuy] : resubscribed
        case .didRenew: return subtype == .billingRecovery ? [.didRecover, .renewal] : [.didRenew]
        case .didChangeRenewalStatus: return [.didChangeRenewalStatus]
        case .didChangeRenewalPref: return subtype == .upgrade ? upgraded : [.didChangeRenewalPref]
        case .offerRedeemed: return redeemed
        case .didFailToRenew: return [.didFailToRenew]
        case .expired: return subtype == .billingRetry ? [.didChangeRenewalStatus] : []
        case .refund: return refunded
        case .revoke: return [.revoke]
        case .priceIncrease: return subtype == .pending ? [.priceIncreaseConsent] : []
        case .consumptionRequest:
            return transaction.type == .consumable ? [.consumptionRequest] : []
        default: return []
        }
    }

    private var resubscribed: [V1NotificationType] {
        // In 2018 every manual purchase after the first was an interactive renewal.
        let isSame = previous?.id == product.id && era != .year2018
        return isSame ? [.didChangeRenewalStatus] : [.interactiveRenewal, .didChangeRenewalStatus]
    }

    private var upgraded: [V1NotificationType] {
        let isCrossgrade = previous?.subscription?.level == product.subscription?.level
        if isCrossgrade { return [.interactiveRenewal] }
        return era == .year2018
            ? [.cancel, .interactiveRenewal] : [.didChangeRenewalStatus, .interactiveRenewal]
    }

    private var redeemed: [V1NotificationType] {
        switch subtype {
        case .upgrade?: upgraded
        case .downgrade?: [.didChangeRenewalPref]
        default: []
        }
    }

    private var refunded: [V1NotificationType] {
        guard transaction.type == .autoRenewable else { return [.refund] }
        return hasRenewalSwitched ? [.cancel, .didChangeRenewalStatus] : [.cancel]
    }
}
