import AppStoreFormats

// Extensions of renewal dates by the developer, for one subscriber or for all.

/// A developer's request to extend a renewal date.
package struct ExtensionOrder: Hashable, Sendable {
    package var days: Int
    /// The reason in Apple's numbers: 0 undeclared, 1 satisfaction, 2 other, 3 an outage.
    package var reason: Int64
    /// The developer's id of the request.
    package var requestID: String

    /// The allowed numbers of days in one extension.
    package static let daysRange = 1...90
    package static let reasonRange: ClosedRange<Int64> = 0...3
    /// Maximum number of extensions of one subscription in ``spanDays``.
    static let countMax = 2
    static let spanDays = 365

    package init(days: Int, reason: Int64 = 0, requestID: String = "") {
        self.days = days
        self.reason = reason
        self.requestID = requestID
    }
}

/// The result for one subscriber.
package struct ExtensionResult: Hashable, Sendable {
    package let originalTransactionID: String
    package let webOrderLineItemID: String?
    /// The new renewal date.
    package let effective: AppStoreDate
}

/// An extension for all subscribers of a product, and its progress.
package struct MassExtension: Hashable, Sendable {
    /// Identifies a request. The same id can occur in production and in the sandbox.
    struct Key: Hashable, Sendable {
        let requestID: String
        let environment: SimulatedEnvironment
    }

    package let order: ExtensionOrder
    package let productID: String
    /// The storefronts in ISO 3166-1 alpha-3; nil for all.
    package let storefronts: [String]?
    package let environment: SimulatedEnvironment
    package internal(set) var completed: AppStoreDate?
    package internal(set) var succeeded = 0
    package internal(set) var failed = 0

    package init(
        _ order: ExtensionOrder, productID: String, storefronts: [String]? = nil,
        environment: SimulatedEnvironment = .production
    ) {
        self.order = order
        self.productID = productID
        self.storefronts = storefronts
        self.environment = environment
    }

    var key: Key { Key(requestID: order.requestID, environment: environment) }
}

extension World {
    /// Extends the renewal date of one subscription.
    ///
    /// - Throws: `extension_not_eligible` (not active, free, or nothing paid before),
    ///   `extension_limit` (already extended twice in 365 days) and `extension_of_family` (the
    ///   purchaser's subscription must be extended instead).
    mutating func extend(
        _ id: String, by order: ExtensionOrder, row: LifecycleRow? = nil, at now: AppStoreDate
    ) throws(SimulatorProblem) -> (answer: ExtensionResult, notices: [NotificationDraft]) {
        var subscription = try subscription(id)
        try check(subscription, order, at: now)
        let end = moment(subscription.paidUntil, plusDays: order.days, at: subscription.pace)
        subscription.extensions.append(now)
        lengthen(&subscription, to: end)
        let answer = ExtensionResult(
            originalTransactionID: id,
            webOrderLineItemID: subscription.latest.webOrderLineItemID, effective: end)
        let notices = [draft(.renewalExtended, of: subscription, row: row, at: now)]
        save(subscription, at: now)
        return (answer, notices)
    }

    private mutating func lengthen(_ subscription: inout Subscription, to end: AppStoreDate) {
        let old = subscription.paidUntil
        let last = subscription.transactions.count - 1
        if settings.has(.extensionMakesTransaction) {
            let latest = subscription.latest
            add(
                &subscription, latest.boxedProduct, offer: nil, from: old, until: end, price: 0,
                reason: .renewal, origin: latest.origin)
        } else {
            let latest = subscription.transactions[last]
            for index in subscription.transactions.indices
            where subscription.transactions[index].isPart(ofPeriodOf: latest) {
                subscription.transactions[index].expires = end
            }
        }
        subscription.anchor = calendar.anchor(at: end)
        if let expires = subscription.commitment?.expires {
            let shift = end.milliseconds - old.milliseconds
            subscription.commitment?.expires = AppStoreDate(
                milliseconds: expires.milliseconds + shift)
        }
    }

