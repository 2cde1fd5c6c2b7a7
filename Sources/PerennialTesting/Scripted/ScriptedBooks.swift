internal import AccessRules
internal import Foundation
internal import Perennial
internal import PerennialContract

/// The state of a scripted App Store and server. Each event of the script changes the state, and
/// the snapshot is computed from the state.
struct ScriptedBooks: Sendable {
    let products: [Perennial.Product]
    private(set) var now: Timestamp
    private(set) var customer = Perennial.Customer(id: "anonymous-1", isAnonymous: true)
    var waiting: [Perennial.WaitingPurchase] = []
    var transactions: [StoreTransaction] = []
    /// What happens to each subscription at the end of its period, by original transaction id.
    var renewals: [String: Renewal] = [:]
    /// The groups whose purchaser is a customer of the script, by original transaction id.
    var groups: [String: ScriptedGroup] = [:]
    /// The seats in other people's groups, by customer.
    var memberships: [String: [ScriptedMembership]] = [:]
    /// The product of an invitation from another person, by the invitation's token.
    var invitationsOfOthers: [String: Perennial.ProductID] = [:]
    /// The granted entitlements, by customer.
    private(set) var grants: [String: [String: ServerEvidence.Right]] = [:]
    /// The balances of wallets, by customer.
    var wallets: [String: [Perennial.WalletID: Int]] = [:]
    /// The options of purchases that wait for approval.
    private var orders: [Perennial.ProductID: Perennial.PurchaseOptions] = [:]
    var spendings: Set<UUID> = []
    /// The attributes that the app has set, by customer.
    var attributes: [String: [Perennial.AttributeName: String]] = [:]
    private var customersMade = 1
    /// The number of ids made so far for invitations and claims.
    var idsMade = 0

    /// What happens to a subscription at the end of its period.
    struct Renewal: Sendable {
        /// Whether the subscription renews or, within a commitment, whether another commitment
        /// follows.
        var isOn = true
        var fails = false
        /// The plan by which the subscription is paid. Nil if each period is paid at once.
        var plan: Perennial.Plan?
        /// The product and plan that follow the period or the commitment. Nil if neither changes.
        var change: (product: Perennial.ProductID, plan: Perennial.Plan?)?
        /// The number of seats of the next period. Nil if the number stays the same.
        var seats: Int?
        var state = StoreStatus.State.subscribed
        var signedAt: Timestamp
    }

    init(products: [Perennial.Product], now: Timestamp) {
        self.products = products
        self.now = now
    }

    /// The products as the customer sees them. A customer gets only one introductory offer in a
    /// group.
    var offeredProducts: [Perennial.Product] {
        let used = Set(transactions.filter { $0.kind == .renewing }.map(group))
        return products.map { product in
            guard used.contains(group(product)) else { return product }
            var product = product
            for index in product.offers.indices where product.offers[index].kind == .introductory {
                product.offers[index].isEligible = false
            }
            for plan in product.plans.indices {
                for index in product.plans[plan].offers.indices
                where product.plans[plan].offers[index].kind == .introductory {
                    product.plans[plan].offers[index].isEligible = false
                }
            }
            return product
        }
    }

    func product(_ id: Perennial.ProductID) -> Perennial.Product? {
        products.first { $0.id == id }
    }

    var person: String? { customer.isAnonymous ? nil : customer.id }

    func isTheirs(_ transaction: StoreTransaction) -> Bool {
        transaction.firstSeenFor == nil || transaction.firstSeenFor == person
    }

    // MARK: - Buying

    /// Applies the outcome of a purchase. Returns the id of its transaction, or nil if no
    /// transaction was made.
    mutating func record(
        _ outcome: Perennial.Purchase.Outcome, _ product: Perennial.ProductID,
        _ options: Perennial.PurchaseOptions
    ) -> String? {
        switch outcome {
        case .bought: return deliver(product, options)
        case .pending:
            orders[product] = options
            waiting.append(
                Perennial.WaitingPurchase(product: product, reason: .approval, since: now.date))
        case .planChangeScheduled:
            let plan = plan(of: product, options)
            for id in running(besides: product) { renewals[id]?.change = (product, plan) }
        default: break
        }
        return nil
    }

