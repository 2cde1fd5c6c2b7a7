import Ledger

// What an erased person has used up stays used up, or whoever erases an account and posts the same
// consumable again would have it twice. So these purchases stay linked, and the debits stay with
// them, under the name that stands in earlier events: a row of `customers` with no row in
// `customer_ids`. Nobody can ask, spend or be joined by that name, and it says nothing about the
// person. Refunds go on to count in its wallets, so that the log stays whole.
extension StoreTransaction {
    /// Whether a customer is the name of somebody who was erased: what is theirs stays used up.
    package func isPseudonym(
        _ customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> Bool {
        let owner: [Value] = [.text(app.rawValue), .text(customer.rawValue)]
        let ids = try connection.rows(
            "SELECT id FROM customer_ids WHERE app = $1 AND customer = $2 LIMIT 1", owner)
        guard ids.isEmpty else { return false }
        return try !connection.rows(
            "SELECT customer FROM customers WHERE app = $1 AND customer = $2", owner
        ).isEmpty
    }

    /// - Throws: ``StorageFailure`` of kind `erased` where an id would become such a name.
    func requireNoPseudonym(_ id: CustomerID, in app: AppID) throws(StorageFailure) {
        if try isPseudonym(id, in: app) { throw StorageFailure(id.rawValue, kind: .erased) }
    }

    /// Whether a purchase stays used up when its owner is erased. One whose documents are not read
    /// at the moment might be such a one.
    func isUsedUp(_ purchase: PurchaseID, in app: AppID) throws(StorageFailure) -> Bool {
        try timeline(of: purchase, in: app)?.hasConsumables ?? true
    }

    /// Links the consumables that answered for a person by an account token alone: they counted in
    /// the person's wallets, and the token means nobody once it is erased.
    func linkNamedConsumables(
        of person: StoredCustomer, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for environment in Environment.allCases {
            let named = try namedTimelines(person.ids, in: app, environment: environment)
                .filter(\.hasConsumables)
            guard !named.isEmpty else { continue }
            let owner = try customer(person.customer, in: app, at: now).customer
            for timeline in named {
                try link(timeline.purchase, to: owner, by: .token, in: app, at: now)
            }
        }
    }

    /// Gives what is still linked to a person, and what they have spent, to the name that stands
    /// for them from now on. Words that the app's server wrote are dropped.
    func leave(
        _ person: CustomerID, under pseudonym: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        let owner: [Value] = [.text(app.rawValue), .text(person.rawValue)]
        let row = try connection.rows(
            "SELECT last_sequence FROM customers WHERE app = $1 AND customer = $2 AND (EXISTS "
                + "(SELECT 1 FROM links WHERE links.app = $1 AND links.customer = $2) OR EXISTS "
                + "(SELECT 1 FROM debits WHERE debits.app = $1 AND debits.customer = $2))", owner
        ).first
        guard let row else { return }
        // When they were first heard of is nobody's business any more.
        try connection.run(
            "INSERT INTO customers (app, customer, created_at_ms, last_sequence) "
                + "VALUES ($1, $2, $3, $4)",
            [
                .text(app.rawValue), .text(pseudonym.rawValue), .integer(now.milliseconds),
                .integer(try row.integer(0)),
            ])
        for change in [
            "links SET customer = $1, evidence = 'device'", "debits SET customer = $1, reason = ''",
            "wallets SET customer = $1",
        ] {
            try connection.run(
                "UPDATE \(change) WHERE app = $2 AND customer = $3",
                [.text(pseudonym.rawValue)] + owner)
        }
    }
}
