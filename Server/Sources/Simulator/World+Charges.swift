import AppStoreFormats

// How a period comes into being: its length, price and numbers.

extension World {
    /// Renewals in the sandbox after a purchase; then renewal is switched off.
    static let sandboxRenewalsMax = 12
    /// How long a refused payment is tried again.
    static let retryDays = 60
    /// A shorter interruption does not restart `recentSubscriptionStartDate`.
    static let gapDays = 60
    // The sandbox's default rate: a month is five minutes, so a day is ten seconds, and the lapse
    // of sixty days ten minutes.
    private static let sandboxMillisecondsPerDay: Int64 = 10_000
    private static let sandboxMillisecondsPerMonth: Int64 = 300_000
    private static let sandboxMillisecondsPerWeek: Int64 = 180_000

    func moment(
        _ start: AppStoreDate, plusDays days: Int, in environment: SimulatedEnvironment
    ) -> AppStoreDate {
        switch environment {
        case .production: calendar.moment(start, plus: .days(days))
        case .sandbox:
            AppStoreDate(
                milliseconds: start.milliseconds + Int64(days) * Self.sandboxMillisecondsPerDay)
        }
    }

    func end(
        of period: BillingPeriod, times count: Int, from start: AppStoreDate,
        anchor: inout StoreCalendar.Anchor, in environment: SimulatedEnvironment
    ) -> AppStoreDate {
        switch environment {
        case .production:
            return calendar.end(of: period, times: count, from: start, anchor: &anchor)
        case .sandbox:
            let length = Self.sandboxLength(of: period) * Int64(count)
            return AppStoreDate(milliseconds: start.milliseconds + length)
        }
    }

    private static func sandboxLength(of period: BillingPeriod) -> Int64 {
        switch period.unit {
        // A year is an hour: twelve months of five minutes.
        case .month, .year: Int64(period.months) * sandboxMillisecondsPerMonth
        case .week: Int64(period.count) * sandboxMillisecondsPerWeek
        case .day: max(Int64(period.count) * sandboxMillisecondsPerDay, sandboxMillisecondsPerWeek)
        }
    }

    /// Charges the next period of a chain's next product, under the chain's offer if one runs on.
    mutating func renew(_ subscription: inout Subscription, from start: AppStoreDate) {
        var running = subscription.nextOffer
        running?.periodsLeft -= 1
        subscription.runningOffer = running
        subscription.renewalCount += 1
        let latest = subscription.latest
        charge(
            &subscription, subscription.nextProduct, offer: running?.offer, from: start,
            reason: .renewal, storefront: latest.storefront, token: latest.appAccountToken)
        let isSandbox = subscription.account.environment == .sandbox
        if isSandbox, subscription.renewalCount >= Self.sandboxRenewalsMax {
            subscription.renews = false
        }
    }

    /// Charges a period that the customer bought by hand: the chain counts from here.
    mutating func buy(
        _ subscription: inout Subscription, _ product: StoreKitProduct, offer: StoreKitOffer?,
        device: Device, token: String?, at now: AppStoreDate
    ) {
        subscription.anchor = calendar.anchor(at: now)
        subscription.nextProduct = product
        subscription.renewalCount = 0
        subscription.renews = true
        subscription.phase = .active
        subscription.paymentFails = false
        subscription.runningOffer = offer.map { offer in
            // The other kinds of offers are one long period.
            let left = offer.discount == .payAsYouGo ? offer.periodCount - 1 : 0
            return Subscription.RunningOffer(offer: offer, periodsLeft: left)
        }
        charge(
            &subscription, product, offer: offer, from: now, reason: .purchase,
            storefront: device.storefront, token: token)
    }

    private mutating func charge(
        _ subscription: inout Subscription, _ product: StoreKitProduct, offer: StoreKitOffer?,
        from start: AppStoreDate, reason: TransactionReason, storefront: Storefront, token: String?
    ) {
        let terms = product.subscription
        let isOnePeriod = offer.map { $0.discount == .payAsYouGo } ?? true
        let expires = end(
            of: offer?.period ?? terms?.period ?? BillingPeriod(1, .month),
            times: isOnePeriod ? 1 : offer?.periodCount ?? 1, from: start,
            anchor: &subscription.anchor, in: subscription.account.environment)
        if let last = subscription.transactions.last {
            restartAfterGap(&subscription, since: last, at: start)
        }
        let isFirst = subscription.transactions.isEmpty
        let transaction = StoreTransaction(
            id: isFirst ? subscription.id : newID(), originalID: subscription.id,
            account: subscription.account, product: product, webOrderLineItemID: newID(),
            purchased: start,
            originallyPurchased: subscription.transactions.first?.purchased ?? start,
            expires: expires, quantity: 1, reason: reason, price: offer?.price ?? product.price,
            storefront: storefront, offer: offer, appAccountToken: token)
        subscription.transactions.append(transaction)
        chainOfTransaction[transaction.id] = subscription.id
    }

    private func restartAfterGap(
        _ subscription: inout Subscription, since last: StoreTransaction, at start: AppStoreDate
    ) {
        let ended = last.revocation?.at ?? last.expires ?? last.purchased
        let limit = moment(ended, plusDays: Self.gapDays, in: subscription.account.environment)
        if start > limit { subscription.startedRecently = start }
    }
}
