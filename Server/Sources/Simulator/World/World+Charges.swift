import AppStoreFormats

// How a period is charged: its length, price and ids.

extension World {
    /// The number of renewals in the sandbox after a purchase. After these, renewal is switched
    /// off.
    static let sandboxRenewalsMax = 12
    /// The number of renewals in the sandbox until 2021. Apple's documentation said six; in
    /// receipts of 2017 to 2020 no chain is longer than six periods including the first.
    static let formerSandboxRenewalsMax = 5
    /// The number of renewals in TestFlight after a purchase.
    static let testFlightRenewalsMax = 6
    /// Days for which a failed payment is retried.
    static let retryDays = 60
    /// The longest interruption, in days, that does not restart `recentSubscriptionStartDate`.
    static let gapDays = 60

    /// Adds wall-clock days to a moment, or the accelerated equivalent in the sandbox.
    func moment(_ start: AppStoreDate, plusDays days: Int, at pace: Pace) -> AppStoreDate {
        moment(start, plus: pace.length(ofDays: days), orDays: days)
    }

    /// Adds a length in milliseconds to a moment, or calendar days if the length is nil.
    func moment(
        _ start: AppStoreDate, plus length: Int64?, orDays days: Int
    ) -> AppStoreDate {
        guard let length else { return calendar.moment(start, plus: .days(days)) }
        return AppStoreDate(milliseconds: start.milliseconds + length)
    }

    func periodEnd(
        of period: BillingPeriod, times count: Int, from start: AppStoreDate,
        anchor: inout StoreCalendar.Anchor, at pace: Pace
    ) -> AppStoreDate {
        guard let length = pace.length(of: period) else {
            return calendar.periodEnd(of: period, times: count, from: start, anchor: &anchor)
        }
        return AppStoreDate(milliseconds: start.milliseconds + length * Int64(count))
    }

    /// Charges the next period of a chain's next product, with the chain's offer if one applies.
    mutating func renew(_ subscription: inout Subscription, from start: AppStoreDate) {
        subscription.renewalCount += 1
        chargeNext(&subscription, from: start)
        if let most = renewalsMax(of: subscription), subscription.renewalCount >= most {
            subscription.renews = false
            subscription.hasReachedRenewalLimit = true
        }
    }

    private mutating func chargeNext(_ subscription: inout Subscription, from start: AppStoreDate) {
        if subscription.commitment != nil, renewCommitment(&subscription, from: start) { return }
        if let terms = subscription.consumePlannedCommitment() {
            commit(
                &subscription, to: terms, origin: subscription.latest.origin, reason: .renewal,
                from: start)
            return
        }
        let running = subscription.consumeNextOffer()
        subscription.runningOffer = running
        charge(
            &subscription, subscription.boxedNextProduct,
            offer: running.map { Box($0.offer) }, from: start, reason: .renewal,
            origin: subscription.latest.origin)
    }

    private func renewalsMax(of subscription: Subscription) -> Int? {
        switch subscription.pace {
        case .realTime: nil
        case .every: Self.testFlightRenewalsMax
        case .monthly:
            settings.has(.sandboxHasSixPeriods)
                ? Self.formerSandboxRenewalsMax : Self.sandboxRenewalsMax
        }
    }

