import Ledger

// A share lets a customer use a purchase that another customer owns. A purchase without an owner
// has no shares.

/// A customer's share in a purchase of another customer.
package struct Share: Hashable, Sendable {
    package var customer: CustomerID
    /// Whether all ids of the customer are anonymous.
    package var isAnonymous: Bool
    package var since: Instant
    /// The newest document that the customer's devices have presented. If the document of an old
    /// share was not remembered, this is a document with the date on which the share began.
    package var document: PresentedDocument

    /// Whether this share has weaker evidence than another share. If a customer's devices presented
    /// only an older document, the customer may have only a copy. A customer with a newer document
    /// has used a device of the store account later. If two shares have the same document, the
    /// later share is weaker.
    package func isWeaker(than other: Share) -> Bool {
        (document.isConfirming ? 1 : 0, document.signedAt, other.since, other.customer)
            < (other.document.isConfirming ? 1 : 0, other.document.signedAt, since, customer)
    }
}

/// Shares of customers in purchases of others.
package struct ShareRows: RowGroup {
    package let tx: DatabaseSession

    /// Deletes a share without emitting an event: the caller must report that the share ended, or
    /// that the customer became the owner.
    package func delete(
        in purchase: PurchaseID, of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM shares WHERE app = $1 AND environment = $2 AND purchase = $3 "
                + "AND customer = $4",
            PurchaseRows.key(of: purchase, in: app) + [.text(customer.rawValue)])
    }

    /// Inserts a share. The customer must not have a share in the purchase.
    ///
    /// - Parameter document: the document that the customer's device presents.
    package func insert(
        in purchase: PurchaseID, of customer: CustomerID, _ document: PresentedDocument?,
        in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO shares (app, environment, purchase, customer, since_ms, "
                + "document_signed_at_ms, is_confirmed) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            PurchaseRows.key(of: purchase, in: app) + [
                .text(customer.rawValue), .integer(now.milliseconds),
            ] + document.values)
    }

    /// Gives the shares of a customer to another customer. Deletes shares in purchases that the
    /// merged customer owns. If both customers have a share in a purchase, keeps the share of the
    /// remaining customer.
    package func merge(
        of other: CustomerID, into customer: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        let shared = try connection.rows(
            "SELECT environment, purchase FROM shares WHERE app = $1 AND customer IN ($2, $3)",
            [.text(app.rawValue), .text(customer.rawValue), .text(other.rawValue)]
        ) { row throws(StorageFailure) in try row.purchase() }
        try tx.purchases.touch(shared, in: app)
        let isTheirs =
            "EXISTS (SELECT 1 FROM links WHERE links.app = shares.app "
            + "AND links.environment = shares.environment AND links.purchase = shares.purchase "
            + "AND links.customer IN ($2, $3))"
        try connection.run(
            "DELETE FROM shares WHERE app = $1 AND customer IN ($2, $3) AND \(isTheirs)",
            [.text(app.rawValue), .text(customer.rawValue), .text(other.rawValue)])
        try connection.run(
            "INSERT INTO shares (app, environment, purchase, customer, since_ms, "
                + "document_signed_at_ms, is_confirmed) "
                + "SELECT app, environment, purchase, $1, since_ms, document_signed_at_ms, "
                + "is_confirmed FROM shares "
                + "WHERE app = $2 AND customer = $3 "
                + "ON CONFLICT (app, purchase, environment, customer) DO NOTHING",
            [.text(customer.rawValue), .text(app.rawValue), .text(other.rawValue)])
        try connection.run(
            "DELETE FROM shares WHERE app = $1 AND customer = $2",
            [.text(app.rawValue), .text(other.rawValue)])
    }
    // MARK: - Reading

    package func exists(
        in purchase: PurchaseID, _ customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> Bool {
        try !connection.rows(
            "SELECT since_ms FROM shares WHERE app = $1 AND environment = $2 AND purchase = $3 "
                + "AND customer = $4",
            PurchaseRows.key(of: purchase, in: app) + [.text(customer.rawValue)]
        ).isEmpty
    }

    /// The shares of a purchase, the weakest first.
    package func all(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [Share] {
        var shares: [CustomerID: Share] = [:]
        try connection.eachRow(Self.selectShares, PurchaseRows.key(of: purchase, in: app)) {
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
    package func sharers(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [CustomerID] {
        try connection.rows(
            "SELECT customer FROM shares WHERE app = $1 AND environment = $2 AND purchase = $3 "
                + "ORDER BY customer", PurchaseRows.key(of: purchase, in: app)
        ) { row throws(StorageFailure) in
            try row.customer()
        }
    }

    /// The timelines of purchases that are shared with a customer.
    package func timelines(
        with customer: CustomerID, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [Timeline] {
        try tx.links.timelines(
            Self.selectShared,
            [.text(app.rawValue), .text(customer.rawValue), .text(environment.rawValue)],
            in: environment)
    }

    static let selectShared =
        "SELECT purchases.purchase, timeline FROM shares CROSS JOIN purchases "
        + "WHERE shares.app = $1 AND shares.customer = $2 AND shares.environment = $3 "
        + "AND purchases.app = shares.app AND purchases.environment = shares.environment "
        + "AND purchases.purchase = shares.purchase"

    /// Remembers the document that a device of a sharing customer presents, if it is newer than the
    /// earlier documents. Idempotent.
    package func remember(
        documentSignedAt signedAt: Instant, isNew: Bool, of purchase: PurchaseID,
        sharedWith customer: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        let key = PurchaseRows.key(of: purchase, in: app) + [.text(customer.rawValue)]
        let share = try connection.firstRow(
            "SELECT since_ms, document_signed_at_ms, is_confirmed FROM shares "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3 AND customer = $4", key
        ) { row throws(StorageFailure) in
            (since: try row.instant(), known: try PresentedDocument?(&row))
        }
        guard let (since, known) = share else { return }
        guard
            let next = (known ?? PresentedDocument(signedAt: since, isConfirming: true))
                .after(showingOneSignedAt: signedAt, isNew: isNew, since: since)
        else { return }
        try connection.run(
            "UPDATE shares SET document_signed_at_ms = $1, is_confirmed = $2 "
                + "WHERE app = $3 AND environment = $4 AND purchase = $5 AND customer = $6",
            PresentedDocument?.some(next).values + key)
    }
}