    /// Adds a purchase. Returns the id of its transaction, or nil if the product is not for sale.
    ///
    /// - Parameter options: the options of the purchase. If nil, the options come from the order
    ///   that waited for approval.
    @discardableResult
    mutating func deliver(
        _ id: Perennial.ProductID, _ options: Perennial.PurchaseOptions? = nil
    ) -> String? {
        let order = orders.removeValue(forKey: id)
        let isOrdered = waiting.contains { $0.product == id }
        waiting.removeAll { $0.product == id }
        let options = options ?? (isOrdered ? order : nil) ?? .init()
        guard let product = product(id) else { return nil }
        if let seats = options.seats, let added = addSeats(for: seats, of: product) { return added }
        let offer = offer(of: product, options)
        let before = transactions.last { $0.kind == .renewing && group(of: $0) == group(product) }
        for index in transactions.indices
        where product.kind == .renewing && isRunning(transactions[index])
            && group(of: transactions[index]) == group(product)
        {
            transactions[index].isUpgraded = true
        }
        add(
            product, options.seats ?? options.quantity, offer, plan(of: id, options),
            hasSeats: options.seats != nil, original: before?.originalID)
        for (wallet, amount) in product.credits { credit(amount * options.quantity, to: wallet) }
        return transactions.last?.id
    }

    /// - Parameter plan: the plan that begins with this period or, with an offer, after the offer.
    private mutating func add(
        _ product: Perennial.Product, _ quantity: Int, _ offer: Perennial.Offer?,
        _ plan: Perennial.Plan?, after commitment: StoreTransaction.Commitment? = nil,
        hasSeats: Bool = false, original: String?
    ) {
        let id = "\(transactions.count + 1)"
        let isRenewing = product.kind == .renewing
        var details = offer.map(StoreTransaction.Details.init) ?? .init()
        var end: Timestamp?
        if let offer {
            end = Perennial.Period(offer.period.value * offer.periodCount, offer.period.unit)
                .moment(after: now)
        } else if let month = plan?.month(after: commitment, at: now) {
            details.commitment = month.commitment
            end = month.end
        } else {
            end = product.period.map { $0.moment(after: now) }
        }
        let transaction = StoreTransaction(
            id: id, originalID: original ?? id, productID: product.id.rawValue,
            kind: StoreTransaction.Kind(rawValue: product.kind.rawValue) ?? .nonConsumable,
            purchasedAt: now, expiresAt: isRenewing ? end : nil, quantity: quantity,
            seats: hasSeats && isRenewing ? .init(bought: quantity) : nil,
            offer: offer.map { $0.paymentMode == .freeTrial ? .trial : .other } ?? .none,
            signedAt: now, firstSeenFor: person, details: details)
        transactions.append(transaction)
        guard isRenewing else { return }
        renewals[transaction.originalID] = Renewal(plan: plan, signedAt: now)
    }

    /// Whether a product can be paid by a kind of plan.
    func has(_ plan: Perennial.Plan.Kind, _ product: Perennial.ProductID) -> Bool {
        self.product(product)?.plans.contains { $0.kind == plan } == true
    }

    /// The product's plan of the kind that the options request. Nil if the options request no plan,
    /// or if the product has no such plan.
    private func plan(
        of product: Perennial.ProductID, _ options: Perennial.PurchaseOptions
    ) -> Perennial.Plan? {
        guard let kind = options.plan?.kind else { return nil }
        return self.product(product)?.plans.first { $0.kind == kind }
    }

    /// The offer that the options request. If they request no offer, the introductory offer
    /// applies, unless the customer has had a product of the group.
    private func offer(
        of product: Perennial.Product, _ options: Perennial.PurchaseOptions
    ) -> Perennial.Offer? {
        if let offer = options.offer { return offer }
        let isNew = !transactions.contains { group(of: $0) == group(product) }
        let plan = plan(of: product.id, options)
        // As in StoreKit, the product's own offers belong to the plan that pays the whole period at
        // once.
        let offers = plan?.isCommitment == true ? plan?.offers : product.offers
        return isNew ? offers?.first { $0.kind == .introductory && $0.isEligible } : nil
    }

