import AppStoreFormats

// Family Sharing. A member has separate chains and transactions, which follow the purchaser's.
// After each change of a purchase, the purchaser's family is processed next, and each member's copy
// is updated, with one notification for each change.
//
// Sharing ends with a revocation if the purchaser is refunded, a member leaves, sharing is switched
// off, or the product cannot be shared. If the purchaser's subscription ends because its time is
// over, the members' subscriptions expire, too.

extension World {
    /// Whether a purchase may be shared with accounts other than its own.
    func isShared(_ transaction: StoreTransaction) -> Bool {
        guard transaction.sharedFrom == nil else { return false }
        let hasFamily = accounts[transaction.account]?.family != nil
        return hasFamily && transaction.product.isFamilyShareable
            || sharings[transaction.originalID] != nil
    }

    /// Refuses acts that only a purchaser can perform.
    func checkIsPurchased(_ transaction: StoreTransaction) throws(SimulatorProblem) {
        guard let source = transaction.sharedFrom else { return }
        let cause = transaction.ownership == .assigned ? "by a seat" : "by Family Sharing"
        throw .wrongState(
            "\(transaction.account.name) has \(transaction.originalID) \(cause).",
            remedy: "Use the purchaser's: \(transactionIDs.chain(of: source) ?? source).")
    }

    /// Updates a family after a change of one member's purchase.
    mutating func share(_ purchase: String, at now: AppStoreDate) -> [NotificationDraft] {
        if let transaction = oneTimePurchases[purchase] {
            return allMembers(concerned: purchase, by: transaction.account).flatMap {
                shareOneTimePurchase(transaction, with: $0, at: now)
            }
        }
        guard let source = subscriptions[purchase] else { return [] }
        unseatExcess(of: source, at: now)
        let members = allMembers(concerned: purchase, by: source.account)
        // A period paid in advance may be shared although the current period is not, or vice versa.
        if !members.isEmpty, source.latest.purchased > now {
            schedule(.sharing(purchase: purchase), at: source.latest.purchased)
        }
        return members.flatMap { updateMember(source, as: $0, at: now) }
    }

    /// All members who share the purchase now, or shared it before.
    private func allMembers(concerned purchase: String, by purchaser: Account.Key) -> [Account.Key]
    {
        let family = accounts[purchaser]?.family.flatMap { families[$0] }
        let former = sharings[purchase].map { Array($0.shares.keys) + $0.seated } ?? []
        return Set((family?.members ?? []) + former).subtracting([purchaser]).sorted()
    }

    /// Whether a member may share in a purchase, given that the purchase itself is valid.
    func mayShare(_ member: Account.Key, _ transaction: StoreTransaction) -> Bool {
        if sharings[transaction.originalID]?.seated.contains(member) == true { return true }
        // Apple shares only purchases of one seat.
        guard transaction.product.isFamilyShareable, transaction.seats == nil,
            let family = accounts[member]?.family,
            family == accounts[transaction.account]?.family
        else { return false }
        guard let sharing = sharings[transaction.originalID] else { return true }
        return !sharing.isStopped && !sharing.withheld.contains(member)
    }

    /// Copies a purchaser's transaction for a member.
    ///
    /// - Parameters:
    ///   - first: when the member's share began. Nil if it begins with this period.
    ///   - reason: the reason in the copy. A member's share begins with a purchase, whatever the
    ///     purchaser's reason is.
    mutating func copy(
        _ transaction: StoreTransaction, id: String, of original: String, for member: Account.Key,
        from start: AppStoreDate, since first: AppStoreDate? = nil,
        reason: TransactionReason = .purchase
    ) -> StoreTransaction {
        let hasSeat = sharings[transaction.originalID]?.seated.contains(member) == true
        let hidesPrice = !hasSeat && settings.has(.familyTransactionsHidePrice)
        let origin = StoreTransaction.Origin(
            originalID: original, account: member, originallyPurchased: first ?? start,
            storefront: transaction.storefront, appAccountToken: nil,
            ownership: hasSeat ? .assigned : .familyShared)
        var shared = StoreTransaction(
            id: id, origin: Box(origin), product: transaction.boxedProduct,
            webOrderLineItemID: transaction.webOrderLineItemID.map { _ in numbers.newID() },
            purchased: start, expires: transaction.expires, quantity: transaction.quantity,
            reason: reason,
            price: hidesPrice ? 0 : transaction.price,
            offer: transaction.boxedOffer)
        shared.sharedFrom = transaction.id
        shared.commitment = transaction.commitment
        shared.boxedSeats = transaction.boxedSeats
        return shared
    }

