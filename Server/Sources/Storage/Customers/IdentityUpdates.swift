import Ledger

/// Creates and merges customers, adds and removes their ids, and emits events.
package struct IdentityUpdates: RowGroup {
    package let tx: DatabaseSession

    /// The customer that an id belongs to. An unknown id becomes a new customer.
    ///
    /// - Throws: ``StorageFailure`` of kind `erased` if the id is the pseudonym of an erased
    ///   customer: it must not give access to an erased customer's data.
    package func customer(
        _ id: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) -> StoredCustomer {
        if let known = try tx.customers.find(known: id, in: app) { return known }
        try tx.erasedIDs.requireNoPseudonym(id, in: app)
        try connection.run(
            "INSERT INTO customers (app, customer, created_at_ms) VALUES ($1, $2, $3)",
            [.text(app.rawValue), .text(id.rawValue), .integer(now.milliseconds)])
        try insertID(id, of: id, in: app, at: now)
        try tx.walletUpdates.emitEvents(named: id, by: id, in: app, at: now)
        try tx.inquiries.reschedule(named: id, in: app, at: now)
        return StoredCustomer(customer: id, ids: [id])
    }

    /// Adds an unused id to a customer, and emits an event. Not idempotent: check first who has the
    /// id.
    ///
    /// - Throws: ``StorageFailure`` of kind `erased` if the id is the pseudonym of an erased
    ///   customer.
    package func addID(
        _ id: CustomerID, to customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try tx.erasedIDs.requireNoPseudonym(id, in: app)
        try tx.consents.revoke(of: customer, forNamed: id, in: app)
        try insertID(id, of: customer, in: app, at: now)
        try emitIdentityEvent(.aliasAdded, of: customer, other: id, in: app, at: now)
        try tx.walletUpdates.emitEvents(named: id, by: customer, in: app, at: now)
        try tx.inquiries.reschedule(named: id, in: app, at: now)
        // Purchases with this id as their account token belong to the customer from now on.
        try tx.seats.releaseSeatsOfOwnPurchases(of: customer, in: app, at: now)
        for environment in Environment.allCases {
            try tx.reminders.watchTerms(of: customer, in: app, environment)
        }
    }

    /// Adds an id to a customer that serves as account token. The id must be a new UUID in lower
    /// case.
    package func addAccountToken(
        _ token: CustomerID, to customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try insertID(token, of: customer, isAccountToken: true, in: app, at: now)
    }

    private func insertID(
        _ id: CustomerID, of customer: CustomerID, isAccountToken: Bool = false, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO customer_ids (app, id, customer, since_ms, is_account_token) "
                + "VALUES ($1, $2, $3, $4, $5)",
            [
                .text(app.rawValue), .text(id.rawValue), .text(customer.rawValue),
                .integer(now.milliseconds), .integer(isAccountToken ? 1 : 0),
            ])
    }

    /// Merges the second customer into the first: every id, purchase and debit of the second
    /// belongs to the first from now on, and events are emitted. Not idempotent: check first who
    /// has the ids.
    package func merge(
        _ other: CustomerID, into customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try emitIdentityEvent(.customerMerged, of: customer, other: other, in: app, at: now)
        for purchase in try tx.links.purchases(of: other, in: app) {
            try tx.purchaseEvents.emitOwnershipEvent(
                of: purchase, is: customer, in: app, .moved, from: other, at: now)
        }
        try mergeShares(of: other, into: customer, in: app)
        try tx.consents.merge(of: other, into: customer, in: app)
        try tx.reminders.merge(of: other, into: customer, in: app)
        for table in ["customer_ids", "links", "debits", "grants", "transfers"] {
            try connection.run(
                "UPDATE \(table) SET customer = $1 WHERE app = $2 AND customer = $3",
                [.text(customer.rawValue), .text(app.rawValue), .text(other.rawValue)])
        }
        try connection.run(
            "UPDATE transfers SET former = $1 WHERE app = $2 AND former = $3",
            [.text(customer.rawValue), .text(app.rawValue), .text(other.rawValue)])
        try tx.seats.mergeClaims(of: other, into: customer, in: app, at: now)
        for table in ["wallets", "customers"] {
            try connection.run(
                "DELETE FROM \(table) WHERE app = $1 AND customer = $2",
                [.text(app.rawValue), .text(other.rawValue)])
        }
        try tx.walletUpdates.emitAdjustments(
            of: customer, in: app, from: .request, other: other, at: now)
        try tx.inquiries.reschedule(
            about: try tx.links.purchases(of: customer, in: app), in: app, at: now)
    }

    /// Keeps each share once, and no share of a purchase that the merged customer owns. Of two
    /// shares in one purchase, the share of the remaining customer counts.
    private func mergeShares(
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

    /// Removes an id from a customer, and emits an event. All purchases stay with the customer,
    /// including those that belong to them only because the id is the account token. Not
    /// idempotent: check first who has the id.
    ///
    /// - Parameter alias: must not be the id that represents the customer in the database.
    package func removeID(
        _ alias: CustomerID, from customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for environment in Environment.allCases {
            for timeline in try tx.accountTokens.timelines(
                [alias], in: app, environment: environment)
            {
                // With a token as the evidence, so that the person with that id can still claim the
                // purchase with a device.
                try tx.ownership.link(timeline.purchase, to: customer, by: .token, in: app, at: now)
            }
        }
        try connection.run(
            "DELETE FROM customer_ids WHERE app = $1 AND id = $2",
            [.text(app.rawValue), .text(alias.rawValue)])
        try connection.run(
            "INSERT INTO removed_ids (app, id, customer, removed_at_ms) VALUES ($1, $2, $3, $4) "
                + "ON CONFLICT (app, id, customer) DO UPDATE "
                + "SET removed_at_ms = excluded.removed_at_ms",
            [
                .text(app.rawValue), .text(alias.rawValue), .text(customer.rawValue),
                .integer(now.milliseconds),
            ])
        try emitIdentityEvent(.aliasRemoved, of: customer, other: alias, in: app, at: now)
    }

    /// Appends an event saying that an id was added to a customer, or that another customer was
    /// merged into them.
    func emitIdentityEvent(
        _ kind: Change.Kind, of customer: CustomerID, other: CustomerID, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) {
        try tx.events.append([
            EventEntry(
                app: app, customer: customer, purchase: nil, change: Change(kind, at: now),
                knownAt: now, cause: .request, other: other)
        ])
    }
}
