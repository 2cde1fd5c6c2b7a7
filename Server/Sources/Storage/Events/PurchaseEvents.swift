import Ledger

/// The part of a purchase's state that its events are derived from.
struct ReportedPurchase {
    var app: AppID
    var timeline: Timeline
    /// The last reported state; nil if nothing was ever reported.
    var reportedState: ReportedState? = nil
    var customer: CustomerID? = nil

    /// Turns changes into log entries, addressed to the customer if there is one.
    fileprivate func entries(
        _ changes: [Change], _ cause: EventEntry.Cause, knownAt: Instant
    ) -> [EventEntry] {
        changes.map { change in
            EventEntry(
                app: app, customer: customer, purchase: timeline.purchase, change: change,
                knownAt: knownAt, cause: cause,
                accountToken: customer == nil ? timeline.accountToken : nil)
        }
    }
}

extension ReportedPurchase {
    /// Applies a new timeline, and returns the events to append.
    mutating func apply(
        _ later: Timeline, from cause: EventEntry.Cause, at now: Instant, _ rules: AccessRules
    ) -> [EventEntry] {
        var told = reportedState ?? ReportedState(nil, until: now)
        let changes = told.changes(from: timeline, to: later, at: now, rules: rules)
        self.reportedState = told
        timeline = later
        return entries(changes, cause, knownAt: now)
    }

    /// Advances to a later time, and returns the events to append.
    mutating func advance(until now: Instant, _ rules: AccessRules) -> [EventEntry] {
        guard var reportedState else { return [] }
        let changes = reportedState.transitions(of: timeline, upTo: now, rules: rules)
        self.reportedState = reportedState
        return entries(changes, .time, knownAt: now)
    }

    /// The next time at which time alone changes the reported state.
    func nextTransitionAt(_ rules: AccessRules) -> Instant? {
        reportedState.flatMap { timeline.nextTransition(after: $0, rules: rules) }
    }
}

extension DatabaseSession {
    func rules(of app: AppID) -> AccessRules { rules.access(of: app) }

    // MARK: - Time-based events

    /// Appends the events that the passage of time has caused for purchases of an app, the longest
    /// overdue first. Returns how many purchases were due. Idempotent, and safe for several servers
    /// at once: each skips the rows that another has locked.
    package func emitTransitions(
        of app: AppID, dueBy now: Instant, limit: Int
    ) throws(StorageFailure) -> Int {
        let purchases = try connection.rows(
            Self.selectDueTransitions(dialect),
            [.text(app.rawValue), .integer(now.milliseconds), .integer(Int64(limit))]
        ) { row throws(StorageFailure) in
            try Self.reportedPurchase(try row.purchase(), in: app, &row)
        }
        return try emitTransitions(of: purchases, upTo: now).count
    }

    static func selectDueTransitions(_ dialect: Dialect) -> String {
        "SELECT purchases.environment, purchases.purchase, \(reportedColumns) "
            + "FROM \(purchasesWithOwners) WHERE purchases.app = $1 "
            + "AND purchases.next_change_at_ms <= $2 ORDER BY purchases.next_change_at_ms LIMIT $3 "
            + dialect.skippingLockedRows(of: "purchases")
    }

    /// Appends the time-based events of one purchase up to a time.
    private func emitTransitions(
        of purchase: PurchaseID, in app: AppID, upTo now: Instant
    ) throws(StorageFailure) -> ReportedPurchase? {
        guard let known = try reportedPurchase(purchase, in: app) else { return nil }
        return try emitTransitions(of: [known], upTo: now)[0]
    }

    @discardableResult
    private func emitTransitions(
        of purchases: [ReportedPurchase], upTo now: Instant
    ) throws(StorageFailure) -> [ReportedPurchase] {
        var purchases = purchases
        var entries: [EventEntry] = []
        for index in purchases.indices {
            entries += purchases[index].advance(until: now, rules(of: purchases[index].app))
        }
        try connection.runEach(
            "UPDATE purchases SET reported_state = $1, next_change_at_ms = $2 "
                + "WHERE app = $3 AND environment = $4 AND purchase = $5",
            purchases.map {
                [
                    $0.reportedState.map { .bytes($0.stored) } ?? .null,
                    .integer($0.nextTransitionAt(rules(of: $0.app))?.milliseconds),
                ] + Self.key(of: $0.timeline.purchase, in: $0.app)
            })
        try upsertSubscriptions(purchases)
        try append(entries)
        return purchases
    }

    /// The columns of a ``ReportedPurchase``, from ``purchasesWithOwners``.
    static let reportedColumns = "purchases.timeline, purchases.reported_state, links.customer"

    /// Purchases, each with the link to its owner if it has one.
    static let purchasesWithOwners =
        "purchases LEFT JOIN links ON links.app = purchases.app "
        + "AND links.environment = purchases.environment AND links.purchase = purchases.purchase"

    private static let selectReported =
        "SELECT \(reportedColumns) FROM \(purchasesWithOwners) WHERE purchases.app = $1 "
        + "AND purchases.environment = $2 AND purchases.purchase = $3"

