internal import AccessRules
internal import Foundation
internal import Perennial
internal import PerennialContract

/// What a scripted App Store and server know: a value that each event of the script changes, and
/// from which the picture follows.
struct ScriptedBooks: Sendable {
    let products: [Perennial.Product]
    private(set) var now: Timestamp
    private(set) var customer = Perennial.Customer(id: "anonymous-1", isAnonymous: true)
    var waiting: [Perennial.WaitingPurchase] = []
    private var transactions: [StoreTransaction] = []
    /// By original transaction id.
    private var renewals: [String: Renewal] = [:]
    private var grants: [String: ServerWord.Right] = [:]
    /// By customer.
    private var wallets: [String: [Perennial.WalletID: Int]] = [:]
    private var spendings: Set<UUID> = []
    private var customersMade = 1

    /// What happens to a subscription at the end of its period.
    private struct Renewal {
        var isOn = true
        var fails = false
        var renewsTo: Perennial.ProductID?
        var state = StoreStatus.State.subscribed
        var signedAt: Timestamp
    }

    init(products: [Perennial.Product], now: Timestamp) {
        self.products = products
        self.now = now
    }

    func product(_ id: Perennial.ProductID) -> Perennial.Product? {
        products.first { $0.id == id }
    }

    private var person: String? { customer.isAnonymous ? nil : customer.id }

    private func isTheirs(_ transaction: StoreTransaction) -> Bool {
        transaction.firstSeenFor == nil || transaction.firstSeenFor == person
    }

    // MARK: - Buying

    /// Does what a purchase came to. Returns the id of its transaction, if there is one.
    mutating func record(
        _ outcome: Perennial.Purchase.Outcome, _ product: Perennial.ProductID,
        _ options: Perennial.PurchaseOptions
    ) -> String? {
        switch outcome {
        case .bought: return deliver(product, options)
        case .pending:
            waiting.append(
                Perennial.WaitingPurchase(product: product, reason: .approval, since: now.date))
        case .planChangeScheduled:
            for id in running(besides: product) { renewals[id]?.renewsTo = product }
        default: break
        }
        return nil
    }

    /// Adds a purchase. Returns the id of its transaction; nil if the product is not for sale.
    @discardableResult
    mutating func deliver(
        _ id: Perennial.ProductID, _ options: Perennial.PurchaseOptions = .init()
    ) -> String? {
        waiting.removeAll { $0.product == id }
        guard let product = product(id) else { return nil }
        let offer = offer(of: product, options)
        let before = transactions.last { $0.kind == .renewing && group(of: $0) == group(product) }
        for index in transactions.indices
        where product.kind == .renewing && isRunning(transactions[index])
            && group(of: transactions[index]) == group(product)
        {
            transactions[index].isUpgraded = true
        }
        add(product, options.quantity, offer, original: before?.originalID)
        for (wallet, amount) in product.credits { credit(amount * options.quantity, to: wallet) }
        return transactions.last?.id
    }

    private mutating func add(
        _ product: Perennial.Product, _ quantity: Int, _ offer: Perennial.Offer?, original: String?
    ) {
        let id = "\(transactions.count + 1)"
        let period = offer.map {
            Perennial.Period($0.period.value * $0.periodCount, $0.period.unit)
        }
        let isRenewing = product.kind == .renewing
        let transaction = StoreTransaction(
            id: id, originalID: original ?? id, productID: product.id.rawValue,
            kind: StoreTransaction.Kind(rawValue: product.kind.rawValue) ?? .nonConsumable,
            purchasedAt: now,
            expiresAt: isRenewing ? (period ?? product.period).map { $0.moment(after: now) } : nil,
            quantity: quantity,
            offer: offer.map { $0.paymentMode == .freeTrial ? .trial : .other } ?? .none,
            signedAt: now, firstSeenFor: person,
            details: offer.map(StoreTransaction.Details.init) ?? .init())
        transactions.append(transaction)
        if isRenewing { renewals[transaction.originalID] = Renewal(signedAt: now) }
    }

    /// The offer that was asked for; else the introductory one, for whoever had nothing of the
    /// group.
    private func offer(
        of product: Perennial.Product, _ options: Perennial.PurchaseOptions
    ) -> Perennial.Offer? {
        if let offer = options.offer { return offer }
        let isNew = !transactions.contains { group(of: $0) == group(product) }
        return isNew
            ? product.offers.first { $0.kind == .introductory && $0.isEligible } : nil
    }

