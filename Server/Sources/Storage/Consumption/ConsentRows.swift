import Ledger

/// Whether a customer consented to Apple receiving information about how they use their purchases.
package struct Consent: Hashable, Sendable {
    package var isGiven: Bool
    /// Whether the customer could try before buying; nil means the app's configured default.
    package var hadSample: Bool?
    package var at: Instant

    package init(isGiven: Bool, hadSample: Bool?, at: Instant) {
        self.isGiven = isGiven
        self.hadSample = hadSample
        self.at = at
    }
}

/// Consent to send consumption information, and what customers have used.
package struct ConsentRows: RowGroup {
    package let tx: DatabaseSession

    /// The recorded consent or refusal of a customer. Returns nil if none was recorded.
    package func find(
        of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> Consent? {
        try connection.firstRow(
            "SELECT is_given, had_sample, at_ms FROM consumption_consents "
                + "WHERE app = $1 AND customer = $2",
            [.text(app.rawValue), .text(customer.rawValue)]
        ) { row throws(StorageFailure) in
            Consent(
                isGiven: try row.flag(), hadSample: try row.optionalInteger().map { $0 != 0 },
                at: try row.instant())
        }
    }

    /// Records the consent of a known customer. Replaces an earlier consent. Idempotent.
    package func save(
        _ consent: Consent, of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO consumption_consents (app, customer, is_given, had_sample, at_ms) "
                + "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (app, customer) "
                + "DO UPDATE SET is_given = excluded.is_given, "
                + "had_sample = excluded.had_sample, at_ms = excluded.at_ms",
            [
                .text(app.rawValue), .text(customer.rawValue),
                .integer(consent.isGiven ? 1 : 0), .integer(consent.hadSample.map { $0 ? 1 : 0 }),
                .integer(consent.at.milliseconds),
            ])
    }

    /// What the app's server reported about the use of a customer's purchases.
    package func uses(
        of customer: CustomerID, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [PurchaseUsage] {
        try connection.rows(
            "SELECT transaction_id, delivery, used FROM consumption_uses "
                + "WHERE app = $1 AND customer = $2 AND environment = $3 ORDER BY transaction_id",
            [.text(app.rawValue), .text(customer.rawValue), .text(environment.rawValue)]
        ) { row throws(StorageFailure) in
            PurchaseUsage(
                transaction: try row.transaction(), delivery: try Self.delivery(try row.text()),
                used: try row.optionalInteger())
        }
    }

    /// Records the use of purchases. Replaces earlier records for the same transactions.
    /// Idempotent.
    package func save(
        _ uses: [PurchaseUsage], of customer: CustomerID, in app: AppID, environment: Environment
    ) throws(StorageFailure) {
        try connection.runEach(
            "INSERT INTO consumption_uses (app, customer, environment, transaction_id, delivery, "
                + "used) VALUES ($1, $2, $3, $4, $5, $6) "
                + "ON CONFLICT (app, customer, environment, transaction_id) "
                + "DO UPDATE SET delivery = excluded.delivery, used = excluded.used",
            uses.map {
                [
                    .text(app.rawValue), .text(customer.rawValue), .text(environment.rawValue),
                    .text($0.transaction.rawValue), .text($0.delivery.rawValue),
                    .integer($0.used),
                ]
            })
    }

    static func delivery(_ text: String) throws(StorageFailure) -> Delivery {
        guard let delivery = Delivery(rawValue: text) else {
            throw StorageFailure("unknown delivery \(text): use a newer version of Perennial")
        }
        return delivery
    }

    // MARK: - Merging and erasing customers

    /// Merges the consent of two customers: the merged customer has given consent only if both
    /// customers had. A customer without purchases is ignored, because nothing about such a
    /// customer could be sent.
    package func merge(
        of other: CustomerID, into customer: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        let theirs = try find(of: other, in: app)
        let ours = try find(of: customer, in: app)
        if var both = ours ?? theirs {
            if ours == nil, try hasPurchases(customer, in: app) { both.isGiven = false }
            if theirs == nil, try hasPurchases(other, in: app) { both.isGiven = false }
            both.isGiven = both.isGiven && theirs?.isGiven != false
            try save(both, of: customer, in: app)
        }
        for environment in Environment.allCases {
            try save(
                try uses(of: other, in: app, environment: environment), of: customer, in: app,
                environment: environment)
        }
        try delete(of: other, in: app)
    }

    /// Whether any purchase is linked to the customer, or has one of the customer's ids as its
    /// account token.
    private func hasPurchases(
        _ customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> Bool {
        if try tx.links.count(of: customer, in: app) > 0 { return true }
        let ids = try tx.customers.find(known: customer, in: app)?.ids ?? [customer]
        for environment in Environment.allCases
        where try !tx.accountTokens.timelines(ids, in: app, environment: environment).isEmpty {
            return true
        }
        return false
    }

    /// Revokes the customer's consent if the added id has purchases, because the buyer of these
    /// purchases has not consented.
    package func revoke(
        of customer: CustomerID, forNamed id: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        guard var consent = try find(of: customer, in: app), consent.isGiven,
            try hasPurchases(id, in: app)
        else { return }
        consent.isGiven = false
        try save(consent, of: customer, in: app)
    }

    /// Deletes the consent of a customer, and the reported use of the customer's purchases.
    package func delete(of customer: CustomerID, in app: AppID) throws(StorageFailure) {
        for table in ["consumption_consents", "consumption_uses"] {
            try connection.run(
                "DELETE FROM \(table) WHERE app = $1 AND customer = $2",
                [.text(app.rawValue), .text(customer.rawValue)])
        }
    }
}
