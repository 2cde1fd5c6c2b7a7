import Ledger

/// The part of a purchase's state that its events are derived from.
struct ToldPurchase {
    var app: AppID
    var timeline: Timeline
    /// The last reported state; nil if nothing was ever reported.
    var told: Told? = nil
    var customer: CustomerID? = nil

    /// Turns changes into log entries, addressed to the customer if there is one.
    fileprivate func entries(
        _ changes: [Change], _ cause: EventEntry.Cause, toldAt: Instant
    ) -> [EventEntry] {
        changes.map { change in
            EventEntry(
                app: app, customer: customer, purchase: timeline.purchase, change: change,
                toldAt: toldAt, cause: cause,
                accountToken: customer == nil ? timeline.accountToken : nil)
        }
    }
}

extension ToldPurchase {
    /// Applies a new timeline, and returns the events to append.
    mutating func hear(
        _ later: Timeline, from cause: EventEntry.Cause, at now: Instant, _ rules: AccessRules
    ) -> [EventEntry] {
        var told = told ?? Told(nil, until: now)
        let changes = told.news(from: timeline, to: later, at: now, rules: rules)
        self.told = told
        timeline = later
        return entries(changes, cause, toldAt: now)
    }

    /// Advances to a later time, and returns the events to append.
    mutating func pass(until now: Instant, _ rules: AccessRules) -> [EventEntry] {
        guard var told else { return [] }
        let changes = told.turns(of: timeline, upTo: now, rules: rules)
        self.told = told
        return entries(changes, .time, toldAt: now)
    }

    /// The next time at which time alone changes the reported state.
    func turnsAt(_ rules: AccessRules) -> Instant? {
        told.flatMap { timeline.nextTurn(after: $0, rules: rules) }
    }
}

extension StoreTransaction {
    func rules(of app: AppID) -> AccessRules { rules.access(of: app) }

    // MARK: - Time-based events

    /// Appends the events that the passage of time has caused for purchases of an app, the longest
    /// overdue first. Returns how many purchases were due. Idempotent, and safe for several servers
    /// at once: each skips the rows that another has locked.
    package func tellTurns(
        of app: AppID, dueBy now: Instant, limit: Int
    ) throws(StorageFailure) -> Int {
        let rows = try connection.rows(
            Self.selectTurning(dialect),
            [.text(app.rawValue), .integer(now.milliseconds), .integer(Int64(limit))])
        var purchases: [ToldPurchase] = []
        for row in rows {
            purchases.append(try Self.toldPurchase(in: app, row))
        }
        try tellTurns(of: purchases, upTo: now)
        return purchases.count
    }

    /// Whether an app has time-based events that are due and not yet appended.
    package func hasTurns(
        of app: AppID, dueBy now: Instant
    ) throws(StorageFailure) -> Bool {
        let rows = try connection.rows(
            "SELECT purchase FROM purchases WHERE app = $1 AND turns_at_ms <= $2 LIMIT 1",
            [.text(app.rawValue), .integer(now.milliseconds)])
        return !rows.isEmpty
    }

    static func selectTurning(_ dialect: Dialect) -> String {
        "SELECT \(toldColumns), environment, purchase FROM purchases "
            + "WHERE app = $1 AND turns_at_ms <= $2 ORDER BY turns_at_ms LIMIT $3 "
            + dialect.takingFreeRows
    }

    /// Appends the time-based events of one purchase up to a time.
    private func tellTurns(
        of purchase: PurchaseID, in app: AppID, upTo now: Instant
    ) throws(StorageFailure) -> ToldPurchase? {
        guard let known = try toldPurchase(purchase, in: app) else { return nil }
        return try tellTurns(of: [known], upTo: now)[0]
    }

    @discardableResult
    private func tellTurns(
        of purchases: [ToldPurchase], upTo now: Instant
    ) throws(StorageFailure) -> [ToldPurchase] {
        var purchases = purchases
        var entries: [EventEntry] = []
        for index in purchases.indices {
            entries += purchases[index].pass(until: now, rules(of: purchases[index].app))
        }
        try connection.runEach(
            "UPDATE purchases SET told = $1, turns_at_ms = $2 "
                + "WHERE app = $3 AND environment = $4 AND purchase = $5",
            purchases.map {
                [
                    $0.told.map { .bytes($0.stored) } ?? .null,
                    .integer($0.turnsAt(rules(of: $0.app))?.milliseconds),
                ] + Self.key(of: $0.timeline.purchase, in: $0.app)
            })
        try append(entries)
        return purchases
    }

    static let toldColumns = "timeline, told, \(selectOwner)"

    /// Selects the owner of the purchase in a row.
    static let selectOwner =
        "(SELECT customer FROM links WHERE links.app = purchases.app "
        + "AND links.environment = purchases.environment AND links.purchase = purchases.purchase)"