    func advice(on id: Perennial.ProductID) -> Perennial.Advice {
        let isHad = transactions.contains { transaction in
            transaction.productID == id.rawValue && isTheirs(transaction)
                && transaction.revokedAt == nil
                && (transaction.kind == .nonConsumable
                    || isRunning(transaction) && renewals[transaction.originalID]?.isOn == true)
        }
        return Perennial.Advice(product: id, buy: !isHad, reason: isHad ? .alreadyHad : nil)
    }

    // MARK: - What happens to it

    mutating func refund(_ id: Perennial.ProductID) {
        guard
            let index = transactions.lastIndex(where: {
                $0.productID == id.rawValue && $0.revokedAt == nil
            })
        else { return }
        transactions[index].revokedAt = now
        transactions[index].signedAt = now
        renewals[transactions[index].originalID]?.isOn = false
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
        grants[entitlement] = ServerWord.Right(isActive: true, state: .granted, until: until)
    }

    mutating func revoke(_ entitlement: String) {
        grants[entitlement] = ServerWord.Right(isActive: false, state: .revoked, until: now)
    }

    private func originals(of id: Perennial.ProductID) -> Set<String> {
        Set(transactions.filter { $0.productID == id.rawValue }.map(\.originalID))
    }

    /// Running subscriptions of the product's group, of other products.
    private func running(besides id: Perennial.ProductID) -> Set<String> {
        guard let product = product(id) else { return [] }
        return Set(
            transactions.filter {
                isRunning($0) && $0.productID != id.rawValue && group(of: $0) == group(product)
            }.map(\.originalID))
    }

