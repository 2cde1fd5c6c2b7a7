import Ledger
import Storage

extension OwnershipUpdates {
    /// Shares a purchase with a customer, and emits an event. Replaces an existing share of the
    /// customer.
    ///
    /// - Parameter document: the document that the customer's device presents.
    func share(
        _ purchase: PurchaseID, with customer: CustomerID, document: PresentedDocument? = nil,
        in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        let owner = try tx.links.find(of: purchase, in: app)?.customer
        try tx.shares.delete(in: purchase, of: customer, in: app)
        try beginShare(
            of: purchase, with: customer, from: owner, document: document, in: app, at: now)
        _ = try tx.transfers.add(
            .shared, of: purchase, from: owner, to: customer,
            by: .device, reason: "", in: app, at: now)
    }

    /// Restores the share that a customer had before the purchase was moved to the customer, if
    /// there was one. The share is recorded with the same transfer as before, so that it can still
    /// be undone. The move must have been undone before.
    func restoreShare(
        _ move: StoredTransfer, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        // A purchase without an owner had no shares.
        guard move.kind == .moved, let owner = move.former else { return }
        // The customer's last transfer before the move, except for transfers that were undone.
        let last = try tx.transfers.all(of: move.customer, in: app).last {
            $0.purchase == move.purchase && $0.number < move.number && $0.undoneAt == nil
        }
        guard let last, last.kind == .shared, last.customer == move.customer, !last.stays else {
            return
        }
        try tx.shares.delete(in: move.purchase, of: move.customer, in: app)
        try beginShare(
            of: move.purchase, with: move.customer, from: owner, document: nil, in: app, at: now)
    }

    /// Inserts a share, and emits an event.
    private func beginShare(
        of purchase: PurchaseID, with customer: CustomerID, from owner: CustomerID?,
        document: PresentedDocument?, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try PurchaseEvents(tx).emitOwnershipEvent(
            of: purchase, is: customer, in: app, .shared, from: owner, at: now)
        try tx.shares.insert(in: purchase, of: customer, document, in: app, at: now)
    }

    /// Ends all shares of a purchase that loses its owner because support has undone its transfer.
    /// Each event names the customer who shared the purchase.
    func revokeShares(
        of purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for sharer in try tx.shares.sharers(of: purchase, in: app) {
            let share = try tx.transfers.all(of: sharer, in: app).last {
                $0.purchase == purchase && $0.kind == .shared && $0.customer == sharer
                    && $0.undoneAt == nil
            }
            try revokeShare(of: purchase, with: sharer, from: share?.former, in: app, at: now)
            try tx.transfers.markSharesUndone(of: purchase, with: sharer, in: app, at: now)
        }
    }

    /// Ends a customer's share of a purchase, and emits an event. The customer may share the
    /// purchase again later, unless ``TransferRows/markSharesUndone(of:with:in:at:)`` records a
    /// decision by support. Idempotent.
    func revokeShare(
        of purchase: PurchaseID, with customer: CustomerID, from owner: CustomerID?, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) {
        guard try tx.shares.exists(in: purchase, customer, in: app) else { return }
        try PurchaseEvents(tx).emitOwnershipEvent(
            of: purchase, is: customer, in: app, .shareEnded, from: owner, at: now)
        try tx.shares.delete(in: purchase, of: customer, in: app)
    }
}
