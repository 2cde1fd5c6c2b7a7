import Ledger
import RevenueCatWebhooks

/// The answer about a customer that RevenueCat's SDK reads (`CustomerInfo`). It contains the values
/// of Perennial's own answer, under RevenueCat's names.
///
/// The SDK applies two rules. First, an entitlement is active if it has no end, or if its end is
/// not before `request_date`. Second, the SDK ignores an entitlement unless its product is a key of
/// `subscriptions` or of `non_subscriptions`. So the ends must express grace periods, refunds, and
/// access that is held open. All times are whole seconds, as in RevenueCat's answers.
package struct RevenueCatSubscriber {
    /// One purchase, and the access that it gives by itself.
    package struct Purchase {
        var timeline: Timeline
        var access: Access?

        package init(_ timeline: Timeline, _ access: Access?) {
            (self.timeline, self.access) = (timeline, access)
        }
    }

    static let managementURL = "https://apps.apple.com/account/subscriptions"

    let id: String
    let environment: Environment
    let now: Instant
    let purchases: [Purchase]
    let grants: [Grant]
    let status: [EntitlementID: EntitlementStatus]
    private let attributes: [CustomerAttribute]?

    /// - Parameter id: the id of the request.
    /// - Parameter environment: the environment of the request, and of the grants.
    /// - Parameter now: the time of the answer.
    /// - Parameter grants: all grants of the customer, including grants that have ended.
    /// - Parameter entitlements: the status of each entitlement, which decides about access.
    /// - Parameter attributes: the customer's attributes; nil for a device, which does not get
    ///   them.
    package init(
        of id: CustomerID, in environment: Environment, at now: Instant, purchases: [Purchase],
        grants: [Grant], entitlements: [EntitlementID: EntitlementStatus],
        attributes: [CustomerAttribute]? = nil
    ) {
        self.id = id.rawValue
        self.environment = environment
        self.now = now
        self.purchases = purchases
        self.grants = grants
        status = entitlements
        self.attributes = attributes
    }

    /// The whole answer.
    package var value: RevenueCatValue {
        .object([
            .init("request_date", .time(now)),
            .init("request_date_ms", .integer(now.wholeSeconds.milliseconds)),
            .init("subscriber", .object(subscriber)),
        ])
    }

    /// The content of the answer, for comparing answers. It contains every member except the times
    /// of the request, and also the subscriptions and entitlements that are open at that time.
    package var content: RevenueCatValue {
        let times: Set = ["first_seen", "last_seen"]
        let open = subscriptions.filter { $0.value.isOpen(at: now) }.keys.sorted()
        let active = status.filter(\.value.isOpen).keys.sorted().map(\.rawValue)
        return .list([
            .object(subscriber.filter { !times.contains($0.key) }), .texts(open), .texts(active),
        ])
    }

    private var subscriber: [RevenueCatValue.Member] {
        var subscriptions = subscriptions
        let payments = oneTimePayments
        let rights = rights(in: &subscriptions, payments)
        let isPaying = subscriptions.values.contains { $0.isOfAppStore && $0.isOpen(at: now) }
        let app = appPurchase
        return [
            .init("entitlements", .object(rights)), .init("first_seen", .time(firstSeen)),
            .init("last_seen", .time(now)),
            .init("management_url", isPaying ? .string(Self.managementURL) : .null),
            .init("non_subscriptions", nonSubscriptions(payments)),
            .init("original_app_user_id", .string(id)),
            .init("original_application_version", .text(app?.version)),
            .init("original_purchase_date", .time(app?.from)),
            .init("other_purchases", .object([])),
        ] + attributeMembers + [
            .init(
                "subscriptions",
                .object(
                    subscriptions.sorted { $0.key < $1.key }.map { key, subscription in
                        .init(key, subscription.value(managementURL: Self.managementURL))
                    }))
        ]
    }

    private var attributeMembers: [RevenueCatValue.Member] {
        attributes.map { [.init("subscriber_attributes", .attributes($0))] } ?? []
    }

    /// The time of the customer's first period or grant. If there is none, the time of the answer.
    var firstSeen: Instant {
        let dates = purchases.compactMap { $0.timeline.periods.first?.from } + grants.map(\.from)
        return min(dates.min() ?? now, now)
    }

    /// The store account's first copy of the app, if a device has posted a proof of it.
    private var appPurchase: AppPurchase? {
        purchases.flatMap { $0.timeline.appProofs?.all ?? [] }.map(\.value)
            .min { $0.from < $1.from }
    }
}

