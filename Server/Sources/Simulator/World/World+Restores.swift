import AppStoreFormats

/// The transactions that restores made of one non-consumable (Apple's page "transactionId": it also
/// identifies a restored purchase). All of them are the same purchase, so a refund applies to all.
struct RestoredTransactions: Hashable, Sendable {
    struct Copy: Hashable, Sendable {
        let id: String
        let restored: AppStoreDate
    }

    var copies: [Copy] = []
    /// The id that the notification about the present refund named. The notification of the
    /// reversal names the same id.
    var refundedID: String?
}

extension World {
    /// Maximum number of transactions that restores make of one purchase.
    private static let restoresMax = 100

    /// Restores the purchases of an account: each non-consumable that is not refunded gets a new
    /// transaction, if the quirk ``Quirk/restoreMakesTransaction`` is on.
    mutating func restore(_ account: Account.Key, at now: AppStoreDate) {
        guard settings.has(.restoreMakesTransaction) else { return }
        for id in accounts[account]?.oneTimePurchases ?? [] {
            guard let bought = oneTimePurchases[id], bought.product.type == .nonConsumable,
                bought.revocation == nil,
                restores[id, default: .init()].copies.count < Self.restoresMax
            else { continue }
            let copy = numbers.newID()
            restores[id, default: .init()].copies.append(.init(id: copy, restored: now))
            transactionIDs.recordAlias(id, as: copy)
        }
    }

    /// The transactions of an account as devices and receipts show them. A restored purchase has
    /// the id and date of the last restore.
    func shownTransactions(of key: Account.Key) -> [StoreTransaction] {
        let all = transactions(of: key)
        guard !restores.isEmpty else { return all }
        return all.map { bought in
            restores[bought.id]?.copies.last.map { bought.restored(as: $0) } ?? bought
        }.sorted { ($0.purchased, $0.id) < ($1.purchased, $1.id) }
    }

    /// The transaction that a notification about a refund or its reversal names: the transaction of
    /// the purchase itself, or a transaction that a restore has made of it.
    mutating func named(_ bought: StoreTransaction, isRefund: Bool) -> StoreTransaction {
        guard let known = restores[bought.id] else { return bought }
        if isRefund {
            let ids = [bought.id] + known.copies.map(\.id)
            let index = numbers.randomIndex(below: ids.count)
            restores[bought.id]?.refundedID = ids[index]
        }
        let id = restores[bought.id]?.refundedID
        return known.copies.first { $0.id == id }.map { bought.restored(as: $0) } ?? bought
    }
}
