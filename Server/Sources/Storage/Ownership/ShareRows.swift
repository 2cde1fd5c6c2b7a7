import Ledger

// Shares: a customer has a purchase in addition to its owner. A purchase without an owner has no
// shares.

extension DatabaseSession {
    /// Shares a purchase with a customer, and emits an event. Not idempotent.
    package func share(
        _ purchase: PurchaseID, with customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        let owner = try link(of: purchase, in: app)?.customer
        try beginShare(of: purchase, with: customer, from: owner, in: app, at: now)
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
        try beginShare(of: move.purchase, with: move.customer, from: owner, in: app, at: now)
    }

    /// Inserts the share, and emits an event.
    private func beginShare(
        of purchase: PurchaseID, with customer: CustomerID, from owner: CustomerID?, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) {
        try emitOwnershipEvent(
            of: purchase, is: customer, in: app, .shared, from: owner, at: now)
        try connection.run(
            "INSERT INTO shares (app, environment, purchase, customer, since_ms) "
                + "VALUES ($1, $2, $3, $4, $5)",
            Self.key(of: purchase, in: app) + [
                .text(customer.rawValue), .integer(now.milliseconds),
            ])
    }

    /// Ends all shares of a purchase that loses its owner. Each event names the customer who shared
    /// it.
    func revokeShares(
        of purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for sharer in try sharers(of: purchase, in: app) {
            let share = try transfers(of: sharer, in: app).last {
                $0.purchase == purchase && $0.kind == .shared && $0.customer == sharer
                    && $0.undoneAt == nil
            }
            try revokeShare(of: purchase, with: sharer, from: share?.former, in: app, at: now)
        }
    }

    /// Ends a customer's share of a purchase, and emits an event.
    func revokeShare(
        of purchase: PurchaseID, with customer: CustomerID, from owner: CustomerID?, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) {
        guard try hasShare(in: purchase, customer, in: app) else { return }
        try emitOwnershipEvent(
            of: purchase, is: customer, in: app, .shareEnded, from: owner, at: now)
        try deleteShare(in: purchase, of: customer, in: app)
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

    /// The number of customers who share a purchase with its owner.
    package func sharerCount(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> Int {
        try sharers(of: purchase, in: app).count
    }

    /// The customers who share a purchase with its owner.
    func sharers(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [CustomerID] {
        let rows = try connection.rows(
            "SELECT customer FROM shares WHERE app = $1 AND environment = $2 AND purchase = $3 "
                + "ORDER BY customer", Self.key(of: purchase, in: app))
        return try rows.map { (row) throws(StorageFailure) in
            CustomerID(rawValue: try row.text(0))
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
