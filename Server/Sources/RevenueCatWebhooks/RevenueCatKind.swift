import Ledger
import PerennialContract

/// The types of RevenueCat's webhooks that an event of ours can become.
package enum RevenueCatKind: Hashable, Sendable {
    case initialPurchase
    case renewal(isTrialConversion: Bool)
    case cancellation(Reason)
    case uncancellation
    case nonRenewingPurchase
    case expiration(Reason)
    case billingIssue
    case productChange(to: String?)
    case subscriptionExtended
    case refundReversed
    case transfer
    case virtualCurrencyTransaction
    case priceIncreaseConsentRequired
    case priceIncreaseConsentApproved
    case test

    /// `cancel_reason` and `expiration_reason`.
    package enum Reason: String, Hashable, Sendable {
        case unsubscribe = "UNSUBSCRIBE"
        case billingError = "BILLING_ERROR"
        case developerInitiated = "DEVELOPER_INITIATED"
        case priceIncrease = "PRICE_INCREASE"
        case customerSupport = "CUSTOMER_SUPPORT"
        case unknown = "UNKNOWN"
    }

    /// Whether it is sent beside another webhook, which says the money.
    var isBesideAnother: Bool {
        switch self {
        case .expiration, .productChange: true
        default: false
        }
    }

    /// RevenueCat's word.
    package var type: String {
        switch self {
        case .initialPurchase: "INITIAL_PURCHASE"
        case .renewal: "RENEWAL"
        case .cancellation: "CANCELLATION"
        case .uncancellation: "UNCANCELLATION"
        case .nonRenewingPurchase: "NON_RENEWING_PURCHASE"
        case .expiration: "EXPIRATION"
        case .billingIssue: "BILLING_ISSUE"
        case .productChange: "PRODUCT_CHANGE"
        case .subscriptionExtended: "SUBSCRIPTION_EXTENDED"
        case .refundReversed: "REFUND_REVERSED"
        case .transfer: "TRANSFER"
        case .virtualCurrencyTransaction: "VIRTUAL_CURRENCY_TRANSACTION"
        case .priceIncreaseConsentRequired: "PRICE_INCREASE_CONSENT_REQUIRED"
        case .priceIncreaseConsentApproved: "PRICE_INCREASE_CONSENT_APPROVED"
        case .test: "TEST"
        }
    }
}

extension RevenueCatKind {
    /// What an event of ours becomes. Nothing if RevenueCat has no word for it, and for types that
    /// a later version adds.
    static func kinds(
        for event: PerennialContract.Event, in context: RevenueCatContext
    ) -> [RevenueCatKind] {
        guard let kind = Change.Kind(rawValue: event.type.rawValue) else { return [] }
        switch kind {
        case .purchased, .trialStarted, .familyShared:
            return [isSubscription(event, context) ? .initialPurchase : .nonRenewingPurchase]
        case .trialConverted: return [.renewal(isTrialConversion: true)]
        case .renewed, .billingRecovered, .productChanged:
            return [.renewal(isTrialConversion: false)]
        case .resubscribed:
            return [.renewal(isTrialConversion: context.followsTrial(event))]
        case .upgraded:
            return [
                .productChange(to: event.after?.productID ?? event.productID),
                .renewal(isTrialConversion: false),
            ]
        case .refunded: return refund(event, context)
        case .refundReversed: return [.refundReversed]
        case .extended: return [.subscriptionExtended]
        case .renewalTurnedOff: return [.cancellation(refusal(context))]
        case .renewalTurnedOn: return [.uncancellation]
        case .productChangeScheduled: return [.productChange(to: event.nextProductID)]
        case .priceIncreaseAnnounced: return [.priceIncreaseConsentRequired]
        case .priceIncreaseAgreed: return [.priceIncreaseConsentApproved]
        case .billingFailed:
            return [.billingIssue, .cancellation(.billingError)] + ending(event, .billingError)
        case .graceEnded, .retryBegan: return ending(event, .billingError)
        case .expired: return ending(event, reason(event.why))
        case .revoked, .accessChanged: return ending(event, .unknown)
        // If two customers became one, nothing changed hands.
        case .moved:
            let isOne = context.formerCustomer != nil && context.formerCustomer == context.customer
            return isOne ? [] : [.transfer]
        // What was reported before the purchase had an owner went to an anonymous id.
        case .linked: return [.transfer]
        case .granted: return [.nonRenewingPurchase]
        case .grantEnded:
            let isWithdrawn = event.grant?.withdrawnAt != nil
            return [.expiration(isWithdrawn ? .developerInitiated : .unsubscribe)]
        case .walletCredited, .walletCreditedByHand, .walletDebited, .walletClawedBack,
            .walletRestored, .walletAdjusted:
            return [.virtualCurrencyTransaction]
        case .credited, .priceCorrected, .renewalKnown, .commitmentRenewalTurnedOff,
            .commitmentRenewalTurnedOn, .productChangeCancelled, .offerRedeemed, .graceBegan,
            .accessUnconfirmed, .periodBegan, .customerMerged, .aliasAdded, .aliasParted,
            .movedAway, .unlinked, .shared, .shareEnded, .blocked, .unblocked, .customerErased,
            .termEnding, .consumptionAsked, .consumptionAnswered, .consumptionUnanswered:
            return []
        }
    }

    /// A payment that is not known, such as that of a purchase whose facts are gone, counts as a
    /// subscription if something says when it ends.
    private static func isSubscription(
        _ event: PerennialContract.Event, _ context: RevenueCatContext
    ) -> Bool {
        guard let payment = context.payment(of: event) else { return event.after?.until != nil }
        return payment.kind == .autoRenewable
            || payment.kind == .unknown && payment.until != nil
    }

    /// The refund of a past period changes nothing that a handler acts upon: RevenueCat is silent.
    private static func refund(
        _ event: PerennialContract.Event, _ context: RevenueCatContext
    ) -> [RevenueCatKind] {
        guard isSubscription(event, context) else { return [.cancellation(.customerSupport)] }
        let end = ending(event, .customerSupport)
        return end.isEmpty ? [] : [.cancellation(.customerSupport)] + end
    }

    /// Access ends with this event. If it had ended before, that was said already: RevenueCat knows
    /// no time of billing retry between.
    private static func ending(
        _ event: PerennialContract.Event, _ reason: Reason
    ) -> [RevenueCatKind] {
        let wasOpen = event.before?.active ?? true
        let isOpen = event.after?.active ?? false
        return wasOpen && !isOpen ? [.expiration(reason)] : []
    }

    private static func refusal(_ context: RevenueCatContext) -> Reason {
        context.timeline?.renewal?.value.ending == .priceNotAgreed ? .priceIncrease : .unsubscribe
    }

    private static func reason(_ why: String?) -> Reason {
        switch why.flatMap(Change.ExpirationReason.init(rawValue:)) {
        case .cancelled: .unsubscribe
        case .billing: .billingError
        case .priceNotAgreed: .priceIncrease
        case .productUnavailable: .developerInitiated
        case .other, .neverConfirmed, nil: .unknown
        }
    }
}
