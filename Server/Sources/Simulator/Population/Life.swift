import AppStoreFormats

/// One random customer, who decides by the world's state and a random generator, one act after
/// another. Each life has a separate generator, so other lives never change what it draws.
struct Life: Sendable {
    /// Maximum number of acts in one life. After these, the customer does nothing more.
    static let actsMax = 400

    /// What the customer does at a moment.
    enum Intent: Sendable {
        /// Gets a device and buys for the first time.
        case arrive
        /// Checks the subscription again.
        case look
        case act(SubscriptionAct)
        case refundPastPeriod
        case reverseRefund
        case changeProduct(isRepeated: Bool)
        case buyAgain
        case buyOnce
        case refundOnce
        case redeemOffer
        case externalToken
        case rescindConsent
        case resolvePending(pending: String, PendingVerb)
        case leaveFamily
        case stopSharing
        case massExtend
        case testNotification
        /// Moves to another country.
        case move
        case group(GroupWhim)
    }

    struct Plan: Sendable {
        let intent: Intent
        let at: AppStoreDate
    }

    let key: Account.Key
    /// The family that the customer belongs to. Nil for none.
    let household: String?
    /// The accounts that the customer invites to a group.
    let neighbours: [String]
    var dice: Dice
    private(set) var device = ""
    private(set) var actsLeft = Self.actsMax
    /// The number of acts that the world refused.
    private(set) var refusals = 0
    /// What the customer does after the next act, at the same instant or later.
    private var following: [Intent] = []

    init(
        name: String, environment: SimulatedEnvironment, household: String?,
        neighbours: [String] = [], seed: UInt64
    ) {
        key = Account.Key(name: name, environment: environment)
        self.household = household
        self.neighbours = neighbours
        dice = Dice(seed: seed)
    }

    /// Performs a planned act. A refusal is not an error: near boundaries many acts come too late.
    mutating func perform(
        _ intent: Intent, in world: inout World, at now: AppStoreDate
    ) -> [NotificationDraft] {
        actsLeft -= 1
        do throws(SimulatorProblem) { return try notices(of: intent, in: &world, at: now) } catch {
            refusals += 1
            return []
        }
    }

    private mutating func notices(
        of intent: Intent, in world: inout World, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        switch intent {
        case .look: return []
        case .arrive: return try arrive(in: &world, at: now)
        case .act(let act): return try world.apply(act, to: chain(in: world), at: now)
        case .refundPastPeriod: return try refundPastPeriod(in: &world, at: now)
        case .reverseRefund:
            return try world.apply(.reverseRefund(), to: chain(in: world), at: now)
        case .changeProduct(let isRepeated):
            if isRepeated { following.append(.changeProduct(isRepeated: false)) }
            return try changeProduct(in: &world, at: now)
        case .buyAgain: return try buySubscription(in: &world, at: now)
        case .buyOnce: return try buyOnce(in: &world, at: now)
        case .refundOnce: return try refundOnce(in: &world, at: now)
        case .redeemOffer: return try redeemOffer(in: &world, at: now)
        case .externalToken:
            return [world.externalPurchaseToken(.init(), in: key.environment, at: now)]
        case .rescindConsent:
            return [try world.rescindConsent(of: key.name, in: key.environment, at: now)]
        case .resolvePending(let id, let verb):
            return try world.resolve(pending: id, verb, at: now).1
        case .leaveFamily: try leaveFamily(in: &world)
        case .stopSharing: try stopSharing(in: &world)
        case .massExtend: try massExtend(in: &world, at: now)
        case .testNotification: return [world.testNotification(in: key.environment, at: now)]
        case .move: world.move(key, to: dice.pick(Storefront.all) ?? .unitedStates)
        case .group(let whim): return try groupNotices(of: whim, in: &world, at: now)
        }
        return []
    }

    /// Removes and returns the next intent that was planned to follow, if any.
    mutating func dequeueFollowing() -> Intent? {
        following.isEmpty ? nil : following.removeFirst()
    }

    mutating func follow(with intent: Intent) { following.append(intent) }
}

// MARK: - Buying

extension Life {
    /// Probabilities that are guesses, because no figure is published.
    private enum Odds {
        static let secondDevice = 0.1
        static let token = 0.5
        static let nothingButOneTime = 0.1
        static let withoutOffer = 0.1
        static let withCode = 0.1
        static let monthlyPlan = 0.6
        static let askToBuy = 0.02
        static let approval = 0.6
        static let familyProduct = 0.5
    }

    private mutating func arrive(
        in world: inout World, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        let storefront = dice.pick(Storefront.all) ?? .unitedStates
        let token = dice.happens(Odds.token) ? dice.uuid() : nil
        for _ in 0..<(dice.happens(Odds.secondDevice) ? 2 : 1) {
            device = try world.addDevice(
                account: key.name, environment: key.environment, storefront: storefront,
                appAccountToken: token, family: household, at: now
            ).id
        }
        if let notices = try arriveInOrganization(in: &world, at: now) { return notices }
        if dice.happens(Odds.nothingButOneTime) { return try buyOnce(in: &world, at: now) }
        return try buySubscription(in: &world, at: now)
    }