    /// A purchase and its last reported state. Returns nil if the purchase is unknown.
    func reportedPurchase(
        _ purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> ReportedPurchase? {
        try connection.firstRow(
            Self.selectReported, Self.key(of: purchase, in: app)
        ) { row throws(StorageFailure) in
            try Self.reportedPurchase(purchase, in: app, &row)
        }
    }

    /// Reads ``reportedColumns``. If the stored timeline can no longer be decoded, uses the given
    /// one.
    static func reportedPurchase(
        _ purchase: PurchaseID, in app: AppID, _ row: inout ColumnReader,
        orAs known: Timeline? = nil
    ) throws(StorageFailure) -> ReportedPurchase {
        let timeline: Timeline
        do {
            timeline = try Timeline(stored: try row.bytes(), of: purchase)
        } catch {
            guard let known else { throw error }
            timeline = known
        }
        return ReportedPurchase(
            app: app, timeline: timeline,
            reportedState: try row.optionalBytes().map { bytes throws(StorageFailure) in
                try ReportedState(stored: bytes)
            }, customer: try row.optionalCustomer())
    }

    /// The last reported state of a purchase that is being rebuilt. If its row is lost, the state
    /// is taken from the log. If its stored timeline can no longer be decoded, the rebuilt timeline
    /// is used in its place.
    func lastReported(
        of rebuilt: Timeline, in app: AppID, _ lost: inout LastEvents
    ) throws(StorageFailure) -> ReportedPurchase {
        let key = Self.key(of: rebuilt.purchase, in: app)
        let known = try connection.firstRow(Self.selectReported, key) {
            row throws(StorageFailure) in
            try Self.reportedPurchase(rebuilt.purchase, in: app, &row, orAs: rebuilt)
        }
        if let known, known.reportedState != nil { return known }
        let owner = try link(of: rebuilt.purchase, in: app)?.customer
        guard let last = try lost.event(of: rebuilt.purchase, in: app, self) else {
            return ReportedPurchase(
                app: app, timeline: Timeline(of: rebuilt.purchase, []), customer: owner)
        }
        return ReportedPurchase(
            app: app, timeline: rebuilt,
            reportedState: ReportedState(last.entry.change.after, until: last.entry.knownAt),
            customer: owner)
    }

    // MARK: - Ownership events

    /// Appends an event about the ownership of a purchase, with the purchase's present status.
    func emitOwnershipEvent(
        of purchase: PurchaseID, is customer: CustomerID, in app: AppID, _ kind: Change.Kind,
        from other: CustomerID? = nil, evidence: Link.Evidence? = nil, at now: Instant
    ) throws(StorageFailure) {
        // Time-based changes from before the transfer are still reported to the former owner.
        let known = try emitTransitions(of: purchase, in: app, upTo: now)
        var change = Change(kind, at: now, product: known?.reportedState?.status?.product)
        change.before = known?.reportedState?.status
        change.after = change.before
        var entry = EventEntry(
            app: app, customer: customer, purchase: purchase, change: change, knownAt: now,
            cause: .request, other: other, evidence: evidence)
        if kind == .linked, try link(of: purchase, in: app) != nil { entry.isConfirmation = true }
        try append([entry])
        if let known, known.timeline.hasTerms {
            try watchTerms(of: customer, in: app, purchase.environment)
        }
    }

    /// Appends an event saying that a term is about to end.
    func emitTermEnding(
        _ reminder: TermReminder, to customer: CustomerID?, token: CustomerID, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) {
        let payment = reminder.payment
        var change = Change(
            .termEnding, at: reminder.dueAt, product: payment.product,
            transaction: payment.transaction, ownership: payment.ownership)
        change.ending = reminder.ending
        try emitStatusNeutralEvent(
            change, of: reminder.purchase, in: app, by: .time, to: customer, token: token.rawValue,
            at: now)
    }

    /// Appends an event that does not change the status of a purchase.
    ///
    /// - Parameter customer: the recipient; nil means the owner of the purchase.
    func emitStatusNeutralEvent(
        _ change: Change, of purchase: PurchaseID, in app: AppID, by cause: EventEntry.Cause,
        to customer: CustomerID? = nil, token: String? = nil, at now: Instant
    ) throws(StorageFailure) {
        let known = try emitTransitions(of: purchase, in: app, upTo: now)
        var change = change
        change.before = known?.reportedState?.status
        change.after = change.before
        let owner = customer ?? known?.customer
        try append([
            EventEntry(
                app: app, customer: owner, purchase: purchase, change: change, knownAt: now,
                cause: cause,
                accountToken: owner == nil ? token ?? known?.timeline.accountToken : nil)
        ])
    }

    /// Appends events that do not change the status of a purchase, each to a customer of its own.
    func emitStatusNeutralEvents(
        _ changes: [(change: Change, customer: CustomerID)], of purchase: PurchaseID, in app: AppID,
        by cause: EventEntry.Cause, at now: Instant
    ) throws(StorageFailure) {
        let status = try emitTransitions(of: purchase, in: app, upTo: now)?.reportedState?.status
        try append(
            changes.map { change, customer in
                var change = change
                change.product = change.product ?? status?.product
                (change.before, change.after) = (status, status)
                return EventEntry(
                    app: app, customer: customer, purchase: purchase, change: change, knownAt: now,
                    cause: cause)
            })
    }

    /// Appends an event saying that an id was added to a customer, or that another customer was
    /// merged into them.
    func emitIdentityEvent(
        _ kind: Change.Kind, of customer: CustomerID, other: CustomerID, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) {
        try append([
            EventEntry(
                app: app, customer: customer, purchase: nil, change: Change(kind, at: now),
                knownAt: now, cause: .request, other: other)
        ])
    }
}
