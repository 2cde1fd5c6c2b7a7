import Ledger

extension CustomerRows {
    /// Inserts a customer without ids.
    package func insert(
        _ customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO customers (app, customer, created_at_ms) VALUES ($1, $2, $3)",
            [.text(app.rawValue), .text(customer.rawValue), .integer(now.milliseconds)])
    }

    /// When a customer was first seen. Returns nil if the customer is unknown.
    package func createdAt(
        _ customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> Instant? {
        try connection.firstRow(
            "SELECT created_at_ms FROM customers WHERE app = $1 AND customer = $2",
            [.text(app.rawValue), .text(customer.rawValue)]
        ) { row throws(StorageFailure) in try row.instant() }
    }

    /// Sets the time when a customer was first seen, if it is earlier than the stored time.
    /// Idempotent.
    package func moveCreation(
        of customer: CustomerID, in app: AppID, backTo moment: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE customers SET created_at_ms = $1 "
                + "WHERE app = $2 AND customer = $3 AND created_at_ms > $1",
            [
                .integer(moment.milliseconds), .text(app.rawValue), .text(customer.rawValue),
            ])
    }

    /// Inserts an id of a customer. The id must be unused.
    ///
    /// - Parameter isAccountToken: whether the server made the id as an account token.
    package func insertID(
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

    /// Deletes an id of a customer, and records that the id was separated from the customer.
    package func deleteID(
        _ id: CustomerID, of customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM customer_ids WHERE app = $1 AND id = $2",
            [.text(app.rawValue), .text(id.rawValue)])
        try connection.run(
            "INSERT INTO removed_ids (app, id, customer, removed_at_ms) VALUES ($1, $2, $3, $4) "
                + "ON CONFLICT (app, id, customer) DO UPDATE "
                + "SET removed_at_ms = excluded.removed_at_ms",
            [
                .text(app.rawValue), .text(id.rawValue), .text(customer.rawValue),
                .integer(now.milliseconds),
            ])
    }

    // MARK: - Merging

    /// Gives the ids, links, bookings, grants and transfers of a customer to another customer.
    package func moveRows(
        of other: CustomerID, to customer: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        for table in ["customer_ids", "links", "debits", "grants", "transfers"] {
            try connection.run(
                "UPDATE \(table) SET customer = $1 WHERE app = $2 AND customer = $3",
                [.text(customer.rawValue), .text(app.rawValue), .text(other.rawValue)])
        }
        try connection.run(
            "UPDATE transfers SET former = $1 WHERE app = $2 AND former = $3",
            [.text(customer.rawValue), .text(app.rawValue), .text(other.rawValue)])
    }

    /// Deletes a customer who was merged into another customer. Also deletes the reported balances.
    /// The caller must have moved the customer's other rows before.
    package func deleteMerged(_ customer: CustomerID, in app: AppID) throws(StorageFailure) {
        for table in ["wallets", "customers"] {
            try connection.run(
                "DELETE FROM \(table) WHERE app = $1 AND customer = $2",
                [.text(app.rawValue), .text(customer.rawValue)])
        }
    }

    // MARK: - Erasing

    /// Whether a customer exists and has links or bookings.
    package func hasLinksOrBookings(
        _ customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> Bool {
        try !connection.rows(
            "SELECT customer FROM customers WHERE app = $1 AND customer = $2 AND (EXISTS "
                + "(SELECT 1 FROM links WHERE links.app = $1 AND links.customer = $2) OR EXISTS "
                + "(SELECT 1 FROM debits WHERE debits.app = $1 AND debits.customer = $2))",
            [.text(app.rawValue), .text(customer.rawValue)]
        ).isEmpty
    }

    /// Gives the links, bookings and reported balances of an erased customer to the customer's
    /// pseudonym. Removes the evidence of the links, and the text that the app's server wrote.
    package func moveConsumables(
        of person: CustomerID, to pseudonym: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        for change in [
            "links SET customer = $1, evidence = 'device'", "debits SET customer = $1, reason = ''",
            "wallets SET customer = $1",
        ] {
            try connection.run(
                "UPDATE \(change) WHERE app = $2 AND customer = $3",
                [.text(pseudonym.rawValue), .text(app.rawValue), .text(person.rawValue)])
        }
    }

    /// Deletes the links, shares, grants, bookings, reported balances, attributes and ids of an
    /// erased customer.
    package func deleteOwnedRows(
        of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        for table in [
            "links", "shares", "grants", "debits", "wallets", "customer_attributes",
            "customer_ids",
        ] {
            try connection.run(
                "DELETE FROM \(table) WHERE app = $1 AND customer = $2",
                [.text(app.rawValue), .text(customer.rawValue)])
        }
    }

    /// Deletes a customer who has no other rows.
    package func delete(_ customer: CustomerID, in app: AppID) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM customers WHERE app = $1 AND customer = $2",
            [.text(app.rawValue), .text(customer.rawValue)])
    }
}
