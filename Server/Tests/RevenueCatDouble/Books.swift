import AppStoreFormats

/// Everything that the double knows, without the transport: documents, customers, planted faults.
struct Books: Sendable {
    /// Maximum number of customers.
    static let customersMax = 100_000
    /// Maximum number of notifications of one purchase.
    static let noticesMax = 5_000

    let project: RevenueCatDouble.Project
    var now: AppStoreDate
    /// In the order of creation, which is the order of lists.
    private(set) var customers: [KnownCustomer] = []
    private var places: [String: Int] = [:]
    private var facts: [String: [AppleFacts]] = [:]
    private var owners: [String: Int] = [:]
    private(set) var planted: [PlantedFault] = []
    private var faults: [Int: [PlantedFault]] = [:]

    init(_ project: RevenueCatDouble.Project, now: AppStoreDate) {
        self.project = project
        self.now = now
    }

    // MARK: - What becomes known

    /// Adds a notification. A purchase without a known owner belongs to the customer whose id is
    /// its app account token. Without a token, it belongs to nobody until a log-in.
    mutating func receive(_ notice: AppleFacts) {
        let purchase = notice.transaction.originalID
        guard facts[purchase, default: []].count < Self.noticesMax else { return }
        facts[purchase, default: []].append(notice)
        if owners[purchase] == nil, let token = notice.transaction.appAccountToken {
            logIn(token, purchase: purchase)
        }
        if let place = owners[purchase] { customers[place].lastSeen = now }
    }

    /// Makes a customer the owner of a purchase. Idempotent.
    mutating func logIn(_ id: String, purchase: String) {
        guard let place = ensureCustomer(id) else { return }
        if let old = owners[purchase] {
            guard old != place else { return }
            customers[old].purchases.removeAll { $0 == purchase }
        }
        owners[purchase] = place
        customers[place].purchases.append(purchase)
    }

    /// Returns the place of a customer, who is created if unknown. Nil if there are too many.
    @discardableResult mutating func ensureCustomer(_ id: String) -> Int? {
        if let place = places[id] { return place }
        guard customers.count < Self.customersMax else { return nil }
        customers.append(KnownCustomer(id: id, at: now))
        places[id] = customers.count - 1
        return customers.count - 1
    }

    /// Adds an id to a customer. If both exist, the second customer is merged into the first.
    mutating func alias(_ id: String, to first: String) {
        guard let place = ensureCustomer(first) else { return }
        guard let other = places[id] else {
            customers[place].aliases.append((id, now))
            places[id] = place
            return
        }
        guard other != place else { return }
        for alias in customers[other].aliases { places[alias.id] = place }
        for purchase in customers[other].purchases { owners[purchase] = place }
        customers[place].aliases += customers[other].aliases
        customers[place].purchases += customers[other].purchases
        customers[place].grants += customers[other].grants
        customers[place].balances.merge(customers[other].balances, uniquingKeysWith: +)
        customers[other].purchases = []
        customers[other].isMerged = true
    }

    mutating func grant(_ grant: PromotionalGrant, to id: String) {
        guard let place = ensureCustomer(id) else { return }
        customers[place].grants.append(grant)
    }

    mutating func setBalance(_ amount: Int64, of code: String, for id: String) {
        guard let place = ensureCustomer(id) else { return }
        customers[place].balances[code] = amount
    }

    // MARK: - Opinions

    /// The place of the customer with an id. Nil if the id is unknown.
    func place(of id: String) -> Int? {
        guard let place = places[id], !isLost(id, at: place) else { return nil }
        return place
    }

    private func isLost(_ id: String, at place: Int) -> Bool {
        (faults[place] ?? []).contains { $0.kind == .lostAlias && $0.alias == id }
    }

    /// The ids of a customer, without lost ones.
    func aliases(at place: Int) -> [(id: String, added: AppStoreDate)] {
        customers[place].aliases.filter { !isLost($0.id, at: place) }
    }

    func opinion(at place: Int) -> Opinion {
        opinion(at: place, under: faults[place] ?? [])
    }

    func opinion(at place: Int, under faults: [PlantedFault]) -> Opinion {
        let customer = customers[place]
        let lines = customer.purchases.compactMap { purchase in
            line(purchase, under: faults.filter { $0.purchase == purchase })
        }
        let wrong = faults.compactMap(\.grant)
        return Opinion(
            project: project, now: now, lines: lines, grants: customer.grants + wrong)
    }

    private func line(_ purchase: String, under faults: [PlantedFault]) -> PurchaseLine? {
        let kinds = Set(faults.map(\.kind))
        let known = (facts[purchase] ?? []).filter { notice in
            !faults.contains { $0.holds(notice, at: now) }
        }
        let replacement = faults.first { $0.kind == .wrongProduct }
        return PurchaseLine(known, skipsGrace: kinds.contains(.graceIgnored)) { transaction in
            if kinds.contains(.refundIgnored), transaction.isRefund { transaction.revoked = nil }
            if kinds.contains(.familyMistaken) { transaction.isFamilyShared = false }
            if kinds.contains(.sandboxMistaken) { transaction.isSandbox = false }
            if let replacement, let shown = replacement.product {
                transaction.productID = shown
            }
        }
    }

    /// The notifications of a purchase in the order in which they were signed.
    func notices(of purchase: String) -> [AppleFacts] {
        (facts[purchase] ?? []).sorted { $0.signed < $1.signed }
    }

    // MARK: - Faults

    func hasFault(at place: Int) -> Bool { faults[place] != nil }

    mutating func plant(_ fault: PlantedFault, at place: Int) {
        planted.append(fault)
        faults[place, default: []].append(fault)
    }
}