// MARK: - Subscriptions

extension RevenueCatSubscriber {
    /// One subscription for each product that the customer ever subscribed to, and one for each
    /// entitlement that was granted. The keys are the ids of the products.
    private var subscriptions: [String: RevenueCatSubscription] {
        var found: [String: RevenueCatSubscription] = [:]
        func add(_ subscription: RevenueCatSubscription, _ key: String) {
            if let known = found[key], known.outranks(subscription, at: now) { return }
            found[key] = subscription
        }
        for purchase in purchases {
            for (product, period) in latestPeriods(of: purchase) {
                add(subscription(period, of: purchase), product.rawValue)
            }
        }
        for grant in grants {
            add(
                RevenueCatSubscription(grant, in: environment, at: now),
                Self.product(of: grant.entitlement))
        }
        return found
    }

    /// RevenueCat's product id for a manual grant of an entitlement.
    static func product(of entitlement: EntitlementID) -> String {
        "rc_promo_\(entitlement)_custom"
    }

    /// The latest period of each product of a purchase. One period decides about access. For the
    /// product of that period, the result contains that period, and not a later period that may
    /// have been charged ahead.
    private func latestPeriods(of purchase: Purchase) -> [ProductID: Timeline.Period] {
        var latest: [ProductID: Timeline.Period] = [:]
        for period in purchase.timeline.periods
        where period.payment.isSubscription && !period.isVoid && !period.isAddition
            && period.from <= now + Timeline.clockSkewMax
        {
            latest[period.product] = period
        }
        if let deciding = purchase.timeline.period(at: now), deciding.payment.isSubscription {
            latest[deciding.product] = deciding
        }
        return latest
    }

    private func subscription(
        _ period: Timeline.Period, of purchase: Purchase
    ) -> RevenueCatSubscription {
        guard let access = purchase.access, let deciding = purchase.timeline.period(at: now),
            deciding.isSame(as: period)
        else {
            let isShut = purchase.access?.isOpen == false
            return RevenueCatSubscription(
                period, of: purchase.timeline,
                until: isShut ? past(period.openUntil) : period.openUntil)
        }
        return RevenueCatSubscription(
            period, of: purchase.timeline,
            until: access.isOpen ? access.until : past(access.until), access)
    }

    /// The given end, moved back if necessary, so that it is before the time of the answer even in
    /// whole seconds.
    private func past(_ end: Instant?) -> Instant { now.past(end) }
}

// MARK: - Entitlements

extension RevenueCatSubscriber {
    /// The entitlements. If the answer contains neither a subscription nor a payment for an
    /// entitlement's product, the entitlement is left out: a refund of a one-time purchase has
    /// ended it.
    private func rights(
        in subscriptions: inout [String: RevenueCatSubscription], _ payments: [OneTimePayment]
    ) -> [RevenueCatValue.Member] {
        var members: [RevenueCatValue.Member] = []
        for (id, status) in status.sorted(by: { $0.key < $1.key }) {
            let product = status.product?.rawValue ?? Self.product(of: id)
            let until = status.isOpen ? status.until : past(status.until)
            if subscriptions[product] == nil, !payments.contains(where: { $0.product == product }),
                status.isOpen
            {
                subscriptions[product] = unnamedSubscription(status)
            }
            // The SDK shows the end of the subscription, so it must not be before the end of the
            // entitlement.
            if status.isOpen { subscriptions[product]?.extend(to: until) }
            let subscription = subscriptions[product]
            guard
                let from = subscription?.from
                    ?? payments.last(where: { $0.product == product })?.from
            else { continue }
            members.append(
                .init(
                    id.rawValue,
                    .object([
                        .init("expires_date", .time(until)),
                        .init("grace_period_expires_date", .time(subscription?.graceUntil)),
                        .init("product_identifier", .string(product)),
                        .init("purchase_date", .time(from)),
                    ])))
        }
        return members
    }

