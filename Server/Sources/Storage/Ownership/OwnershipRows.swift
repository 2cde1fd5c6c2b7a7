import Ledger

/// A purchase that moved from one customer to another, or became shared by both, or that support
/// confirmed to its present owner.
package struct Transfer: Hashable, Sendable {
    /// Identifies the transfer among those of the app. Greater than that of every earlier transfer
    /// of the two customers.
    package var number: Int64
    package var purchase: PurchaseID
    package var kind: Kind
    /// The customer who had the purchase before; nil if it had no owner.
    package var former: CustomerID?
    package var customer: CustomerID
    package var evidence: OwnershipClaim.Evidence
    /// The reason given by the person who requested it; empty if a device did.
    package var reason: String
    package var at: Instant
    package var undoneAt: Instant?

    /// The purchase did not change customers: it was confirmed, or the two customers have been
    /// merged since. Such a transfer cannot be undone.
    package var stays: Bool { former == customer }

    package enum Kind: String, Hashable, Sendable {
        case moved
        case shared
    }
}

/// A block: the purchase may not be claimed from its owner.
package struct PurchaseBlock: Hashable, Sendable {
    /// The reason given by the person who requested it.
    package var reason: String
    package var since: Instant
}

extension DatabaseSession {
    // MARK: - Transfers

    /// Moves a purchase to a customer from its present owner, if any. Emits events to both
    /// customers, and records the transfer so that it can be undone. Not idempotent: check the
    /// owner first.
    ///
    /// - Parameter document: what the customer's device shows, if that is to be remembered.
    /// - Returns: the transfer, which can be undone.
    package func move(
        _ purchase: PurchaseID, to customer: CustomerID, by evidence: OwnershipClaim.Evidence,
        document: PresentedDocument? = nil, reason: String = "", in app: AppID, at now: Instant
    ) throws(StorageFailure) -> Transfer {
        let former = try beneficiary(of: purchase, in: app)
        try relink(purchase, to: customer, by: evidence, document, in: app, at: now)
        return try insertTransfer(
            Transfer(
                number: 0, purchase: purchase, kind: .moved, former: former,
                customer: customer, evidence: evidence, reason: reason, at: now),
            in: app)
    }

    /// Undoes a transfer: the purchase returns to its former owner, with support as the evidence.
    /// The caller must have checked that the transfer is still in effect.
    package func undo(
        _ transfer: Transfer, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        switch transfer.kind {
        case .moved:
            if let former = transfer.former {
                try relink(transfer.purchase, to: former, by: .support, in: app, at: now)
            } else {
                try unlink(transfer.purchase, in: app, at: now)
                try emitToTokenOwner(of: transfer.purchase, in: app, .moved, at: now)
            }
        case .shared:
            // The event names the customer who shared the purchase, not its present owner, because
            // it is looked up under that customer's id.
            try revokeShare(
                of: transfer.purchase, with: transfer.customer, from: transfer.former, in: app,
                at: now)
            try markSharesUndone(of: transfer.purchase, with: transfer.customer, in: app, at: now)
        }
        try connection.run(
            "UPDATE transfers SET undone_at_ms = $1 WHERE app = $2 AND transfer = $3",
            [.integer(now.milliseconds), .text(app.rawValue), .integer(transfer.number)])
    }

