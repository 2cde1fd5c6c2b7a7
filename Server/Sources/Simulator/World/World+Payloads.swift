import AppStoreFormats

// The world's state in the form of Apple's documents, each with its signing date.

/// The values besides the purchase that every document about one account needs.
struct DocumentContext: Sendable {
    let settings: Box<SimulatorSettings>
    let appTransactionID: String?
}

extension World {
    func documentContext(of account: Account.Key) -> DocumentContext {
        DocumentContext(
            settings: boxedSettings, appTransactionID: accounts[account]?.appTransactionID)
    }

    mutating func payload(of transaction: StoreTransaction, at now: AppStoreDate)
        -> TransactionPayload
    {
        let signed = signingDates.reserve(for: transaction.originalID, at: now)
        return transaction.payload(signed: signed, documentContext(of: transaction.account))
    }

    mutating func renewalPayload(
        of subscription: Subscription, at now: AppStoreDate
    ) -> RenewalPayload {
        let signed = signingDates.reserve(for: subscription.id, at: now)
        return subscription.renewalPayload(
            signed: signed, documentContext(of: subscription.account))
    }
}

extension World {
    /// The app transaction of an account.
    func appTransaction(
        of key: Account.Key, at now: AppStoreDate
    ) throws(SimulatorProblem) -> AppTransactionPayload {
        guard let account = accounts[key] else {
            throw key.name.isEmpty ? .signedOut : .unknownAccount(key.name)
        }
        let isProduction = key.environment == .production
        var payload = AppTransactionPayload()
        payload.receiptType = key.environment.storeEnvironment
        payload.appAppleId = isProduction ? settings.appAppleID : nil
        payload.bundleId = settings.bundleID
        payload.applicationVersion = Self.bundleVersion
        payload.originalApplicationVersion = originalVersion(of: key)
        payload.versionExternalIdentifier = isProduction ? Self.versionExternalIdentifier : nil
        payload.receiptCreationDate = now
        payload.originalPurchaseDate = Self.firstDownloaded(account.downloaded, in: key.environment)
        payload.appTransactionId = account.appTransactionID
        payload.originalPlatform = .iOS
        return payload
    }
}

extension StoreTransaction {
    func payload(signed: AppStoreDate, _ letterhead: DocumentContext) -> TransactionPayload {
        let settings = letterhead.settings.value
        var payload = TransactionPayload()
        payload.transactionId = id
        payload.originalTransactionId = originalID
        payload.webOrderLineItemId = webOrderLineItemID
        payload.bundleId = settings.bundleID
        payload.productId = product.id
        payload.subscriptionGroupIdentifier = product.subscription?.groupID
        payload.purchaseDate = purchased
        payload.originalPurchaseDate = originallyPurchased
        payload.expiresDate = expires
        payload.quantity = quantity
        payload.type = product.type
        payload.appAccountToken = appAccountToken
        payload.inAppOwnershipType = ownership
        payload.signedDate = signed
        payload.environment = account.environment.storeEnvironment
        payload.storefront = storefront.country
        payload.storefrontId = storefront.id
        payload.transactionReason = reason
        payload.price = shownPrice
        payload.currency = storefront.currency
        payload.appTransactionId = letterhead.appTransactionID
        // Apple includes the field only if it is true.
        payload.isUpgraded = isUpgraded ? true : nil
        if !isUpgraded || settings.upgradeSetsRevocationDate || isTakenBack {
            write(revocation, into: &payload)
        }
        if let seats { write(seats, into: &payload) }
        if let offer { write(offer, into: &payload) }
        if let month = commitment?.value { write(month, into: &payload) }
        if let advancedCommerce {
            payload.advancedCommerceInfo = advancedCommerce.value
            if payload.revocationType != .familyRevoke { moveRefundToItems(in: &payload) }
            // In the simulator, every Advanced Commerce subscription was migrated and has kept its
            // id.
            payload.previousOriginalTransactionId = originalID
        }
        return payload
    }

    /// Moves the refunded amount to the items, where an Advanced Commerce transaction has it. A
    /// simulated transaction has one item.
    private func moveRefundToItems(in payload: inout TransactionPayload) {
        guard let type = payload.revocationType, let date = payload.revocationDate else { return }
        (payload.revocationType, payload.revocationPercentage) = (nil, nil)
        var refund = AdvancedCommerceRefund()
        refund.refundAmount = refunded
        refund.refundDate = date
        refund.refundType = type == .refundFull ? "FULL" : "PRORATED"
        refund.refundReason =
            isUpgraded
            ? "MODIFY_ITEMS_REFUND"
            : payload.revocationReason == .issueWithTheApp ? "FULFILLMENT_ISSUE" : "OTHER"
        let items = payload.advancedCommerceInfo?.items?.map { item in
            var item = item
            (item.refunds, item.revocationDate) = ([refund], date)
            return item
        }
        payload.advancedCommerceInfo?.items = items
    }

    /// Whether another account paid for the transaction, and no longer shares it.
    private var isTakenBack: Bool {
        [.familyRevoke, .assignmentRevoke].contains(revocation?.type)
    }

    private func write(_ revocation: Revocation?, into payload: inout TransactionPayload) {
        payload.revocationDate = revocation?.at
        payload.revocationReason = revocation?.reason
        payload.revocationType = revocation?.type
        payload.revocationPercentage = revocation?.percentage
    }

