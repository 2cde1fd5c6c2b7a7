import AppStoreFormats

// What customers do with a subscription that they have.

extension World {
    /// Switches renewal off. While a payment is being retried that ends the subscription at once.
    mutating func cancel(_ id: String, at now: AppStoreDate) throws(StoreProblem) -> [Notice] {
        var subscription = try running(id)
        guard subscription.renews else {
            throw .wrongState(
                "Renewal of \(id) is off already.", remedy: "POST …/resume switches it on.")
        }
        subscription.renews = false
        let endsNow = subscription.isRetrying
        if endsNow { subscription.phase = .ended(.cancelled) }
        var notices = [
            notice(.didChangeRenewalStatus, .autoRenewDisabled, of: subscription, at: now)
        ]
        if endsNow { notices.append(notice(.expired, .voluntary, of: subscription, at: now)) }
        keep(subscription)
        return notices
    }

    /// Switches renewal on again before the end.
    mutating func resume(_ id: String, at now: AppStoreDate) throws(StoreProblem) -> [Notice] {
        var subscription = try running(id)
        guard !subscription.renews else {
            throw .wrongState(
                "Renewal of \(id) is on already.", remedy: "POST …/cancel switches it off.")
        }
        subscription.renews = true
        let notices = [
            notice(.didChangeRenewalStatus, .autoRenewEnabled, of: subscription, at: now)
        ]
        keep(subscription)
        return notices
    }

    /// Chooses another product of the group, or the present one again.
    ///
    /// A higher level, or the same level and duration, begins at once; everything else at the next
    /// renewal. A choice also switches renewal on.
    mutating func changeProduct(
        _ id: String, to productID: String, device: Device? = nil, token: String? = nil,
        at now: AppStoreDate
    ) throws(StoreProblem) -> [Notice] {
        var subscription = try running(id)
        let product = try product(productID)
        guard let terms = product.subscription, terms.groupID == subscription.groupID,
            let present = subscription.latest.product.subscription
        else {
            throw .badRequest(
                "The product \(productID) is not of the group \(subscription.groupID).",
                remedy: "Choose a product of the same group.")
        }
        let wasOff = !subscription.renews
        subscription.renews = true
        let isPresent = product.id == subscription.latest.product.id
        let isCrossgrade = terms.level == present.level && terms.period == present.period
        var notices: [Notice]
        if !isPresent, terms.level < present.level || isCrossgrade {
            notices = try upgrade(&subscription, to: product, device: device, token: token, at: now)
        } else {
            guard wasOff || product.id != subscription.nextProduct.id else {
                throw .wrongState(
                    "The subscription will renew as \(productID) already.",
                    remedy: "Choose another product of the group.")
            }
            let isChange = product.id != subscription.nextProduct.id
            subscription.nextProduct = product
            let subtype: NotificationSubtype? = isPresent ? nil : .downgrade
            notices =
                isChange
                ? [notice(.didChangeRenewalPref, subtype, of: subscription, at: now)] : []
        }
        if wasOff {
            notices.append(
                notice(.didChangeRenewalStatus, .autoRenewEnabled, of: subscription, at: now))
        }
        keep(subscription)
        return notices
    }

    private mutating func upgrade(
        _ subscription: inout Subscription, to product: StoreKitProduct, device: Device?,
        token: String?, at now: AppStoreDate
    ) throws(StoreProblem) -> [Notice] {
        guard !subscription.isRetrying, !subscription.paymentFails else {
            throw .wrongState(
                "The payment for \(product.id) is refused.", remedy: "POST …/recover-billing first."
            )
        }
        let latest = subscription.latest
        for index in subscription.transactions.indices {
            replace(&subscription.transactions[index], at: now)
        }
        let buyer = Device(
            id: device?.id ?? "", account: subscription.account,
            storefront: device?.storefront ?? latest.storefront, appAccountToken: nil)
        buy(
            &subscription, product, offer: nil, device: buyer,
            token: token ?? latest.appAccountToken, at: now)
        return [notice(.didChangeRenewalPref, .upgrade, of: subscription, at: now)]
    }

    /// Marks what is paid beyond now as replaced: the period that runs, and one that was charged
    /// early.
    private func replace(_ transaction: inout StoreTransaction, at now: AppStoreDate) {
        guard let expires = transaction.expires, expires > now, transaction.revocation == nil,
            !transaction.isUpgraded
        else { return }
        transaction.isUpgraded = true
        guard settings.upgradeSetsRevocationDate else { return }
        let length = expires.milliseconds - transaction.purchased.milliseconds
        let left = min(expires.milliseconds - now.milliseconds, length)
        transaction.revocation = .init(
            at: now, reason: .other, type: .refundProrated,
            percentage: length > 0 ? left * 100_000 / length : 0)
    }
}
