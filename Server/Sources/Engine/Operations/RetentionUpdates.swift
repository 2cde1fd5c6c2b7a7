import Ledger
import Storage

/// Deletes test purchases, and emits their last events.
struct RetentionUpdates {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// Forgets purchases together with the documents about them. Their shares end, each with its
    /// event. Then `purchase_forgotten` is emitted for each purchase, and everything is deleted
    /// except the events and the transfers.
    func forget(
        _ group: ForgottenGroup, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        var entries: [EventEntry] = []
        for known in group.purchases {
            let purchase = known.timeline.purchase
            for sharer in try tx.shares.sharers(of: purchase, in: app) {
                try OwnershipUpdates(tx).revokeShare(
                    of: purchase, with: sharer, from: known.customer, in: app, at: now)
            }
            let user = try OwnershipUpdates(tx).beneficiary(
                known.customer, token: known.timeline.accountToken, in: app)
            if let user {
                let transactions = known.timeline.periods.map(\.payment.transaction)
                try tx.retention.deleteUses(of: Set(transactions), by: user, in: app)
            }
            entries.append(PurchaseEvents.forgotten(known, at: now))
        }
        try tx.retention.delete(
            group.purchases.map(\.timeline.purchase), group.documents, in: app)
        try tx.events.append(entries)
    }
}

extension PurchaseEvents {
    /// The event that ends the events of a purchase. Its status is nil afterwards, and it reports
    /// no money.
    fileprivate static func forgotten(_ purchase: ReportedPurchase, at now: Instant) -> EventEntry {
        let status = purchase.reportedState?.status
        var change = Change(.purchaseForgotten, at: now, product: status?.product)
        change.before = status
        return EventEntry(
            app: purchase.app, customer: purchase.customer,
            purchase: purchase.timeline.purchase, change: change, knownAt: now, cause: .time,
            accountToken: purchase.customer == nil ? purchase.timeline.accountToken : nil)
    }
}
