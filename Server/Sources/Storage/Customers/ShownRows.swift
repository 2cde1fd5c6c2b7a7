import Ledger

/// An entitlement as a row that operators read.
package struct ShownEntitlement: Hashable, Sendable {
    package var entitlement: EntitlementID
    package var state: Access.State
    /// If access is open, the time when it ends unless something else happens; nil if it never
    /// ends. If access is not open, the time when it ended.
    package var until: Instant?
    /// When time alone will change the entitlement. Nil if time alone will not change it.
    package var changesAt: Instant?
    package var willRenew: Bool?
    package var product: ProductID?
    package var purchase: PurchaseID?
    package var grant: GrantID?

    package init(_ entitlement: EntitlementID, _ state: Access.State) {
        (self.entitlement, self.state) = (entitlement, state)
    }
}

/// How far the rows about an app's customers have been written.
package struct Showing: Hashable, Sendable {
    /// A text that identifies the settings with which the rows are written.
    package var rules: String
    /// The last customer whose rows were written. Nil if the rows of all customers have been
    /// written.
    package var customer: CustomerID?
    /// The number of customers whose rows were written with these settings.
    package var shown: Int
    /// The last event that was processed.
    package var sequence: Int64
}

/// The rows about customers that operators read with SQL.
package struct ShownRows: RowGroup {
    package let tx: DatabaseSession
}

/// The tables `shown_entitlements`, `shown_wallet_entries` and `showings`.
extension ShownRows {
    private static let entitlementColumns = [
        "app", "environment", "customer", "entitlement", "state", "is_active", "until_ms",
        "changes_at_ms", "will_renew", "product", "purchase", "grant_id",
    ]
    private static let entryColumns = [
        "app", "environment", "customer", "currency", "number", "at_ms", "kind", "transaction_id",
        "product", "debit", "credit", "reason", "amount", "balance",
    ]

    // MARK: - Progress

    /// How far the rows of an app have been written. Returns nil if nothing was written yet.
    ///
    /// - Parameter isLocking: whether to prevent other servers from writing rows at the same time.
    ///   If true, the function also returns nil while another server is writing.
    package func showing(
        of app: AppID, isLocking: Bool = false
    ) throws(StorageFailure) -> Showing? {
        try connection.firstRow(
            "SELECT rules, customer, shown, sequence FROM showings WHERE app = $1 "
                + (isLocking ? dialect.skippingLockedRows : ""), [.text(app.rawValue)]
        ) { row throws(StorageFailure) in
            Showing(
                rules: try row.text(), customer: try row.optionalCustomer(),
                shown: try row.count(), sequence: try row.integer())
        }
    }

