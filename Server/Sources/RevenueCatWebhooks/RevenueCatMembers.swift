import Ledger
import PerennialContract

/// Writes the members of one webhook, in RevenueCat's order.
struct RevenueCatMembers {
    let event: PerennialContract.Event
    let context: RevenueCatContext
    let kind: RevenueCatKind
    let id: String

    var list: [RevenueCatValue.Member] {
        switch kind {
        case .transfer: identity + app + store + environment + transferred
        case .virtualCurrencyTransaction: identity + app + customer + walletMovement + store
        case .initialPurchase, .renewal, .cancellation, .uncancellation, .nonRenewingPurchase,
            .expiration, .billingIssue, .productChange, .subscriptionExtended, .refundReversed,
            .priceIncreaseConsentRequired, .priceIncreaseConsentApproved, .test:
            identity + app + customer + purchase + environment + store + transaction + money
                + details + extras
        }
    }

    // MARK: - What every lifecycle event has

    private var identity: [RevenueCatValue.Member] {
        [
            .init("type", .text(kind.type)), .init("id", .text(id)),
            .init("event_timestamp_ms", .integer(event.knownAt.milliseconds)),
        ]
    }

    /// A manual grant does not belong to an app of a store.
    private var app: [RevenueCatValue.Member] {
        isGrant ? [] : [.init("app_id", .text(context.app))]
    }

    private var customer: [RevenueCatValue.Member] {
        let ids = context.customer
        let only = event.customerID ?? context.accountToken ?? nobody
        return [
            .init("app_user_id", .text(ids?.last ?? only)),
            .init("original_app_user_id", .text(ids?.first ?? only)),
            .init("aliases", .texts(ids?.all ?? [only])),
        ]
    }

    /// The anonymous id in events without a customer. In RevenueCat's format every event names a
    /// customer, but a purchase may have no owner here, and a test event is about no purchase. The
    /// id of a test event identifies no customer, so it does no harm if it is guessed.
    private var nobody: String {
        if let id = context.anonymousID { return id }
        let digits = StableUUID.text(of: [context.app, event.id]).filter { $0 != "-" }
        return CustomerID.revenueCatAnonymousPrefix + digits.lowercased()
    }

    private var purchase: [RevenueCatValue.Member] {
        [
            .init("product_id", .text(product)),
            .init("entitlement_id", .null),
            .init("entitlement_ids", entitlements.isEmpty ? .null : .texts(entitlements)),
            .init("period_type", .text(periodType)),
            .init("purchased_at_ms", .milliseconds(purchasedAt)),
            .init("expiration_at_ms", .milliseconds(expiresAt)),
        ]
    }

    private var environment: [RevenueCatValue.Member] {
        let isSandbox = event.environment == .sandbox
        return [.init("environment", .text(isSandbox ? "SANDBOX" : "PRODUCTION"))]
    }

    private var store: [RevenueCatValue.Member] {
        [.init("store", .text(isGrant ? "PROMOTIONAL" : "APP_STORE"))]
    }

    private var transaction: [RevenueCatValue.Member] {
        let payment = context.payment(of: event)
        return [
            .init("transaction_id", .text(event.transactionID ?? payment?.transaction.rawValue)),
            .init("original_transaction_id", .text(event.originalTransactionID)),
            .init("presented_offering_id", .text(context.offering)),
            .init("is_family_share", .bool(isFamilyShare)),
            .init("country_code", .text(payment?.storefront.flatMap(CountryCodes.two))),
        ]
    }

    /// Commission and taxes are only in Apple's money reports.
    private var money: [RevenueCatValue.Member] {
        let amount = RevenueCatAmount(event, of: kind, in: context)
        return [
            .init("currency", .text(amount.currency)), .init("price", amount.inDollars),
            .init("price_in_purchased_currency", amount.inCurrency),
            .init("tax_percentage", .null), .init("commission_percentage", .null),
            .init("takehome_percentage", .null),
        ]
    }

    private var details: [RevenueCatValue.Member] {
        let payment = context.payment(of: event)
        // The offer of the payment. The event itself may name the offer of the next period.
        let offer = payment == nil ? event.offer?.id : payment?.offer?.id
        return [
            .init("offer_code", .text(offer)),
            .init("subscriber_attributes", .attributes(context.attributes)),
            .init("metadata", .null),
        ]
    }

    // MARK: - What some types have

    private var extras: [RevenueCatValue.Member] {
        switch kind {
        case .renewal(let isTrialConversion):
            [number, .init("is_trial_conversion", .bool(isTrialConversion))]
        case .refundReversed: [number]
        case .cancellation(let reason): [.init("cancel_reason", .text(reason.rawValue))]
        case .expiration(let reason): [.init("expiration_reason", .text(reason.rawValue))]
        case .billingIssue:
            [.init("grace_period_expiration_at_ms", .milliseconds(graceUntil))]
        case .productChange(let product):
            // The member is left out if the product is not known, as in RevenueCat's webhooks.
            product.map { [.init("new_product_id", .text($0))] } ?? []
        case .initialPurchase, .uncancellation, .nonRenewingPurchase, .subscriptionExtended,
            .transfer, .virtualCurrencyTransaction, .priceIncreaseConsentRequired,
            .priceIncreaseConsentApproved, .test:
            []
        }
    }