    private mutating func buySubscription(
        in world: inout World, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        var products = world.settings.shop.groups.flatMap(\.subscriptions)
        let shareable = products.filter(\.isFamilyShareable)
        if household != nil, !shareable.isEmpty, dice.happens(Odds.familyProduct) {
            products = shareable
        }
        guard let product = dice.pick(products), let terms = product.subscription else {
            return try buyOnce(in: &world, at: now)
        }
        var offer: String?
        if dice.happens(Odds.withoutOffer) {
            offer = PurchaseOrder.noOffer
        } else if dice.happens(Odds.withCode) {
            let isReturning = world.accounts[key]?.chains.isEmpty == false
            let offers = terms.codeOffers + (isReturning ? terms.winBackOffers : [])
            offer = dice.pick(offers)?.id
        }
        var order = PurchaseOrder(product.id, offerID: offer)
        if terms.monthlyPlan != nil, dice.happens(Odds.monthlyPlan) { order.billingPlan = .monthly }
        order.seats = seatsWanted(of: order, in: world)
        return try place(order, in: &world, at: now)
    }

    /// Buys, or asks a parent who decides later.
    private mutating func place(
        _ order: PurchaseOrder, in world: inout World, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        var order = order
        if dice.happens(Odds.askToBuy) { order.choice = .ask }
        let (sale, notices) = try world.place(order, on: device, at: now)
        if case .pending(let pending) = sale {
            let verb: PendingVerb = dice.happens(Odds.approval) ? .approve : .decline
            following.append(.resolvePending(pending: pending.id, verb))
        }
        return notices
    }

    private mutating func buyOnce(
        in world: inout World, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        guard let product = dice.pick(world.settings.shop.oneTimeProducts) else { return [] }
        let quantity = product.type == .consumable ? Int64(dice.number(in: 1...3)) : 1
        return try place(PurchaseOrder(product.id, quantity: quantity), in: &world, at: now)
    }

    /// Refunds the last one-time purchase, or reverses its refund.
    private mutating func refundOnce(
        in world: inout World, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        guard let id = world.accounts[key]?.oneTimePurchases.last else { return [] }
        let act: TransactionAct =
            world.oneTimePurchases[id]?.revocation == nil ? .refund() : .reverseRefund
        return try world.apply(act, toTransaction: id, at: now)
    }

    private mutating func redeemOffer(
        in world: inout World, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        let present = try world.subscription(chain(in: world))
        let products = world.settings.shop.groups.first { $0.id == present.groupID }
        guard let product = dice.pick(products?.subscriptions ?? []),
            let terms = product.subscription,
            let offer = dice.pick(terms.promotionalOffers + terms.codeOffers)?.id
        else { return [] }
        let order = PurchaseOrder(product.id, offerID: offer)
        return try world.purchase(order, on: device, at: now).notices
    }
}

// MARK: - Subscribed

extension Life {
    /// The subscription that the customer acts on.
    func chain(in world: World) throws(SimulatorProblem) -> String {
        // Ids increase, so the greatest is that of the most recently bought subscription.
        guard let id = world.accounts[key]?.chains.values.max() else {
            throw .unknownSubscription(key.name)
        }
        return id
    }

    private mutating func changeProduct(
        in world: inout World, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        let present = try world.subscription(chain(in: world))
        let group = world.settings.shop.groups.first { $0.id == present.groupID }
        guard let product = dice.pick(group?.subscriptions ?? []) else { return [] }
        return try world.apply(.changeProduct(product.id), to: present.id, at: now)
    }

    private mutating func refundPastPeriod(
        in world: inout World, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        let present = try world.subscription(chain(in: world))
        let past = present.transactions.dropLast().filter {
            $0.revocation == nil && !$0.isUpgraded && $0.price > 0
        }
        guard let transaction = dice.pick(Array(past)) else { return [] }
        return try world.apply(.refund(of: transaction.id), to: present.id, at: now)
    }
}

// MARK: - Families and the developer

extension Life {
    private func leaveFamily(in world: inout World) throws(SimulatorProblem) {
        guard let family = world.accounts[key]?.family else { return }
        try world.leave(family.name, key)
    }

    private func stopSharing(in world: inout World) throws(SimulatorProblem) {
        guard let shared = world.accounts[key]?.sharedChains.last else {
            return try world.stopSharing(chain(in: world))
        }
        try world.stopSharing(shared)
    }

    private mutating func massExtend(
        in world: inout World, at now: AppStoreDate
    ) throws(SimulatorProblem) {
        let product = try world.subscription(chain(in: world)).latest.product.id
        let order = ExtensionOrder(
            days: dice.number(in: ExtensionOrder.daysRange), reason: 3, requestID: dice.uuid())
        try world.massExtend(
            MassExtension(order, productID: product, environment: key.environment), at: now)
    }
}