    /// Charges a period that the customer bought manually. The chain's dates are counted from its
    /// beginning.
    mutating func buy(
        _ subscription: inout Subscription, _ product: StoreKitProduct, offer: StoreKitOffer?,
        device: Device, token: String?, plan: Commitment.Terms? = nil, at now: AppStoreDate
    ) {
        subscription.anchor = calendar.anchor(at: now)
        subscription.pace = device.pace
        subscription.nextProduct = product
        subscription.resolveRisesAtPurchase(at: now)
        subscription.renewalCount = 0
        subscription.hasReachedRenewalLimit = false
        subscription.renews = true
        subscription.phase = .active
        subscription.endedBy = nil
        subscription.paymentFails = settings.rules.renewalsFail
        subscription.isChargeUnderWay = false
        subscription.pendingOffer = nil
        subscription.commitment = nil
        subscription.runningOffer = offer.map { offer in
            // An offer of another payment mode is one long period.
            let left = offer.discount == .payAsYouGo ? offer.periodCount - 1 : 0
            return Subscription.RunningOffer(offer: offer, periodsLeft: left)
        }
        let first = subscription.transactions.first
        let origin = StoreTransaction.Origin(
            originalID: subscription.id, account: subscription.account,
            originallyPurchased: first?.originallyPurchased ?? now, storefront: device.storefront,
            appAccountToken: token, ownership: first?.ownership ?? .purchased)
        subscription.plannedCommitment = offer == nil ? nil : plan
        if let plan, offer == nil {
            commit(&subscription, to: plan, origin: Box(origin), reason: .purchase, from: now)
        } else {
            charge(
                &subscription, subscription.boxedNextProduct, offer: offer.map { Box($0) },
                from: now, reason: .purchase, origin: Box(origin))
        }
    }

    private mutating func charge(
        _ subscription: inout Subscription, _ product: Box<StoreKitProduct>,
        offer: Box<StoreKitOffer>?, from start: AppStoreDate, reason: TransactionReason,
        origin: Box<StoreTransaction.Origin>
    ) {
        let terms = product.value.subscription
        let discount = offer?.value
        let isOnePeriod = discount.map { $0.discount == .payAsYouGo } ?? true
        let expires = periodEnd(
            of: discount?.period ?? terms?.period ?? BillingPeriod(1, .month),
            times: isOnePeriod ? 1 : discount?.periodCount ?? 1, from: start,
            anchor: &subscription.anchor, at: subscription.pace)
        let price =
            discount?.price
            ?? subscription.risenPrice(of: product.value.id, from: start) ?? product.value.price
        if discount == nil { subscription.markCharged(of: product.value.id, from: start) }
        let tiers = chargedTiers(
            &subscription, product.value, at: price, isOffer: discount != nil,
            in: origin.value.storefront)
        add(
            &subscription, product, offer: offer, from: start, until: expires,
            price: tiers?.total ?? price, reason: reason, origin: origin, seats: tiers)
    }

    /// Adds a transaction with new ids to a chain.
    mutating func add(
        _ subscription: inout Subscription, _ product: Box<StoreKitProduct>,
        offer: Box<StoreKitOffer>?, from start: AppStoreDate, until end: AppStoreDate,
        price: Int64, reason: TransactionReason, origin: Box<StoreTransaction.Origin>,
        seats: [SeatTier]? = nil
    ) {
        if let last = subscription.lastPaid {
            restartAfterGap(&subscription, since: last, at: start)
        }
        let isFirst = subscription.transactions.isEmpty
        var transaction = StoreTransaction(
            id: isFirst ? subscription.id : numbers.newID(), origin: origin, product: product,
            webOrderLineItemID: numbers.newID(), purchased: start, expires: end,
            quantity: seats?.count ?? 1, reason: reason, price: price, offer: offer)
        if let seats {
            transaction.seats = SeatsBought(
                period: transaction.id, invitations: subscription.invitations, tiers: seats)
        }
        // Items belong to the product with which they were sold, so a change of product removes
        // them.
        if let last = subscription.transactions.last, last.product.id != product.value.id {
            subscription.advancedCommerce = nil
        }
        subscription.transactions.append(transaction)
        if subscription.advancedCommerce != nil { subscription.writeAdvancedCommerce() }
        transactionIDs.add(transaction.id, of: subscription.id)
    }

    /// Restarts the subscription time if the last transaction ended long ago.
    func restartAfterGap(
        _ subscription: inout Subscription, since last: StoreTransaction, at start: AppStoreDate
    ) {
        // A refund after the end does not shorten the paid time.
        let ended = [last.revocation?.at, last.expires].compactMap(\.self).min() ?? last.purchased
        // Most renewals begin when the old period ended: skip the calendar lookup.
        guard start > ended else { return }
        let limit = moment(ended, plus: subscription.pace.gapLength, orDays: Self.gapDays)
        if start > limit { subscription.startedRecently = start }
    }
}
