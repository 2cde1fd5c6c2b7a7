import Ledger

// An id that was made a customer's by mistake is parted from them again.

extension StoreTransaction {
    /// Lets an id of a customer mean nobody, and tells it. What is the customer's stays theirs,
    /// also purchases that are theirs only because they name the id. Not to be repeated: look whom
    /// the id means before.
    ///
    /// - Parameter alias: not the id that the customer's rows carry.
    package func part(
        _ alias: CustomerID, from customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for environment in Environment.allCases {
            for timeline in try namedTimelines([alias], in: app, environment: environment) {
                // By the token: whom it names may still claim it by their own device.
                try link(timeline.purchase, to: customer, by: .token, in: app, at: now)
            }
        }
        try connection.run(
            "DELETE FROM customer_ids WHERE app = $1 AND id = $2",
            [.text(app.rawValue), .text(alias.rawValue)])
        try connection.run(
            "INSERT INTO parted_ids (app, id, customer, parted_at_ms) VALUES ($1, $2, $3, $4) "
                + "ON CONFLICT (app, id, customer) DO UPDATE "
                + "SET parted_at_ms = excluded.parted_at_ms",
            [
                .text(app.rawValue), .text(alias.rawValue), .text(customer.rawValue),
                .integer(now.milliseconds),
            ])
        try tellIdentity(.aliasParted, of: customer, other: alias, in: app, at: now)
    }

    /// The customers from whom one of these ids was parted: their events name it.
    package func partedFrom(
        _ ids: [CustomerID], in app: AppID
    ) throws(StorageFailure) -> [CustomerID] {
        let found = try connection.rowsEach(
            "SELECT customer FROM parted_ids WHERE app = $1 AND id = $2",
            ids.map { [.text(app.rawValue), .text($0.rawValue)] })
        var customers: [CustomerID] = []
        for rows in found {
            for row in rows { customers.append(CustomerID(rawValue: try row.text(0))) }
        }
        return customers
    }

    /// Forgets from whom these ids were parted, and which were parted from them.
    func forgetParted(_ ids: [CustomerID], in app: AppID) throws(StorageFailure) {
        try connection.runEach(
            "DELETE FROM parted_ids WHERE app = $1 AND (id = $2 OR customer = $2)",
            ids.map { [.text(app.rawValue), .text($0.rawValue)] })
    }
}
