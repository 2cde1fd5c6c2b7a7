import AppStoreFormats

extension World {
    /// Sells something to a device's account. Returns the transaction that the device receives,
    /// which may be an existing one.
    mutating func purchase(
        _ order: PurchaseOrder, on deviceID: String, at now: AppStoreDate
    ) throws(SimulatorProblem) -> (transaction: StoreTransaction, notices: [NotificationDraft]) {
        try sell(order, to: device(deviceID), at: now)
    }

    mutating func sell(
        _ order: PurchaseOrder, to device: Device, at now: AppStoreDate
    ) throws(SimulatorProblem) -> (transaction: StoreTransaction, notices: [NotificationDraft]) {
        let product = try productForSale(order.productID, in: device.storefront, at: now)
        guard (1...PurchaseOrder.quantityMax).contains(order.quantity) else {
            throw .badRequest(
                "quantity must not be \(order.quantity).", remedy: "Order 1 to 10 at once.")
        }
        guard order.quantity == 1 || [.consumable, .nonRenewing].contains(product.type) else {
            throw .badRequest(
                "The product \(product.id) can be ordered only once, not \(order.quantity) times.",
                remedy: "Order one. Consumables and non-renewing subscriptions have a quantity.")
        }
        try checkSeats(order, of: product, in: device.storefront)
        guard transactionIDs.count + oneTimePurchases.count < Self.transactionsMax else {
            throw .full
        }
        if let terms = product.subscription {
            return try subscribe(product, terms, order, device, at: now)
        }
        let code = try code(for: product, order, device)
        return buyOneTimeProduct(product, order, device, code: code, at: now)
    }

    private mutating func buyOneTimeProduct(
        _ product: StoreKitProduct, _ order: PurchaseOrder, _ device: Device,
        code: StoreKitOffer?, at now: AppStoreDate
    ) -> (StoreTransaction, [NotificationDraft]) {
        let owned = accounts[device.account]?.oneTimePurchases.compactMap { oneTimePurchases[$0] }
        let old = owned?.last {
            $0.product.id == product.id && $0.revocation == nil && $0.sharedFrom == nil
        }
        if product.type == .nonConsumable, let old {
            // The account owns this non-consumable: the store delivers it again without a charge.
            return (old, [])
        }
        let id = numbers.newID()
        let transaction = StoreTransaction(
            id: id, originalID: id, account: device.account, product: product,
            webOrderLineItemID: nil, purchased: now, originallyPurchased: now, expires: nil,
            quantity: order.quantity, reason: .purchase,
            price: (code?.price ?? product.price) * order.quantity,
            storefront: device.storefront, offer: code,
            appAccountToken: order.appAccountToken ?? device.appAccountToken)
        accounts[device.account]?.oneTimePurchases.append(id)
        save(transaction)
        recordRedemption(of: ChosenOffers(first: code), product, by: device.account)
        return (transaction, oneTimeCharge(of: transaction, at: now))
    }

    private mutating func subscribe(
        _ product: StoreKitProduct, _ terms: StoreKitSubscription, _ order: PurchaseOrder,
        _ device: Device, at now: AppStoreDate
    ) throws(SimulatorProblem) -> (StoreTransaction, [NotificationDraft]) {
        let token = order.appAccountToken ?? device.appAccountToken
        let chain = accounts[device.account]?.chains[terms.groupID].flatMap { subscriptions[$0] }
        try check(order.billingPlan, of: product)
        let offers = try offers(for: product, order, device, chain: chain, at: now)
        if let chain, case .ended = chain.phase,
            [nil, PurchaseOrder.noOffer].contains(order.offerID),
            settings.has(.lapsePurchaseReturnsHeld)
        {
            return (chain.latest, [])
        }
        if let chain, !chain.isOver {
            if let total = order.seats, product.id == chain.latest.product.id {
                return try addSeats(to: total, of: chain, offers, token: token, at: now)
            }
            return try choose(product, offers, in: chain, order, device, token: token, at: now)
        }
        var subscription =
            chain
            ?? Subscription(
                id: numbers.newID(), account: device.account, groupID: terms.groupID,
                transactions: [],
                nextProduct: product, anchor: calendar.anchor(at: now), startedRecently: now)
        begin(&subscription, product, offers, order, device, token: token, at: now)
        accounts[device.account]?.chains[terms.groupID] = subscription.id
        let subtype: NotificationSubtype = chain == nil ? .initialBuy : .resubscribe
        let notices = [draft(.subscribed, subtype, of: subscription, at: now)]
        save(subscription, at: now)
        return (subscription.latest, notices)
    }

    /// Begins a chain that is new or that was over.
    private mutating func begin(
        _ subscription: inout Subscription, _ product: StoreKitProduct, _ offers: ChosenOffers,
        _ order: PurchaseOrder, _ device: Device, token: String?, at now: AppStoreDate
    ) {
        let plan = order.billingPlan == .monthly ? product.subscription?.monthlyPlan : nil
        beginSeats(of: &subscription, order)
        buy(
            &subscription, product, offer: offers.first, device: device, token: token,
            plan: plan.map { .init(monthlyPrice: $0.price, totalPrice: $0.commitmentPrice) },
            at: now)
        subscription.pendingOffer = offers.second.map {
            Box(.init(offer: $0, productID: product.id))
        }
        recordRedemption(of: offers, product, by: device.account)
    }

