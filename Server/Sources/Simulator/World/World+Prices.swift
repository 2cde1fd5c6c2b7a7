import AppStoreFormats

// Price rises for subscribers, and products that are no longer sold.

extension PriceRise {
    /// A developer's request in App Store Connect.
    package struct Order: Hashable, Sendable {
        /// The new price in thousandths of the currency unit.
        package var price: Int64
        /// Whether the customer has to agree.
        package var needsConsent: Bool
        /// The first renewal date with the new price. Nil for the next renewal that is not due yet.
        package var from: AppStoreDate?

        package init(price: Int64, needsConsent: Bool, from: AppStoreDate? = nil) {
            self.price = price
            self.needsConsent = needsConsent
            self.from = from
        }
    }
}

extension World {
    /// Announces a price rise to a subscriber. If consent is needed and not given by the first
    /// renewal at the new price, the subscription ends at that renewal.
    mutating func raisePrice(
        _ id: String, _ order: PriceRise.Order, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        var subscription = try running(id)
        let product = subscription.nextProduct
        let present = subscription.regularPrice(of: product, from: subscription.paidUntil)
        guard order.price > present else {
            throw .badRequest(
                "The price \(order.price) is not higher than the current one, \(present).",
                remedy: "Send a higher price. Lower prices need no announcement.")
        }
        guard order.price <= SeatPrices.costMax / subscription.plannedSeats else {
            throw .badRequest(
                "\(subscription.plannedSeats) seats cost too much at the price \(order.price).",
                remedy: "Send a lower price.")
        }
        guard subscription.commitment == nil else {
            throw .wrongState(
                "The price of a commitment is fixed.", remedy: "Raise it after the last month.")
        }
        // If a payment is being retried, the paid time ended before now. In grace, the amount due
        // keeps its price.
        let from = order.from ?? max(subscription.paidUntil, now)
        guard from >= now else {
            throw .badRequest(
                "The time of the price rise is in the past.", remedy: "Send a later `at`, or none.")
        }
        subscription.priceRises.append(
            PriceRise(
                productID: product.id, price: order.price, from: from,
                needsConsent: order.needsConsent, announced: now))
        let subtype: NotificationSubtype = order.needsConsent ? .pending : .accepted
        let notices = [draft(.priceIncrease, subtype, of: subscription, at: now)]
        save(subscription, at: now)
        return notices
    }

    /// The customer agrees to a higher price.
    mutating func consent(_ id: String, at now: AppStoreDate) throws(SimulatorProblem)
        -> [NotificationDraft]
    {
        var subscription = try running(id)
        try checkPending(subscription)
        subscription.priceRises[subscription.priceRises.count - 1].agreed = now
        let notices = [draft(.priceIncrease, .accepted, of: subscription, at: now)]
        save(subscription, at: now)
        return notices
    }

    /// The customer declines the higher price, so renewal is switched off.
    mutating func decline(_ id: String, at now: AppStoreDate) throws(SimulatorProblem)
        -> [NotificationDraft]
    {
        try checkPending(running(id))
        return try cancel(id, at: now)
    }

    private func checkPending(_ subscription: Subscription) throws(SimulatorProblem) {
        guard subscription.announcedRise?.isPending == true else {
            throw .wrongState(
                "No price rise of \(subscription.id) is pending.",
                remedy: "POST …/raise-price {\"price\": \"12.99\", \"consent\": true} first.")
        }
    }

    /// Withdraws the product of a subscription's next period from sale, for everybody.
    mutating func removeFromSale(_ id: String) throws(SimulatorProblem) -> [NotificationDraft] {
        withdraw(try running(id).upcomingProduct.value.id)
        return []
    }

    /// A product that can be bought, with its price in a storefront. A buyer keeps that price until
    /// a price rise is announced.
    func productForSale(
        _ id: String, in storefront: Storefront, at now: AppStoreDate
    ) throws(SimulatorProblem) -> StoreKitProduct {
        var product = try product(id)
        product.price = settings.rules.prices.price(of: product, in: storefront, at: now)
        guard !withdrawnProducts.contains(id) else {
            throw SimulatorProblem(
                "product_not_for_sale", "The product \(id) is no longer for sale.",
                remedy: "Choose another, or POST /_sim/reset.")
        }
        return product
    }
}
