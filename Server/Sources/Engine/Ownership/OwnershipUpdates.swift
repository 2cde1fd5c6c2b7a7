import Ledger
import Storage

/// Changes the owner, the shares and the blocks of a purchase, and emits events.
package struct OwnershipUpdates {
    let tx: DatabaseSession

    package init(_ tx: DatabaseSession) { self.tx = tx }

    /// The customer who benefits from a purchase: its owner, or the customer identified by its
    /// account token.
    func beneficiary(
        _ owner: CustomerID?, token: String?, in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        if let owner { return owner }
        guard let token, let named = try tx.accountTokens.customer(named: token, in: app) else {
            return nil
        }
        return try tx.erasedIDs.contains(token: token, in: app) ? nil : named
    }

    /// Links a purchase without an owner to a customer, and emits an event. Not idempotent: the
    /// caller must check first that there is no owner.
    package func link(
        _ purchase: PurchaseID, to customer: CustomerID, by evidence: Link.Evidence,
        document: PresentedDocument? = nil, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        var walletCache = WalletProjectionCache()
        try link(
            purchase, to: customer, by: evidence, document: document, in: app, at: now, &walletCache
        )
    }

    /// Links a purchase without an owner to a customer, and emits an event. Use this overload to
    /// link several purchases to one customer.
    ///
    /// - Parameters:
    ///   - document: the document that the customer's device presents, if it has to be remembered.
    ///   - named: the customer who until now had the purchase because of its account token. The
    ///     event names this customer, for whom the caller must emit a separate event.
    ///   - walletCache: the cached wallets, passed on from one call to the next.
    func link(
        _ purchase: PurchaseID, to customer: CustomerID, by evidence: Link.Evidence,
        document: PresentedDocument? = nil, from named: CustomerID? = nil, in app: AppID,
        at now: Instant,
        _ walletCache: inout WalletProjectionCache
    ) throws(StorageFailure) {
        let former = try WalletUpdates(tx).customer(of: purchase, in: app)
        try tx.shares.delete(in: purchase, of: customer, in: app)
        try SeatUpdates(tx).release(ofOwner: customer, on: purchase, in: app, at: now)
        if named != nil { try tx.seatInvitations.withdrawAll(of: purchase, in: app, at: now) }
        try PurchaseEvents(tx).emitOwnershipEvent(
            of: purchase, is: customer, in: app, named == nil ? .linked : .moved, from: named,
            evidence: evidence, at: now)
        try tx.links.insert(purchase, to: customer, by: evidence, document, in: app, at: now)
        try WalletUpdates(tx).emitEvents(
            of: purchase, from: former, to: customer, in: app, at: now, &walletCache)
        try tx.inquiries.reschedule(about: [purchase], in: app, at: now)
    }

    // MARK: - Transfers

    /// Moves a purchase to a customer from its present owner, if any. Emits events to both
    /// customers, and records the transfer so that it can be undone. Not idempotent: the caller
    /// must check the owner first.
    ///
    /// - Parameter document: the document that the customer's device presents, if it has to be
    ///   remembered.
    /// - Returns: the transfer, which can be undone.
    func move(
        _ purchase: PurchaseID, to customer: CustomerID, by evidence: OwnershipClaim.Evidence,
        document: PresentedDocument? = nil, reason: String = "", in app: AppID, at now: Instant
    ) throws(StorageFailure) -> StoredTransfer {
        let former = try beneficiary(of: purchase, in: app)
        try relink(purchase, to: customer, by: evidence, document, in: app, at: now)
        return try tx.transfers.add(
            .moved, of: purchase, from: former, to: customer,
            by: evidence, reason: reason, in: app, at: now)
    }

    /// Undoes a transfer: the purchase returns to its former owner, with support as the evidence.
    /// The caller must have checked that the transfer is still in effect.
    func undo(
        _ transfer: StoredTransfer, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        switch transfer.kind {
        case .moved:
            if let former = transfer.former {
                try relink(transfer.purchase, to: former, by: .support, in: app, at: now)
            } else {
                try unlink(transfer.purchase, in: app, at: now)
                try PurchaseEvents(tx).emitToTokenOwner(
                    of: transfer.purchase, in: app, .moved, at: now)
            }
        case .shared:
            // The event names the customer who shared the purchase, not its present owner, because
            // the event is looked up under that customer's id.
            try revokeShare(
                of: transfer.purchase, with: transfer.customer, from: transfer.former, in: app,
                at: now)
            try tx.transfers.markSharesUndone(
                of: transfer.purchase, with: transfer.customer, in: app, at: now)
        }
        try tx.transfers.markUndone(transfer, in: app, at: now)
    }

    /// Changes the owner of a purchase, and emits events to both customers.
    private func relink(
        _ purchase: PurchaseID, to customer: CustomerID, by evidence: OwnershipClaim.Evidence,
        _ document: PresentedDocument? = nil, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        guard let former = try tx.links.find(of: purchase, in: app)?.customer else {
            let holder = try beneficiary(of: purchase, in: app)
            let named = holder.flatMap { $0 == customer ? nil : $0 }
            if let named {
                try PurchaseEvents(tx).emitOwnershipEvent(
                    of: purchase, is: named, in: app, .movedAway, from: customer, at: now)
            } else if holder == nil {
                try PurchaseEvents(tx).emitToTokenOwner(of: purchase, in: app, .movedAway, at: now)
            }
            var walletCache = WalletProjectionCache()
            return try link(
                purchase, to: customer, by: evidence, document: document, from: named, in: app,
                at: now, &walletCache)
        }
        try tx.shares.delete(in: purchase, of: customer, in: app)
        try SeatUpdates(tx).release(ofOwner: customer, on: purchase, in: app, at: now)
        try tx.seatInvitations.withdrawAll(of: purchase, in: app, at: now)
        // The block protected the former owner, not the next owner.
        try unblock(purchase, of: former, in: app, at: now)
        try PurchaseEvents(tx).emitOwnershipEvent(
            of: purchase, is: former, in: app, .movedAway, from: customer, at: now)
        try PurchaseEvents(tx).emitOwnershipEvent(
            of: purchase, is: customer, in: app, .moved, from: former, evidence: evidence, at: now)
        try tx.links.replace(purchase, to: customer, by: evidence, document, in: app, at: now)
        try WalletUpdates(tx).emitEvents(of: purchase, from: former, to: customer, in: app, at: now)
        try tx.inquiries.reschedule(about: [purchase], in: app, at: now)
    }

    /// Confirms the present owner of a purchase, with support as the evidence, so that no policy
    /// moves it any more. Emits an event and records the confirmation. Idempotent: returns an
    /// earlier confirmation that has the same reason.
    func confirm(
        _ purchase: PurchaseID, of customer: CustomerID, reason: String, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) -> StoredTransfer {
        if let said = try tx.transfers.confirmation(
            of: purchase, of: customer, reason: reason, in: app)
        {
            return said
        }
        if try tx.links.find(of: purchase, in: app) == nil {
            try link(purchase, to: customer, by: .support, in: app, at: now)
        } else {
            try PurchaseEvents(tx).emitOwnershipEvent(
                of: purchase, is: customer, in: app, .linked, evidence: .support, at: now)
        }
        try tx.links.confirm(purchase, in: app, at: now)
        return try tx.transfers.add(
            .moved, of: purchase, from: customer, to: customer,
            by: .support, reason: reason, in: app, at: now)
    }

    /// The customer who benefits from a purchase: its owner, or the customer identified by its
    /// account token.
    func beneficiary(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        try beneficiary(
            tx.links.find(of: purchase, in: app)?.customer,
            token: tx.purchases.timeline(of: purchase, in: app)?.accountToken, in: app)
    }

    /// Unlinks a purchase from its owner, emits an event to the owner, and ends all shares of the
    /// purchase.
    func unlink(
        _ purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        if let owner = try tx.links.find(of: purchase, in: app)?.customer {
            try unblock(purchase, of: owner, in: app, at: now)
            try revokeShares(of: purchase, in: app, at: now)
        }
        guard let owner = try deleteLink(of: purchase, in: app, at: now) else { return }
        let named = try WalletUpdates(tx).customer(of: purchase, in: app)
        try WalletUpdates(tx).emitEvents(of: purchase, from: owner, to: named, in: app, at: now)
    }

    /// Unlinks a purchase without updating wallets. Returns the former owner.
    func deleteLink(
        of purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) -> CustomerID? {
        guard let owner = try tx.links.find(of: purchase, in: app)?.customer else { return nil }
        try tx.seatInvitations.withdrawAll(of: purchase, in: app, at: now)
        try PurchaseEvents(tx).emitOwnershipEvent(
            of: purchase, is: owner, in: app, .unlinked, at: now)
        try tx.links.delete(of: purchase, in: app)
        // The customer whom the account token identifies may have consented, although the owner had
        // not.
        try tx.inquiries.reschedule(about: [purchase], in: app, at: now)
        return owner
    }

    // MARK: - Blocks

    /// Blocks a purchase from being claimed from its owner, and emits an event. Idempotent.
    ///
    /// - Returns: false if the purchase was blocked before.
    @discardableResult package func block(
        _ purchase: PurchaseID, of owner: CustomerID, reason: String, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) -> Bool {
        guard try tx.links.block(of: purchase, in: app) == nil else { return false }
        try PurchaseEvents(tx).emitOwnershipEvent(
            of: purchase, is: owner, in: app, .blocked, at: now)
        try tx.links.insertBlock(of: purchase, reason: reason, in: app, at: now)
        return true
    }

    /// Removes the block of a purchase, and emits an event if there was one. Idempotent.
    ///
    /// - Returns: false if the purchase was not blocked.
    @discardableResult package func unblock(
        _ purchase: PurchaseID, of owner: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) -> Bool {
        guard try tx.links.block(of: purchase, in: app) != nil else { return false }
        try PurchaseEvents(tx).emitOwnershipEvent(
            of: purchase, is: owner, in: app, .unblocked, at: now)
        try tx.links.deleteBlock(of: purchase, in: app)
        return true
    }
}
