import AppStoreFormats

// Members whom Apple lets into a group, and people to whom an organization assigns seats. Each of
// them has a separate chain, which follows the purchaser's chain as in a family.

extension World {
    /// The number of people besides the purchaser who can have a seat now.
    func memberSeats(of chain: Subscription, at now: AppStoreDate) -> Int64 {
        // An organization uses no seat.
        chain.seats(at: now) - (chain.group?.isOrganization == true ? 0 : 1)
    }

    /// An account accepts the purchaser's invitation by Apple's link.
    mutating func joinGroup(
        _ id: String, _ name: String, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        let chain = try running(id)
        guard let group = chain.group else { throw .noGroup(id) }
        guard group.invitations == .apple || group.isOrganization else {
            throw .wrongState(
                "The app invites the members of \(id) itself.",
                remedy: "Its server claims seats: POST …/groups/v1/transactions/\(id)/seats.")
        }
        let member = Account.Key(name: name, environment: chain.account.environment)
        guard accounts[member] != nil else { throw .unknownAccount(name) }
        let seated = sharings[id]?.seated ?? []
        guard member != chain.account, !seated.contains(member) else {
            throw .wrongState("\(name) already has a seat.", remedy: "Name another account.")
        }
        guard chain.transactions.contains(where: { $0.covers(now) }) else {
            throw .wrongState(
                "The payment for \(id) is being retried.",
                remedy: "POST /_sim/subscriptions/\(id)/recover-billing first.")
        }
        guard seated.count < memberSeats(of: chain, at: now) else {
            throw SimulatorProblem(
                "seats_taken", "All \(chain.seats(at: now)) seats of \(id) are taken.",
                remedy: "Add seats with a purchase, or let a member leave.")
        }
        sharings[id, default: Sharing()].seated.append(member)
        scheduleSharing(id)
        return []
    }

    /// A member leaves a group, or the purchaser removes them.
    mutating func leaveGroup(
        _ id: String, _ name: String
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        let chain = try subscription(id)
        let member = Account.Key(name: name, environment: chain.account.environment)
        guard sharings[id]?.seated.contains(member) == true else {
            throw .wrongState(
                "\(name) has no seat of \(id).",
                remedy: "GET /_sim/truth/\(chain.account.name) lists the members.")
        }
        sharings[id]?.seated.removeAll { $0 == member }
        scheduleSharing(id)
        return []
    }

    // MARK: - Organizations

    /// The number of seats that an organization buys when it assigns its first seat, unless the
    /// request names a number.
    static let organizationSeats: Int64 = 100

    /// An organization assigns a seat. Apps do not get the organization's transaction, only the
    /// assignee's.
    mutating func assignSeat(
        of organization: String, _ productID: String, to name: String,
        in environment: SimulatedEnvironment, seats: Int64?, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        let key = Account.Key(name: organization, environment: environment)
        let product = try product(productID)
        guard let terms = product.subscription else {
            throw .badRequest(
                "The product \(productID) is no subscription.",
                remedy: "Organizations assign seats of auto-renewable subscriptions.")
        }
        guard accounts[Account.Key(name: name, environment: environment)] != nil else {
            throw .unknownAccount(name)
        }
        let bought = accounts[key]?.chains[terms.groupID].flatMap { subscriptions[$0] }
        if let bought, !bought.isOver {
            return try joinGroup(bought.id, name, at: now)
        }
        let id = try buySeats(productID, seats ?? Self.organizationSeats, for: key, at: now)
        return try joinGroup(id, name, at: now)
    }

    private mutating func buySeats(
        _ productID: String, _ seats: Int64, for key: Account.Key, at now: AppStoreDate
    ) throws(SimulatorProblem) -> String {
        guard seats > 1 else {
            throw .badRequest(
                "seats must not be \(seats).", remedy: "An organization buys 2 seats or more.")
        }
        guard accounts[key] == nil || unreportedAccounts.contains(key.name) else {
            throw .wrongState(
                "\(key.name) is the account of a person.",
                remedy: "Choose another name for the organization.")
        }
        if accounts[key] == nil {
            accounts[key] = Account(key: key, appTransactionID: numbers.newID(), downloaded: now)
        }
        unreportedAccounts.insert(key.name)
        let home = settings.shop.settings.storefront.flatMap(Storefront.named)
        let device = Device(
            id: "", account: key, storefront: home ?? .unitedStates, appAccountToken: nil,
            pace: settings.pace(in: key.environment))
        // The notification about the organization's purchase reaches no app.
        let order = PurchaseOrder(productID, offerID: PurchaseOrder.noOffer, seats: seats)
        let (transaction, _) = try sell(order, to: device, at: now)
        var chain = try subscription(transaction.originalID)
        chain.group?.isOrganization = true
        save(chain, at: now)
        return chain.id
    }

    /// An organization takes a seat back. The organization can then assign the seat to another
    /// account.
    mutating func unassignSeat(
        of organization: String, _ productID: String, from name: String,
        in environment: SimulatedEnvironment
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        let key = Account.Key(name: organization, environment: environment)
        let group = try product(productID).subscription?.groupID ?? ""
        guard let id = accounts[key]?.chains[group] else {
            throw .wrongState(
                "\(organization) has no seats of \(productID).",
                remedy: "POST /_sim/organizations/\(organization)/assign first.")
        }
        return try leaveGroup(id, name)
    }
}
