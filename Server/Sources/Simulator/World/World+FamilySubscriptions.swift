import AppStoreFormats

// A member's subscription follows the purchaser's. The member's subscription has separate periods,
// which end when the purchaser's periods end, and goes through the same events.

extension World {
    /// Updates a member's chain to match the purchaser's.
    mutating func updateMember(
        _ source: Subscription, as member: Account.Key, at now: AppStoreDate
    ) -> [NotificationDraft] {
        // Sharing does not begin while the purchaser only waits for a payment to succeed. A period
        // paid in advance is shared when it begins.
        let present = source.transactions.last { $0.covers(now) }
        let isGiven = !source.isOver && mayShare(member, present ?? source.latest)
        guard let id = sharings[source.id]?.shares[member], let own = subscriptions[id] else {
            guard isGiven, let present else { return [] }
            return beginSharing(source, from: present, with: member, at: now)
        }
        var chain = own
        var notices = revokeRefundedPeriods(&chain, with: source, at: now)
        if isGiven, own.isOver {
            guard let present else { return notices }
            notices.append(resume(&chain, source, from: present, at: now))
        } else if isGiven {
            notices += applyNewPeriods(&chain, source, at: now)
        } else if own.isOver {
            notices += revokeUnsharedPeriod(&chain, with: source, at: now)
        } else {
            notices += stopSharing(&chain, source, at: now)
        }
        save(chain, at: now)
        return notices
    }

    private mutating func beginSharing(
        _ source: Subscription, from present: StoreTransaction, with member: Account.Key,
        at now: AppStoreDate
    ) -> [NotificationDraft] {
        let id = numbers.newID()
        let first = copy(present, id: id, of: id, for: member, from: now)
        transactionIDs.add(id, of: id)
        let chain = source.followed(
            by: member, id: id, transactions: [first], startedRecently: now)
        save(chain, at: now)
        accounts[member]?.sharedChains.append(id)
        sharings[source.id, default: Sharing()].shares[member] = id
        scheduleFuturePeriods(of: source, after: present)
        return [draft(.subscribed, .initialBuy, of: chain, at: now)]
    }

    private mutating func resume(
        _ chain: inout Subscription, _ source: Subscription, from present: StoreTransaction,
        at now: AppStoreDate
    ) -> NotificationDraft {
        append(present, to: &chain, from: now, reason: .purchase)
        chain = source.followed(as: chain)
        scheduleFuturePeriods(of: source, after: present)
        return draft(.subscribed, .resubscribe, of: chain, at: now)
    }

    /// Schedules the sharing of a period that was charged in advance. The member's copy follows at
    /// once, as a renewal.
    private mutating func scheduleFuturePeriods(
        of source: Subscription, after present: StoreTransaction
    ) {
        if present.id != source.latest.id { scheduleSharing(source.id) }
    }

    /// Adds the purchaser's new periods. If there are no new periods, applies the change of state.
    private mutating func applyNewPeriods(
        _ chain: inout Subscription, _ source: Subscription, at now: AppStoreDate
    ) -> [NotificationDraft] {
        let before = chain
        let last = source.transactions.lastIndex { $0.id == chain.latest.sharedFrom }
        let isReplaced = last.map { source.transactions[$0].isUpgraded } ?? false
        var notices: [NotificationDraft] = []
        let unshared = source.transactions.dropFirst((last ?? -1) + 1)
        let present = last.map { source.transactions[$0] }
        for period in unshared
        where mayShare(chain.account, period) && period.beginsPeriod
            && present?.isPart(ofPeriodOf: period) != true
        {
            append(period, to: &chain, from: period.purchased, reason: period.reason)
            chain = source.followed(as: chain)
            notices.append(
                isReplaced
                    ? draft(.didChangeRenewalPref, .upgrade, of: chain, at: now)
                    : draft(
                        .didRenew, before.isRetrying ? .billingRecovery : nil, of: chain, at: now))
        }
        chain = source.followed(as: chain)
        if notices.isEmpty { notices = changes(from: before, to: chain, at: now) }
        return notices
    }