    /// Changes the owner of a purchase, and emits events to both customers.
    private func relink(
        _ purchase: PurchaseID, to customer: CustomerID, by evidence: OwnershipClaim.Evidence,
        _ document: PresentedDocument? = nil, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        guard let former = try link(of: purchase, in: app)?.customer else {
            let holder = try beneficiary(of: purchase, in: app)
            let named = holder.flatMap { $0 == customer ? nil : $0 }
            if let named {
                try emitOwnershipEvent(
                    of: purchase, is: named, in: app, .movedAway, from: customer, at: now)
            } else if holder == nil {
                try emitToTokenOwner(of: purchase, in: app, .movedAway, at: now)
            }
            var walletCache = WalletProjectionCache()
            return try link(
                purchase, to: customer, by: evidence, document: document, from: named, in: app,
                at: now, &walletCache)
        }
        try deleteShare(in: purchase, of: customer, in: app)
        try releaseSeat(ofOwner: customer, on: purchase, in: app, at: now)
        try withdrawInvitations(of: purchase, in: app, at: now)
        // The block protected the former owner, not the next one.
        try unblock(purchase, of: former, in: app, at: now)
        try emitOwnershipEvent(
            of: purchase, is: former, in: app, .movedAway, from: customer, at: now)
        try emitOwnershipEvent(
            of: purchase, is: customer, in: app, .moved, from: former, evidence: evidence, at: now)
        try connection.run(
            "UPDATE links SET customer = $1, evidence = $2, since_ms = $3, "
                + "document_signed_at_ms = $4, is_confirmed = $5 "
                + "WHERE app = $6 AND environment = $7 AND purchase = $8",
            [
                .text(customer.rawValue), .text(evidence.rawValue), .integer(now.milliseconds),
            ] + document.values + Self.key(of: purchase, in: app))
        try emitWalletEvents(of: purchase, from: former, to: customer, in: app, at: now)
        try rescheduleConsumptionInquiries(about: [purchase], in: app, at: now)
    }

    /// Confirms that a purchase belongs to the customer who has it, with support as the evidence,
    /// so that no policy moves it any more. Emits an event and records the confirmation.
    /// Idempotent: returns an earlier confirmation that has the same reason.
    package func confirm(
        _ purchase: PurchaseID, of customer: CustomerID, reason: String, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) -> Transfer {
        if let said = try confirmation(of: purchase, of: customer, reason: reason, in: app) {
            return said
        }
        if try link(of: purchase, in: app) == nil {
            try link(purchase, to: customer, by: .support, in: app, at: now)
        } else {
            try emitOwnershipEvent(
                of: purchase, is: customer, in: app, .linked, evidence: .support, at: now)
        }
        try connection.run(
            "UPDATE links SET evidence = $1, since_ms = $2 "
                + "WHERE app = $3 AND environment = $4 AND purchase = $5 AND evidence <> $1",
            [.text(OwnershipClaim.Evidence.support.rawValue), .integer(now.milliseconds)]
                + Self.key(of: purchase, in: app))
        return try insertTransfer(
            Transfer(
                number: 0, purchase: purchase, kind: .moved, former: customer,
                customer: customer, evidence: .support, reason: reason, at: now),
            in: app)
    }

    /// What support said earlier for the same reason. Returns nil if it has not, or if it does not
    /// hold any more.
    package func confirmation(
        of purchase: PurchaseID, of customer: CustomerID, reason: String, in app: AppID
    ) throws(StorageFailure) -> Transfer? {
        guard try link(of: purchase, in: app)?.evidence == .support else { return nil }
        return try transfers(of: customer, in: app).last {
            $0.purchase == purchase && $0.customer == customer && $0.evidence == .support
                && $0.reason == reason && $0.undoneAt == nil
        }
    }

    /// The customer who benefits from a purchase: its owner, or the customer identified by its
    /// account token.
    package func beneficiary(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        try beneficiary(
            link(of: purchase, in: app)?.customer,
            token: timeline(of: purchase, in: app)?.accountToken, in: app)
    }

    /// Unlinks a purchase from its owner, emits an event to them, and ends all shares of it.
    package func unlink(
        _ purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        if let owner = try link(of: purchase, in: app)?.customer {
            try unblock(purchase, of: owner, in: app, at: now)
            try revokeShares(of: purchase, in: app, at: now)
        }
        guard let owner = try deleteLink(of: purchase, in: app, at: now) else { return }
        let named = try walletCustomer(of: purchase, in: app)
        try emitWalletEvents(of: purchase, from: owner, to: named, in: app, at: now)
    }

    /// Unlinks a purchase without updating wallets. Returns the former owner.
    func deleteLink(
        of purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) -> CustomerID? {
        guard let owner = try link(of: purchase, in: app)?.customer else { return nil }
        try withdrawInvitations(of: purchase, in: app, at: now)
        try emitOwnershipEvent(of: purchase, is: owner, in: app, .unlinked, at: now)
        try connection.run(
            "DELETE FROM links WHERE app = $1 AND environment = $2 AND purchase = $3",
            Self.key(of: purchase, in: app))
        // The customer identified by the account token may have consented where the owner had not.
        try rescheduleConsumptionInquiries(about: [purchase], in: app, at: now)
        return owner
    }

