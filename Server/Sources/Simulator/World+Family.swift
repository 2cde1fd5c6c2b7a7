import AppStoreFormats

// Family Sharing. A member has what the purchaser has, in chains and transactions of their own,
// which follow the purchaser's: whatever becomes of a purchase, its family is looked at next, and
// each member's copy is brought up to date with one notification for each change.
//
// What ends sharing — the purchaser's refund, a member who leaves, sharing switched off, a product
// that cannot be shared — revokes. What ends the purchaser's subscription by time expires the
// members' too.

extension World {
    /// Whether others than its account may have a part in a purchase.
    func isShared(_ transaction: StoreTransaction) -> Bool {
        guard transaction.sharedFrom == nil else { return false }
        let hasFamily = accounts[transaction.account]?.family != nil
        return hasFamily && transaction.product.isFamilyShareable
            || sharings[transaction.originalID] != nil
    }

    /// Brings a family up to date with one purchase of a member's.
    mutating func share(_ purchase: String, at now: AppStoreDate) -> [Notice] {
        if let transaction = oneTimePurchases[purchase] {
            return everyone(concerned: purchase, by: transaction.account).flatMap {
                shareOnce(transaction, with: $0, at: now)
            }
        }
        guard let source = subscriptions[purchase] else { return [] }
        return everyone(concerned: purchase, by: source.account).flatMap {
            follow(source, as: $0, at: now)
        }
    }

    /// Who has a part now, or had one.
    private func everyone(concerned purchase: String, by purchaser: Account.Key) -> [Account.Key] {
        let family = accounts[purchaser]?.family.flatMap { families[$0] }
        let former = sharings[purchase].map { Array($0.shares.keys) } ?? []
        return Set((family?.members ?? []) + former).subtracting([purchaser]).sorted()
    }

    /// Whether a member is to have a part in a purchase that is good in itself.
    private func mayHave(_ member: Account.Key, _ transaction: StoreTransaction) -> Bool {
        guard transaction.product.isFamilyShareable, let family = accounts[member]?.family,
            family == accounts[transaction.account]?.family
        else { return false }
        guard let sharing = sharings[transaction.originalID] else { return true }
        return !sharing.isStopped && !sharing.withheld.contains(member)
    }

    private mutating func copy(
        _ transaction: StoreTransaction, id: String, of original: String, for member: Account.Key,
        from start: AppStoreDate
    ) -> StoreTransaction {
        let origin = StoreTransaction.Origin(
            originalID: original, account: member, originallyPurchased: start,
            storefront: transaction.storefront, appAccountToken: nil, ownership: .familyShared)
        var shared = StoreTransaction(
            id: id, origin: Shared(origin), product: transaction.sharedProduct,
            webOrderLineItemID: transaction.webOrderLineItemID.map { _ in newID() },
            purchased: start, expires: transaction.expires, quantity: transaction.quantity,
            reason: transaction.reason,
            price: settings.rules.familyTransactionsShowPrice ? transaction.price : 0,
            offer: transaction.sharedOffer)
        shared.sharedFrom = transaction.id
        shared.commitment = transaction.commitment
        return shared
    }

    private func familyRevocation(at now: AppStoreDate) -> StoreTransaction.Revocation {
        .init(at: now, reason: .other, type: .familyRevoke, percentage: Self.wholePercentage)
    }
}

// MARK: - What is bought once

extension World {
    private mutating func shareOnce(
        _ transaction: StoreTransaction, with member: Account.Key, at now: AppStoreDate
    ) -> [Notice] {
        let isGiven =
            transaction.revocation == nil && transaction.product.type == .nonConsumable
            && mayHave(member, transaction)
        let own = sharings[transaction.id]?.shares[member].flatMap { oneTimePurchases[$0] }
        let has = own.map { $0.revocation == nil } ?? false
        guard isGiven != has else { return [] }
        if var own, has {
            own.revocation = familyRevocation(at: now)
            oneTimePurchases[own.id] = own
            return [notice(.revoke, of: own, at: now)]
        }
        let id = newID()
        let shared = copy(transaction, id: id, of: id, for: member, from: now)
        oneTimePurchases[id] = shared
        accounts[member]?.oneTimePurchases.append(id)
        sharings[transaction.id, default: Sharing()].shares[member] = id
        return [notice(.oneTimeCharge, of: shared, at: now)]
    }
}

