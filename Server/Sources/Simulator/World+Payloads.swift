import AppStoreFormats

// The world's books in Apple's words, each with the date of its signature.

extension World {
    mutating func payload(of transaction: StoreTransaction, at now: AppStoreDate)
        -> TransactionPayload
    {
        var payload = TransactionPayload()
        payload.transactionId = transaction.id
        payload.originalTransactionId = transaction.originalID
        payload.webOrderLineItemId = transaction.webOrderLineItemID
        payload.bundleId = settings.bundleID
        payload.productId = transaction.product.id
        payload.subscriptionGroupIdentifier = transaction.product.subscription?.groupID
        payload.purchaseDate = transaction.purchased
        payload.originalPurchaseDate = transaction.originallyPurchased
        payload.expiresDate = transaction.expires
        payload.quantity = transaction.quantity
        payload.type = transaction.product.type
        payload.appAccountToken = transaction.appAccountToken
        payload.inAppOwnershipType = .purchased
        payload.signedDate = signatureDate(at: now)
        payload.environment = transaction.account.environment.storeEnvironment
        payload.storefront = transaction.storefront.country
        payload.storefrontId = transaction.storefront.id
        payload.transactionReason = transaction.reason
        payload.price = transaction.price
        payload.currency = transaction.storefront.currency
        payload.appTransactionId = accounts[transaction.account]?.appTransactionID
        // Apple writes it only where it is true.
        payload.isUpgraded = transaction.isUpgraded ? true : nil
        write(transaction.revocation, into: &payload)
        if let offer = transaction.offer {
            payload.offerType = offer.type
            payload.offerIdentifier = offer.id
            payload.offerDiscountType = offer.discount
            payload.offerPeriod = offer.period.description
        }
        return payload
    }

    private func write(
        _ revocation: StoreTransaction.Revocation?, into payload: inout TransactionPayload
    ) {
        payload.revocationDate = revocation?.at
        payload.revocationReason = revocation?.reason
        payload.revocationType = revocation?.type
        payload.revocationPercentage = revocation?.percentage
    }

    mutating func renewalPayload(
        of subscription: Subscription, at now: AppStoreDate
    ) -> RenewalPayload {
        let latest = subscription.latest
        var payload = RenewalPayload()
        payload.originalTransactionId = subscription.id
        payload.productId = latest.product.id
        payload.autoRenewProductId = subscription.nextProduct.id
        payload.autoRenewStatus = subscription.renews ? .on : .off
        payload.currency = latest.storefront.currency
        payload.renewalDate = latest.expires
        payload.recentSubscriptionStartDate = subscription.startedRecently
        payload.signedDate = signatureDate(at: now)
        payload.environment = subscription.account.environment.storeEnvironment
        payload.appAccountToken = latest.appAccountToken
        payload.appTransactionId = accounts[subscription.account]?.appTransactionID
        write(subscription.phase, into: &payload)
        if subscription.renews { writeNextPeriod(of: subscription, into: &payload) }
        if subscription.isOver {
            let offers = latest.product.subscription?.winBackOffers ?? []
            payload.eligibleWinBackOfferIds = offers.isEmpty ? nil : offers.compactMap(\.id)
        }
        return payload
    }

    private func write(_ phase: Subscription.Phase, into payload: inout RenewalPayload) {
        switch phase {
        case .active, .revoked: break
        case .grace(let until, _):
            payload.isInBillingRetryPeriod = true
            payload.expirationIntent = .billingError
            payload.gracePeriodExpiresDate = until
        case .retry:
            payload.isInBillingRetryPeriod = true
            payload.expirationIntent = .billingError
        case .ended(let intent):
            payload.isInBillingRetryPeriod = false
            payload.expirationIntent = intent
        }
    }

    private func writeNextPeriod(
        of subscription: Subscription, into payload: inout RenewalPayload
    ) {
        payload.renewalPrice = subscription.nextProduct.price
        guard let running = subscription.nextOffer else { return }
        payload.renewalPrice = running.offer.price
        payload.offerType = running.offer.type
        payload.offerIdentifier = running.offer.id
        payload.offerDiscountType = running.offer.discount
        payload.offerPeriod = running.offer.period.description
    }
}

extension Subscription {
    /// The offer that the next period will have. It does not follow to another product.
    var nextOffer: RunningOffer? {
        guard let runningOffer, runningOffer.periodsLeft > 0, nextProduct.id == latest.product.id
        else { return nil }
        return runningOffer
    }
}
