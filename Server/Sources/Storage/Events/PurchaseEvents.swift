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

    /// The next time at which the reported state changes with time alone.
    func nextTransitionAt(_ rules: AccessRules) -> Instant? {
        reportedState.flatMap { timeline.nextTransition(after: $0, rules: rules) }
    }
}

/// Emits the events of purchases: those caused by time, by a change of ownership, and others.
package struct PurchaseEvents: RowGroup {
    package let tx: DatabaseSession

    /// Appends the events that time alone has caused for purchases of an app, the longest overdue
    /// first. Returns how many purchases were due. Idempotent, and safe for several servers at
    /// once: each skips the rows that another has locked.
    package func emitTransitions(
        of app: AppID, dueBy now: Instant, limit: Int
    ) throws(StorageFailure) -> Int {
        let purchases = try connection.rows(
            Self.selectDueTransitions(dialect),
            [.text(app.rawValue), .integer(now.milliseconds), .integer(Int64(limit))]
        ) { row throws(StorageFailure) in
            try PurchaseRows.reportedPurchase(try row.purchase(), in: app, &row)
        }
        return try emitTransitions(of: purchases, upTo: now).count
    }

    static func selectDueTransitions(_ dialect: Dialect) -> String {
        "SELECT purchases.environment, purchases.purchase, \(PurchaseRows.reportedColumns) "
            + "FROM \(PurchaseRows.purchasesWithOwners) WHERE purchases.app = $1 "
            + "AND purchases.next_change_at_ms <= $2 ORDER BY purchases.next_change_at_ms LIMIT $3 "
            + dialect.skippingLockedRows(of: "purchases")
    }

    /// Appends the time-based events of one purchase up to a time.
    private func emitTransitions(
        of purchase: PurchaseID, in app: AppID, upTo now: Instant
    ) throws(StorageFailure) -> ReportedPurchase? {
        guard let known = try tx.purchases.reported(purchase, in: app) else { return nil }
        return try emitTransitions(of: [known], upTo: now)[0]
    }

    @discardableResult
    private func emitTransitions(
        of purchases: [ReportedPurchase], upTo now: Instant
    ) throws(StorageFailure) -> [ReportedPurchase] {
        var purchases = purchases
        var entries: [EventEntry] = []
        for index in purchases.indices {
            entries += purchases[index].advance(
                until: now, tx.purchases.accessRules(of: purchases[index].app))
        }
        try connection.runEach(
            "UPDATE purchases SET reported_state = $1, next_change_at_ms = $2 "
                + "WHERE app = $3 AND environment = $4 AND purchase = $5",
            purchases.map {
                [
                    $0.reportedState.map { .bytes($0.stored) } ?? .null,
                    .integer(
                        $0.nextTransitionAt(tx.purchases.accessRules(of: $0.app))?.milliseconds),
                ] + PurchaseRows.key(of: $0.timeline.purchase, in: $0.app)
            })
        try tx.money.upsertSubscriptions(purchases)
        try tx.events.append(entries)
        return purchases
    }

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
        if kind == .linked, try tx.links.find(of: purchase, in: app) != nil {
            entry.isConfirmation = true
        }
        try tx.events.append([entry])
        if let known, known.timeline.hasTerms {
            try tx.reminders.watchTerms(of: customer, in: app, purchase.environment)
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
        try tx.events.append([
            EventEntry(
                app: app, customer: owner, purchase: purchase, change: change, knownAt: now,
                cause: cause,
                accountToken: owner == nil ? token ?? known?.timeline.accountToken : nil)
        ])
    }

    /// Appends events that do not change the status of a purchase, each to its own customer.
    func emitStatusNeutralEvents(
        _ changes: [(change: Change, customer: CustomerID)], of purchase: PurchaseID, in app: AppID,
        by cause: EventEntry.Cause, at now: Instant
    ) throws(StorageFailure) {
        let status = try emitTransitions(of: purchase, in: app, upTo: now)?.reportedState?.status
        try tx.events.append(
            changes.map { change, customer in
                var change = change
                change.product = change.product ?? status?.product
                (change.before, change.after) = (status, status)
                return EventEntry(
                    app: app, customer: customer, purchase: purchase, change: change, knownAt: now,
                    cause: cause)
            })
    }

    /// Appends an event to the customer identified by a purchase's account token, saying that they
    /// got the purchase or lost it. If that customer is unknown, the event contains the token and
    /// no customer. It mentions no other customer, because a later erasure would not find an id
    /// there.
    func emitToTokenOwner(
        of purchase: PurchaseID, in app: AppID, _ kind: Change.Kind, at now: Instant
    ) throws(StorageFailure) {
        guard let token = try tx.purchases.timeline(of: purchase, in: app)?.accountToken,
            tx.accountTokens.identifyCustomers(in: app),
            try !tx.erasedIDs.contains(token: token, in: app)
        else { return }
        if let named = try tx.accountTokens.customer(named: token, in: app) {
            try emitOwnershipEvent(of: purchase, is: named, in: app, kind, at: now)
        } else if CustomerID(accountToken: token) != nil {
            let product = try tx.purchases.reported(purchase, in: app)?.reportedState?.status?
                .product
            try emitStatusNeutralEvent(
                Change(kind, at: now, product: product), of: purchase, in: app, by: .request,
                at: now)
        }
    }

    // MARK: - Unknown tokens
}
