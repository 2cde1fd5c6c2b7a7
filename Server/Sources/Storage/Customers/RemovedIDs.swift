import Ledger

// Separates an id from a customer it was added to by mistake.

extension DatabaseSession {
    /// Removes an id from a customer, and emits an event. All purchases stay with the customer,
    /// including those that are theirs only because the id is the account token. Not idempotent:
    /// check first whom the id belongs to.
    ///
    /// - Parameter alias: must not be the id that represents the customer in the database.
    package func removeID(
        _ alias: CustomerID, from customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for environment in Environment.allCases {
            for timeline in try timelinesByToken([alias], in: app, environment: environment) {
                // With a token as the evidence, so that the person with that id can still claim the
                // purchase with a device.
                try link(timeline.purchase, to: customer, by: .token, in: app, at: now)
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

    /// The customers from whom one of these ids was separated: their events mention it.
    package func customersSeparatedFrom(
        _ ids: [CustomerID], in app: AppID
    ) throws(StorageFailure) -> [CustomerID] {
        try connection.rowsEach(
            "SELECT customer FROM removed_ids WHERE app = $1 AND id = $2",
            ids.map { [.text(app.rawValue), .text($0.rawValue)] }
        ).joined().read { row throws(StorageFailure) in try row.customer() }
    }

    /// The anonymous ids that were separated from a customer and belong to nobody since, such as
    /// that of a device on which the customer has signed in. Events may still mention them.
    package func separatedDevices(
        of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> [CustomerID] {
        var devices: [CustomerID] = []
        try connection.eachRow(
            "SELECT id FROM removed_ids WHERE app = $1 AND customer = $2 ORDER BY id",
            [.text(app.rawValue), .text(customer.rawValue)]
        ) { row throws(StorageFailure) in
            let id = try row.customer()
            if id.isAnonymous, try self.customer(known: id, in: app) == nil { devices.append(id) }
        }
        return devices
    }

    /// Deletes the records of separations from and of these ids.
    func deleteRemovedIDs(_ ids: [CustomerID], in app: AppID) throws(StorageFailure) {
        try connection.runEach(
            "DELETE FROM removed_ids WHERE app = $1 AND (id = $2 OR customer = $2)",
            ids.map { [.text(app.rawValue), .text($0.rawValue)] })
    }
}