    // MARK: - Blocks

    /// Blocks a purchase from being claimed from its owner, and emits an event. Idempotent.
    ///
    /// - Returns: false if it was blocked before.
    @discardableResult package func block(
        _ purchase: PurchaseID, of owner: CustomerID, reason: String, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) -> Bool {
        guard try block(of: purchase, in: app) == nil else { return false }
        try emitOwnershipEvent(of: purchase, is: owner, in: app, .blocked, at: now)
        try connection.run(
            "INSERT INTO blocks (app, environment, purchase, reason, since_ms) "
                + "VALUES ($1, $2, $3, $4, $5)",
            Self.key(of: purchase, in: app) + [.text(reason), .integer(now.milliseconds)])
        return true
    }

    /// Removes the block of a purchase, and emits an event if there was one. Idempotent.
    ///
    /// - Returns: false if it was not blocked.
    @discardableResult package func unblock(
        _ purchase: PurchaseID, of owner: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) -> Bool {
        guard try block(of: purchase, in: app) != nil else { return false }
        try emitOwnershipEvent(of: purchase, is: owner, in: app, .unblocked, at: now)
        try deleteBlock(of: purchase, in: app)
        return true
    }

    func deleteBlock(of purchase: PurchaseID, in app: AppID) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM blocks WHERE app = $1 AND environment = $2 AND purchase = $3",
            Self.key(of: purchase, in: app))
    }

    /// The block on a purchase. Returns nil if there is none.
    package func block(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> PurchaseBlock? {
        try connection.firstRow(
            "SELECT reason, since_ms FROM blocks "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3",
            Self.key(of: purchase, in: app)
        ) { row throws(StorageFailure) in
            PurchaseBlock(
                reason: try row.text(), since: try row.instant())
        }
    }

    /// The blocked purchases of their owner, in the order of the blocks.
    package func blockedPurchases(
        of owner: CustomerID, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [PurchaseID] {
        try connection.rows(
            "SELECT links.purchase FROM links JOIN blocks ON blocks.app = links.app "
                + "AND blocks.environment = links.environment AND blocks.purchase = links.purchase "
                + "WHERE links.app = $1 AND links.customer = $2 AND links.environment = $3 "
                + "ORDER BY blocks.since_ms, links.purchase",
            [.text(app.rawValue), .text(owner.rawValue), .text(environment.rawValue)]
        ) { row throws(StorageFailure) in PurchaseID(try row.transaction(), in: environment) }
    }

    // MARK: - Reading

    /// All transfers to and from a customer, in order.
    package func transfers(
        of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> [Transfer] {
        var found: [Transfer] = []
        for side in ["customer", "former"] {
            found += try connection.rows(
                "SELECT \(Self.transferColumns) FROM transfers WHERE app = $1 AND \(side) = $2",
                [.text(app.rawValue), .text(customer.rawValue)], Self.transfer)
        }
        return Set(found).sorted { $0.number < $1.number }
    }

    package func transfer(
        _ number: Int64, in app: AppID
    ) throws(StorageFailure) -> Transfer? {
        try connection.rows(
            "SELECT \(Self.transferColumns) FROM transfers WHERE app = $1 AND transfer = $2",
            [.text(app.rawValue), .integer(number)], Self.transfer
        ).first
    }

    static let transferColumns =
        "transfer, environment, purchase, kind, former, customer, evidence, reason, at_ms, "
        + "undone_at_ms"

    private static func transfer(_ row: inout ColumnReader) throws(StorageFailure) -> Transfer {
        let (number, purchase) = (try row.integer(), try row.purchase())
        let kind = Transfer.Kind(rawValue: try row.text())
        let (former, customer) = (try row.optionalCustomer(), try row.customer())
        let evidence = OwnershipClaim.Evidence(rawValue: try row.text())
        guard let kind, let evidence else {
            throw StorageFailure("unknown kind of transfer: use a newer version of Perennial")
        }
        return Transfer(
            number: number, purchase: purchase, kind: kind, former: former, customer: customer,
            evidence: evidence, reason: try row.text(), at: try row.instant(),
            undoneAt: try row.optionalInstant())
    }
}
