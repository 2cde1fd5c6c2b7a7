import Ledger
import RevenueCatWebhooks

/// What RevenueCat's SDK reads about a customer (`CustomerInfo`): the values of our own answer, in
/// its words.
///
/// Its rules are few: an entitlement is active if it has no end, or one that is not before
/// `request_date`, and it is left out unless its product is a key of `subscriptions` or of
/// `non_subscriptions`. So grace periods, refunds and held access are expressed by the ends. All
/// times are whole seconds, as in RevenueCat's answers.
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
    /// - Parameter environment: that of the request, and of the grants.
    /// - Parameter now: the time of the answer.
    /// - Parameter grants: those that have ended, too.
    /// - Parameter entitlements: what decides about access.
    /// - Parameter attributes: nil for a device, which does not get them.
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

    /// The part that two equal answers have in common: every member except the times, and also what
    /// is open at the time of the request.
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

    /// The customer is as old as the first thing known about them.
    var firstSeen: Instant {
        let dates = purchases.compactMap { $0.timeline.periods.first?.from } + grants.map(\.from)
        return min(dates.min() ?? now, now)
    }

    /// The store account's first copy of the app, if a device has shown it.
    private var appPurchase: AppPurchase? {
        purchases.flatMap { $0.timeline.appProofs?.all ?? [] }.map(\.value)
            .min { $0.from < $1.from }
    }
}

// MARK: - Subscriptions

extension RevenueCatSubscriber {
    /// One for each product that the customer ever subscribed to, and one for each entitlement that
    /// was granted.
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

    /// RevenueCat's name of what a grant by hand gives.
    static func product(of entitlement: EntitlementID) -> String {
        "rc_promo_\(entitlement)_custom"
    }

    /// The latest period of each product of a purchase. The one that decides about access comes
    /// before later ones, which may be charged ahead.
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

    /// An end that is before the time of the answer, also in whole seconds.
    private func past(_ end: Instant?) -> Instant { now.past(end) }
}

// MARK: - Entitlements

extension RevenueCatSubscriber {
    /// Entitlements without a product that the SDK would find are left out: they have ended by a
    /// refund of something that was bought once.
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
            // Shown as the end is that of the subscription.
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

    /// The subscription for an entitlement whose product no payment names yet: the customer has
    /// chosen it, and Apple's document about its payment has not arrived.
    private func unnamedSubscription(_ status: EntitlementStatus) -> RevenueCatSubscription? {
        guard let purchase = purchases.first(where: { $0.timeline.purchase == status.purchase }),
            let period = purchase.timeline.period(at: now)
        else { return nil }
        return subscription(period, of: purchase)
    }
}

// MARK: - What is bought once

extension RevenueCatSubscriber {
    /// A payment for something that does not renew, or the app itself if it was once sold.
    fileprivate struct OneTimePayment {
        var product: String
        var transaction: String
        var from: Instant
        var price: RevenueCatValue
        var isSandbox: Bool
    }

    /// Oldest first: of several with one product, the SDK uses the last. Refunded ones are left
    /// out, as RevenueCat does.
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

    /// Entitlements of customers who bought the app itself name it by a product id of its own.
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

    /// The id is RevenueCat's own, and any stable text does.
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
