import Ledger

/// One thing that changed, as an app's log tells it.
///
/// The log is ground: it is appended to, in the transaction that causes the change, and never
/// written anew. It says what was learned, and when; a rebuild that comes to another condition
/// appends what that changed.
package struct Event: Hashable, Sendable {
    /// Its place in the app's log, from 1, without gaps. Whoever sees one has seen, or can see, all
    /// before it.
    package var sequence: Int64
    /// Its place among those of its customer, from 1, without gaps; nil where it is nobody's.
    package var customerSequence: Int64?
    package var entry: EventEntry

    package init(sequence: Int64, customerSequence: Int64?, entry: EventEntry) {
        self.sequence = sequence
        self.customerSequence = customerSequence
        self.entry = entry
    }
}

/// What an event says, without its place.
package struct EventEntry: Hashable, Sendable {
    package var app: AppID
    /// Whose it was at that time; nil while the purchase was nobody's.
    package var customer: CustomerID?
    /// Nil where it is about the customer alone.
    package var purchase: PurchaseID?
    package var change: Change
    /// When we learned of it.
    package var toldAt: Instant
    package var cause: Cause
    /// The account that the app named at the purchase, where the purchase is nobody's; nil where
    /// somebody who was erased had it as an id.
    package var accountToken: String?
    /// Who had the purchase before, who became one with the customer, or the id that is new.
    package var other: CustomerID?
    /// Why the purchase is the customer's; of ``Change/Kind/linked`` only.
    package var evidence: Link.Evidence?

    package enum Cause: Hashable, Sendable {
        /// By the SHA-256 of its bytes.
        case document([UInt8])
        /// Time went on.
        case time
        /// Somebody asked for it.
        case request
        /// What is derived was made again.
        case rebuild
    }

    package init(
        app: AppID, customer: CustomerID?, purchase: PurchaseID?, change: Change, toldAt: Instant,
        cause: Cause, accountToken: String? = nil, other: CustomerID? = nil,
        evidence: Link.Evidence? = nil
    ) {
        self.app = app
        self.customer = customer
        self.purchase = purchase
        self.change = change
        self.toldAt = toldAt
        self.cause = cause
        self.accountToken = accountToken
        self.other = other
        self.evidence = evidence
    }
}

extension EventEntry {
    /// Where the purchase was made, the wallet is, or something was given by hand; nil where it is
    /// about the customer alone.
    package var environment: Environment? {
        purchase?.environment ?? change.wallet?.environment ?? change.grantEnvironment
    }
}

extension StoreTransaction {
    /// Events in one answer.
    package static let eventsMax = 500

    // MARK: - Appending

