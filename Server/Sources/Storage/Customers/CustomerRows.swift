import Ledger

/// The ownership of a purchase by a customer: since when, and on what evidence.
package struct Link: Hashable, Sendable {
    package var customer: CustomerID
    package var evidence: Evidence
    package var since: Instant
    /// The newest document that the customer's devices have shown. Nil if the purchase is theirs
    /// whatever they show, or if it was not remembered.
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

/// A customer: the id that represents them, and all of their ids, oldest first.
package struct StoredCustomer: Hashable, Sendable {
    package var customer: CustomerID
    package var ids: [CustomerID]
    /// Those of the ids that the server made, to be set as account tokens.
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

    /// The ids by which the app knows a person: not anonymous, and not made by the server.
    package var personalIDs: [CustomerID] {
        ids.filter { !$0.isAnonymous && !accountTokens.contains($0) }
    }

    /// Whether the app has not said who the person is.
    package var isAnonymous: Bool { personalIDs.isEmpty }
}

extension DatabaseSession {
    /// The customer that an id belongs to. Returns nil if the id is unknown.
    ///
    /// A UUID in upper case and the same UUID in lower case are one id if account tokens identify
    /// customers. Otherwise a purchase's token would name whoever used it first in the other case.
    package func customer(
        known id: CustomerID, in app: AppID
    ) throws(StorageFailure) -> StoredCustomer? {
        if let known = try customer(exactly: id, in: app) { return known }
        guard tokensIdentifyCustomers(in: app), let other = id.inOtherCase else { return nil }
        return try customer(exactly: other, in: app)
    }

    private func customer(
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

    /// Customers with an id that begins with a text, whatever the case of ASCII letters, in the
    /// order of these ids.
    package func customers(
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
            if let known = try customer(known: id, in: app) { found.append(known) }
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

    /// The customer that an id belongs to. An unknown id becomes a new customer.
    ///
    /// - Throws: ``StorageFailure`` of kind `erased` if the id is the pseudonym of an erased
    ///   customer: nobody may gain access to an erased customer's data by using it as an id.
    package func customer(
        _ id: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) -> StoredCustomer {
        if let known = try customer(known: id, in: app) { return known }
        try requireNoPseudonym(id, in: app)
        try connection.run(
            "INSERT INTO customers (app, customer, created_at_ms) VALUES ($1, $2, $3)",
            [.text(app.rawValue), .text(id.rawValue), .integer(now.milliseconds)])
        try insertID(id, of: id, in: app, at: now)
        try emitWalletEvents(named: id, by: id, in: app, at: now)
        try rescheduleConsumptionInquiries(named: id, in: app, at: now)
        return StoredCustomer(customer: id, ids: [id])
    }

    /// Adds an id that belonged to nobody to a customer, and emits an event. Not idempotent: check
    /// first whom the id belongs to.
    ///
    /// - Throws: ``StorageFailure`` of kind `erased` if the id is the pseudonym of an erased
    ///   customer.
    package func addID(
        _ id: CustomerID, to customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try requireNoPseudonym(id, in: app)
        try revokeConsent(of: customer, forNamed: id, in: app)
        try insertID(id, of: customer, in: app, at: now)
        try emitIdentityEvent(.aliasAdded, of: customer, other: id, in: app, at: now)
        try emitWalletEvents(named: id, by: customer, in: app, at: now)
        try rescheduleConsumptionInquiries(named: id, in: app, at: now)
        // Purchases that carry this id as their account token belong to the customer from now on.
        try releaseSeatsOfOwnPurchases(of: customer, in: app, at: now)
        for environment in Environment.allCases {
            try watchTerms(of: customer, in: app, environment)
        }
    }

    /// Gives a customer an id to set as account token. The id must be a new UUID in lower case.
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
    /// belongs to the first from now on, and events are emitted. Not idempotent: check first whom
    /// the ids belong to.
    package func merge(
        _ other: CustomerID, into customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try emitIdentityEvent(.customerMerged, of: customer, other: other, in: app, at: now)
        for purchase in try purchases(of: other, in: app) {
            try emitOwnershipEvent(
                of: purchase, is: customer, in: app, .moved, from: other, at: now)
        }
        try mergeShares(of: other, into: customer, in: app)
        try mergeConsents(of: other, into: customer, in: app)
        try mergeReminders(of: other, into: customer, in: app)
        for table in ["customer_ids", "links", "debits", "grants", "transfers"] {
            try connection.run(
                "UPDATE \(table) SET customer = $1 WHERE app = $2 AND customer = $3",
                [.text(customer.rawValue), .text(app.rawValue), .text(other.rawValue)])
        }
        try connection.run(
            "UPDATE transfers SET former = $1 WHERE app = $2 AND former = $3",
            [.text(customer.rawValue), .text(app.rawValue), .text(other.rawValue)])
        try mergeSeatClaims(of: other, into: customer, in: app, at: now)
        for table in ["wallets", "customers"] {
            try connection.run(
                "DELETE FROM \(table) WHERE app = $1 AND customer = $2",
                [.text(app.rawValue), .text(other.rawValue)])
        }
        try emitWalletAdjustments(of: customer, in: app, from: .request, other: other, at: now)
        try rescheduleConsumptionInquiries(
            about: try purchases(of: customer, in: app), in: app, at: now)
    }

    /// Keeps each share once, and none of a purchase that the merged customer owns. Of two shares
    /// in one purchase, the one of the customer who remains counts.
    private func mergeShares(
        of other: CustomerID, into customer: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        let shared = try connection.rows(
            "SELECT environment, purchase FROM shares WHERE app = $1 AND customer IN ($2, $3)",
            [.text(app.rawValue), .text(customer.rawValue), .text(other.rawValue)]
        ) { row throws(StorageFailure) in try row.purchase() }
        try touch(shared, in: app)
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

    func purchases(
        of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> [PurchaseID] {
        try connection.rows(
            "SELECT environment, purchase FROM links WHERE app = $1 AND customer = $2 "
                + "ORDER BY environment, purchase",
            [.text(app.rawValue), .text(customer.rawValue)]
        ) { row throws(StorageFailure) in try row.purchase() }
    }
}

// MARK: - Links

extension DatabaseSession {
    /// The owner of a purchase. Returns nil if it has none.
    package func link(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> Link? {
        try connection.firstRow(
            "SELECT customer, evidence, since_ms, document_signed_at_ms, is_confirmed FROM links "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3",
            Self.key(of: purchase, in: app)
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

    /// Links a purchase without an owner to a customer, and emits an event. Not idempotent: check
    /// the owner first.
    package func link(
        _ purchase: PurchaseID, to customer: CustomerID, by evidence: Link.Evidence,
        document: PresentedDocument? = nil, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        var walletCache = WalletProjectionCache()
        try link(
            purchase, to: customer, by: evidence, document: document, in: app, at: now, &walletCache
        )
    }

    /// Links a purchase without an owner to a customer, and emits an event. Use this overload to
    /// link several purchases to one customer.
    ///
    /// - Parameters:
    ///   - document: what the customer's device shows, if that is to be remembered.
    ///   - named: the customer who had the purchase by its account token until now, for the event.
    ///     The caller emits that customer's own event.
    ///   - walletCache: the cached wallets, passed on from one call to the next.
    package func link(
        _ purchase: PurchaseID, to customer: CustomerID, by evidence: Link.Evidence,
        document: PresentedDocument? = nil, from named: CustomerID? = nil, in app: AppID,
        at now: Instant,
        _ walletCache: inout WalletProjectionCache
    ) throws(StorageFailure) {
        let former = try walletCustomer(of: purchase, in: app)
        try deleteShare(in: purchase, of: customer, in: app)
        try releaseSeat(ofOwner: customer, on: purchase, in: app, at: now)
        if named != nil { try withdrawInvitations(of: purchase, in: app, at: now) }
        try emitOwnershipEvent(
            of: purchase, is: customer, in: app, named == nil ? .linked : .moved, from: named,
            evidence: evidence, at: now)
        try connection.run(
            "INSERT INTO links (app, environment, purchase, customer, evidence, since_ms, "
                + "document_signed_at_ms, is_confirmed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            [
                .text(app.rawValue), .text(purchase.environment.rawValue),
                .text(purchase.original.rawValue), .text(customer.rawValue),
                .text(evidence.rawValue), .integer(now.milliseconds),
            ] + document.values)
        try emitWalletEvents(
            of: purchase, from: former, to: customer, in: app, at: now, &walletCache)
        try rescheduleConsumptionInquiries(about: [purchase], in: app, at: now)
    }

    /// The timelines of all purchases linked to a customer, ordered by their ids.
    package func timelines(
        of customer: CustomerID, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [Timeline] {
        try timelines(
            Self.selectLinked,
            [.text(app.rawValue), .text(customer.rawValue), .text(environment.rawValue)],
            in: environment)
    }

    /// The timelines of purchases that have no owner and carry the given account token, ordered by
    /// their ids.
    package func unlinkedTimelines(
        token: String, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [Timeline] {
        try timelines(
            Self.selectUnlinked,
            [.text(app.rawValue), .text(token), .text(environment.rawValue)], in: environment)
    }

    // Sorted here and not by SQL, and joined starting from the links: otherwise SQLite, which does
    // not know how few rows a customer has, reads every purchase of the app in order.
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
}

extension DatabaseSession {
    /// The customers of an app ordered by id, after the given one.
    package func customers(
        of app: AppID, after: CustomerID?, limit: Int
    ) throws(StorageFailure) -> [CustomerID] {
        try connection.rows(
            "SELECT customer FROM customers WHERE app = $1 AND customer > $2 "
                + "ORDER BY customer LIMIT $3",
            [.text(app.rawValue), .text(after?.rawValue ?? ""), .integer(Int64(limit))]
        ) { row throws(StorageFailure) in try row.customer() }
    }
}