// MARK: - Subscriptions

extension World {
    private mutating func follow(
        _ source: Subscription, as member: Account.Key, at now: AppStoreDate
    ) -> [Notice] {
        let isGiven = !source.isOver && mayHave(member, source.latest)
        guard let id = sharings[source.id]?.shares[member], let own = subscriptions[id] else {
            return isGiven ? beginSharing(source, with: member, at: now) : []
        }
        var chain = own
        var notices = revokePast(&chain, with: source, at: now)
        if isGiven {
            notices += own.isOver ? resume(&chain, source, at: now) : keepUp(&chain, source, at: now)
        } else if !own.isOver {
            notices.append(end(&chain, source, at: now))
        }
        keep(chain)
        return notices
    }

    private mutating func beginSharing(
        _ source: Subscription, with member: Account.Key, at now: AppStoreDate
    ) -> [Notice] {
        let id = newID()
        let first = copy(
            source.latest, id: id, of: id, for: member, from: max(now, source.latest.purchased))
        chainOfTransaction[id] = id
        let chain = source.followed(by: member, id: id, transactions: [first])
        keep(chain)
        accounts[member]?.sharedChains.append(id)
        sharings[source.id, default: Sharing()].shares[member] = id
        return [notice(.subscribed, .initialBuy, of: chain, at: now)]
    }

    private mutating func resume(
        _ chain: inout Subscription, _ source: Subscription, at now: AppStoreDate
    ) -> [Notice] {
        append(source.latest, to: &chain, from: max(now, source.latest.purchased))
        chain = source.followed(by: chain.account, id: chain.id, transactions: chain.transactions)
        return [notice(.subscribed, .resubscribe, of: chain, at: now)]
    }

    /// The purchaser's periods that are new, or else the change of state.
    private mutating func keepUp(
        _ chain: inout Subscription, _ source: Subscription, at now: AppStoreDate
    ) -> [Notice] {
        let before = chain
        let last = source.transactions.lastIndex { $0.id == chain.latest.sharedFrom }
        let isReplaced = last.map { source.transactions[$0].isUpgraded } ?? false
        var notices: [Notice] = []
        for period in source.transactions.dropFirst((last ?? -1) + 1) {
            append(period, to: &chain, from: period.purchased)
            chain = source.followed(
                by: chain.account, id: chain.id, transactions: chain.transactions)
            notices.append(
                isReplaced
                    ? notice(.didChangeRenewalPref, .upgrade, of: chain, at: now)
                    : notice(
                        .didRenew, before.isRetrying ? .billingRecovery : nil, of: chain, at: now))
        }
        chain = source.followed(by: chain.account, id: chain.id, transactions: chain.transactions)
        if notices.isEmpty { notices = changes(from: before, to: chain, at: now) }
        return notices
    }

    private mutating func changes(
        from old: Subscription, to new: Subscription, at now: AppStoreDate
    ) -> [Notice] {
        var notices: [Notice] = []
        switch (old.phase, new.phase) {
        case (.active, .grace): notices.append(notice(.didFailToRenew, .gracePeriod, of: new, at: now))
        case (.active, .retry): notices.append(notice(.didFailToRenew, of: new, at: now))
        case (.grace, .retry): notices.append(notice(.gracePeriodExpired, of: new, at: now))
        default: break
        }
        if old.paidUntil != new.paidUntil {
            notices.append(notice(.renewalExtended, of: new, at: now))
        }
        if old.nextProduct.id != new.nextProduct.id {
            let isBack = new.nextProduct.id == new.latest.product.id
            notices.append(
                notice(.didChangeRenewalPref, isBack ? nil : .downgrade, of: new, at: now))
        }
        if old.renews != new.renews {
            let subtype: NotificationSubtype = new.renews ? .autoRenewEnabled : .autoRenewDisabled
            notices.append(notice(.didChangeRenewalStatus, subtype, of: new, at: now))
        }
        return notices
    }

