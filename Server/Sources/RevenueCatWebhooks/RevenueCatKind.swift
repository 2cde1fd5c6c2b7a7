import Ledger
import PerennialContract

/// The types of RevenueCat's webhooks that an event of ours can become.
package enum RevenueCatKind: Hashable, Sendable {
    case initialPurchase
    case renewal(isTrialConversion: Bool)
    case cancellation(RevenueCatReason)
    case uncancellation
    case nonRenewingPurchase
    case expiration(RevenueCatReason)
    case billingIssue
    case productChange(to: String?)
    case subscriptionExtended
    case refundReversed
    case transfer
    case virtualCurrencyTransaction
    case priceIncreaseConsentRequired
    case priceIncreaseConsentApproved
    case test

    /// Whether the webhook is sent in addition to another webhook, which contains the money.
    var isBesideAnother: Bool {
        switch self {
        case .expiration, .productChange: true
        default: false
        }
    }

    /// RevenueCat's name of the type.
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
    /// The webhooks for an event of ours. Returns no webhook if RevenueCat has no type for the
    /// event, or if a later version of Perennial added the event's type. Also returns no webhook
    /// for an event of a purchase without an owner, because the receiver has no customer to give
    /// access to.
    ///
    /// If access ended or opened again, one of the webhooks reports this to the receiver, whatever
    /// the type of the event.
    static func kinds(
        for event: PerennialContract.Event, in context: RevenueCatContext
    ) -> [RevenueCatKind] {
        guard let kind = Change.Kind(rawValue: event.type.rawValue),
            !context.isOfNobody(event)
        else { return [] }
        let kinds = kinds(for: event, kind, context)
        guard kind.isAboutAccess else { return kinds }
        if event.before?.active == false, event.after?.active == true,
            !kinds.contains(where: \.opens)
        {
            return kinds + [.subscriptionExtended]
        }
        guard event.before?.active == true, event.after?.active == false,
            !kinds.contains(where: \.closes)
        else { return kinds }
        return kinds + [.expiration(.unknown)]
    }

    private static func kinds(
        for event: PerennialContract.Event, _ kind: Change.Kind, _ context: RevenueCatContext
    ) -> [RevenueCatKind] {
        switch kind {
        case .purchased, .trialStarted, .familyShared, .seatAssigned, .trialConverted, .renewed,
            .billingRecovered, .productChanged, .resubscribed:
            return [beginning(event, context)]
        // RevenueCat has no type for this payment. A renewal with the same end reports its money.
        case .seatsAdded: return [.renewal(isTrialConversion: false)]
        case .upgraded:
            let beginning = beginning(event, context)
            guard case .renewal = beginning else { return [beginning] }
            return [.productChange(to: event.after?.productID ?? event.productID), beginning]
        case .refunded: return refund(event, context)
        case .refundReversed: return [.refundReversed]
        case .extended: return [.subscriptionExtended]
        case .renewalTurnedOff: return [.cancellation(RevenueCatReason(ofRefusalIn: context))]
        case .renewalTurnedOn: return [.uncancellation]
        case .productChangeScheduled: return [.productChange(to: event.nextProductID)]
        case .priceIncreaseAnnounced: return [.priceIncreaseConsentRequired]
        case .priceIncreaseAgreed: return [.priceIncreaseConsentApproved]
        case .billingFailed:
            return [.billingIssue, .cancellation(.billingError)] + ending(event, .billingError)
        case .graceEnded, .retryBegan: return ending(event, .billingError)
        case .expired: return ending(event, RevenueCatReason(event.why))
        case .moved, .linked, .movedAway, .unlinked: return transfer(event, kind, context)
        case .granted: return [.nonRenewingPurchase]
        case .grantEnded:
            let isWithdrawn = event.grant?.withdrawnAt != nil
            return [.expiration(isWithdrawn ? .developerInitiated : .unsubscribe)]
        case .walletCredited, .walletCreditedByHand, .walletDebited, .walletClawedBack,
            .walletRestored, .walletAdjusted:
            return context.movements == nil ? [] : [.virtualCurrencyTransaction]
        case .revoked, .seatRevoked, .accessChanged, .credited, .priceCorrected, .renewalKnown,
            .commitmentRenewalTurnedOff, .commitmentRenewalTurnedOn, .productChangeCancelled,
            .offerRedeemed, .graceBegan, .accessUnconfirmed, .periodBegan, .customerMerged,
            .aliasAdded, .aliasRemoved, .shared, .shareEnded, .seatClaimed, .seatReleased, .blocked,
            .unblocked, .customerErased, .purchaseForgotten, .termEnding, .consumptionRequested,
            .consumptionAnswered, .consumptionUnanswered:
            return []
        }
    }

    /// The webhooks about a changed owner. There are none if two customers became one, or if the
    /// purchase had no owner. For RevenueCat every purchase has a customer. So a purchase that
    /// loses its owner is transferred to an anonymous customer, and later from this anonymous
    /// customer to a new owner. The receiver may know the purchase under another customer, whom the
    /// event does not name. Then a separate webhook also gives the purchase to the new owner.
    private static func transfer(
        _ event: PerennialContract.Event, _ kind: Change.Kind, _ context: RevenueCatContext
    ) -> [RevenueCatKind] {
        let isSame = context.formerCustomer?.subtracting(context.customer).isEmpty == true
        switch kind {
        case .moved: return isSame ? [] : [.transfer]
        case .unlinked: return context.customer == nil ? [] : [.transfer]
        // If the former owner is known, the event about that owner reports the transfer.
        case .movedAway:
            return context.customer == nil && event.customerID == nil ? [.transfer] : []
        default:
            guard !context.isToldOfAnother else {
                return [.transfer] + (event.after?.active == true ? [.subscriptionExtended] : [])
            }
            return isSame || context.formerCustomer == nil ? [] : [.transfer]
        }
    }

    /// The first event of a subscription becomes INITIAL_PURCHASE, whatever its type. A purchase
    /// has only one INITIAL_PURCHASE, in whichever order its documents arrived, and however often
    /// sharing begins again.
    private static func beginning(
        _ event: PerennialContract.Event, _ context: RevenueCatContext
    ) -> RevenueCatKind {
        guard isSubscription(event, context) else { return .nonRenewingPurchase }
        if event.before == nil { return .initialPurchase }
        return .renewal(isTrialConversion: context.convertsFreePeriod(event))
    }

    /// Whether a receiver opens access when it gets this webhook.
    private var opens: Bool {
        switch self {
        case .initialPurchase, .renewal, .uncancellation, .nonRenewingPurchase,
            .subscriptionExtended, .refundReversed:
            true
        case .cancellation, .expiration, .billingIssue, .productChange, .transfer,
            .virtualCurrencyTransaction, .priceIncreaseConsentRequired,
            .priceIncreaseConsentApproved, .test:
            false
        }
    }

    /// Whether a receiver closes access when it gets this webhook.
    private var closes: Bool {
        switch self {
        case .expiration, .cancellation(.customerSupport): true
        default: false
        }
    }

    /// Whether the event is about a subscription. If the payment is unknown, for example because
    /// the facts of its purchase are gone, the event counts as an event of a subscription if it
    /// names an end.
    private static func isSubscription(
        _ event: PerennialContract.Event, _ context: RevenueCatContext
    ) -> Bool {
        guard let payment = context.payment(of: event) else { return event.after?.until != nil }
        return payment.isSubscription
    }

    /// The refund of a past period changes nothing for a handler, so RevenueCat sends no webhook.
    private static func refund(
        _ event: PerennialContract.Event, _ context: RevenueCatContext
    ) -> [RevenueCatKind] {
        guard isSubscription(event, context) else { return [.cancellation(.customerSupport)] }
        let end = ending(event, .customerSupport)
        return end.isEmpty ? [] : [.cancellation(.customerSupport)] + end
    }

    /// The webhook for the end of access, if access ends with this event. If access had ended
    /// before, an earlier webhook reported that, because RevenueCat has no separate webhook for
    /// billing retry.
    private static func ending(
        _ event: PerennialContract.Event, _ reason: RevenueCatReason
    ) -> [RevenueCatKind] {
        let wasOpen = event.before?.active ?? true
        let isOpen = event.after?.active ?? false
        return wasOpen && !isOpen ? [.expiration(reason)] : []
    }
}

extension RevenueCatContext {
    /// Whether the event is about a purchase, and about no customer and no account token.
    fileprivate func isOfNobody(_ event: PerennialContract.Event) -> Bool {
        event.purchaseID != nil && event.customerID == nil && customer == nil
            && accountToken == nil
    }
}

extension Change.Kind {
    /// Whether the event can change which access a purchase gives. Events about the owner of the
    /// purchase cannot.
    fileprivate var isAboutAccess: Bool {
        switch self {
        case .linked, .moved, .movedAway, .unlinked, .shared, .shareEnded, .seatClaimed,
            .seatReleased, .granted, .grantEnded,
            .walletCredited, .walletCreditedByHand, .walletDebited, .walletClawedBack,
            .walletRestored, .walletAdjusted:
            false
        default: true
        }
    }
}