    private func write(_ offer: StoreKitOffer, into payload: inout TransactionPayload) {
        payload.offerType = offer.type
        payload.offerIdentifier = offer.id
        payload.offerDiscountType = offer.discount
        // An offer on a one-time product has no period.
        if offer.discount != .oneTime { payload.offerPeriod = offer.period.description }
    }

    private func write(_ month: CommitmentMonth, into payload: inout TransactionPayload) {
        var info = TransactionCommitment()
        info.billingPeriodNumber = Int64(month.number)
        info.totalBillingPeriods = Int64(month.total)
        info.commitmentExpiresDate = month.expires
        info.commitmentPrice = month.price
        payload.commitmentInfo = info
        payload.billingPlanType = .monthly
    }
}

extension Subscription {
    func renewalPayload(signed: AppStoreDate, _ letterhead: DocumentContext) -> RenewalPayload {
        let settings = letterhead.settings.value
        let latest = latest
        var payload = RenewalPayload()
        payload.originalTransactionId = id
        payload.productId = latest.product.id
        payload.autoRenewProductId = upcomingProduct.value.id
        payload.autoRenewStatus = continuesRenewing ? .on : .off
        payload.currency = latest.storefront.currency
        payload.renewalDate = latest.expires
        payload.recentSubscriptionStartDate = startedRecently
        payload.signedDate = signed
        payload.environment = account.environment.storeEnvironment
        payload.appAccountToken = latest.appAccountToken
        payload.appTransactionId = letterhead.appTransactionID
        payload.advancedCommerceInfo = advancedCommerce?.value
        write(phase, into: &payload, settings)
        if !isOver { payload.priceIncreaseStatus = announcedRise?.status }
        if continuesRenewing {
            writeNextPeriod(into: &payload)
            writeSeats(into: &payload, settings)
        }
        if let commitment { write(commitment, into: &payload) }
        if isOver {
            let all = latest.product.subscription?.winBackOffers ?? []
            let offers = all.filter(\.isEligible)
            payload.eligibleWinBackOfferIds = offers.isEmpty ? nil : offers.compactMap(\.id)
        }
        return payload
    }

    private func write(
        _ phase: Phase, into payload: inout RenewalPayload, _ settings: SimulatorSettings
    ) {
        switch phase {
        case .active, .revoked: break
        case .grace(let until, _):
            payload.isInBillingRetryPeriod = !settings.has(.graceWithoutRetryFlag)
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

    private func writeNextPeriod(into payload: inout RenewalPayload) {
        payload.renewalPrice = nextPrice
        guard let running = nextOffer else { return }
        payload.offerType = running.offer.type
        payload.offerIdentifier = running.offer.id
        payload.offerDiscountType = running.offer.discount
        payload.offerPeriod = running.offer.period.description
    }

    private func write(_ commitment: Commitment, into payload: inout RenewalPayload) {
        payload.renewalBillingPlanType = .monthly
        var info = RenewalCommitment()
        info.commitmentAutoRenewProductId = nextProduct.id
        info.commitmentAutoRenewStatus = renews ? .on : .off
        info.commitmentRenewalBillingPlanType = renews ? .monthly : nil
        info.commitmentRenewalDate = commitment.expires
        info.commitmentRenewalPrice = renews ? commitment.terms.totalPrice : nil
        payload.commitmentInfo = info
    }

    /// What the next period will cost, in thousandths of the currency unit.
    var nextPrice: Int64 {
        if isWithinCommitment, let commitment { return commitment.terms.monthlyPrice }
        if let nextOffer { return nextOffer.offer.price }
        if let plannedCommitment, boxedNextProduct.value.id == latest.product.id {
            return plannedCommitment.monthlyPrice
        }
        // A price rise is shown once it is announced, whether the customer has agreed or not.
        if let rise = announcedRise, rise.from <= paidUntil { return rise.price }
        return regularPrice(of: boxedNextProduct.value, from: paidUntil)
    }

    /// The price of a period without an offer.
    func regularPrice(of product: StoreKitProduct, from start: AppStoreDate) -> Int64 {
        if let commitment, product.id == latest.product.id { return commitment.terms.monthlyPrice }
        return risenPrice(of: product.id, from: start) ?? product.price
    }
}

// MARK: - What documents of all kinds say about an account

extension World {
    /// Apple's id for the version of the app that every device runs.
    static let versionExternalIdentifier: Int64 = 860_000_001
    /// When every sandbox account first obtained every app: 2013-08-01T07:00:00Z.
    private static let sandboxOrigin = AppStoreDate(milliseconds: 1_375_340_400_000)

    /// The version of the app that an account obtained first, which in the sandbox is always 1.0.
    /// The older and the newer documents contain the same version.
    func originalVersion(of key: Account.Key) -> String {
        switch key.environment {
        case .production: originalVersions[key] ?? Self.bundleVersion
        case .sandbox: "1.0"
        }
    }

    /// When an account first obtained the app (Apple's page "originalPurchaseDate").
    static func firstDownloaded(
        _ downloaded: AppStoreDate, in environment: SimulatedEnvironment
    ) -> AppStoreDate {
        switch environment {
        case .production: downloaded
        case .sandbox: sandboxOrigin
        }
    }

    /// The account of a transaction. Nil if the transaction is not of this world.
    func owner(of transactionID: String) -> Account.Key? {
        if let once = oneTimePurchases[transactionIDs.canonicalID(of: transactionID)] {
            return once.account
        }
        return transactionIDs.chain(of: transactionID).flatMap { subscriptions[$0]?.account }
    }
}
