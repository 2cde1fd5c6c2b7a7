import Ledger

/// A purchase, as far as its log needs to know it.
struct ToldPurchase {
    var app: AppID
    var timeline: Timeline
    /// Nil where nothing was ever told of it.
    var told: Told? = nil
    var customer: CustomerID? = nil

    /// What became of it, as entries; the customer's, if it has one.
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
    /// Hears of news, and returns what is to be told of it.
    mutating func hear(
        _ later: Timeline, from cause: EventEntry.Cause, at now: Instant, _ rules: AccessRules
    ) -> [EventEntry] {
        var told = told ?? Told(nil, until: now)
        let changes = told.news(from: timeline, to: later, at: now, rules: rules)
        self.told = told
        timeline = later
        return entries(changes, cause, toldAt: now)
    }

    /// Lets time go on, and returns what is to be told of it.
    mutating func pass(until now: Instant, _ rules: AccessRules) -> [EventEntry] {
        guard var told else { return [] }
        let changes = told.turns(of: timeline, upTo: now, rules: rules)
        self.told = told
        return entries(changes, .time, toldAt: now)
    }

    /// When time alone will change what is told.
    func turnsAt(_ rules: AccessRules) -> Instant? {
        told.flatMap { timeline.nextTurn(after: $0, rules: rules) }
    }
}

extension StoreTransaction {
    func rules(of app: AppID) -> AccessRules { rules.access(of: app) }

    // MARK: - Time

    /// Tells what time alone has done to purchases of an app, the longest due first. Returns how
    /// many were due. Harmless to repeat, and for several servers at once: each passes over those
    /// that another has taken.
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

    /// Whether time has done something to a purchase of an app that is not told.
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

    /// Tells what time has done to one purchase so far.
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

    /// Whose the purchase of a row is.
    static let selectOwner =
        "(SELECT customer FROM links WHERE links.app = purchases.app "
        + "AND links.environment = purchases.environment AND links.purchase = purchases.purchase)"

    /// A purchase, and what was told of it; nil where it is not known.
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

    /// Of a row that has the columns above from one of its columns on.
    static func toldPurchase(
        _ purchase: PurchaseID, in app: AppID, _ row: Row, at column: Int
    ) throws(StorageFailure) -> ToldPurchase {
        ToldPurchase(
            app: app, timeline: try Timeline(stored: try row.bytes(column), of: purchase),
            told: row.values[column + 1] == .null
                ? nil : try Told(stored: try row.bytes(column + 1)),
            customer: try row.optionalText(column + 2).map(CustomerID.init(rawValue:)))
    }

    /// The same of a row that begins with them, also where its timeline cannot be read any more.
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

    /// Of a row that has the environment and the purchase after ``toldColumns``.
    static func toldPurchase(
        in app: AppID, _ row: Row
    ) throws(StorageFailure) -> ToldPurchase {
        try toldPurchase(try purchase(of: row), in: app, row, at: 0)
    }

    /// Which purchase such a row is of.
    static func purchase(of row: Row) throws(StorageFailure) -> PurchaseID {
        PurchaseID(
            TransactionID(rawValue: try row.text(4)), in: try Environment.stored(try row.text(3)))
    }

    /// What was told last of a purchase that is made again. Where its row is lost the log itself
    /// says it; where its timeline cannot be read any more it counts as it will be.
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

    // MARK: - Ownership

    /// Tells that a purchase has come to a customer: with it, all that is known of it now.
    ///
    /// - Returns: the number of the event.
    @discardableResult
    func tellOwner(
        of purchase: PurchaseID, is customer: CustomerID, in app: AppID, _ kind: Change.Kind,
        from other: CustomerID? = nil, evidence: Link.Evidence? = nil, at now: Instant
    ) throws(StorageFailure) -> Int64 {
        // What time did before is still told to the one before.
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
            preconditionFailure("What was put into a log has a number in it.")
        }
        return number
    }

    /// Tells that a term will be over.
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

    /// Tells what leaves the condition of a purchase as it is.
    ///
    /// - Parameter customer: nil: whose it is.
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

    /// Tells that an id means a customer from now on, or that another customer is the same.
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
