import Ledger

/// Links of purchases to their owners, and blocks against claims.
package struct LinkRows: RowGroup {
    package let tx: DatabaseSession

    /// The number of purchases linked to a customer, in both environments.
    package func count(
        of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> Int {
        try purchases(of: customer, in: app).count
    }

    /// The purchases linked to a customer, in both environments, ordered by id.
    package func purchases(
        of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> [PurchaseID] {
        try connection.rows(
            "SELECT environment, purchase FROM links WHERE app = $1 AND customer = $2 "
                + "ORDER BY environment, purchase",
            [.text(app.rawValue), .text(customer.rawValue)]
        ) { row throws(StorageFailure) in try row.purchase() }
    }

    /// The owner of a purchase. Returns nil if the purchase has no owner.
    package func find(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> Link? {
        try connection.firstRow(
            "SELECT customer, evidence, since_ms, document_signed_at_ms, is_confirmed FROM links "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3",
            PurchaseRows.key(of: purchase, in: app)
        ) { row throws(StorageFailure) in
            let customer = try row.customer()
            guard let evidence = Link.Evidence(rawValue: try row.text()) else {
                throw StorageFailure("unknown link evidence: use a newer version of Perennial")
            }
            return Link(
                customer: customer, evidence: evidence, since: try row.instant(),
                document: try PresentedDocument?(&row))
        }
    }

    /// The timelines of all purchases linked to a customer, ordered by the ids of the purchases.
    package func timelines(
        of customer: CustomerID, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [Timeline] {
        try timelines(
            Self.selectLinked,
            [.text(app.rawValue), .text(customer.rawValue), .text(environment.rawValue)],
            in: environment)
    }

    /// The timelines of purchases that have no owner and have the given account token, ordered by
    /// the ids of the purchases.
    package func unlinkedTimelines(
        token: String, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [Timeline] {
        try timelines(
            Self.selectUnlinked,
            [.text(app.rawValue), .text(token), .text(environment.rawValue)], in: environment)
    }

    // The rows are sorted in Swift, not by SQL, and the join starts from the links. SQLite does not
    // know how few rows a customer has. So if SQL sorted the rows, SQLite would read every purchase
    // of the app in order.
    static let selectLinked =
        "SELECT purchases.purchase, timeline FROM links CROSS JOIN purchases "
        + "WHERE links.app = $1 AND links.customer = $2 AND links.environment = $3 "
        + "AND purchases.app = links.app AND purchases.environment = links.environment "
        + "AND purchases.purchase = links.purchase"

    static let selectUnlinked =
        "SELECT purchase, timeline FROM purchases "
        + "WHERE app = $1 AND account_token = $2 AND environment = $3 "
        + "AND NOT EXISTS (SELECT 1 FROM links WHERE links.app = purchases.app "
        + "AND links.environment = purchases.environment "
        + "AND links.purchase = purchases.purchase)"

    func timelines(
        _ select: String, _ values: [Value], in environment: Environment
    ) throws(StorageFailure) -> [Timeline] {
        let timelines = try connection.rows(select, values) { row throws(StorageFailure) in
            let purchase = PurchaseID(try row.transaction(), in: environment)
            return try Timeline(stored: try row.bytes(), of: purchase)
        }
        return timelines.count > 1 ? timelines.sorted { $0.purchase < $1.purchase } : timelines
    }

    /// Deletes the block on a purchase, if there is one.
    package func deleteBlock(of purchase: PurchaseID, in app: AppID) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM blocks WHERE app = $1 AND environment = $2 AND purchase = $3",
            PurchaseRows.key(of: purchase, in: app))
    }

    /// The block on a purchase. Returns nil if the purchase is not blocked.
    package func block(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> PurchaseBlock? {
        try connection.firstRow(
            "SELECT reason, since_ms FROM blocks "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3",
            PurchaseRows.key(of: purchase, in: app)
        ) { row throws(StorageFailure) in
            PurchaseBlock(
                reason: try row.text(), since: try row.instant())
        }
    }

    /// The blocked purchases of an owner, in the order in which they were blocked.
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

    // MARK: - Writing

    /// Links a purchase without an owner to a customer.
    package func insert(
        _ purchase: PurchaseID, to customer: CustomerID, by evidence: Link.Evidence,
        _ document: PresentedDocument?, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO links (app, environment, purchase, customer, evidence, since_ms, "
                + "document_signed_at_ms, is_confirmed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            [
                .text(app.rawValue), .text(purchase.environment.rawValue),
                .text(purchase.original.rawValue), .text(customer.rawValue),
                .text(evidence.rawValue), .integer(now.milliseconds),
            ] + document.values)
    }

    /// Replaces the owner of a purchase.
    package func replace(
        _ purchase: PurchaseID, to customer: CustomerID, by evidence: Link.Evidence,
        _ document: PresentedDocument?, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE links SET customer = $1, evidence = $2, since_ms = $3, "
                + "document_signed_at_ms = $4, is_confirmed = $5 "
                + "WHERE app = $6 AND environment = $7 AND purchase = $8",
            [
                .text(customer.rawValue), .text(evidence.rawValue), .integer(now.milliseconds),
            ] + document.values + PurchaseRows.key(of: purchase, in: app))
    }

    /// Records support as the evidence of a link, unless this evidence is recorded already.
    package func confirm(
        _ purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE links SET evidence = $1, since_ms = $2 "
                + "WHERE app = $3 AND environment = $4 AND purchase = $5 AND evidence <> $1",
            [.text(OwnershipClaim.Evidence.support.rawValue), .integer(now.milliseconds)]
                + PurchaseRows.key(of: purchase, in: app))
    }

    /// Deletes the link of a purchase, if there is one.
    package func delete(of purchase: PurchaseID, in app: AppID) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM links WHERE app = $1 AND environment = $2 AND purchase = $3",
            PurchaseRows.key(of: purchase, in: app))
    }

    /// Blocks a purchase that is not blocked.
    package func insertBlock(
        of purchase: PurchaseID, reason: String, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO blocks (app, environment, purchase, reason, since_ms) "
                + "VALUES ($1, $2, $3, $4, $5)",
            PurchaseRows.key(of: purchase, in: app) + [.text(reason), .integer(now.milliseconds)])
    }
}

// A transaction that records documents on a snapshot does not read the columns that are changed
// here, so the purchase's row in `purchases` stays as it is: see `SnapshotConnection`.
extension LinkRows {
    /// Remembers the document that a device of a purchase's owner presents, if it is newer than the
    /// earlier documents. Idempotent.
    package func remember(
        documentSignedAt signedAt: Instant, isNew: Bool, of purchase: PurchaseID,
        ownedBy link: Link, in app: AppID
    ) throws(StorageFailure) {
        let first = PresentedDocument(signedAt: signedAt, isConfirming: true)
        let known = link.document
        guard
            let next = known == nil
                ? first
                : known?.after(showingOneSignedAt: signedAt, isNew: isNew, since: link.since)
        else { return }
        try connection.run(
            "UPDATE links SET document_signed_at_ms = $1, is_confirmed = $2 "
                + "WHERE app = $3 AND environment = $4 AND purchase = $5",
            PresentedDocument?.some(next).values + PurchaseRows.key(of: purchase, in: app))
    }
}
