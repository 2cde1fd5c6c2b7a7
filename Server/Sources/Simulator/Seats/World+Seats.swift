import AppStoreFormats

// Buying several seats of a subscription, adding seats within a period, and planning fewer seats
// for the next period.

extension World {
    /// Refuses an order of seats that no subscription could fulfil.
    func checkSeats(
        _ order: PurchaseOrder, of product: StoreKitProduct, in storefront: Storefront
    ) throws(SimulatorProblem) {
        guard let seats = order.seats else { return }
        guard (1...SeatPrices.seatsMax).contains(seats) else {
            throw .badRequest(
                "seats must not be \(seats).", remedy: "Order 1 to \(SeatPrices.seatsMax).")
        }
        let isSold =
            settings.rules.seats.sells(product.id) && !productsWithoutSeats.contains(product.id)
        guard seats == 1 || isSold else {
            throw SimulatorProblem(
                "multi_seat_purchase_disabled",
                "The product \(product.id) is not sold in several seats.",
                remedy: "Name it in `multi_seat` of POST /_sim/reset, or order one.")
        }
        guard seats == 1 || order.billingPlan == .billedUpfront else {
            throw .badRequest(
                "A commitment has one seat.", remedy: "Omit `billing_plan`, or order one seat.")
        }
        try checkCost(of: product, seats: seats, in: storefront)
    }

    /// Refuses seats whose total cost is above the limit.
    func checkCost(
        of product: StoreKitProduct, seats: Int64, in storefront: Storefront
    ) throws(SimulatorProblem) {
        let tiers = settings.rules.seats.tiers(
            of: product.id, seats: 1..<seats + 1, at: product.price, in: storefront.country)
        guard tiers.total <= SeatPrices.costMax else {
            throw .badRequest(
                "\(seats) seats of \(product.id) cost too much.",
                remedy: "Order fewer, or lower the prices.")
        }
    }

    /// Refuses a purchase after which the customer would have fewer seats. Customers plan fewer
    /// seats for the next period in Manage Subscriptions.
    func checkIsNoReduction(
        to seats: Int64, of chain: Subscription, at now: AppStoreDate
    ) throws(SimulatorProblem) {
        let present = chain.seats(at: now)
        guard seats >= present else {
            throw SimulatorProblem(
                "seat_reduction_not_allowed",
                "\(chain.account.name) has \(present) seats, which is more than \(seats).",
                remedy: "POST /_sim/subscriptions/\(chain.id)/change-seats plans fewer.")
        }
    }

    /// Prepares a chain for the first period of a subscription.
    mutating func beginSeats(of subscription: inout Subscription, _ order: PurchaseOrder) {
        let isNew = subscription.transactions.isEmpty || subscription.isOver
        subscription.plannedSeats = order.seats ?? (isNew ? 1 : subscription.plannedSeats)
        guard isNew else { return }
        // The app's present mode applies. Members of the earlier time have no seat any more.
        subscription.invitations = seatInvitations
        subscription.group = nil
        if sharings[subscription.id] != nil { sharings[subscription.id]?.seated = [] }
        openGroup(of: &subscription, seats: subscription.plannedSeats)
    }

    /// Gives a subscription a group, if it will have more than one seat and has no group.
    mutating func openGroup(of subscription: inout Subscription, seats: Int64) {
        guard seats > 1, subscription.group == nil else { return }
        subscription.group = SeatGroup(id: numbers.newID(), invitations: subscription.invitations)
    }

    /// The tiers of the period that begins now. Nil if the period has one seat.
    func chargedTiers(
        _ subscription: inout Subscription, _ product: StoreKitProduct, at price: Int64,
        isOffer: Bool, in storefront: Storefront
    ) -> [SeatTier]? {
        let count = subscription.plannedSeats
        guard count > 1 else { return nil }
        guard settings.rules.seats.sells(product.id) else {
            subscription.plannedSeats = 1
            return nil
        }
        return tiers(of: product.id, 1..<count + 1, at: price, isOffer: isOffer, in: storefront)
    }

    /// The tiers of a range of seats. An offer has one price for each seat, without tiers.
    private func tiers(
        of productID: String, _ seats: Range<Int64>, at price: Int64, isOffer: Bool,
        in storefront: Storefront
    ) -> [SeatTier] {
        isOffer
            ? [SeatTier(price: price, count: Int64(seats.count))]
            : settings.rules.seats.tiers(
                of: productID, seats: seats, at: price, in: storefront.country)
    }

    // MARK: - More seats

    /// Sells more seats of the period in force, up to a total. The new seats are charged at once,
    /// at the tiers that follow the present seats.
    mutating func addSeats(
        to total: Int64, of chain: Subscription, _ offers: ChosenOffers, token: String?,
        at now: AppStoreDate
    ) throws(SimulatorProblem) -> (StoreTransaction, [NotificationDraft]) {
        try checkIsNoReduction(to: total, of: chain, at: now)
        try checkMayAdd(to: total, chain, offers, at: now)
        var chain = chain
        let added = total - chain.seats(at: now)
        openGroup(of: &chain, seats: total)
        chain.plannedSeats += added
        let main = markParts(of: &chain)
        let part = addition(of: added, to: main, after: total - added, chain, token, at: now)
        let place = chain.transactions.firstIndex { $0.id == main.id } ?? 0
        // The first transaction of a period stays the latest, because the next period follows from
        // it.
        chain.transactions.insert(part, at: place)
        transactionIDs.add(part.id, of: chain.id)
        let notices = [
            draft(.didChangeRenewalPref, .increaseQuantity, of: chain, transaction: part, at: now)
        ]
        save(chain, at: now)
        return (part, notices)
    }