    /// A purchase and its last reported state. Returns nil if the purchase is unknown.
    func toldPurchase(
        _ purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> ToldPurchase? {
        let rows = try connection.rows(
            "SELECT \(Self.toldColumns) FROM purchases "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3",
            Self.key(of: purchase, in: app))
        return try rows.first.map { (row) throws(StorageFailure) in
            try Self.toldPurchase(purchase, in: app, row, at: 0)
        }
    }

    /// Reads a purchase from a row that has ``reportedColumns`` from the given column on.
    static func toldPurchase(
        _ purchase: PurchaseID, in app: AppID, _ row: Row, at column: Int
    ) throws(StorageFailure) -> ToldPurchase {
        ToldPurchase(
            app: app, timeline: try Timeline(stored: try row.bytes(column), of: purchase),
            told: row.values[column + 1] == .null
                ? nil : try Told(stored: try row.bytes(column + 1)),
            customer: try row.optionalText(column + 2).map(CustomerID.init(rawValue:)))
    }

    /// Reads a purchase from a row that begins with ``reportedColumns``. If the stored timeline can
    /// no longer be decoded, uses the given one.
    static func toldPurchase(
        _ purchase: PurchaseID, in app: AppID, _ row: Row, orAs timeline: Timeline
    ) throws(StorageFailure) -> ToldPurchase {
        do { return try toldPurchase(purchase, in: app, row, at: 0) } catch {
            let told = row.values[1] == .null ? nil : try Told(stored: try row.bytes(1))
            return ToldPurchase(
                app: app, timeline: timeline, told: told,
                customer: try row.optionalText(2).map(CustomerID.init(rawValue:)))
        }
    }

    /// Reads a purchase from a row that has the environment and the purchase after
    /// ``reportedColumns``.
    static func toldPurchase(
        in app: AppID, _ row: Row
    ) throws(StorageFailure) -> ToldPurchase {
        try toldPurchase(try purchase(of: row), in: app, row, at: 0)
    }

    /// The id of the purchase in such a row.
    static func purchase(of row: Row) throws(StorageFailure) -> PurchaseID {
        PurchaseID(
            TransactionID(rawValue: try row.text(4)), in: try Environment.stored(try row.text(3)))
    }

    /// The last reported state of a purchase that is being rebuilt. If its row is lost, the state
    /// is taken from the log. If its stored timeline can no longer be decoded, the rebuilt timeline
    /// is used in its place.
    func lastTold(
        of rebuilt: Timeline, in app: AppID, _ lost: inout LastEvents
    ) throws(StorageFailure) -> ToldPurchase {
        let key = Self.key(of: rebuilt.purchase, in: app)
        let rows = try connection.rows(
            "SELECT \(Self.toldColumns) FROM purchases "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3", key)
        if let row = rows.first, row.values[1] != .null {
            return try Self.toldPurchase(rebuilt.purchase, in: app, row, orAs: rebuilt)
        }
        let owner = try link(of: rebuilt.purchase, in: app)?.customer
        guard let last = try lost.event(of: rebuilt.purchase, in: app, self) else {
            return ToldPurchase(
                app: app, timeline: Timeline(of: rebuilt.purchase, []), customer: owner)
        }
        return ToldPurchase(
            app: app, timeline: rebuilt,
            told: Told(last.entry.change.after, until: last.entry.toldAt), customer: owner)
    }

    // MARK: - Ownership events

    /// Appends an event about the ownership of a purchase, with the purchase's present status.
    ///
    /// - Returns: the number of the event.
    @discardableResult
    func tellOwner(
        of purchase: PurchaseID, is customer: CustomerID, in app: AppID, _ kind: Change.Kind,
        from other: CustomerID? = nil, evidence: Link.Evidence? = nil, at now: Instant
    ) throws(StorageFailure) -> Int64 {
        // Time-based changes from before the transfer are still reported to the former owner.
        let known = try tellTurns(of: purchase, in: app, upTo: now)
        var change = Change(kind, at: now, product: known?.told?.condition?.product)
        change.before = known?.told?.condition
        change.after = change.before
        let numbers = try append([
            EventEntry(
                app: app, customer: customer, purchase: purchase, change: change, toldAt: now,
                cause: .request, other: other, evidence: evidence)
        ])
        if let known, known.timeline.hasTerms {
            try watchTerms(of: customer, in: app, purchase.environment)
        }
        guard let number = numbers[app] else {
            preconditionFailure("Appending an event returned no number.")
        }
        return number
    }

    /// Appends an event saying that a term is about to end.
    func tellEnding(
        _ reminder: TermReminder, to customer: CustomerID?, token: CustomerID, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) {
        let payment = reminder.payment
        var change = Change(
            .termEnding, at: reminder.dueAt, product: payment.product,
            transaction: payment.transaction, ownership: payment.ownership)
        change.ending = reminder.ending
        try tellAside(
            change, of: reminder.purchase, in: app, by: .time, to: customer, token: token.rawValue,
            at: now)
    }

    /// Appends an event that does not change the status of a purchase.
    ///
    /// - Parameter customer: the recipient; nil means the owner of the purchase.
    func tellAside(
        _ change: Change, of purchase: PurchaseID, in app: AppID, by cause: EventEntry.Cause,
        to customer: CustomerID? = nil, token: String? = nil, at now: Instant
    ) throws(StorageFailure) {
        let known = try tellTurns(of: purchase, in: app, upTo: now)
        var change = change
        change.before = known?.told?.condition
        change.after = change.before
        let owner = customer ?? known?.customer
        try append([
            EventEntry(
                app: app, customer: owner, purchase: purchase, change: change, toldAt: now,
                cause: cause,
                accountToken: owner == nil ? token ?? known?.timeline.accountToken : nil)
        ])
    }

    /// Appends an event saying that an id was added to a customer, or that another customer was
    /// merged into them.
    func tellIdentity(
        _ kind: Change.Kind, of customer: CustomerID, other: CustomerID, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) {
        try append([
            EventEntry(
                app: app, customer: customer, purchase: nil, change: Change(kind, at: now),
                toldAt: now, cause: .request, other: other)
        ])
    }
}