    private mutating func changes(
        from old: Subscription, to new: Subscription, at now: AppStoreDate
    ) -> [NotificationDraft] {
        var notices: [NotificationDraft] = []
        switch (old.phase, new.phase) {
        case (.active, .grace):
            notices.append(draft(.didFailToRenew, .gracePeriod, of: new, at: now))
        case (.active, .retry): notices.append(draft(.didFailToRenew, of: new, at: now))
        case (.grace, .retry): notices.append(draft(.gracePeriodExpired, of: new, at: now))
        default: break
        }
        if old.paidUntil != new.paidUntil {
            notices.append(draft(.renewalExtended, of: new, at: now))
        }
        if old.nextProduct.id != new.nextProduct.id {
            let isBack = new.nextProduct.id == new.latest.product.id
            notices.append(
                draft(.didChangeRenewalPref, isBack ? nil : .downgrade, of: new, at: now))
        }
        if old.renews != new.renews {
            let subtype: NotificationSubtype = new.renews ? .autoRenewEnabled : .autoRenewDisabled
            notices.append(draft(.didChangeRenewalStatus, subtype, of: new, at: now))
        }
        return notices
    }

    private mutating func stopSharing(
        _ chain: inout Subscription, _ source: Subscription, at now: AppStoreDate
    ) -> [NotificationDraft] {
        if case .ended(let intent) = source.phase, mayShare(chain.account, source.latest) {
            chain = source.followed(as: chain)
            return [draft(.expired, intent.subtype, of: chain, at: now)]
        }
        chain.phase = .revoked
        chain.renews = false
        let notices = revokeUnsharedPeriod(&chain, with: source, at: now)
        let last = chain.transactions.count - 1
        guard chain.transactions[last].revocation == nil else { return notices }
        chain.transactions[last].revocation = familyRevocation(of: chain.latest, at: now)
        return notices + [draft(.revoke, of: chain, at: now)]
    }

    /// Revokes the period in force if it is no longer shared. This is needed because the latest
    /// period may be one that was paid in advance.
    private mutating func revokeUnsharedPeriod(
        _ chain: inout Subscription, with source: Subscription, at now: AppStoreDate
    ) -> [NotificationDraft] {
        guard let index = chain.transactions.lastIndex(where: { $0.covers(now) }),
            let paid = source.transactions.last(where: {
                $0.id == chain.transactions[index].sharedFrom
            }), !mayShare(chain.account, paid)
        else { return [] }
        chain.transactions[index].revocation = familyRevocation(of: chain.latest, at: now)
        return [draft(.revoke, of: chain, transaction: chain.transactions[index], at: now)]
    }

    /// Revokes earlier periods that were refunded with all their seats, and copies the mark that a
    /// period was upgraded. Earlier periods may still run, because the next period may be charged
    /// in advance.
    private mutating func revokeRefundedPeriods(
        _ chain: inout Subscription, with source: Subscription, at now: AppStoreDate
    ) -> [NotificationDraft] {
        var notices: [NotificationDraft] = []
        for index in chain.transactions.indices {
            let own = chain.transactions[index]
            let place = source.transactions.lastIndex { $0.id == own.sharedFrom }
            guard let place, own.revocation == nil else { continue }
            let paid = source.transactions[place]
            chain.transactions[index].isUpgraded = paid.isUpgraded
            let isPast = index < chain.transactions.count - 1
            guard paid.revocation != nil, !paid.isUpgraded, isPast, !source.hasPart(besides: place)
            else { continue }
            chain.transactions[index].revocation = familyRevocation(of: own, at: now)
            notices.append(
                draft(.revoke, of: chain, transaction: chain.transactions[index], at: now))
        }
        return notices
    }

    private mutating func append(
        _ period: StoreTransaction, to chain: inout Subscription, from start: AppStoreDate,
        reason: TransactionReason
    ) {
        let id = numbers.newID()
        let first = chain.transactions.first?.originallyPurchased
        let last = chain.latest
        restartAfterGap(&chain, since: last, at: start)
        chain.transactions.append(
            copy(
                period, id: id, of: chain.id, for: chain.account, from: start, since: first,
                reason: reason))
        transactionIDs.add(id, of: chain.id)
    }
}

extension Subscription {
    /// A member's chain `part`, updated to the state of this chain.
    fileprivate func followed(as part: Self) -> Self {
        followed(
            by: part.account, id: part.id, transactions: part.transactions,
            startedRecently: part.startedRecently)
    }
}