    /// The subscription for an entitlement whose product no payment names yet. The customer has
    /// chosen the product, but Apple's document about its payment has not arrived.
    private func unnamedSubscription(_ status: EntitlementStatus) -> RevenueCatSubscription? {
        guard let purchase = purchases.first(where: { $0.timeline.purchase == status.purchase }),
            let period = purchase.timeline.period(at: now)
        else { return nil }
        return subscription(period, of: purchase)
    }
}

// MARK: - What is bought once

extension RevenueCatSubscriber {
    /// A payment for a product that does not renew, or the purchase of the app itself if the app
    /// was once sold.
    fileprivate struct OneTimePayment {
        var product: String
        var transaction: String
        var from: Instant
        var price: RevenueCatValue
        var isSandbox: Bool
    }

    /// The one-time payments, oldest first, because the SDK uses the last payment for each product.
    /// Refunded payments are left out, as in RevenueCat's answers.
    private var oneTimePayments: [OneTimePayment] {
        let paid = purchases.flatMap { purchase in
            purchase.timeline.periods.map(\.payment)
                .filter { !$0.isSubscription && $0.revocation.map { $0.at > now } ?? true }
                .map {
                    OneTimePayment(
                        product: $0.product.rawValue, transaction: $0.transaction.rawValue,
                        from: $0.from, price: .price($0.charge),
                        isSandbox: purchase.timeline.purchase.environment == .sandbox)
                }
        }
        return (paid + paidApps).sorted { ($0.from, $0.transaction) < ($1.from, $1.transaction) }
    }

    /// The purchases of the app itself. An entitlement that such a purchase gives names the app by
    /// a separate product id.
    private var paidApps: [OneTimePayment] {
        status.values.compactMap { status in
            guard let purchase = status.purchase, let product = status.product,
                let copy = purchase.appTransaction
            else { return nil }
            let proof = purchases.first { $0.timeline.purchase == purchase }?.timeline.appProofs
            let from = proof?.all.map(\.value.from).min() ?? now
            return OneTimePayment(
                product: product.rawValue, transaction: copy.rawValue, from: from, price: .null,
                isSandbox: purchase.environment == .sandbox)
        }
    }

    private func nonSubscriptions(_ payments: [OneTimePayment]) -> RevenueCatValue {
        let products = Dictionary(grouping: payments, by: \.product)
        return .object(
            products.sorted { $0.key < $1.key }.map { product, payments in
                .init(product, .list(payments.map(\.value)))
            })
    }
}

extension RevenueCatSubscriber.OneTimePayment {
    private static let idCharacters = 10

    /// The payment as an object of the answer. RevenueCat makes its own `id`, for which any stable
    /// text is sufficient.
    fileprivate var value: RevenueCatValue {
        let id = StableUUID.text(of: [transaction]).lowercased().filter { $0 != "-" }
        return .object([
            .init("display_name", .null),
            .init("id", .string(String(id.suffix(Self.idCharacters)))),
            .init("is_sandbox", .bool(isSandbox)), .init("original_purchase_date", .time(from)),
            .init("price", price), .init("purchase_date", .time(from)),
            .init("store", .string("app_store")),
            .init("store_transaction_id", .string(transaction)),
        ])
    }
}
