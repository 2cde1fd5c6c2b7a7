import Ledger

// The numbering of events.
//
// On SQLite, which has one writer, a transaction numbers its events itself.
//
// On PostgreSQL, a transaction inserts its events into `pending_events`, without numbers. So it
// touches no row that a writer of another purchase touches. Later, any server runs a sequencer,
// which in one transaction
//   1. locks the row of the app in `logs`, so that sequencers of one app run one after the other;
//   2. reads the committed pending events in the order of their positions;
//   3. inserts them into `events` with the next numbers of the app and of each customer;
//   4. deletes exactly these pending rows, and stores the last number.
// So numbers have no gaps, and become visible in order: a reader who sees an event sees all events
// before it, and an event that is committed late gets a later number. A crash between two steps
// undoes all steps.

/// An event as it is stored, without its numbers.
struct UnnumberedEvent {
    var app: AppID
    var customer: CustomerID?
    /// The values of the event, in the order of ``columns``.
    var values: [Value]

    static let columns = "environment, purchase, kind, known_at_ms, document, details"

    init(app: AppID, customer: CustomerID?, values: [Value]) {
        self.app = app
        self.customer = customer
        self.values = values
    }

    init(_ entry: EventEntry) {
        var document = Value.null
        if case .document(let id) = entry.cause { document = .bytes(id) }
        app = entry.app
        customer = entry.customer
        values = [
            .text(entry.environment?.rawValue), .text(entry.purchase?.original.rawValue),
            .text(entry.change.kind.rawValue), .integer(entry.knownAt.milliseconds), document,
            .text(entry.details),
        ]
    }
}

extension UnnumberedEvent {
    var entry: EventEntry {
        get throws(StorageFailure) {
            var row = ColumnReader(Row(values))
            let (environment, purchase) = (try row.optionalText(), try row.optionalText())
            let (kind, knownAt) = (try row.text(), try row.instant())
            let document = try row.optionalBytes()
            return try EventEntry(
                app: app, customer: customer, environment: environment, purchase: purchase,
                kind: kind, knownAt: knownAt, document: document, details: try row.text())
        }
    }
}

/// A pending event, and its place among the pending events.
struct PendingEvent {
    var position: Int64
    var event: UnnumberedEvent
}

