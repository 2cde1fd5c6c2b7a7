import Ledger
import Storage

/// Emits the events of purchases: events caused by time, by a change of ownership, and others.
struct PurchaseEvents {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// Appends the events that time alone has caused for purchases of an app, the longest overdue
    /// first. Returns how many purchases were due. Idempotent, and safe for several servers at
    /// once: each server skips the rows that another one has locked.
    func emitTransitions(
        of app: AppID, dueBy now: Instant, limit: Int
    ) throws(StorageFailure) -> Int {
        let purchases = try tx.purchases.dueTransitions(of: app, dueBy: now, limit: limit)
        return try emitTransitions(of: purchases, upTo: now).count
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
            entries += Self.advance(
                &purchases[index], until: now, tx.rules.access(of: purchases[index].app))
        }
        try tx.purchases.saveReportedStates(of: purchases)
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

    /// Appends an event that reports that a term is about to end.
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
    /// - Parameter customer: the customer of the event; nil for the owner of the purchase.
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

    /// Appends events that do not change the status of a purchase, each for its customer.
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

    /// Appends an event for the customer whom a purchase's account token identifies: the customer
    /// got the purchase, or lost it. If that customer is unknown, the event contains the token and
    /// no customer. The event mentions no other customer, because a later erasure would not find an
    /// id there.
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
}

// MARK: - Which events follow

extension PurchaseEvents {
    /// Applies a new timeline to a purchase, and returns the events to append.
    static func apply(
        _ later: Timeline, to purchase: inout ReportedPurchase, from cause: EventEntry.Cause,
        at now: Instant, _ rules: AccessRules
    ) -> [EventEntry] {
        var told = purchase.reportedState ?? ReportedState(nil, until: now)
        let changes = told.changes(from: purchase.timeline, to: later, at: now, rules: rules)
        purchase.reportedState = told
        purchase.timeline = later
        return entries(changes, of: purchase, cause, knownAt: now)
    }

    /// Advances a purchase to a later time, and returns the events to append.
    private static func advance(
        _ purchase: inout ReportedPurchase, until now: Instant, _ rules: AccessRules
    ) -> [EventEntry] {
        guard var reportedState = purchase.reportedState else { return [] }
        let changes = reportedState.transitions(of: purchase.timeline, upTo: now, rules: rules)
        purchase.reportedState = reportedState
        return entries(changes, of: purchase, .time, knownAt: now)
    }

    /// Converts changes to log entries. The customer of each entry is the owner of the purchase, if
    /// the purchase has an owner.
    private static func entries(
        _ changes: [Change], of purchase: ReportedPurchase, _ cause: EventEntry.Cause,
        knownAt: Instant
    ) -> [EventEntry] {
        changes.map { change in
            EventEntry(
                app: purchase.app, customer: purchase.customer,
                purchase: purchase.timeline.purchase, change: change, knownAt: knownAt,
                cause: cause,
                accountToken: purchase.customer == nil ? purchase.timeline.accountToken : nil)
        }
    }
}
