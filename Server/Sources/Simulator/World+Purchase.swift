import AppStoreFormats

/// What a device asks the store for.
package struct PurchaseOrder: Hashable, Sendable {
    package var productID: String
    /// The identifier of a promotional, code or win-back offer; `none` leaves out the introductory
    /// one.
    package var offerID: String?
    package var quantity: Int64
    /// A UUID of the app's choosing.
    package var appAccountToken: String?

    /// Apple's limit for one purchase.
    package static let quantityMax: Int64 = 10
    package static let noOffer = "none"

    package init(
        _ productID: String, offerID: String? = nil, quantity: Int64 = 1,
        appAccountToken: String? = nil
    ) {
        self.productID = productID
        self.offerID = offerID
        self.quantity = quantity
        self.appAccountToken = appAccountToken
    }
}

extension World {
    /// Sells something to a device's account. Returns the transaction that the device receives,
    /// which may be an old one.
    mutating func purchase(
        _ order: PurchaseOrder, on deviceID: String, at now: AppStoreDate
    ) throws(StoreProblem) -> (transaction: StoreTransaction, notices: [Notice]) {
        let device = try device(deviceID)
        let product = try productForSale(order.productID)
        guard (1...PurchaseOrder.quantityMax).contains(order.quantity) else {
            throw .badRequest(
                "The quantity is \(order.quantity).", remedy: "Order 1 to 10 at once.")
        }
        guard chainOfTransaction.count + oneTimePurchases.count < Self.transactionsMax else {
            throw .full
        }
        if let terms = product.subscription {
            return try subscribe(product, terms, order, device, at: now)
        }
        return buyOnce(product, order, device, at: now)
    }

    private mutating func buyOnce(
        _ product: StoreKitProduct, _ order: PurchaseOrder, _ device: Device, at now: AppStoreDate
    ) -> (StoreTransaction, [Notice]) {
        let owned = accounts[device.account]?.oneTimePurchases.compactMap { oneTimePurchases[$0] }
        if product.type == .nonConsumable,
            let old = owned?.last(where: { $0.product.id == product.id && $0.revocation == nil })
        {
            // Bought for good already: the store gives it again without a charge.
            return (old, [])
        }
        let id = newID()
        let transaction = StoreTransaction(
            id: id, originalID: id, account: device.account, product: product,
            webOrderLineItemID: nil, purchased: now, originallyPurchased: now, expires: nil,
            quantity: order.quantity, reason: .purchase, price: product.price * order.quantity,
            storefront: device.storefront, offer: nil,
            appAccountToken: order.appAccountToken ?? device.appAccountToken)
        oneTimePurchases[id] = transaction
        accounts[device.account]?.oneTimePurchases.append(id)
        return (transaction, oneTimeCharge(of: transaction, at: now))
    }

    private mutating func subscribe(
        _ product: StoreKitProduct, _ terms: StoreKitSubscription, _ order: PurchaseOrder,
        _ device: Device, at now: AppStoreDate
    ) throws(StoreProblem) -> (StoreTransaction, [Notice]) {
        let token = order.appAccountToken ?? device.appAccountToken
        let chain = accounts[device.account]?.chains[terms.groupID].flatMap { subscriptions[$0] }
        if let chain, !chain.isOver {
            return try choose(product, in: chain, order, device, token: token, at: now)
        }
        let offer = try offer(for: product, terms, order, device, hasChain: chain != nil)
        var subscription =
            chain
            ?? Subscription(
                id: newID(), account: device.account, groupID: terms.groupID, transactions: [],
                nextProduct: product, anchor: calendar.anchor(at: now), startedRecently: now)
        buy(&subscription, product, offer: offer, device: device, token: token, at: now)
        accounts[device.account]?.chains[terms.groupID] = subscription.id
        if offer?.type == .introductory {
            accounts[device.account]?.introductoryOffersUsed.insert(terms.groupID)
        }
        let subtype: NotificationSubtype = chain == nil ? .initialBuy : .resubscribe
        let notices = [notice(.subscribed, subtype, of: subscription, at: now)]
        keep(subscription)
        return (subscription.latest, notices)
    }

    /// A purchase within a group that the account is subscribed to is a choice for that
    /// subscription.
    private mutating func choose(
        _ product: StoreKitProduct, in chain: Subscription, _ order: PurchaseOrder,
        _ device: Device, token: String?, at now: AppStoreDate
    ) throws(StoreProblem) -> (StoreTransaction, [Notice]) {
        guard order.offerID == nil || order.offerID == PurchaseOrder.noOffer else {
            throw Self.notEligible("An offer on a running subscription is not simulated.")
        }
        guard !chain.isRetrying else {
            throw .wrongState(
                "The payment for \(chain.nextProduct.id) is being retried.",
                remedy: "POST /_sim/subscriptions/\(chain.id)/recover-billing first.")
        }
        guard !chain.renews || product.id != chain.nextProduct.id else {
            throw StoreProblem(
                "already_subscribed",
                "\(chain.account.name) is subscribed to \(product.id) already.",
                remedy: "Advance the clock, or buy another product of the group to change to it.")
        }
        let notices = try changeProduct(
            chain.id, to: product.id, device: device, token: token, at: now)
        return (try subscription(chain.id).latest, notices)
    }

    private func offer(
        for product: StoreKitProduct, _ terms: StoreKitSubscription, _ order: PurchaseOrder,
        _ device: Device, hasChain: Bool
    ) throws(StoreProblem) -> StoreKitOffer? {
        guard let id = order.offerID else {
            let used = accounts[device.account]?.introductoryOffersUsed.contains(terms.groupID)
            // Returning customers may take it too, if they never had one in the group.
            return used == true ? nil : terms.introductoryOffer
        }
        if id == PurchaseOrder.noOffer { return nil }
        let lapsedOnly = terms.promotionalOffers + terms.winBackOffers
        if let offer = lapsedOnly.first(where: { $0.id == id }) {
            guard hasChain else {
                throw Self.notEligible("The offer \(id) is for customers who had a subscription.")
            }
            return offer
        }
        guard let offer = terms.codeOffers.first(where: { $0.id == id }) else {
            let known = (lapsedOnly + terms.codeOffers).compactMap(\.id).joined(separator: ", ")
            throw StoreProblem(
                "unknown_offer", status: 404, "The product \(product.id) has no offer \(id).",
                remedy: known.isEmpty ? "It has none to name." : "It has: \(known).")
        }
        return offer
    }

    private static func notEligible(_ message: String) -> StoreProblem {
        StoreProblem(
            "offer_not_eligible", message, remedy: "Leave out `offer`, or choose another.")
    }
}