/// Events that have no numbers yet, and their numbering.
package struct PendingEventRows: RowGroup {
    package let tx: DatabaseSession

    /// The maximum number of events that one transaction numbers.
    package static let numberedMax = 500
    /// The maximum number of consecutive transactions that give numbers to events. There is a limit
    /// because other writers may continue to commit events.
    fileprivate static let numberingsMax = 1_000

    // MARK: - Numbering

    /// Inserts events with the next numbers. Until the caller's transaction ends, nothing else may
    /// number events of these apps.
    func insertNumbered(_ pending: [UnnumberedEvent]) throws(StorageFailure) {
        var last = try lastSequences(ofAppsIn: pending)
        var customerLast = try lastSequences(ofCustomersIn: pending)
        var rows: [[Value]] = []
        rows.reserveCapacity(pending.count)
        for event in pending {
            let sequence = last[event.app, default: 0] + 1
            last[event.app] = sequence
            var customerSequence: Int64?
            if let owner = Owner(of: event) {
                let next = customerLast[owner, default: 0] + 1
                customerLast[owner] = next
                customerSequence = next
            }
            rows.append(
                [
                    .text(event.app.rawValue), .integer(sequence),
                    .text(event.customer?.rawValue), .integer(customerSequence),
                ] + event.values)
        }
        try connection.runEach(
            "INSERT INTO events (app, sequence, customer, customer_sequence, "
                + "\(UnnumberedEvent.columns)) "
                + "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            rows)
        try connection.runEach(
            "INSERT INTO logs (app, last_sequence) VALUES ($1, $2) "
                + "ON CONFLICT (app) DO UPDATE SET last_sequence = excluded.last_sequence",
            last.keys.sorted().map { [.text($0.rawValue), .integer(last[$0])] })
    }

    private struct Owner: Hashable, Comparable {
        var app: AppID
        var customer: CustomerID

        init?(of event: UnnumberedEvent) {
            guard let customer = event.customer else { return nil }
            (app, self.customer) = (event.app, customer)
        }

        static func < (one: Self, other: Self) -> Bool {
            (one.app, one.customer) < (other.app, other.customer)
        }
    }

    private func lastSequences(
        ofAppsIn events: [UnnumberedEvent]
    ) throws(StorageFailure) -> [AppID: Int64] {
        var last: [AppID: Int64] = [:]
        for app in Set(events.map(\.app)) { last[app] = try tx.events.lastSequence(of: app) }
        return last
    }

    private func lastSequences(
        ofCustomersIn events: [UnnumberedEvent]
    ) throws(StorageFailure) -> [Owner: Int64] {
        let owners = Set(events.compactMap(Owner.init)).sorted()
        guard !owners.isEmpty else { return [:] }
        let found = try connection.rowsEach(
            "SELECT customer_sequence FROM events WHERE \(EventLog.lastOfCustomer)",
            owners.map { [.text($0.app.rawValue), .text($0.customer.rawValue), .integer(1)] })
        var last: [Owner: Int64] = [:]
        for (owner, rows) in zip(owners, found) {
            last[owner] =
                try rows.first?.read { row throws(StorageFailure) in try row.integer() } ?? 0
        }
        return last
    }

    // MARK: - Pending events

    /// Appends events that ``numberEvents(of:isWaiting:)`` numbers after this transaction.
    func insert(_ events: [UnnumberedEvent]) throws(StorageFailure) {
        try connection.runEach(
            "INSERT INTO pending_events (app, customer, \(UnnumberedEvent.columns)) "
                + "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            events.map { [.text($0.app.rawValue), .text($0.customer?.rawValue)] + $0.values })
    }

    /// Whether an app has committed events without numbers.
    package func hasAny(of app: AppID) throws(StorageFailure) -> Bool {
        guard dialect == .postgres else { return false }
        return try !connection.rows(
            "SELECT position FROM pending_events WHERE app = $1 LIMIT 1", [.text(app.rawValue)]
        ).isEmpty
    }

    /// The apps that have committed events without numbers.
    package func apps() throws(StorageFailure) -> [AppID] {
        guard dialect == .postgres else { return [] }
        return try connection.rows(
            "SELECT DISTINCT app FROM pending_events ORDER BY app", []
        ) { row throws(StorageFailure) in try row.app() }
    }

    /// Reads pending events of an app in the order of their positions.
    func all(
        of app: AppID, after position: Int64 = 0, limit: Int, isLocking: Bool = false
    ) throws(StorageFailure) -> [PendingEvent] {
        guard dialect == .postgres else { return [] }
        return try connection.rows(
            "SELECT position, customer, \(UnnumberedEvent.columns) FROM pending_events "
                + "WHERE app = $1 AND position > $2 ORDER BY position LIMIT $3"
                + (isLocking ? " FOR UPDATE" : ""),
            [.text(app.rawValue), .integer(position), .integer(Int64(limit))]
        ) { row throws(StorageFailure) in
            PendingEvent(
                position: try row.integer(),
                event: UnnumberedEvent(
                    app: app, customer: try row.optionalCustomer(), values: row.rest()))
        }
    }

    /// The committed events of a customer that have no numbers yet, in order.
    package func entries(
        of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> [EventEntry] {
        try all(of: app, limit: Self.numberedMax).filter {
            $0.event.customer == customer
        }.map { (pending) throws(StorageFailure) in try pending.event.entry }
    }

    /// Prevents all other transactions from numbering events of an app until this transaction ends.
    /// Writers do not need this lock.
    ///
    /// - Parameter isWaiting: whether to wait until another transaction releases the lock.
    /// - Returns: false if another transaction has the lock.
    @discardableResult
    package func lockLog(of app: AppID, isWaiting: Bool = true) throws(StorageFailure) -> Bool {
        guard dialect == .postgres else { return true }
        let key: [Value] = [.text(app.rawValue)]
        let row = "SELECT last_sequence FROM logs WHERE app = $1"
        let lock = row + " FOR UPDATE"
        let tried = try connection.rows(isWaiting ? lock : lock + " SKIP LOCKED", key)
        guard tried.isEmpty else { return true }
        // The row exists but was skipped, so another transaction has locked it.
        if !isWaiting, try !connection.rows(row, key).isEmpty { return false }
        try connection.run(
            "INSERT INTO logs (app, last_sequence) VALUES ($1, 0) ON CONFLICT (app) DO NOTHING",
            key)
        return try !connection.rows(lock, key).isEmpty
    }

    /// Numbers pending events of an app, at most ``numberedMax``. Returns how many it numbered.
    /// Idempotent, and safe for several servers at once: the second server waits, and numbers the
    /// remaining events.
    ///
    /// The transaction must see everything that was committed before it got the lock: use
    /// ``WriteMode/committed``, or a transaction that locks out all writers.
    ///
    /// - Parameter isWaiting: false to return 0 if another transaction is numbering.
    @discardableResult
    func numberEvents(of app: AppID, isWaiting: Bool = true) throws(StorageFailure) -> Int {
        guard dialect == .postgres, try lockLog(of: app, isWaiting: isWaiting) else { return 0 }
        let pending = try all(of: app, limit: Self.numberedMax, isLocking: true)
        guard !pending.isEmpty else { return 0 }
        try insertNumbered(pending.map(\.event))
        // The rows are deleted one by one, not by a range, because an event with a smaller position
        // may have been committed since.
        try connection.runEach(
            "DELETE FROM pending_events WHERE app = $1 AND position = $2",
            pending.map { [.text(app.rawValue), .integer($0.position)] })
        return pending.count
    }

    /// Numbers all events of an app that this transaction sees.
    package func numberAll(of app: AppID) throws(StorageFailure) {
        while try numberEvents(of: app) > 0 {}
    }
}

extension Database {
    /// Numbers the committed events of an app. Returns how many it numbered. Idempotent, and safe
    /// for several servers at once. Does nothing on SQLite.
    ///
    /// - Parameter isWaiting: false to return at once if another transaction is numbering events.
    ///   Possibly that transaction does not see all events.
    @discardableResult
    package func numberEvents(of app: AppID, isWaiting: Bool = true) async throws -> Int {
        guard driver.dialect == .postgres else { return 0 }
        var total = 0
        for _ in 0..<PendingEventRows.numberingsMax {
            let count = try await driver.write(.committed) { [rules] connection in
                try DatabaseSession(connection, rules)
                    .pendingEvents.numberEvents(of: app, isWaiting: isWaiting)
            }
            total += count
            if count < PendingEventRows.numberedMax { break }
        }
        return total
    }

    /// Numbers the committed events of all apps: see ``numberEvents(of:isWaiting:)``.
    @discardableResult
    package func numberEvents(isWaiting: Bool = true) async throws -> Int {
        var total = 0
        for app in try await read({ try $0.pendingEvents.apps() }) {
            total += try await numberEvents(of: app, isWaiting: isWaiting)
        }
        return total
    }

    /// Runs a closure that reads the log, on one consistent snapshot, after numbering all events
    /// that were committed before the call.
    package func readingLog<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws -> Value {
        try await numberEvents()
        return try await read(body)
    }
}
