import Ledger

/// The ownership of a purchase by a customer: when it began, and on what evidence.
package struct Link: Hashable, Sendable {
    package var customer: CustomerID
    package var evidence: Evidence
    package var since: Instant
    /// The newest document that the customer's devices have presented. Nil if the purchase belongs
    /// to the customer independently of documents, or if the document was not remembered.
    package var document: PresentedDocument?

    package init(
        customer: CustomerID, evidence: Evidence, since: Instant,
        document: PresentedDocument? = nil
    ) {
        self.customer = customer
        self.evidence = evidence
        self.since = since
        self.document = document
    }

    package typealias Evidence = OwnershipClaim.Evidence
}

/// A customer: the id that represents the customer, and all of the customer's ids, oldest first.
package struct StoredCustomer: Hashable, Sendable {
    package var customer: CustomerID
    package var ids: [CustomerID]
    /// The ids that the server made as account tokens.
    package var accountTokens: Set<CustomerID>
    /// Whether the customer ever received a manual grant.
    package var hasGrants: Bool
    /// Whether the customer has an open claim on a seat.
    package var hasSeats: Bool

    package init(
        customer: CustomerID, ids: [CustomerID], accountTokens: Set<CustomerID> = [],
        hasGrants: Bool = false, hasSeats: Bool = false
    ) {
        self.customer = customer
        self.ids = ids
        self.accountTokens = accountTokens
        self.hasGrants = hasGrants
        self.hasSeats = hasSeats
    }

    /// The ids by which the app identifies a person: not anonymous, and not made by the server.
    package var personalIDs: [CustomerID] {
        ids.filter { !$0.isAnonymous && !accountTokens.contains($0) }
    }

    /// Whether no id identifies a person.
    package var isAnonymous: Bool { personalIDs.isEmpty }
}

/// Customers and their ids, present and removed.
package struct CustomerRows: RowGroup {
    package let tx: DatabaseSession

    /// The customer that an id belongs to. Returns nil if the id is unknown.
    ///
    /// If account tokens identify customers, a UUID in upper case and the same UUID in lower case
    /// are one id. If they were two ids, a purchase's token would identify the first customer who
    /// used the token in the other case.
    package func find(
        known id: CustomerID, in app: AppID
    ) throws(StorageFailure) -> StoredCustomer? {
        if let known = try find(exactly: id, in: app) { return known }
        guard tx.accountTokens.identifyCustomers(in: app), let other = id.inOtherCase else {
            return nil
        }
        return try find(exactly: other, in: app)
    }

    private func find(
        exactly id: CustomerID, in app: AppID
    ) throws(StorageFailure) -> StoredCustomer? {
        let rows = try connection.rows(
            Self.selectIDs, [.text(app.rawValue), .text(id.rawValue)]
        ) { row throws(StorageFailure) in
            (
                customer: try row.customer(), id: try row.customer(), grants: try row.integer(),
                isToken: try row.flag(), seats: try row.integer()
            )
        }
        guard let first = rows.first else { return nil }
        return StoredCustomer(
            customer: first.customer, ids: rows.map(\.id),
            accountTokens: Set(rows.filter(\.isToken).map(\.id)),
            hasGrants: first.grants > 0, hasSeats: first.seats > 0)
    }

    /// The customers who have an id that begins with a text, in the order of these ids. Ignores the
    /// case of ASCII letters.
    package func all(
        beginningWith prefix: String, in app: AppID, limit: Int
    ) throws(StorageFailure) -> [StoredCustomer] {
        let lower = String(prefix.map { $0.isASCII ? Character($0.lowercased()) : $0 })
        var found: [StoredCustomer] = []
        try connection.eachRow(
            Self.selectBeginning,
            [
                .text(app.rawValue), .text(lower), .text(lower + "\u{10FFFF}"),
                .integer(Int64(limit)),
            ]
        ) { row throws(StorageFailure) in
            let id = try row.customer()
            try row.skip()
            if let known = try find(known: id, in: app) { found.append(known) }
        }
        return found
    }

    static let selectBeginning =
        "SELECT customer, min(lower(id)) AS shown FROM customer_ids WHERE app = $1 "
        + "AND lower(id) >= $2 AND lower(id) < $3 GROUP BY customer ORDER BY shown, customer "
        + "LIMIT $4"

    static let selectIDs =
        "SELECT ids.customer, ids.id, count(grants.grant_id), ids.is_account_token, "
        + "(SELECT count(*) FROM seat_claims WHERE seat_claims.app = $1 "
        + "AND seat_claims.customer = ids.customer AND seat_claims.ended_at_ms IS NULL) "
        + "FROM customer_ids asked "
        + "CROSS JOIN customer_ids ids LEFT JOIN grants ON grants.app = ids.app "
        + "AND grants.customer = ids.customer WHERE asked.app = $1 AND asked.id = $2 "
        + "AND ids.app = asked.app AND ids.customer = asked.customer "
        + "GROUP BY ids.customer, ids.since_ms, ids.id, ids.is_account_token "
        + "ORDER BY ids.customer, ids.since_ms, ids.id, ids.is_account_token"
}

