import Ledger

/// The event log of an app, and its epochs.
package struct EventLog: RowGroup {
    package let tx: DatabaseSession

    /// The maximum number of events in one response.
    package static let eventsMax = 500
    /// The maximum number of events before an event, and after it, that are searched for related
    /// events.
    private static let neighboursMax: Int64 = 100
    /// A purchase may have events from the time when it had no owner. At most this number of these
    /// events are read: the latest ones.
    private static let unownedMax = 500

    // MARK: - Appending

    /// Appends entries to their apps' logs, in order. On PostgreSQL they get their numbers after
    /// the commit: see ``Database/numberEvents(of:isWaiting:)``.
    package func append(_ entries: [EventEntry]) throws(StorageFailure) {
        guard !entries.isEmpty else { return }
        rules.signals.collect(entries, in: rules.lane)
        let signed = entries.map { entry in
            var entry = entry
            if entry.cause == .request { entry.author = author }
            return entry
        }
        let events = try tx.accountTokens.withoutErasedTokens(signed).concurrentMap(
            UnnumberedEvent.init)
        switch dialect {
        case .sqlite: try tx.pendingEvents.insertNumbered(events)
        case .postgres: try tx.pendingEvents.insert(events)
        }
    }

    /// Writes the events of an erased customer again, with the customer's ids replaced.
    package func replace(_ events: [LoggedEvent], in app: AppID) throws(StorageFailure) {
        try connection.runEach(
            "UPDATE events SET customer = $1, environment = $2, details = $3 "
                + "WHERE app = $4 AND sequence = $5",
            events.map {
                [
                    .text($0.entry.customer?.rawValue), .text($0.entry.environment?.rawValue),
                    .text($0.entry.details), .text(app.rawValue), .integer($0.sequence),
                ]
            })
    }

    // MARK: - Reading

    /// The events of an app after the given one, in order.
    package func all(
        of app: AppID, after sequence: Int64, limit: Int
    ) throws(StorageFailure) -> [LoggedEvent] {
        try events(
            "app = $1 AND sequence > $2 ORDER BY sequence LIMIT $3",
            [.text(app.rawValue), .integer(sequence), .integer(Int64(limit))], of: app)
    }

    /// The events of a customer after the given one, in order. These are the events of all of the
    /// customer's ids, including events from before an id was added.
    package func all(
        of ids: [CustomerID], in app: AppID, after sequence: Int64, limit: Int
    ) throws(StorageFailure) -> [LoggedEvent] {
        var found: [LoggedEvent] = []
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

    /// The last events of a customer before the given one, in order.
    package func last(
        of ids: [CustomerID], in app: AppID, before sequence: Int64 = .max, limit: Int
    ) throws(StorageFailure) -> [LoggedEvent] {
        var found: [LoggedEvent] = []
        for id in ids {
            found += try events(
                Self.ofCustomerBefore,
                [
                    .text(app.rawValue), .text(id.rawValue), .integer(sequence),
                    .integer(Int64(limit)),
                ], of: app)
        }
        return found.sorted { $0.sequence < $1.sequence }.suffix(limit)
    }

    /// The given event, and the customer's last events before it and first events after it, in
    /// order.
    package func all(
        around sequence: Int64, of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> [LoggedEvent] {
        let key: [Value] = [.text(app.rawValue), .text(customer.rawValue)]
        let limit = Value.integer(Self.neighboursMax)
        let before = try events(
            Self.ofCustomerBefore, key + [.integer(sequence), limit], of: app)
        let after = try events(
            Self.ofCustomerAfter, key + [.integer(sequence - 1), limit], of: app)
        return before.reversed() + after
    }

    /// The events of a purchase from the time when it had no owner, in order. Leaves out the given
    /// event and all later events. If there are many, returns only the first event and the latest
    /// events.
    package func unowned(
        of purchase: PurchaseID, in app: AppID, before sequence: Int64
    ) throws(StorageFailure) -> [LoggedEvent] {
        let values = PurchaseRows.key(of: purchase, in: app) + [.integer(sequence)]
        let latest = try events(
            Self.ofNobodyBefore + " ORDER BY sequence DESC LIMIT \(Self.unownedMax)", values,
            of: app
        ).reversed()
        guard latest.count == Self.unownedMax, let cut = latest.first?.sequence else {
            return Array(latest)
        }
        let first = try events(
            Self.ofNobodyBefore + " ORDER BY sequence LIMIT 1", values, of: app)
        return first.filter { $0.sequence < cut } + latest
    }

    /// The events of purchases from before they were linked to a customer. Returns events after the
    /// given one, in order. These events name no customer, but belong to the history of the
    /// customer with these ids, whoever owns the purchases now.
    package func beforeLinks(
        of ids: [CustomerID], in app: AppID, after sequence: Int64
    ) throws(StorageFailure) -> [LoggedEvent] {
        var found: [LoggedEvent] = []
        for id in ids {
            let links = try events(
                Self.linksOfCustomer,
                [.text(app.rawValue), .text(id.rawValue), .text(Change.Kind.linked.rawValue)],
                of: app
            ).filter { $0.entry.earlierEvents.map { $0 > 0 } ?? false }
            guard !links.isEmpty else { continue }
            let earlier = try connection.rowsEach(
                Self.selectEvents(where: Self.ofNobodyAfter + " AND sequence < $5"),
                links.compactMap { link in
                    link.entry.purchase.map {
                        PurchaseRows.key(of: $0, in: app) + [
                            .integer(sequence), .integer(link.sequence),
                        ]
                    }
                })
            for rows in earlier { found += try Self.events(rows, of: app) }
        }
        var sequences: Set<Int64> = []
        found = found.filter { sequences.insert($0.sequence).inserted }
            .sorted { $0.sequence < $1.sequence }
        // Possibly the purchase had an earlier owner who was erased, and the events contain that
        // owner's token.
        for (place, entry) in try tx.accountTokens.withoutErasedTokens(found.map(\.entry))
            .enumerated()
        {
            found[place].entry = entry
        }
        return found
    }

    /// Sets the number of earlier events in each event that linked a purchase.
    private func countEarlier(_ events: [LoggedEvent], of app: AppID) throws(StorageFailure)
        -> [LoggedEvent]
    {
        let places = events.indices.filter { events[$0].entry.linksPurchase }
        guard !places.isEmpty else { return events }
        let counts = try connection.rowsEach(
            "SELECT count(*) FROM (SELECT 1 FROM events WHERE \(Self.ofNobodyBefore) "
                + "LIMIT \(Self.unownedMax)) AS earlier",
            places.compactMap { place in
                let event = events[place]
                return event.entry.purchase.map {
                    PurchaseRows.key(of: $0, in: app) + [.integer(event.sequence)]
                }
            })
        var events = events
        for (place, rows) in zip(places, counts) {
            events[place].entry.earlierEvents = try rows.first?.read { row throws(StorageFailure) in
                try row.integer()
            }
        }
        return events
    }

    /// The event with the given number.
    package func find(_ sequence: Int64, of app: AppID) throws(StorageFailure) -> LoggedEvent? {
        try events(
            "app = $1 AND sequence = $2", [.text(app.rawValue), .integer(sequence)], of: app
        ).first
    }

    /// The position that the next event of an app gets. On PostgreSQL, the caller must have locked
    /// the log and numbered all events: then the next event is from this transaction or from a
    /// later transaction.
    package func nextPosition(of app: AppID) throws(StorageFailure) -> LogPosition {
        LogPosition(try epochs(of: app).current, try lastSequence(of: app) + 1)
    }

    /// The number of events in an app's log that have numbers.
    package func lastSequence(of app: AppID) throws(StorageFailure) -> Int64 {
        try connection.firstNumber(
            "SELECT last_sequence FROM logs WHERE app = $1", [.text(app.rawValue)]) ?? 0
    }

    static let ofCustomerAfter =
        "app = $1 AND customer = $2 AND sequence > $3 ORDER BY sequence LIMIT $4"
    static let ofCustomerBefore =
        "app = $1 AND customer = $2 AND sequence < $3 ORDER BY sequence DESC LIMIT $4"
    private static let linksOfCustomer = "app = $1 AND customer = $2 AND kind = $3"
    static let lastOfCustomer = "app = $1 AND customer = $2 ORDER BY sequence DESC LIMIT $3"
    /// The condition for events of a purchase from the time when it had no owner.
    static let ofNobodyAfter =
        "app = $1 AND environment = $2 AND purchase = $3 AND customer IS NULL AND sequence > $4"

    static let ofNobodyBefore =
        "app = $1 AND environment = $2 AND purchase = $3 AND customer IS NULL AND sequence < $4"

    static func selectEvents(where condition: String) -> String {
        "SELECT sequence, customer, customer_sequence, \(UnnumberedEvent.columns) "
            + "FROM events WHERE \(condition)"
    }

    private func events(
        _ condition: String, _ values: [Value], of app: AppID
    ) throws(StorageFailure) -> [LoggedEvent] {
        try countEarlier(
            Self.events(connection.rows(Self.selectEvents(where: condition), values), of: app),
            of: app)
    }

    /// Reads events from rows of ``selectEvents(where:)``.
    static func events(_ rows: [Row], of app: AppID) throws(StorageFailure) -> [LoggedEvent] {
        try rows.read { row throws(StorageFailure) in
            let (sequence, customer) = (try row.integer(), try row.optionalCustomer())
            let customerSequence = try row.optionalInteger()
            let event = UnnumberedEvent(app: app, customer: customer, values: row.rest())
            return LoggedEvent(
                sequence: sequence, customerSequence: customerSequence, entry: try event.entry)
        }
    }
}
