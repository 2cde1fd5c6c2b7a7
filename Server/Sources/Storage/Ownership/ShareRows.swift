import Ledger

// Shares: a customer has a purchase in addition to its owner. A purchase without an owner has no
// shares.

/// A customer's share in a purchase of another customer.
package struct Share: Hashable, Sendable {
    package var customer: CustomerID
    /// Whether all ids of the customer are anonymous.
    package var isAnonymous: Bool
    package var since: Instant
    /// The newest document that the customer's devices have shown. Of a share from before this was
    /// remembered, one of that time.
    package var document: PresentedDocument

    /// Whether there is less behind this share than behind another one: a customer whose devices
    /// only showed a document of before may have nothing but a copy, and one with a newer document
    /// has used a device of the store account later. Of two with the same document, the one that
    /// came later is weaker.
    package func isWeaker(than other: Share) -> Bool {
        (document.isConfirming ? 1 : 0, document.signedAt, other.since, other.customer)
            < (other.document.isConfirming ? 1 : 0, other.document.signedAt, since, customer)
    }
}

extension DatabaseSession {
    /// Shares a purchase with a customer, and emits an event. Replaces a share that they have.
    ///
    /// - Parameter document: what the customer's device shows.
    package func share(
        _ purchase: PurchaseID, with customer: CustomerID, document: PresentedDocument? = nil,
        in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        let owner = try link(of: purchase, in: app)?.customer
        try deleteShare(in: purchase, of: customer, in: app)
        try beginShare(
            of: purchase, with: customer, from: owner, document: document, in: app, at: now)
        _ = try insertTransfer(
            Transfer(
                number: 0, purchase: purchase, kind: .shared, former: owner,
                customer: customer, evidence: .device, reason: "", at: now),
            in: app)
    }

    /// Restores the share that a customer had before the purchase was moved to them, if they had
    /// one, under the transfer that granted it, so that it can be undone as before. Call it after
    /// undoing the move.
    package func restoreShare(
        _ move: Transfer, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        // A purchase without an owner had no shares.
        guard move.kind == .moved, let owner = move.former else { return }
        // The last transfer to or from the customer before the move that was not undone.
        let last = try transfers(of: move.customer, in: app).last {
            $0.purchase == move.purchase && $0.number < move.number && $0.undoneAt == nil
        }
        guard let last, last.kind == .shared, last.customer == move.customer, !last.stays else {
            return
        }
        try deleteShare(in: move.purchase, of: move.customer, in: app)
        try beginShare(
            of: move.purchase, with: move.customer, from: owner, document: nil, in: app, at: now)
    }

    /// Inserts the share, and emits an event.
    private func beginShare(
        of purchase: PurchaseID, with customer: CustomerID, from owner: CustomerID?,
        document: PresentedDocument?, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try emitOwnershipEvent(
            of: purchase, is: customer, in: app, .shared, from: owner, at: now)
        try connection.run(
            "INSERT INTO shares (app, environment, purchase, customer, since_ms, "
                + "document_signed_at_ms, is_confirmed) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            Self.key(of: purchase, in: app) + [
                .text(customer.rawValue), .integer(now.milliseconds),
            ] + document.values)
    }

    /// Ends all shares of a purchase that loses its owner because support has undone its transfer.
    /// Each event names the customer who shared it.
    func revokeShares(
        of purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for sharer in try sharers(of: purchase, in: app) {
            let share = try transfers(of: sharer, in: app).last {
                $0.purchase == purchase && $0.kind == .shared && $0.customer == sharer
                    && $0.undoneAt == nil
            }
            try revokeShare(of: purchase, with: sharer, from: share?.former, in: app, at: now)
            try markSharesUndone(of: purchase, with: sharer, in: app, at: now)
        }
    }

    /// Ends a customer's share of a purchase, and emits an event. They may share it again later,
    /// unless ``markSharesUndone(of:with:in:at:)`` says that support has decided it. Idempotent.
    package func revokeShare(
        of purchase: PurchaseID, with customer: CustomerID, from owner: CustomerID?, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) {
        guard try hasShare(in: purchase, customer, in: app) else { return }
        try emitOwnershipEvent(
            of: purchase, is: customer, in: app, .shareEnded, from: owner, at: now)
        try deleteShare(in: purchase, of: customer, in: app)
    }

    /// Records that support has ended a customer's shares of a purchase.
    func markSharesUndone(
        of purchase: PurchaseID, with customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE transfers SET undone_at_ms = $1 WHERE app = $2 AND environment = $3 "
                + "AND purchase = $4 AND customer = $5 AND kind = 'shared' "
                + "AND undone_at_ms IS NULL",
            [.integer(now.milliseconds)] + Self.key(of: purchase, in: app)
                + [.text(customer.rawValue)])
    }

    /// Deletes a share without emitting an event: the caller reports that the share ended, or that
    /// the customer became the owner.
    func deleteShare(
        in purchase: PurchaseID, of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM shares WHERE app = $1 AND environment = $2 AND purchase = $3 "
                + "AND customer = $4",
            Self.key(of: purchase, in: app) + [.text(customer.rawValue)])
    }

    // MARK: - Reading

    package func hasShare(
        in purchase: PurchaseID, _ customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> Bool {
        try !connection.rows(
            "SELECT since_ms FROM shares WHERE app = $1 AND environment = $2 AND purchase = $3 "
                + "AND customer = $4", Self.key(of: purchase, in: app) + [.text(customer.rawValue)]
        ).isEmpty
    }

    /// The shares of a purchase, the weakest first.
    package func shares(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [Share] {
        var shares: [CustomerID: Share] = [:]
        try connection.eachRow(Self.selectShares, Self.key(of: purchase, in: app)) {
            row throws(StorageFailure) in
            let customer = try row.customer()
            let since = try row.instant()
            let document = try PresentedDocument?(&row)
            let id = try row.customer()
            let isToken = try row.flag()
            var share =
                shares[customer]
                ?? Share(
                    customer: customer, isAnonymous: true, since: since,
                    document: document ?? PresentedDocument(signedAt: since, isConfirming: true))
            if !isToken, !id.isAnonymous { share.isAnonymous = false }
            shares[customer] = share
        }
        return shares.values.sorted { $0.isWeaker(than: $1) }
    }

    static let selectShares =
        "SELECT shares.customer, shares.since_ms, shares.document_signed_at_ms, "
        + "shares.is_confirmed, ids.id, ids.is_account_token FROM shares "
        + "CROSS JOIN customer_ids ids "
        + "WHERE shares.app = $1 AND shares.environment = $2 AND shares.purchase = $3 "
        + "AND ids.app = shares.app AND ids.customer = shares.customer"

    /// The customers who share a purchase with its owner.
    func sharers(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [CustomerID] {
        try connection.rows(
            "SELECT customer FROM shares WHERE app = $1 AND environment = $2 AND purchase = $3 "
                + "ORDER BY customer", Self.key(of: purchase, in: app)
        ) { row throws(StorageFailure) in
            try row.customer()
        }
    }

    /// The timelines of purchases that are shared with a customer.
    package func sharedTimelines(
        with customer: CustomerID, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [Timeline] {
        try timelines(
            Self.selectShared,
            [.text(app.rawValue), .text(customer.rawValue), .text(environment.rawValue)],
            in: environment)
    }

    static let selectShared =
        "SELECT purchases.purchase, timeline FROM shares CROSS JOIN purchases "
        + "WHERE shares.app = $1 AND shares.customer = $2 AND shares.environment = $3 "
        + "AND purchases.app = shares.app AND purchases.environment = shares.environment "
        + "AND purchases.purchase = shares.purchase"
}