// MARK: - Links

extension CustomerRows {
    /// The customers of an app that follow the given customer, in the order of their ids.
    package func all(
        of app: AppID, after: CustomerID?, limit: Int
    ) throws(StorageFailure) -> [CustomerID] {
        try connection.rows(
            "SELECT customer FROM customers WHERE app = $1 AND customer > $2 "
                + "ORDER BY customer LIMIT $3",
            [.text(app.rawValue), .text(after?.rawValue ?? ""), .integer(Int64(limit))]
        ) { row throws(StorageFailure) in try row.customer() }
    }

    /// The customers of an app that follow the given customer and have an id, in the order of their
    /// first ids. Leaves out the pseudonyms of erased customers.
    package func identified(
        of app: AppID, after: CustomerID?, limit: Int
    ) throws(StorageFailure) -> [CustomerID] {
        try connection.rows(
            "SELECT customer FROM customers WHERE app = $1 AND customer > $2 AND EXISTS "
                + "(SELECT 1 FROM customer_ids WHERE customer_ids.app = $1 "
                + "AND customer_ids.customer = customers.customer) ORDER BY customer LIMIT $3",
            [.text(app.rawValue), .text(after?.rawValue ?? ""), .integer(Int64(limit))]
        ) { row throws(StorageFailure) in try row.customer() }
    }

    /// All ids of a customer, oldest first. Each has the time since which it belongs to the
    /// customer.
    package func ids(
        of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> [(id: CustomerID, since: Instant)] {
        try connection.rows(
            "SELECT id, since_ms FROM customer_ids WHERE app = $1 AND customer = $2 "
                + "ORDER BY since_ms, id",
            [.text(app.rawValue), .text(customer.rawValue)]
        ) { row throws(StorageFailure) in (try row.customer(), try row.instant()) }
    }

    /// The customers from whom one of these ids was separated. The events of these customers still
    /// mention the id.
    package func separatedFrom(
        _ ids: [CustomerID], in app: AppID
    ) throws(StorageFailure) -> [CustomerID] {
        try connection.rowsEach(
            "SELECT customer FROM removed_ids WHERE app = $1 AND id = $2",
            ids.map { [.text(app.rawValue), .text($0.rawValue)] }
        ).joined().read { row throws(StorageFailure) in try row.customer() }
    }

    /// The anonymous ids that were separated from a customer and have not been used since, for
    /// example the id of a device on which the customer has signed in. Events may still mention
    /// these ids.
    package func separatedDevices(
        of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> [CustomerID] {
        var devices: [CustomerID] = []
        try connection.eachRow(
            "SELECT id FROM removed_ids WHERE app = $1 AND customer = $2 ORDER BY id",
            [.text(app.rawValue), .text(customer.rawValue)]
        ) { row throws(StorageFailure) in
            let id = try row.customer()
            if id.isAnonymous, try self.find(known: id, in: app) == nil { devices.append(id) }
        }
        return devices
    }

    /// Deletes the records about the separation of these ids from a customer, and about the
    /// separation of other ids from these ids.
    package func deleteRemovedIDs(_ ids: [CustomerID], in app: AppID) throws(StorageFailure) {
        try connection.runEach(
            "DELETE FROM removed_ids WHERE app = $1 AND (id = $2 OR customer = $2)",
            ids.map { [.text(app.rawValue), .text($0.rawValue)] })
    }

    private static let customerBatch = 500

    /// Calls a closure for each customer of an app, ordered by id.
    package func each(
        of app: AppID, _ body: (CustomerID) throws(StorageFailure) -> Void
    ) throws(StorageFailure) {
        var last: CustomerID?
        while true {
            let batch = try all(of: app, after: last, limit: Self.customerBatch)
            guard let end = batch.last else { return }
            for customer in batch { try body(customer) }
            last = end
        }
    }
}
