import Ledger

// Consumables that an erased customer used up must stay used up. Otherwise a person could erase an
// account, post the same consumable again, and receive it twice. So these purchases stay linked to
// a pseudonym, the one that replaced the customer's id in existing events, and the debits and the
// credits by hand stay with them. A pseudonym is a row of `customers` without a row in
// `customer_ids`. It cannot be queried, spend, or be merged, and it reveals nothing about the
// person. Refunds continue to change its wallets, so that the log stays consistent.
extension DatabaseSession {
    /// Returns whether a customer is the pseudonym of an erased customer, whose consumables stay
    /// used up.
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

    /// - Throws: ``StorageFailure`` of kind `erased` if the id is such a pseudonym.
    func requireNoPseudonym(_ id: CustomerID, in app: AppID) throws(StorageFailure) {
        if try isPseudonym(id, in: app) { throw StorageFailure(id.rawValue, kind: .erased) }
    }

    /// Returns whether a purchase stays used up when its owner is erased. A purchase without a
    /// stored timeline might contain consumables, so it counts as used up.
    func isUsedUp(_ purchase: PurchaseID, in app: AppID) throws(StorageFailure) -> Bool {
        try timeline(of: purchase, in: app)?.hasConsumables ?? true
    }

    /// Links the consumables that belonged to a customer only by an account token: they counted in
    /// the customer's wallets, and an erased token identifies nobody.
    func linkConsumablesByToken(
        of person: StoredCustomer, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for environment in Environment.allCases {
            let named = try timelinesByToken(person.ids, in: app, environment: environment)
                .filter(\.hasConsumables)
            guard !named.isEmpty else { continue }
            let owner = try customer(person.customer, in: app, at: now).customer
            for timeline in named {
                try link(timeline.purchase, to: owner, by: .token, in: app, at: now)
            }
        }
    }

    /// Transfers what is still linked to a customer, and their debits, to their pseudonym. Removes
    /// the free text that the app's server wrote.
    func transferConsumables(
        _ person: CustomerID, under pseudonym: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        let owner: [Value] = [.text(app.rawValue), .text(person.rawValue)]
        let isLeft = try !connection.rows(
            "SELECT customer FROM customers WHERE app = $1 AND customer = $2 AND (EXISTS "
                + "(SELECT 1 FROM links WHERE links.app = $1 AND links.customer = $2) OR EXISTS "
                + "(SELECT 1 FROM debits WHERE debits.app = $1 AND debits.customer = $2))", owner
        ).isEmpty
        guard isLeft else { return }
        // The time when the customer was created is personal data.
        try connection.run(
            "INSERT INTO customers (app, customer, created_at_ms) VALUES ($1, $2, $3)",
            [.text(app.rawValue), .text(pseudonym.rawValue), .integer(now.milliseconds)])
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