    private mutating func end(
        _ chain: inout Subscription, _ source: Subscription, at now: AppStoreDate
    ) -> Notice {
        let transactions = chain.transactions
        if case .ended(let intent) = source.phase, mayHave(chain.account, source.latest) {
            chain = source.followed(by: chain.account, id: chain.id, transactions: transactions)
            return notice(.expired, intent.subtype, of: chain, at: now)
        }
        chain.transactions[transactions.count - 1].revocation = familyRevocation(at: now)
        chain.phase = .revoked
        chain.renews = false
        return notice(.revoke, of: chain, at: now)
    }

    /// What was refunded of earlier periods, replaced by an upgrade or moved in time.
    private mutating func revokePast(
        _ chain: inout Subscription, with source: Subscription, at now: AppStoreDate
    ) -> [Notice] {
        var notices: [Notice] = []
        for index in chain.transactions.indices {
            let own = chain.transactions[index]
            let paid = source.transactions.last { $0.id == own.sharedFrom }
            guard let paid, own.revocation == nil else { continue }
            chain.transactions[index].isUpgraded = paid.isUpgraded
            let isPast = index < chain.transactions.count - 1
            guard paid.revocation != nil, !paid.isUpgraded, isPast else { continue }
            chain.transactions[index].revocation = familyRevocation(at: now)
            notices.append(
                notice(.revoke, of: chain, transaction: chain.transactions[index], at: now))
        }
        return notices
    }

    private mutating func append(
        _ period: StoreTransaction, to chain: inout Subscription, from start: AppStoreDate
    ) {
        let id = newID()
        chain.transactions.append(
            copy(period, id: id, of: chain.id, for: chain.account, from: start))
        chainOfTransaction[id] = chain.id
    }
}

extension ExpirationIntent {
    /// The subtype of EXPIRED.
    fileprivate var subtype: NotificationSubtype? {
        switch self {
        case .cancelled: .voluntary
        case .billingError: .billingRetry
        case .noConsentToPriceIncrease: .priceIncrease
        case .productUnavailable: .productNotForSale
        default: nil
        }
    }
}

// MARK: - Coming and going

extension World {
    /// Lets an account into a family, which begins with its first member. From then on it has what
    /// the others share, and they what it has.
    mutating func join(_ name: String, _ account: Account.Key) throws(StoreProblem) {
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
        for member in family.members { shareEverything(of: member) }
    }

    /// Takes an account out of its family: it loses what the others share, and they what it has.
    mutating func leave(_ name: String, _ account: Account.Key) throws(StoreProblem) {
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
        for member in members { shareEverything(of: member) }
    }

    /// Stops sharing a purchase: wholly if it is the purchaser's, for one member if it is theirs.
    mutating func stopSharing(_ id: String) throws(StoreProblem) {
        let source: String
        if let own = oneTimePurchases[id] {
            source = own.sharedFrom ?? id
        } else {
            let chain = try subscription(chainOfTransaction[id] ?? id)
            source = chain.sharedBy ?? chain.id
        }
        guard let sharing = sharings[source], !sharing.shares.isEmpty else {
            throw .wrongState(
                "Nobody has a part in \(id).",
                remedy: "Put accounts into one family: POST /_sim/devices {\"family\": …}.")
        }
        if let member = sharing.shares.first(where: { $0.value == id })?.key {
            sharings[source]?.withheld.insert(member)
        } else {
            sharings[source]?.isStopped = true
        }
        shareSoon(source)
    }

    private mutating func shareEverything(of account: Account.Key) {
        guard let bought = accounts[account] else { return }
        for id in bought.chains.values.sorted() { shareSoon(id) }
        for id in bought.oneTimePurchases where oneTimePurchases[id]?.sharedFrom == nil {
            shareSoon(id)
        }
    }
}