    private var number: RevenueCatValue.Member {
        let number = context.renewalNumber(of: event)
        return .init("renewal_number", number.map { .integer(Int64($0)) } ?? .null)
    }

    /// A purchase without an owner belongs to the anonymous customer of the purchase.
    private var transferred: [RevenueCatValue.Member] {
        let customer =
            context.customer?.all ?? [event.customerID ?? context.accountToken ?? nobody]
        let former =
            context.formerCustomer?.subtracting(context.customer)
            ?? [event.otherCustomerID ?? nobody]
        let isLost = event.type == .unlinked || event.type == .movedAway
        return [
            .init("transferred_from", .texts(isLost ? customer : former)),
            .init("transferred_to", .texts(isLost ? [nobody] : customer)),
        ]
    }

    private var walletMovement: [RevenueCatValue.Member] {
        let isBySale = event.purchaseID != nil
        let others = context.movements ?? []
        let movements = others.isEmpty ? [event.wallet].compactMap(\.self) : others
        let isSandbox = event.environment == .sandbox
        return [
            .init("adjustments", .list(movements.map(Self.adjustment))),
            .init("product_id", .text(event.productID)), .init("product_display_name", .null),
            .init("purchase_environment", .text(isSandbox ? "SANDBOX" : "PRODUCTION")),
            .init("source", .text(isBySale ? "in_app_purchase" : "admin_api")),
            .init("transaction_id", .text(event.transactionID)),
            .init(
                "virtual_currency_transaction_id",
                .text(event.wallet?.debitID ?? event.wallet?.creditID ?? id)),
        ]
    }

    private static func adjustment(_ movement: WalletMovement) -> RevenueCatValue {
        let code = RevenueCatValue.text(movement.currency)
        return .object([
            .init("amount", .integer(movement.amount)),
            .init(
                "currency",
                .object([
                    .init("code", code), .init("name", code), .init("description", .null),
                ])),
        ])
    }
}

// MARK: - Values

extension RevenueCatMembers {
    private var isGrant: Bool { event.grant != nil }

    /// RevenueCat's name of the product. For a manual grant, the name of a promotional product.
    private var product: String? {
        if let grant = event.grant { return "rc_promo_\(grant.entitlement)_custom" }
        // An event about a change of product names the old product here.
        if case .productChange = kind { return event.before?.productID ?? event.productID }
        return event.productID ?? event.after?.productID
    }

    private var entitlements: [String] {
        event.grant.map { [$0.entitlement] } ?? context.entitlements
    }

    /// Not every event of a family member says that the purchase is shared.
    private var isFamilyShare: Bool {
        context.payment(of: event).map { $0.ownership == .familyShared }
            ?? (event.ownership == .familyShared)
    }

    private var periodType: String {
        guard !isGrant else { return "PROMOTIONAL" }
        guard let payment = context.payment(of: event) else {
            return event.after?.state == .trial ? "TRIAL" : "NORMAL"
        }
        guard payment.isSubscription else { return "NORMAL" }
        switch payment.terms {
        case .trial: return "TRIAL"
        case .offer: return "INTRO"
        case .full: return "NORMAL"
        }
    }

    private var purchasedAt: Int64? {
        event.grant?.from.milliseconds ?? context.payment(of: event)?.from.milliseconds
    }

    /// The end of access, in milliseconds since 1970. Nil if access does not end by itself.
    private var expiresAt: Int64? {
        if let grant = event.grant { return (grant.withdrawnAt ?? grant.until)?.milliseconds }
        let payment = context.payment(of: event)
        switch kind {
        case .productChange:
            return (event.before?.until)?.milliseconds ?? payment?.until?.milliseconds
        case .billingIssue: return graceUntil ?? payment?.until?.milliseconds
        case .cancellation(.customerSupport), .expiration(.customerSupport):
            return payment?.until == nil
                ? nil : payment?.revocation?.at.milliseconds ?? event.at.milliseconds
        case .subscriptionExtended, .uncancellation:
            return event.after?.until?.milliseconds ?? payment?.until?.milliseconds
        default:
            // An event that arrives late and is about an earlier period must not end the present
            // period.
            let present = event.after?.active == true ? event.after?.until?.milliseconds : nil
            let own = payment?.until?.milliseconds ?? event.after?.until?.milliseconds
            return own.map { max($0, present ?? $0) }
        }
    }

    private var graceUntil: Int64? {
        let known = context.timeline?.renewal?.value.graceUntil?.milliseconds
        return event.after?.state == .grace ? event.after?.until?.milliseconds ?? known : known
    }
}
