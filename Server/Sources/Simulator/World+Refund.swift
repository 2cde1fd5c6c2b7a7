import AppStoreFormats

// Money given back, and taken again.

extension World {
    static let wholePercentage: Int64 = 100_000

    /// Refunds one transaction wholly. Of a subscription's latest that ends access and renewal; of
    /// an earlier one it does not.
    mutating func refund(_ id: String, at now: AppStoreDate) throws(StoreProblem) -> [Notice] {
        let revocation = StoreTransaction.Revocation(
            at: now, reason: .other, type: .refundFull, percentage: Self.wholePercentage)
        guard let chain = chainOfTransaction[id] else {
            return try changeOneTimePurchase(id, .refund, revocation, at: now)
        }
        var subscription = try subscription(chain)
        let index = try transactionIndex(id, of: subscription, isRefunded: false)
        subscription.transactions[index].revocation = revocation
        if index == subscription.transactions.count - 1 {
            subscription.phase = .revoked
            subscription.renews = false
            subscription.runningOffer = nil
        }
        let refunded = subscription.transactions[index]
        let notices = [notice(.refund, of: subscription, transaction: refunded, at: now)]
        keep(subscription)
        return notices
    }

    /// Takes a refund back: what remains of the period may be used again. Renewal stays off.
    mutating func reverseRefund(_ id: String, at now: AppStoreDate) throws(StoreProblem) -> [Notice]
    {
        guard let chain = chainOfTransaction[id] else {
            return try changeOneTimePurchase(id, .refundReversed, nil, at: now)
        }
        var subscription = try subscription(chain)
        let index = try transactionIndex(id, of: subscription, isRefunded: true)
        subscription.transactions[index].revocation = nil
        if subscription.phase == .revoked, index == subscription.transactions.count - 1 {
            subscription.phase = subscription.paidUntil > now ? .active : .ended(.cancelled)
        }
        let restored = subscription.transactions[index]
        let notices = [notice(.refundReversed, of: subscription, transaction: restored, at: now)]
        keep(subscription)
        return notices
    }

    /// The transaction of a chain that a refund without a transaction id means: the latest that is,
    /// or is not, refunded.
    func refundable(_ id: String, isRefunded: Bool) throws(StoreProblem) -> String {
        let subscription = try subscription(id)
        let found = subscription.transactions.last {
            !$0.isUpgraded && ($0.revocation != nil) == isRefunded
        }
        guard let found else { throw Self.nothingTo(isRefunded ? "reverse" : "refund", id) }
        return found.id
    }

    private func transactionIndex(
        _ id: String, of subscription: Subscription, isRefunded: Bool
    ) throws(StoreProblem) -> Int {
        let index = subscription.transactions.firstIndex { $0.id == id }
        guard let index else { throw .unknownTransaction(id) }
        let transaction = subscription.transactions[index]
        guard !transaction.isUpgraded, (transaction.revocation != nil) == isRefunded else {
            throw Self.nothingTo(isRefunded ? "reverse" : "refund", id)
        }
        return index
    }

    private mutating func changeOneTimePurchase(
        _ id: String, _ type: NotificationType, _ revocation: StoreTransaction.Revocation?,
        at now: AppStoreDate
    ) throws(StoreProblem) -> [Notice] {
        guard var transaction = oneTimePurchases[id] else { throw .unknownTransaction(id) }
        guard (transaction.revocation == nil) == (revocation != nil) else {
            throw Self.nothingTo(revocation == nil ? "reverse" : "refund", id)
        }
        transaction.revocation = revocation
        oneTimePurchases[id] = transaction
        return [notice(type, of: transaction, at: now)]
    }

    private static func nothingTo(_ what: String, _ id: String) -> StoreProblem {
        .wrongState(
            "There is nothing to \(what) for \(id).",
            remedy: "GET /_sim/truth/{account} shows what is refunded.")
    }
}