    /// Begins to write the rows of every customer again, with the given settings. Afterwards, the
    /// events after the present end of the log are processed.
    package func begin(of app: AppID, by rules: String) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO showings (app, rules, customer, shown, sequence) "
                + "VALUES ($1, $2, '', 0, $3) ON CONFLICT (app) DO UPDATE SET "
                + "rules = excluded.rules, customer = '', shown = 0, sequence = excluded.sequence",
            [.text(app.rawValue), .text(rules), .integer(try tx.events.lastSequence(of: app))])
    }

    package func save(_ showing: Showing, of app: AppID) throws(StorageFailure) {
        try connection.run(
            "UPDATE showings SET customer = $1, shown = $2, sequence = $3 WHERE app = $4",
            [
                .text(showing.customer?.rawValue), .integer(Int64(showing.shown)),
                .integer(showing.sequence), .text(app.rawValue),
            ])
    }

    /// The customers that the next events are about, and the number of the last of these events.
    /// Includes customers who share a purchase that the events are about, or have a seat of such a
    /// purchase.
    package func customersConcerned(
        in app: AppID, after sequence: Int64, limit: Int
    ) throws(StorageFailure) -> (customers: Set<CustomerID>, last: Int64?) {
        let events = try tx.events.all(of: app, after: sequence, limit: limit)
        var customers: Set<CustomerID> = []
        var groups: Set<PurchaseID> = []
        var last: Int64?
        // Stops when the events concern enough customers for one step, because a group can have
        // many members.
        for event in events where customers.count < Self.customersConcernedMax {
            last = event.sequence
            customers.formUnion([event.entry.customer, event.entry.other].compactMap(\.self))
            if let token = event.entry.accountToken {
                customers.insert(CustomerID(rawValue: token))
            }
            guard let purchase = event.entry.purchase else { continue }
            customers.formUnion(try tx.shares.sharers(of: purchase, in: app))
            // A new member is the last in the order in which members get seats, so other members'
            // seats do not change.
            guard event.entry.change.kind != .seatClaimed, groups.insert(purchase).inserted else {
                continue
            }
            customers.formUnion(try tx.seatClaims.members(of: purchase, in: app))
        }
        return (customers, last)
    }

    /// The number of customers after which no further events are read in one step.
    private static let customersConcernedMax = 1_000

    /// Customers with an entitlement that time alone has changed since their rows were written.
    package func customersToShow(
        in app: AppID, at now: Instant, limit: Int
    ) throws(StorageFailure) -> Set<CustomerID> {
        Set(
            try connection.rows(
                "SELECT customer FROM shown_entitlements WHERE app = $1 AND changes_at_ms <= $2 "
                    + "ORDER BY changes_at_ms LIMIT $3",
                [.text(app.rawValue), .integer(now.milliseconds), .integer(Int64(limit))]
            ) { row throws(StorageFailure) in try row.customer() })
    }

    // MARK: - Rows

    /// Deletes the rows under an id that no longer represents a customer, because the id was
    /// removed or belongs to another customer now.
    package func delete(_ customer: CustomerID, in app: AppID) throws(StorageFailure) {
        for table in ["shown_entitlements", "shown_wallet_entries"] {
            for environment in Environment.allCases {
                try connection.run(
                    "DELETE FROM \(table) WHERE app = $1 AND environment = $2 AND customer = $3",
                    [
                        .text(app.rawValue), .text(environment.rawValue),
                        .text(customer.rawValue),
                    ])
            }
        }
    }

    /// Replaces the rows about entitlements of a customer.
    package func show(
        _ entitlements: [ShownEntitlement], of customer: CustomerID, in app: AppID,
        _ environment: Environment
    ) throws(StorageFailure) {
        let key: [Value] = [
            .text(app.rawValue), .text(environment.rawValue), .text(customer.rawValue),
        ]
        try connection.run(
            "DELETE FROM shown_entitlements WHERE app = $1 AND environment = $2 AND customer = $3",
            key)
        try connection.runEach(
            Insertion.statement(into: "shown_entitlements", Self.entitlementColumns),
            entitlements.map { one in
                key + [
                    .text(one.entitlement.rawValue), .text(one.state.rawValue),
                    .integer(one.state.isOpen ? 1 : 0), .integer(one.until?.milliseconds),
                    .integer(one.changesAt?.milliseconds),
                    .integer(one.willRenew.map { $0 ? 1 : 0 }), .text(one.product?.rawValue),
                    .text(one.purchase?.original.rawValue), .text(one.grant?.rawValue),
                ]
            })
    }

    /// Writes the entries of a wallet that differ from the stored entries. Only the last entries
    /// can differ.
    package func show(
        _ entries: [Wallet.Entry], in currency: CurrencyID, of customer: CustomerID, in app: AppID,
        _ environment: Environment
    ) throws(StorageFailure) {
        let key: [Value] = [
            .text(app.rawValue), .text(environment.rawValue), .text(customer.rawValue),
            .text(currency.rawValue),
        ]
        let stored = try connection.rows(
            "SELECT \(Self.entryColumns.joined(separator: ", ")) FROM shown_wallet_entries "
                + "WHERE app = $1 AND environment = $2 AND customer = $3 AND currency = $4 "
                + "ORDER BY number", key
        ).map(\.values)
        let wanted = entries.enumerated().map { key + [.integer(Int64($0))] + $1.shown }
        let same = zip(stored, wanted).prefix { $0 == $1 }.count
        guard same < max(stored.count, wanted.count) else { return }
        try connection.run(
            "DELETE FROM shown_wallet_entries WHERE app = $1 AND environment = $2 "
                + "AND customer = $3 AND currency = $4 AND number >= $5",
            key + [.integer(Int64(same))])
        try connection.runEach(
            Insertion.statement(into: "shown_wallet_entries", Self.entryColumns),
            Array(wanted.dropFirst(same)))
    }
}

extension Wallet.Entry {
    /// The values of the entry's columns, beginning with `at_ms`.
    fileprivate var shown: [Value] {
        let words: [Value]
        switch cause {
        case .purchase(let transaction, let product):
            words = [
                .text("purchase"), .text(transaction.rawValue), .text(product.rawValue), .null,
                .null, .null,
            ]
        case .refund(let transaction, let product):
            words = [
                .text("refund"), .text(transaction.rawValue), .text(product.rawValue), .null, .null,
                .null,
            ]
        case .debit(let debit, let reason):
            words = [.text("debit"), .null, .null, .text(debit.rawValue), .null, .text(reason)]
        case .credit(let credit, let reason):
            words = [.text("credit"), .null, .null, .null, .text(credit.rawValue), .text(reason)]
        }
        return [.integer(at.milliseconds)] + words + [.integer(amount), .integer(balance)]
    }
}
