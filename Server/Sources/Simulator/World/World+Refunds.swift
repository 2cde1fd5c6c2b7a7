import AppStoreFormats

// Refunds and their reversal.

/// How much is refunded, and why.
package struct RefundOrder: Hashable, Sendable {
    package enum Share: Hashable, Sendable {
        case whole
        /// A share in thousandths of a percent. Nil for the unused part of a subscription's period.
        case prorated(Int64?)
    }

    package var share: Share
    package var reason: RevocationReason

    package init(_ share: Share = .whole, reason: RevocationReason = .other) {
        self.share = share
        self.reason = reason
    }
}

extension World {
    /// Refunds one transaction. A refund of a subscription's latest transaction ends access and,
    /// normally, renewal. A refund of an earlier transaction ends neither.
    mutating func refund(
        _ id: String, _ order: RefundOrder = RefundOrder(), row: LifecycleRow? = nil,
        at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        guard let chain = transactionIDs.chain(of: id) else {
            return try refundOneTimePurchase(id, order, row: row, at: now)
        }
        var subscription = try subscription(chain)
        let index = try transactionIndex(id, of: subscription, isRefunded: false)
        revokeSeats(of: index, in: &subscription)
        subscription.transactions[index].revocation = revocation(
            of: subscription.transactions[index], order, at: now)
        if subscription.isLastPart(index) {
            subscription.phase = .revoked
            subscription.runningOffer = nil
            if !settings.has(.refundKeepsRenewalOn) {
                subscription.renews = false
                subscription.commitment = nil
            }
        }
        let refunded = subscription.transactions[index]
        var notices = [draft(.refund, of: subscription, transaction: refunded, row: row, at: now)]
        notices += unclaimExcess(of: &subscription, at: now)
        save(subscription, at: now)
        return notices
    }

    func revocation(
        of transaction: StoreTransaction, _ order: RefundOrder, at now: AppStoreDate
    ) -> StoreTransaction.Revocation {
        let earlier = transaction.seats?.refunded ?? 0
        return switch order.share {
        case .whole:
            .init(
                at: now, reason: order.reason, type: .refundFull,
                percentage: RefundPercentage.whole,
                earlier: earlier)
        case .prorated(let percentage):
            .init(
                at: now, reason: order.reason, type: .refundProrated,
                percentage: percentage ?? transaction.unusedPercentage(at: now), earlier: earlier)
        }
    }

    /// Reverses a refund: the rest of the period may be used again. Renewal stays off.
    mutating func reverseRefund(_ id: String, at now: AppStoreDate) throws(SimulatorProblem)
        -> [NotificationDraft]
    {
        guard let chain = transactionIDs.chain(of: id) else {
            return try changeOneTimePurchase(id, .refundReversed, nil, at: now)
        }
        var subscription = try subscription(chain)
        let index = try transactionIndex(id, of: subscription, isRefunded: true)
        recordReversal(of: subscription.transactions[index], at: now)
        reverseSeats(of: index, in: &subscription, at: now)
        subscription.transactions[index].revocation = nil
        let restored = subscription.transactions[index]
        reinstate(&subscription, by: index, at: now)
        let notices = [draft(.refundReversed, of: subscription, transaction: restored, at: now)]
        save(subscription, at: now)
        return notices
    }

    /// Sets the state of an ended chain according to the dates of a transaction that counts again.
    /// The chain is active until the transaction's end, even if the customer has come back and left
    /// again since the refund. The transaction becomes the latest, because it lasts longest.
    private func reinstate(
        _ subscription: inout Subscription, by index: Int, at now: AppStoreDate
    ) {
        guard subscription.isOver else { return }
        let isLatest = index == subscription.transactions.count - 1
        // Also applies to a period that was charged early and has not begun.
        if subscription.transactions[index].expires.map({ now < $0 }) == true {
            let restored = subscription.transactions[index]
            let parts = subscription.transactions.filter { $0.isPart(ofPeriodOf: restored) }
            subscription.transactions.removeAll { $0.isPart(ofPeriodOf: restored) }
            subscription.transactions += parts
            subscription.phase = .active
        } else if isLatest, subscription.phase == .revoked {
            subscription.phase = .ended(subscription.endedBy ?? .cancelled)
        }
    }

    /// The transaction that a request without a transaction id refers to: the latest refunded
    /// transaction of the chain or, if `isRefunded` is false, the latest transaction that is not
    /// refunded.
    func refundable(_ id: String, isRefunded: Bool) throws(SimulatorProblem) -> String {
        let subscription = try subscription(id)
        let found = subscription.transactions.last {
            !$0.isUpgraded && (isRefunded ? $0.isRefunded : $0.revocation == nil)
        }
        guard let found else { throw .nothingTo(isRefunded ? "reverse" : "refund", id) }
        return found.id
    }

    private func transactionIndex(
        _ id: String, of subscription: Subscription, isRefunded: Bool
    ) throws(SimulatorProblem) -> Int {
        let index = subscription.transactions.firstIndex { $0.id == id }
        guard let index else { throw .unknownTransaction(id) }
        let transaction = subscription.transactions[index]
        try checkIsPurchased(transaction)
        let isPossible = isRefunded ? transaction.isRefunded : transaction.revocation == nil
        guard !transaction.isUpgraded, isPossible else {
            throw .nothingTo(isRefunded ? "reverse" : "refund", id)
        }
        return index
    }

    private mutating func refundOneTimePurchase(
        _ id: String, _ order: RefundOrder, row: LifecycleRow?, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        guard let transaction = oneTimePurchases[transactionIDs.canonicalID(of: id)] else {
            throw .unknownTransaction(id)
        }
        let revocation = revocation(of: transaction, order, at: now)
        return try changeOneTimePurchase(id, .refund, revocation, row: row, at: now)
    }

    private mutating func changeOneTimePurchase(
        _ id: String, _ type: NotificationType, _ revocation: StoreTransaction.Revocation?,
        row: LifecycleRow? = nil, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        guard var transaction = oneTimePurchases[transactionIDs.canonicalID(of: id)] else {
            throw .unknownTransaction(id)
        }
        try checkIsPurchased(transaction)
        guard (transaction.revocation == nil) == (revocation != nil) else {
            throw .nothingTo(revocation == nil ? "reverse" : "refund", id)
        }
        recordReversal(of: transaction, at: now)
        transaction.revocation = revocation
        save(transaction)
        let named = named(transaction, isRefund: revocation != nil)
        return [draft(type, of: named, row: row, at: now)]
    }
}