    private func checkMayAdd(
        to total: Int64, _ chain: Subscription, _ offers: ChosenOffers, at now: AppStoreDate
    ) throws(SimulatorProblem) {
        guard total > chain.seats(at: now) else {
            throw SimulatorProblem(
                "seats_unchanged", "\(chain.account.name) already has \(total) seats.",
                remedy: "Order more: `seats` is the total after the purchase.")
        }
        guard chain.phase == .active, !chain.paymentFails else {
            throw .wrongState(
                "The payment for \(chain.nextProduct.id) fails.",
                remedy: "POST /_sim/subscriptions/\(chain.id)/recover-billing first.")
        }
        guard chain.latest.purchased <= now, chain.commitment == nil, offers.first == nil else {
            throw .wrongState(
                "Seats cannot be added to a commitment, with an offer, or after the next period "
                    + "was charged.",
                remedy: "Order them without an offer when the next period has begun.")
        }
    }

    /// Marks the latest period as one of several transactions. Returns the period's first
    /// transaction.
    private func markParts(of chain: inout Subscription) -> StoreTransaction {
        let main = chain.transactions.count - 1
        if chain.latest.seats == nil {
            chain.transactions[main].seats = SeatsBought(
                period: chain.latest.id, invitations: chain.invitations,
                tiers: [SeatTier(price: chain.latest.price, count: 1)])
        }
        let latest = chain.latest
        for index in chain.transactions.indices
        where chain.transactions[index].isPart(ofPeriodOf: latest) {
            chain.transactions[index].seats?.isPart = true
        }
        return chain.latest
    }

    private mutating func addition(
        of count: Int64, to main: StoreTransaction, after present: Int64, _ chain: Subscription,
        _ token: String?, at now: AppStoreDate
    ) -> StoreTransaction {
        let price =
            main.offer?.price ?? chain.risenPrice(of: main.product.id, from: main.purchased)
            ?? main.product.price
        var tiers = tiers(
            of: main.product.id, present + 1..<present + count + 1, at: price,
            isOffer: main.offer != nil, in: main.storefront)
        if settings.has(.seatAdditionProrated) {
            let share = main.unusedPercentage(at: now)
            tiers = tiers.map {
                SeatTier(price: RefundPercentage.part(share, of: $0.price), count: $0.count)
            }
        }
        // Two payments at one moment get separate line items, because they do not differ in
        // anything else.
        let isFirstNow = !chain.transactions.contains {
            $0.isPart(ofPeriodOf: main) && $0.purchased == now
        }
        let isShared = settings.has(.seatAdditionSharesLineItem) && isFirstNow
        var part = StoreTransaction(
            id: numbers.newID(), origin: main.origin, product: main.boxedProduct,
            webOrderLineItemID: isShared ? main.webOrderLineItemID : numbers.newID(),
            purchased: now, expires: main.expires, quantity: count, reason: .purchase,
            price: tiers.total, offer: main.boxedOffer)
        if let token { part.appAccountToken = token }
        part.seats = SeatsBought(
            period: main.id, invitations: chain.invitations, tiers: tiers, isPart: true)
        return part
    }

    // MARK: - Fewer seats

    /// Plans the seats of the next period, as the purchaser does in Manage Subscriptions: fewer
    /// seats, or up to the present number again.
    mutating func changeSeats(
        _ id: String, to seats: Int64, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        var subscription = try running(id)
        let present = subscription.seats(at: now)
        guard subscription.group != nil else { throw .noGroup(id) }
        guard (1...max(1, present)).contains(seats) else {
            throw .badRequest(
                "\(seats) seats cannot be planned: there are \(present).",
                remedy: "Plan 1 to \(present); add seats with a purchase.")
        }
        guard seats != subscription.plannedSeats else {
            throw .wrongState(
                "The subscription will already renew with \(seats) seats.",
                remedy: "Plan another number.")
        }
        let isLess = seats < subscription.plannedSeats
        subscription.plannedSeats = seats
        let notices = [
            draft(
                .didChangeRenewalPref, isLess ? .decreaseQuantity : .increaseQuantity,
                of: subscription, at: now)
        ]
        save(subscription, at: now)
        return notices
    }
}

extension Subscription {
    /// The latest transaction. But if it was refunded while another part of its period is still
    /// paid, returns that part.
    var lastPaid: StoreTransaction? {
        guard let last = transactions.last else { return nil }
        guard last.revocation != nil, hasPart(besides: transactions.count - 1) else { return last }
        return transactions.last { $0.isPart(ofPeriodOf: last) && $0.seatsLeft > 0 } ?? last
    }

    /// Whether a transaction is part of the latest period, and every other part is refunded or
    /// replaced.
    func isLastPart(_ index: Int) -> Bool {
        transactions[index].isPart(ofPeriodOf: latest) && !hasPart(besides: index)
    }
}
