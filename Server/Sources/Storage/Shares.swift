import Ledger

// A purchase that a customer has beside its owner. In what is nobody's nobody has a share.

extension StoreTransaction {
    /// Lets a customer have a purchase beside its owner, which is told. Not to be repeated.
    package func share(
        _ purchase: PurchaseID, with customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        let owner = try link(of: purchase, in: app)?.customer
        let number = try beginShare(of: purchase, with: customer, from: owner, in: app, at: now)
        _ = try keepTransfer(
            Transfer(
                number: number, purchase: purchase, kind: .shared, former: owner,
                customer: customer, evidence: .device, reason: "", at: now),
            in: app)
    }

    /// Gives a share back to whom the purchase was moved, where they had one until then: by the
    /// transfer that gave it, by which it can be taken back as before. To be called when the move
    /// is undone.
    package func shareAgain(
        _ move: Transfer, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        // In what was nobody's nobody had a share.
        guard move.kind == .moved, let owner = move.former else { return }
        // Of all that came to them or went from them before, and was not taken back, the last.
        let last = try transfers(of: move.customer, in: app).last {
            $0.purchase == move.purchase && $0.number < move.number && $0.undoneAt == nil
        }
        guard let last, last.kind == .shared, last.customer == move.customer, !last.stays else {
            return
        }
        try forgetShare(in: move.purchase, of: move.customer, in: app)
        try beginShare(of: move.purchase, with: move.customer, from: owner, in: app, at: now)
    }

    /// Returns the number of the event that tells it.
    @discardableResult
    private func beginShare(
        of purchase: PurchaseID, with customer: CustomerID, from owner: CustomerID?, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) -> Int64 {
        let number = try tellOwner(
            of: purchase, is: customer, in: app, .shared, from: owner, at: now)
        try connection.run(
            "INSERT INTO shares (app, environment, purchase, customer, since_ms) "
                + "VALUES ($1, $2, $3, $4, $5)",
            Self.key(of: purchase, in: app) + [
                .text(customer.rawValue), .integer(now.milliseconds),
            ])
        return number
    }

    /// Ends what others have beside an owner whose it will be no more, and tells each under the
    /// name of who shared it with them.
    func endShares(
        of purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for sharer in try sharers(of: purchase, in: app) {
            let share = try transfers(of: sharer, in: app).last {
                $0.purchase == purchase && $0.kind == .shared && $0.customer == sharer
                    && $0.undoneAt == nil
            }
            try endShare(of: purchase, with: sharer, from: share?.former, in: app, at: now)
        }
    }

    /// Ends what a customer had beside the owner, and tells it.
    func endShare(
        of purchase: PurchaseID, with customer: CustomerID, from owner: CustomerID?, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) {
        guard try hasShare(in: purchase, customer, in: app) else { return }
        try tellOwner(of: purchase, is: customer, in: app, .shareEnded, from: owner, at: now)
        try forgetShare(in: purchase, of: customer, in: app)
        try connection.run(
            "UPDATE transfers SET undone_at_ms = $1 WHERE app = $2 AND environment = $3 "
                + "AND purchase = $4 AND customer = $5 AND kind = 'shared' "
                + "AND undone_at_ms IS NULL",
            [.integer(now.milliseconds)] + Self.key(of: purchase, in: app)
                + [.text(customer.rawValue)])
    }

    /// Told by whoever calls: as the end of the share, or as that it is all theirs.
    func forgetShare(
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

    /// How many customers have a purchase beside its owner.
    package func sharerCount(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> Int {
        try sharers(of: purchase, in: app).count
    }

    /// Who has a purchase beside its owner.
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

    /// The timelines of purchases that a customer has beside their owners.
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