    private func isRunning(_ transaction: StoreTransaction) -> Bool {
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

    /// - Parameter milliseconds: how far the clock moves.
    mutating func advance(by milliseconds: Int64) {
        let goal = Timestamp(milliseconds: now.milliseconds + milliseconds)
        while let due = nextEnd(before: goal) { renewOrLapse(due) }
        now = goal
    }

    /// The running period that ends first.
    private func nextEnd(before goal: Timestamp) -> StoreTransaction? {
        transactions.filter { isRunning($0) && ($0.expiresAt ?? goal) <= goal }
            .min { ($0.expiresAt ?? goal, $0.id) < ($1.expiresAt ?? goal, $1.id) }
    }

    private mutating func renewOrLapse(_ transaction: StoreTransaction) {
        guard let end = transaction.expiresAt, let renewal = renewals[transaction.originalID]
        else { return }
        now = end
        let next = renewal.renewsTo ?? .init(rawValue: transaction.productID)
        if renewal.isOn, !renewal.fails, let product = product(next) {
            let owner = transaction.firstSeenFor
            add(product, 1, nil, original: transaction.originalID)
            transactions[transactions.count - 1].firstSeenFor = owner
        } else {
            renewals[transaction.originalID]?.state = renewal.isOn ? .retry : .expired
            renewals[transaction.originalID]?.signedAt = end
        }
    }

    // MARK: - Who it is

    /// What an anonymous customer had becomes the person's.
    mutating func identify(_ id: String) {
        if customer.isAnonymous {
            for index in transactions.indices where transactions[index].firstSeenFor == nil {
                transactions[index].firstSeenFor = id
            }
            let had = wallets.removeValue(forKey: customer.id) ?? [:]
            wallets[id, default: [:]].merge(had) { $0 + $1 }
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
        grants = [:]
        signOut()
    }

    // MARK: - Wallets

    mutating func credit(_ amount: Int, to wallet: Perennial.WalletID) {
        wallets[customer.id, default: [:]][wallet, default: 0] += amount
    }

    /// False if there is too little. Once for each key.
    mutating func spend(_ amount: Int, from id: Perennial.WalletID, key: UUID) -> Bool {
        if spendings.contains(key) { return true }
        guard amount >= 0, wallet(id).balance >= amount else { return false }
        spendings.insert(key)
        credit(-amount, to: id)
        return true
    }

    func wallet(_ id: Perennial.WalletID) -> Perennial.Wallet {
        Perennial.Wallet(balance: wallets[customer.id]?[id] ?? 0)
    }
}

// MARK: - The picture

extension ScriptedBooks {
    private var evidence: Evidence {
        Evidence(
            person: person,
            // So that everything is known, also what was never bought.
            server: ServerWord(
                asOf: now, isLive: true, offlineUntil: nil, rights: grants, verdicts: [:]),
            store: StoreWord(
                transactions: Dictionary(uniqueKeysWithValues: transactions.map { ($0.id, $0) }),
                statuses: statuses, answeredAt: now, isTrusted: true),
            meanings: Dictionary(
                products.map {
                    (
                        $0.id.rawValue,
                        ProductMeaning(entitlements: Set($0.entitlements.map(\.rawValue)))
                    )
                }, uniquingKeysWith: { first, _ in first }),
            termEnds: terms.ends(of: transactions), serverAnsweredAt: now, now: now,
            holds: Evidence.Holds(answered: 0, silent: 0))
    }

    private var statuses: [String: StoreStatus] {
        renewals.reduce(into: [:]) { statuses, entry in
            statuses[entry.key] = StoreStatus(
                originalID: entry.key, state: entry.value.state, willRenew: entry.value.isOn,
                signedAt: entry.value.signedAt, isConfirmed: true)
        }
    }

    /// Terms follow each other, all in one chain.
    private var terms: TermRules {
        let lengths = products.filter { $0.kind == .term }.compactMap { product in
            product.period.map { (product.id.rawValue, $0.length) }
        }
        return TermRules(products: Dictionary(lengths) { first, _ in first }, clock: .utc)
    }

    /// What an app sees that has heard of everything.
    func snapshot() -> Perennial.Snapshot {
        let judgements = AccessRules.judgeAll(evidence)
        var access: [Perennial.EntitlementID: Perennial.Access] = [:]
        for (name, judgement) in judgements {
            let id = Perennial.EntitlementID(rawValue: name)
            access[id] = Perennial.Access(judgement, of: id)
        }
        let own = transactions.filter(isTheirs)
        return Perennial.Snapshot(
            customer: customer, access: access, subscriptions: subscriptions(own),
            terms: terms.terms(of: own).map {
                Perennial.Term(
                    product: .init(rawValue: $0.productID), from: $0.from.date,
                    until: $0.until.date)
            },
            owned: own.filter { $0.kind == .nonConsumable }.map {
                Perennial.OwnedProduct(
                    product: .init(rawValue: $0.productID), purchased: $0.purchasedAt.date,
                    revoked: $0.revokedAt?.date)
            },
            wallets: (wallets[customer.id] ?? [:]).mapValues { Perennial.Wallet(balance: $0) },
            waiting: waiting, serverAnswered: now.date, storeAnswered: now.date)
    }

    private func subscriptions(_ own: [StoreTransaction]) -> [Perennial.Subscription] {
        let newest = Dictionary(
            own.filter { $0.kind == .renewing }.map { ($0.originalID, $0) },
            uniquingKeysWith: { $1 })
        return newest.values.sorted { ($0.purchasedAt, $0.id) < ($1.purchasedAt, $1.id) }.map {
            var subscription = Perennial.Subscription($0, statuses[$0.originalID])
            subscription.renewsTo = renewals[$0.originalID]?.renewsTo
            return subscription
        }
    }

    func explain(
        _ entitlement: Perennial.EntitlementID, _ heard: Perennial.Snapshot
    ) -> Perennial.Explanation {
        let judgement = AccessRules.judge(entitlement.rawValue, by: evidence)
        return Perennial.Explanation(
            access: heard[entitlement], rule: judgement.rule,
            steps: judgement.steps.map {
                Perennial.Explanation.Step(
                    rule: $0.rule, basis: .store, purchase: $0.originalTransactionID, text: $0.text)
            },
            supportCode: "SCRIPT")
    }

    // MARK: - Restoring what is there

    var ownRestoration: Perennial.Restoration.Outcome {
        let bought = transactions.filter { $0.kind != .consumable }
        if bought.isEmpty { return .nothingFound }
        return bought.contains(where: isTheirs) ? .nothingNew : .refused
    }

    var ownPreview: Perennial.RestorePreview {
        Perennial.RestorePreview(
            items: transactions.filter { $0.kind != .consumable && $0.id == $0.originalID }.map {
                Perennial.RestorePreview.ShownPurchase(
                    purchase: $0.originalID, product: .init(rawValue: $0.productID),
                    isActive: $0.revokedAt == nil, effect: isTheirs($0) ? .none : .refused)
            })
    }
}

extension StoreTransaction.Details {
    /// An offer in Apple's words.
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

    fileprivate var length: TermRules.Length {
        switch unit {
        case .year: .init(months: value * 12, days: bonusDays, chain: "")
        case .month: .init(months: value, days: bonusDays, chain: "")
        case .week: .init(months: 0, days: value * 7 + bonusDays, chain: "")
        default: .init(months: 0, days: value + bonusDays, chain: "")
        }
    }
}