    func advice(on id: Perennial.ProductID) -> Perennial.Advice {
        let isHad = transactions.contains { transaction in
            transaction.productID == id.rawValue && isTheirs(transaction)
                && transaction.revokedAt == nil
                && (transaction.kind == .nonConsumable
                    || isRunning(transaction)
                        && statuses[transaction.originalID]?.willRenew == true)
        }
        return Perennial.Advice(product: id, buy: !isHad, reason: isHad ? .alreadyHad : nil)
    }

    // MARK: - Events of a purchase

    mutating func refund(_ id: Perennial.ProductID) {
        guard
            let index = transactions.lastIndex(where: {
                $0.productID == id.rawValue && $0.revokedAt == nil
            })
        else { return }
        transactions[index].revokedAt = now
        transactions[index].signedAt = now
        stopRenewing(ifNothingIsLeftOf: transactions[index])
        for (wallet, amount) in product(id)?.credits ?? [:] {
            credit(-amount * transactions[index].quantity, to: wallet)
        }
    }

    mutating func setRenewal(of id: Perennial.ProductID, _ isOn: Bool) {
        for original in originals(of: id) {
            renewals[original]?.isOn = isOn
            renewals[original]?.signedAt = now
        }
    }

    mutating func failRenewal(of id: Perennial.ProductID) {
        for original in originals(of: id) { renewals[original]?.fails = true }
    }

    mutating func grant(_ entitlement: String, until: Timestamp?) {
        grants[customer.id, default: [:]][entitlement] = ServerEvidence.Right(
            isActive: true, state: .granted, until: until)
    }

    mutating func revoke(_ entitlement: String) {
        grants[customer.id, default: [:]][entitlement] = ServerEvidence.Right(
            isActive: false, state: .revoked, until: now)
    }

    private func originals(of id: Perennial.ProductID) -> Set<String> {
        Set(transactions.filter { $0.productID == id.rawValue }.map(\.originalID))
    }

    /// The original transaction ids of active subscriptions to other products of the product's
    /// group.
    private func running(besides id: Perennial.ProductID) -> Set<String> {
        guard let product = product(id) else { return [] }
        return Set(
            transactions.filter {
                isRunning($0) && $0.productID != id.rawValue && group(of: $0) == group(product)
            }.map(\.originalID))
    }

    func isRunning(_ transaction: StoreTransaction) -> Bool {
        guard let end = transaction.expiresAt else { return false }
        return end > now && transaction.revokedAt == nil && !transaction.isUpgraded
    }

    private func group(_ product: Perennial.Product) -> String {
        product.group ?? product.id.rawValue
    }

    private func group(of transaction: StoreTransaction) -> String {
        product(.init(rawValue: transaction.productID)).map(group) ?? transaction.productID
    }

    // MARK: - Time

    /// - Parameter milliseconds: the time by which the clock moves.
    mutating func advance(by milliseconds: Int64) {
        let goal = Timestamp(milliseconds: now.milliseconds + milliseconds)
        while let due = nextEnd(before: goal) { renewOrLapse(due) }
        now = goal
    }

    /// The running period that ends first, at a given time or earlier. Nil if no period ends by
    /// then.
    private func nextEnd(before goal: Timestamp) -> StoreTransaction? {
        transactions.filter { isRunning($0) && ($0.expiresAt ?? goal) <= goal }
            .min { ($0.expiresAt ?? goal, $0.id) < ($1.expiresAt ?? goal, $1.id) }
    }

