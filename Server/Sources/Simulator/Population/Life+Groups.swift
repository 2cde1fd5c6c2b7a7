import AppStoreFormats

// What customers do with subscriptions of several seats. In a shop that sells no seats, nothing is
// drawn here, so lives are the same as without seats.

extension Life {
    /// An act about seats.
    enum GroupWhim: Hashable, Sendable, CaseIterable {
        case addSeats
        /// Plans another number of seats for the next period.
        case planSeats
        case refundSeats
        /// A neighbour joins by Apple's invitation.
        case invite
        /// A member leaves, or is removed.
        case remove
        /// The organization takes the customer's own seat back.
        case loseSeat
    }

    /// Probabilities that are guesses, because no figure is published.
    private enum GroupOdds {
        static let group = 0.5
        static let assignee = 0.05
        static let seatIsTakenBack = 0.7
    }

    private static let seatsOrdered = 2...8
    private static let seatsAdded = 1...4
    /// The account of the organization that assigns seats.
    private static let organization = "acme"
    /// The number of seats that the organization buys.
    private static let organizationSeats: Int64 = 1000

    /// The number of seats that a customer orders. Nil for an ordinary subscription.
    mutating func seatsWanted(of order: PurchaseOrder, in world: World) -> Int64? {
        guard world.settings.rules.seats.sells(order.productID),
            order.billingPlan == .billedUpfront, dice.happens(GroupOdds.group)
        else { return nil }
        return Int64(dice.number(in: Self.seatsOrdered))
    }

    /// Some customers get a seat from their organization instead of buying. Returns nil for all
    /// others.
    mutating func arriveInOrganization(
        in world: inout World, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft]? {
        let products = world.settings.rules.seats.productIDs
        guard !products.isEmpty, dice.happens(GroupOdds.assignee),
            let product = dice.pick(products)
        else { return nil }
        return try world.assignSeat(
            of: Self.organization, product, to: key.name, in: key.environment,
            seats: Self.organizationSeats, at: now)
    }

    // MARK: - Plans

    /// What a subscriber does next about seats. Returns nil if the subscriber does nothing.
    mutating func groupWhim(_ subscription: Subscription, in world: World) -> GroupWhim? {
        guard world.settings.rules.seats.sells(subscription.latest.product.id) else { return nil }
        let isGroup = subscription.group != nil
        return dice.pick(weighted: isGroup ? LifeWeights.groupWhims : LifeWeights.singleWhims)
    }

    /// The plan to take the seat of the organization from the customer. Returns nil if the customer
    /// keeps it.
    mutating func planAssigned(in world: World, at now: AppStoreDate) -> Plan? {
        guard organizationChain(in: world) != nil, dice.happens(GroupOdds.seatIsTakenBack) else {
            return nil
        }
        let last = AppStoreDate(milliseconds: now.milliseconds + 90 * EdgeMoments.day)
        return Plan(intent: .group(.loseSeat), at: dice.moment(from: now, until: last))
    }

    /// The organization's subscription in which the customer has a seat now.
    private func organizationChain(in world: World) -> Subscription? {
        let sources = world.accounts[key]?.sharedChains.compactMap {
            world.subscriptions[$0]?.sharedBy
        }
        return (sources ?? []).lazy.filter { world.sharings[$0]?.seated.contains(key) == true }
            .compactMap { world.subscriptions[$0] }.first { $0.group?.isOrganization == true }
    }

    // MARK: - Acts

    mutating func groupNotices(
        of whim: GroupWhim, in world: inout World, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        guard whim != .loseSeat else {
            guard let id = organizationChain(in: world)?.id else { return [] }
            return try world.leaveGroup(id, key.name)
        }
        let chain = try world.subscription(chain(in: world))
        let present = Int(chain.seats(at: now))
        switch whim {
        case .addSeats:
            let order = PurchaseOrder(
                chain.latest.product.id, offerID: PurchaseOrder.noOffer,
                seats: Int64(present + dice.number(in: Self.seatsAdded)))
            return try world.purchase(order, on: device, at: now).notices
        case .planSeats:
            let seats = Int64(dice.number(in: 1...max(1, present)))
            return try world.apply(.changeSeats(seats), to: chain.id, at: now)
        case .refundSeats:
            let seats = Int64(dice.number(in: 1...max(1, present)))
            return try world.apply(.refundSeats(seats), to: chain.id, at: now)
        case .invite:
            guard let name = dice.pick(neighbours) else { return [] }
            return try world.apply(.joinGroup(name), to: chain.id, at: now)
        case .remove:
            let seated = world.sharings[chain.id]?.seated ?? []
            guard let name = dice.pick(seated)?.name else { return [] }
            return try world.apply(.leaveGroup(name), to: chain.id, at: now)
        case .loseSeat: return []
        }
    }
}