    /// A purchase in a group that the account is already subscribed to counts as a change of that
    /// subscription. If nothing changes, the device receives the transaction that it already has.
    private mutating func choose(
        _ product: StoreKitProduct, _ offers: ChosenOffers, in chain: Subscription,
        _ order: PurchaseOrder, _ device: Device, token: String?, at now: AppStoreDate
    ) throws(SimulatorProblem) -> (StoreTransaction, [NotificationDraft]) {
        let notices: [NotificationDraft]
        var chain = chain
        if let seats = order.seats {
            try checkIsNoReduction(to: seats, of: chain, at: now)
            openGroup(of: &chain, seats: seats)
            chain.plannedSeats = seats
        }
        if offers.first != nil {
            notices = try redeem(
                offers, product, in: chain, order, device, token: token, at: now)
        } else {
            notices = try chooseWithoutOffer(
                product, in: chain, device, token: token, seats: order.seats, at: now)
        }
        return (try subscription(chain.id).latest, notices)
    }

    private mutating func chooseWithoutOffer(
        _ product: StoreKitProduct, in chain: Subscription, _ device: Device, token: String?,
        seats: Int64?, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        guard !chain.isRetrying else {
            if settings.has(.retryPurchaseReturnsHeld) { return [] }
            throw .wrongState(
                "The payment for \(chain.nextProduct.id) is being retried.",
                remedy: "POST /_sim/subscriptions/\(chain.id)/recover-billing first.")
        }
        guard !chain.renews || product.id != chain.nextProduct.id else {
            guard settings.has(.alreadySubscribedRefused) else { return [] }
            throw SimulatorProblem(
                "already_subscribed",
                "\(chain.account.name) is already subscribed to \(product.id).",
                remedy: "Advance the clock, or buy another product of the group to change to it.")
        }
        return try changeProduct(
            chain.id, to: product.id, device: device, token: token, seats: seats, at: now)
    }

    /// Redeems an offer on an active subscription. The offer begins at once if it is an upgrade. It
    /// also begins at once if a payment is being retried, because the new purchase replaces that
    /// payment. Otherwise it begins at the next billing.
    private mutating func redeem(
        _ offers: ChosenOffers, _ product: StoreKitProduct, in chain: Subscription,
        _ order: PurchaseOrder, _ device: Device, token: String?, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        guard let offer = offers.first else { return [] }
        guard chain.commitment == nil else {
            throw .wrongState(
                "The price of a commitment is fixed.", remedy: "Redeem the offer after its end.")
        }
        var chain = chain
        var notices: [NotificationDraft]
        let wasOff = !chain.renews
        if chain.isRetrying {
            begin(&chain, product, offers, order, device, token: token, at: now)
            notices = [draft(.subscribed, .resubscribe, of: chain, at: now)]
        } else if chain.latest.product.isReplacedAtOnce(by: product) {
            chain.renews = true
            notices = try upgrade(
                &chain, to: product, offer: offer, device: device, token: token, at: now)
        } else {
            let isPresent = product.id == chain.latest.product.id
            chain.renews = true
            chain.nextProduct = try productForSale(
                product.id, in: chain.latest.storefront, at: now)
            // The new offer replaces one that is running.
            chain.runningOffer = nil
            chain.pendingOffer = Box(.init(offer: offer, productID: product.id))
            notices = [
                draft(.offerRedeemed, isPresent ? nil : .downgrade, of: chain, at: now)
            ]
        }
        if wasOff {
            notices.append(draft(.didChangeRenewalStatus, .autoRenewEnabled, of: chain, at: now))
        }
        recordRedemption(of: offers, product, by: device.account)
        save(chain, at: now)
        return notices
    }

    private mutating func recordRedemption(
        of offers: ChosenOffers, _ product: StoreKitProduct, by account: Account.Key
    ) {
        for offer in [offers.first, offers.second].compactMap({ $0 }) {
            if offer.type == .introductory, let group = product.subscription?.groupID {
                accounts[account]?.introductoryOffersUsed.insert(group)
            }
            if offer.type == .code, let id = offer.id {
                accounts[account]?.codesRedeemed.insert("\(product.id)/\(id)")
            }
        }
        if let nonce = offers.nonce { usedNonces.insert(nonce) }
    }
}

extension StoreKitProduct {
    /// Whether a change to another product of the group begins at once: the other product has a
    /// higher level, or the same level and the same period.
    func isReplacedAtOnce(by other: Self) -> Bool {
        guard let present = subscription, let chosen = other.subscription, id != other.id else {
            return false
        }
        return chosen.level < present.level
            || chosen.level == present.level && chosen.period == present.period
    }
}