    private mutating func renewOrLapse(_ transaction: StoreTransaction) {
        guard let end = transaction.expiresAt, let renewal = renewals[transaction.originalID]
        else { return }
        now = end
        let promised = transaction.promisedMonth
        let same = (product: transaction.product, plan: renewal.plan)
        let next = promised == nil ? renewal.change ?? same : same
        let goesOn = promised != nil || renewal.isOn
        guard goesOn, !renewal.fails, let product = product(next.product) else {
            renewals[transaction.originalID]?.state = goesOn ? .retry : .expired
            renewals[transaction.originalID]?.signedAt = end
            return
        }
        let seats = seatsAtRenewal(after: transaction)
        add(
            product, seats ?? 1, nil, next.plan, after: promised, hasSeats: seats != nil,
            original: transaction.originalID)
        transactions[transactions.count - 1].firstSeenFor = transaction.firstSeenFor
        transactions[transactions.count - 1].details.ownership = transaction.details.ownership
        guard promised != nil else { return }
        renewals[transaction.originalID]?.isOn = renewal.isOn
        renewals[transaction.originalID]?.change = renewal.change
    }

    // MARK: - The customer

    /// Moves the purchases of the anonymous customer to the person.
    mutating func identify(_ id: String) {
        if customer.isAnonymous {
            for index in transactions.indices where transactions[index].firstSeenFor == nil {
                transactions[index].firstSeenFor = id
            }
            let had = wallets.removeValue(forKey: customer.id) ?? [:]
            wallets[id, default: [:]].merge(had) { $0 + $1 }
            let given = grants.removeValue(forKey: customer.id) ?? [:]
            grants[id, default: [:]].merge(given) { $1 }
            let described = attributes.removeValue(forKey: customer.id) ?? [:]
            attributes[id, default: [:]].merge(described) { own, _ in own }
        } else if customer.id != id {
            waiting = []
        }
        customer = Perennial.Customer(id: id)
    }

    mutating func signOut() {
        customersMade += 1
        waiting = []
        customer = Perennial.Customer(id: "anonymous-\(customersMade)", isAnonymous: true)
    }

    mutating func erase() {
        wallets[customer.id] = nil
        grants[customer.id] = nil
        attributes[customer.id] = nil
        signOut()
    }
}

extension StoreTransaction {
    var product: Perennial.ProductID { .init(rawValue: productID) }

    /// The commitment of this month, if a further month must be paid. Otherwise nil.
    var promisedMonth: Commitment? {
        details.commitment.flatMap { $0.month < $0.months ? $0 : nil }
    }
}

extension Perennial.Plan {
    /// The next month of the commitment, or its first month. Nil if the plan has no commitment.
    fileprivate func month(
        after last: StoreTransaction.Commitment?, at start: Timestamp
    ) -> (commitment: StoreTransaction.Commitment, end: Timestamp)? {
        guard isCommitment, let months = payments else { return nil }
        let month = (last?.month ?? 0) + 1
        let until = last?.until ?? totalPeriod.moment(after: start)
        return (
            StoreTransaction.Commitment(month: month, months: months, until: until),
            month == months ? until : billingPeriod.moment(after: start)
        )
    }
}

extension StoreTransaction.Details {
    /// The details of an offer, in Apple's words.
    fileprivate init(_ offer: Perennial.Offer) {
        let kinds: [Perennial.Offer.Kind] = [.introductory, .promotional, .code, .winBack]
        let unit = offer.period.unit.rawValue.prefix(1).uppercased()
        self.init(
            offerType: kinds.firstIndex(of: offer.kind).map { $0 + 1 }, offerID: offer.id,
            paymentMode: offer.paymentMode.rawValue.uppercased(),
            offerPeriod: "P\(offer.period.value * offer.periodCount)\(unit)")
    }
}

extension Perennial.Period {
    fileprivate func moment(after start: Timestamp) -> Timestamp {
        let length = length
        return WallClock.utc.moment(months: length.months, days: length.days, after: start)
    }

    var length: TermRules.Length {
        switch unit {
        case .year: .init(months: value * 12, days: bonusDays, chain: "")
        case .month: .init(months: value, days: bonusDays, chain: "")
        case .week: .init(months: 0, days: value * 7 + bonusDays, chain: "")
        default: .init(months: 0, days: value + bonusDays, chain: "")
        }
    }
}