    private func check(
        _ subscription: Subscription, _ order: ExtensionOrder, at now: AppStoreDate
    ) throws(SimulatorProblem) {
        guard ExtensionOrder.daysRange.contains(order.days) else {
            throw .badRequest(
                "days must be between 1 and 90, not \(order.days).", remedy: "Send 1 to 90.")
        }
        guard ExtensionOrder.reasonRange.contains(order.reason) else {
            throw .badRequest(
                "reason must be between 0 and 3, not \(order.reason).", remedy: "Send 0 to 3.")
        }
        guard subscription.latest.ownership != .assigned else {
            throw SimulatorProblem(
                "extension_of_seat", status: 403,
                "The subscription \(subscription.id) is a seat that somebody else pays for.",
                remedy: "Extend the purchaser's.")
        }
        guard subscription.latest.ownership == .purchased else {
            throw SimulatorProblem(
                "extension_of_family", status: 403,
                "The subscription \(subscription.id) is shared by a family member.",
                remedy: "Extend the purchaser's.")
        }
        let isPaid = subscription.latest.offer?.discount != .freeTrial
        let hasPaid = subscription.transactions.contains { $0.price > 0 && $0.revocation == nil }
        guard subscription.phase == .active, isPaid, hasPaid else {
            throw SimulatorProblem(
                "extension_not_eligible", status: 403,
                "The subscription \(subscription.id) is not active, or nothing was paid for it.",
                remedy: "Extend an active subscription in a paid period.")
        }
        let span = Int64(ExtensionOrder.spanDays) * RFC3339.millisecondsPerDay
        let recent = subscription.extensions.count { $0.milliseconds > now.milliseconds - span }
        guard recent < ExtensionOrder.countMax else {
            throw SimulatorProblem(
                "extension_limit", status: 403,
                "The subscription \(subscription.id) was extended twice in 365 days.",
                remedy: "Wait until a year after the first.")
        }
    }

    /// Requests an extension for every active subscriber of a product. The extension is carried out
    /// some time later; ``massExtensions`` contains its progress. Idempotent for the same request.
    mutating func massExtend(_ wish: MassExtension, at now: AppStoreDate) throws(SimulatorProblem) {
        guard massExtensions[wish.key] == nil else { return }
        guard ExtensionOrder.daysRange.contains(wish.order.days) else {
            throw .badRequest(
                "days must be between 1 and 90, not \(wish.order.days).", remedy: "Send 1 to 90.")
        }
        _ = try product(wish.productID)
        massExtensions[wish.key] = wish
        let wait = settings.massExtensionMinutes * 60_000
        schedule(.massExtension(wish.key), at: AppStoreDate(milliseconds: now.milliseconds + wait))
    }

    mutating func finishMassExtension(
        _ key: MassExtension.Key, at now: AppStoreDate
    ) -> [NotificationDraft] {
        guard var wish = massExtensions[key] else { return [] }
        var notices: [NotificationDraft] = []
        for chain in subscriptions.all.filter({ wish.includes($0) }) {
            do throws(SimulatorProblem) {
                notices += try extend(chain.id, by: wish.order, row: .extendedForAll, at: now)
                    .notices
                wish.succeeded += 1
            } catch {
                notices.append(draft(.renewalExtension, .failure, of: chain, at: now))
                wish.failed += 1
            }
        }
        wish.completed = now
        massExtensions[key] = wish
        let summary = draft(
            .renewalExtension, .summary, about: .summary(summary(of: wish)), in: wish.environment,
            row: .extendedForAll, at: now)
        return settings.has(.summaryBeforeExtensions) ? [summary] + notices : notices + [summary]
    }

    private func summary(of wish: MassExtension) -> NotificationSummary {
        var summary = NotificationSummary()
        summary.environment = wish.environment.storeEnvironment
        summary.appAppleId = wish.environment == .production ? settings.appAppleID : nil
        summary.bundleId = settings.bundleID
        summary.productId = wish.productID
        summary.requestIdentifier = wish.order.requestID
        summary.storefrontCountryCodes = wish.storefronts
        summary.succeededCount = Int64(wish.succeeded)
        summary.failedCount = Int64(wish.failed)
        return summary
    }
}

extension MassExtension {
    fileprivate func includes(_ chain: Subscription) -> Bool {
        guard chain.account.environment == environment, !chain.isOver else { return false }
        let latest = chain.latest
        let isInStorefront = storefronts?.contains(latest.storefront.country) ?? true
        return latest.product.id == productID && isInStorefront && latest.ownership == .purchased
    }
}