    func familyRevocation(
        of share: StoreTransaction, at now: AppStoreDate
    ) -> StoreTransaction.Revocation {
        .init(
            at: now, reason: .other,
            type: share.ownership == .assigned ? .assignmentRevoke : .familyRevoke,
            percentage: RefundPercentage.whole)
    }
}

// MARK: - One-time purchases

extension World {
    private mutating func shareOneTimePurchase(
        _ transaction: StoreTransaction, with member: Account.Key, at now: AppStoreDate
    ) -> [NotificationDraft] {
        let isGiven =
            transaction.revocation == nil && transaction.product.type == .nonConsumable
            && mayShare(member, transaction)
        let own = sharings[transaction.id]?.shares[member].flatMap { oneTimePurchases[$0] }
        let has = own.map { $0.revocation == nil } ?? false
        guard isGiven != has else { return [] }
        if var own, has {
            own.revocation = familyRevocation(of: own, at: now)
            oneTimePurchases[own.id] = own
            return [draft(.revoke, of: own, at: now)]
        }
        let id = numbers.newID()
        let shared = copy(transaction, id: id, of: id, for: member, from: now)
        oneTimePurchases[id] = shared
        accounts[member]?.oneTimePurchases.append(id)
        sharings[transaction.id, default: Sharing()].shares[member] = id
        return [draft(.oneTimeCharge, of: shared, at: now)]
    }
}

// MARK: - Joining and leaving

extension World {
    /// Adds an account to a family. Creates the family with its first member. From then on all
    /// members share their purchases.
    mutating func join(_ name: String, _ account: Account.Key) throws(SimulatorProblem) {
        let key = Family.Key(name: name, environment: account.environment)
        if let present = accounts[account]?.family {
            guard present != key else { return }
            throw .wrongState(
                "\(account.name) is in the family \(present.name).",
                remedy: "POST /_sim/families/\(present.name)/leave first.")
        }
        var family = families[key] ?? Family(name: name, members: [])
        guard family.members.count < Family.membersMax else {
            throw .wrongState(
                "The family \(name) has \(Family.membersMax) members.",
                remedy: "Let one leave: POST /_sim/families/\(name)/leave.")
        }
        guard families[key] != nil || families.count < ShopRules.familiesMax else { throw .full }
        family.members.append(account)
        families[key] = family
        accounts[account]?.family = key
        for member in family.members { scheduleSharingOfAll(of: member) }
    }

    /// Removes an account from its family. The account loses what the other members share, and
    /// these members lose what the account shares.
    mutating func leave(_ name: String, _ account: Account.Key) throws(SimulatorProblem) {
        let key = Family.Key(name: name, environment: account.environment)
        guard var family = families[key], accounts[account]?.family == key else {
            throw .wrongState(
                "\(account.name) is not in the family \(name).",
                remedy: "GET /_sim/truth/\(account.name) shows the family.")
        }
        let members = family.members
        family.members.removeAll { $0 == account }
        families[key] = family.members.isEmpty ? nil : family
        accounts[account]?.family = nil
        for member in members { scheduleSharingOfAll(of: member) }
    }

    /// Stops sharing a purchase. If `id` belongs to the purchaser, sharing stops with all members;
    /// if it belongs to a member, only with this member.
    mutating func stopSharing(_ id: String) throws(SimulatorProblem) {
        let source: String
        if let own = oneTimePurchases[id] {
            source = own.sharedFrom ?? id
        } else {
            let chain = try subscription(transactionIDs.chain(of: id) ?? id)
            source = chain.sharedBy ?? chain.id
        }
        guard let sharing = sharings[source], !sharing.shares.isEmpty else {
            throw .wrongState(
                "\(id) is not shared with anybody.",
                remedy: "Add accounts to one family: POST /_sim/devices {\"family\": …}.")
        }
        if let member = sharing.shares.first(where: { $0.value == id })?.key {
            sharings[source]?.withheld.insert(member)
        } else {
            sharings[source]?.isStopped = true
        }
        scheduleSharing(source)
    }

    private mutating func scheduleSharingOfAll(of account: Account.Key) {
        guard let bought = accounts[account] else { return }
        for id in bought.chains.values.sorted() { scheduleSharing(id) }
        for id in bought.oneTimePurchases where oneTimePurchases[id]?.sharedFrom == nil {
            scheduleSharing(id)
        }
    }
}