    /// Puts entries at the end of their apps' logs, in their order.
    ///
    /// The numbers come from a row of each app and of each customer, which nobody else can count on
    /// until this transaction ends: so the numbers have no gaps, and come into sight in their
    /// order. To be called late in a transaction, since others wait from then on.
    ///
    /// - Returns: the number of the last one of each app.
    @discardableResult
    func append(_ entries: [EventEntry]) throws(StorageFailure) -> [AppID: Int64] {
        guard !entries.isEmpty else { return [:] }
        let entries = try withoutErasedTokens(entries)
        // The apps' rows first, always: two who took them in another order could each wait for the
        // other.
        var appNumbers = try numbers(ofAppsIn: entries)
        var customerNumbers = try numbers(ofCustomersIn: entries)
        var events: [Event] = []
        events.reserveCapacity(entries.count)
        for entry in entries {
            let sequence = appNumbers[entry.app, default: 0]
            appNumbers[entry.app] = sequence + 1
            var customerSequence: Int64?
            if let owner = Owner(of: entry) {
                customerSequence = customerNumbers[owner]
                customerNumbers[owner, default: 0] += 1
            }
            events.append(
                Event(sequence: sequence, customerSequence: customerSequence, entry: entry))
        }
        try connection.runEach(
            "INSERT INTO events (app, sequence, customer, customer_sequence, environment, "
                + "purchase, kind, told_at_ms, document, body) "
                + "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            events.mapConcurrently(Self.row))
        return appNumbers.mapValues { $0 - 1 }
    }

    private struct Owner: Hashable, Comparable {
        var app: AppID
        var customer: CustomerID

        init?(of entry: EventEntry) {
            guard let customer = entry.customer else { return nil }
            (app, self.customer) = (entry.app, customer)
        }

        static func < (one: Self, other: Self) -> Bool {
            (one.app, one.customer) < (other.app, other.customer)
        }
    }

    /// The first free number of each app. In the order of their ids, so that two servers never wait
    /// for each other.
    private func numbers(
        ofAppsIn entries: [EventEntry]
    ) throws(StorageFailure) -> [AppID: Int64] {
        let counts = Dictionary(entries.map { ($0.app, Int64(1)) }, uniquingKeysWith: +)
        let apps = counts.keys.sorted()
        let rows = try connection.rowsEach(
            "INSERT INTO logs (app, last_sequence) VALUES ($1, $2) ON CONFLICT (app) "
                + "DO UPDATE SET last_sequence = logs.last_sequence + excluded.last_sequence "
                + "RETURNING last_sequence",
            apps.map { [.text($0.rawValue), .integer(counts[$0])] })
        return try firstNumbers(apps, counts, rows)
    }

    private func numbers(
        ofCustomersIn entries: [EventEntry]
    ) throws(StorageFailure) -> [Owner: Int64] {
        let counts = Dictionary(
            entries.compactMap { entry in Owner(of: entry).map { ($0, Int64(1)) } },
            uniquingKeysWith: +)
        guard !counts.isEmpty else { return [:] }
        let owners = counts.keys.sorted()
        let rows = try connection.rowsEach(
            "UPDATE customers SET last_sequence = last_sequence + $1 "
                + "WHERE app = $2 AND customer = $3 RETURNING last_sequence",
            owners.map {
                [.integer(counts[$0]), .text($0.app.rawValue), .text($0.customer.rawValue)]
            })
        return try firstNumbers(owners, counts, rows)
    }

    private func firstNumbers<Key: Hashable>(
        _ keys: [Key], _ counts: [Key: Int64], _ rows: [[Row]]
    ) throws(StorageFailure) -> [Key: Int64] {
        var first: [Key: Int64] = [:]
        for (key, rows) in zip(keys, rows) {
            guard let row = rows.first else {
                throw StorageFailure("there is no \(key) to count the events of")
            }
            first[key] = try row.integer(0) - (counts[key] ?? 0) + 1
        }
        return first
    }

    private static func row(of event: Event) -> [Value] {
        let entry = event.entry
        var document = Value.null
        if case .document(let id) = entry.cause { document = .bytes(id) }
        return [
            .text(entry.app.rawValue), .integer(event.sequence), .text(entry.customer?.rawValue),
            .integer(event.customerSequence), .text(entry.purchase?.environment.rawValue),
            .text(entry.purchase?.original.rawValue), .text(entry.change.kind.rawValue),
            .integer(entry.toldAt.milliseconds), document, .bytes(entry.body),
        ]
    }

    // MARK: - Reading

    /// The events of an app behind one, in their order.
    package func events(
        of app: AppID, after sequence: Int64, limit: Int
    ) throws(StorageFailure) -> [Event] {
        try events(
            "app = $1 AND sequence > $2 ORDER BY sequence LIMIT $3",
            [.text(app.rawValue), .integer(sequence), .integer(Int64(limit))], of: app)
    }

    /// The events of a customer behind one, in their order: those of every id that means them, also
    /// from before it did.
    package func events(
        of ids: [CustomerID], in app: AppID, after sequence: Int64, limit: Int
    ) throws(StorageFailure) -> [Event] {
        var found: [Event] = []
        for id in ids {
            found += try events(
                Self.ofCustomerAfter,
                [
                    .text(app.rawValue), .text(id.rawValue), .integer(sequence),
                    .integer(Int64(limit)),
                ], of: app)
        }
        return Array(found.sorted { $0.sequence < $1.sequence }.prefix(limit))
    }

    /// The last events of a customer, in their order.
    package func lastEvents(
        of ids: [CustomerID], in app: AppID, limit: Int
    ) throws(StorageFailure) -> [Event] {
        var found: [Event] = []
        for id in ids {
            found += try events(
                Self.lastOfCustomer,
                [.text(app.rawValue), .text(id.rawValue), .integer(Int64(limit))], of: app)
        }
        return found.sorted { $0.sequence < $1.sequence }.suffix(limit)
    }

    /// The event of a number.
    func event(_ sequence: Int64, of app: AppID) throws(StorageFailure) -> Event? {
        try events(
            "app = $1 AND sequence = $2", [.text(app.rawValue), .integer(sequence)], of: app
        ).first
    }

    /// How many events an app's log has.
    package func lastSequence(of app: AppID) throws(StorageFailure) -> Int64 {
        let rows = try connection.rows(
            "SELECT last_sequence FROM logs WHERE app = $1", [.text(app.rawValue)])
        return try rows.first?.integer(0) ?? 0
    }

    static let ofCustomerAfter =
        "app = $1 AND customer = $2 AND sequence > $3 ORDER BY sequence LIMIT $4"
    static let lastOfCustomer = "app = $1 AND customer = $2 ORDER BY sequence DESC LIMIT $3"
    /// Of a purchase, while it was nobody's.
    static let ofNobodyAfter =
        "app = $1 AND environment = $2 AND purchase = $3 AND customer IS NULL AND sequence > $4"

    static func selectEvents(where condition: String) -> String {
        "SELECT sequence, customer, customer_sequence, environment, purchase, kind, "
            + "told_at_ms, document, body FROM events WHERE \(condition)"
    }

    private func events(
        _ condition: String, _ values: [Value], of app: AppID
    ) throws(StorageFailure) -> [Event] {
        try Self.events(
            connection.rows(Self.selectEvents(where: condition), values), of: app)
    }

    /// Of rows of ``selectEvents(where:)``.
    static func events(_ rows: [Row], of app: AppID) throws(StorageFailure) -> [Event] {
        var events: [Event] = []
        for row in rows {
            let entry = try EventEntry(
                app: app, customer: try row.optionalText(1).map(CustomerID.init(rawValue:)),
                environment: try row.optionalText(3), purchase: try row.optionalText(4),
                kind: try row.text(5), toldAt: Instant(milliseconds: try row.integer(6)),
                document: row.values[7] == .null ? nil : try row.bytes(7), body: try row.bytes(8))
            events.append(
                Event(
                    sequence: try row.integer(0), customerSequence: try row.optionalInteger(2),
                    entry: entry))
        }
        return events
    }
}
