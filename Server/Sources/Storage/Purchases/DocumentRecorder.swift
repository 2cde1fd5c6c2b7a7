import Ledger

/// What a group of documents changes about one purchase: the purchase before and after, and
/// everything else known about the change, in the transaction that writes it.
struct PurchaseProjection {
    var app: AppID
    /// The present timeline; empty if the purchase is new.
    var before: Timeline
    var after: Timeline
    /// The documents that attest something about the purchase, each with the facts about it, in the
    /// order in which they are recorded. Each was received at its ``StoredDocument/receivedAt``.
    var attested: [DocumentWithFacts]
    /// How earlier checks with the App Store went.
    var history: CheckHistory
    /// When the next check is due according to the stored row; nil if the purchase is new.
    var dueBefore: Instant?
    /// The last reported state: at first, the one before all of the documents.
    fileprivate var reported: ReportedPurchase
    /// The events to append, once they have been determined.
    fileprivate var entries: [EventEntry] = []

    /// Determines the events for each document that changes something, including those for the
    /// wallets of the customer who has the purchase.
    fileprivate mutating func emitEvents(_ rules: AccessRules, _ wallet: inout WalletProjection?) {
        for (index, one) in attested.enumerated() {
            let isLast = index == attested.count - 1
            let later = isLast ? after : reported.timeline.adding(one.facts)
            guard later != reported.timeline else { continue }
            let cause = EventEntry.Cause.document(one.document.id)
            entries += reported.apply(later, from: cause, at: one.document.receivedAt, rules)
            let telling = WalletProjection.EventContext(
                cause: cause, at: one.document.receivedAt, condition: reported.reportedState?.status
            )
            entries += wallet?.apply(later, of: later.purchase, telling) ?? []
        }
    }

    /// Returns the projection with its events determined, for an app without wallets.
    fileprivate func withEvents(_ rules: AccessRules) -> PurchaseProjection {
        var (projection, noWallet) = (self, WalletProjection?.none)
        projection.emitEvents(rules, &noWallet)
        return projection
    }

    /// Whether the account token, and so the customer it identifies, has changed while the purchase
    /// has no owner.
    fileprivate var changesTokenOwner: Bool {
        dueBefore != nil && reported.customer == nil && before.accountToken != after.accountToken
    }

    /// Whether anything has changed about a group whose members the app invites.
    fileprivate var changesSeats: Bool { after.hasDeveloperSeats && before != after }

    /// - Parameter always: whether to return the row even if it is unchanged.
    fileprivate func row(_ checks: CheckRules, _ rules: AccessRules, always: Bool) -> [Value]? {
        let due = after.nextCheck(history, rules: checks)
        guard always || due != dueBefore || after != before else { return nil }
        return PurchaseRows.row(of: reported, rules, due: due, knownAt: history.knownAt)
    }
}

/// Records documents with their facts, projects purchases, and emits events.
package struct DocumentRecorder: RowGroup {
    package let tx: DatabaseSession

    /// Inserts facts with the documents that attest them, and projects them into the purchases that
    /// they are about. Existing facts are unchanged. Idempotent.
    ///
    /// Everything else that follows from a changed purchase is written here too: each
    /// ``PurchaseProjection`` contains the timelines before and after, and the documents between
    /// the two.
    func project(
        _ attested: [DocumentWithFacts], _ walletCache: inout WalletProjectionCache
    ) throws(StorageFailure) {
        try tx.facts.insert(attested, into: "facts")
        var projections = try self.projections(of: attested)
        for index in projections.indices where rules.hasWallets(projections[index].app) {
            try emitEvents(&projections[index], &walletCache)
        }
        // With several writers an unchanged row is written too, so that two transactions about one
        // purchase never overlap: see `SnapshotConnection`.
        let always = dialect == .postgres
        try tx.purchases.upsert(
            projections.concurrentMap { [rules] in
                $0.row(rules.checks, rules.access(of: $0.app), always: always)
            }.compactMap(\.self))
        for projection in projections {
            try tx.reminders.watchTerms(of: projection.reported)
        }
        try tx.money.record(
            projections.map { projection in
                MoneyProjection(
                    app: projection.app, before: projection.before,
                    after: projection.reported.timeline,
                    documents: projection.attested)
            })
        try tx.money.upsertSubscriptions(projections.map(\.reported))
        for projection in projections where projection.changesTokenOwner {
            try rescheduleConsumptionInquiries(about: projection)
        }
        for projection in projections where projection.changesSeats {
            try resumeSeatReports(about: projection)
        }
        for (key, wallet) in walletCache.all { try tx.wallets.save(wallet, in: key.app) }
        try tx.events.append(projections.flatMap(\.entries))
    }

    package func project(_ facts: [Fact], from document: StoredDocument) throws(StorageFailure) {
        var walletCache = WalletProjectionCache()
        try project([DocumentWithFacts(document, facts)], &walletCache)
    }

    private func emitEvents(
        _ projection: inout PurchaseProjection, _ walletCache: inout WalletProjectionCache
    )
        throws(StorageFailure)
    {
        try formerCustomerEvents(of: &projection, &walletCache)
        var wallet = try walletProjection(for: projection, among: &walletCache)
        projection.emitEvents(tx.purchases.accessRules(of: projection.app), &wallet)
        walletCache.checkIn(wallet, in: projection.app)
    }

    /// The customer identified now may have consented where the former one had not.
    private func rescheduleConsumptionInquiries(about projection: PurchaseProjection)
        throws(StorageFailure)
    {
        guard let receivedAt = projection.attested.last?.document.receivedAt else { return }
        try tx.inquiries.reschedule(
            about: [projection.after.purchase], in: projection.app, at: receivedAt)
    }

    /// The App Store may accept reports about the seats again, or may have ended claims.
    private func resumeSeatReports(about projection: PurchaseProjection) throws(StorageFailure) {
        guard let receivedAt = projection.attested.last?.document.receivedAt else { return }
        try tx.seatReports.resumeSeatReports(
            on: projection.after.purchase, in: projection.app, at: receivedAt)
    }

    /// The wallets affected by a purchase. Returns nil if the purchase credits nothing, or has no
    /// customer.
    private func walletProjection(
        for projection: PurchaseProjection, among walletCache: inout WalletProjectionCache
    ) throws(StorageFailure) -> WalletProjection? {
        guard let rules = rules.wallets[projection.app],
            !rules.currencies(of: projection.after).isEmpty,
            let holder = try tx.ownership.beneficiary(
                projection.reported.customer, token: projection.after.accountToken,
                in: projection.app)
        else { return nil }
        return try walletCache.checkOut(
            of: holder, in: projection.app, projection.after.purchase.environment, tx)
    }

    /// Handles a purchase without an owner whose account token changes (Apple: "Set App Account
    /// Token"). If the customer identified until now has spent any of it, it stays theirs, by a
    /// link. Otherwise wallet events say that it left their wallets. The events of the two
    /// customers do not mention each other, because an erasure would not find the ids there.
    private func formerCustomerEvents(
        of projection: inout PurchaseProjection, _ walletCache: inout WalletProjectionCache
    ) throws(StorageFailure) {
        let (app, purchase) = (projection.app, projection.before.purchase)
        guard projection.reported.customer == nil, let first = projection.attested.first?.document,
            let former = try tx.walletUpdates.formerBeneficiary(
                of: projection.before, becoming: projection.after, in: app),
            var wallet = try walletCache.checkOut(of: former, in: app, purchase.environment, tx)
        else { return }
        if wallet.hasSpent(of: purchase) {
            try tx.ownership.link(purchase, to: former, by: .token, in: app, at: first.receivedAt)
            // Reload the purchase: it now has an owner, and the `linked` event was emitted.
            if let known = try tx.purchases.reported(purchase, in: app) {
                projection.reported = known
            }
        } else {
            projection.entries = wallet.apply(
                nil, of: purchase,
                WalletProjection.EventContext(
                    cause: .document(first.id), at: first.receivedAt,
                    condition: projection.reported.reportedState?.status))
        }
        walletCache.checkIn(wallet, in: app)
    }

    /// Projects documents into purchases, ordered by key, so that two servers never deadlock. The
    /// events are determined here already, except for apps with wallets.
    private func projections(of attested: [DocumentWithFacts]) throws(StorageFailure)
        -> [PurchaseProjection]
    {
        let groups = Self.byPurchase(attested)
        let stored = try connection.rowsEach(
            Self.selectProjected, groups.map { PurchaseRows.key(of: $0.purchase, in: $0.app) })
        let made = Array(zip(groups, stored)).concurrentMap { [rules] group, rows in
            Result { () throws(StorageFailure) in
                let projection = try Self.projection(group, stored: rows.first)
                guard !rules.hasWallets(group.app) else { return projection }
                return projection.withEvents(rules.access(of: group.app))
            }
        }
        var projections: [PurchaseProjection] = []
        projections.reserveCapacity(made.count)
        for projection in made { projections.append(try projection.get()) }
        return projections
    }

    private static func byPurchase(_ attested: [DocumentWithFacts]) -> [DocumentGroup] {
        var parts: [DocumentGroup] = []
        parts.reserveCapacity(attested.count)
        for one in attested {
            guard let purchase = one.facts.first?.purchase else { continue }
            // Nearly always a document is about one purchase only, and is passed on unchanged.
            guard one.facts.contains(where: { $0.purchase != purchase }) else {
                parts.append(
                    DocumentGroup(app: one.document.app, purchase: purchase, attested: [one]))
                continue
            }
            // In any order, because they are sorted by purchase afterwards.
            for (purchase, facts) in Dictionary(grouping: one.facts, by: \.purchase) {
                var part = one
                part.facts = facts
                parts.append(
                    DocumentGroup(app: one.document.app, purchase: purchase, attested: [part]))
            }
        }
        let order = parts.indices.sorted {
            parts[$0].precedes(parts[$1]) || ($0 < $1 && !parts[$1].precedes(parts[$0]))
        }
        return order.reduce(into: []) { groups, index in
            guard let last = groups.last, last.isSame(as: parts[index]) else {
                return groups.append(parts[index])
            }
            groups[groups.count - 1].attested += parts[index].attested
        }
    }

    private static let selectProjected =
        "SELECT \(CheckRows.historyColumns), \(PurchaseRows.reportedColumns) "
        + "FROM \(PurchaseRows.purchasesWithOwners) "
        + "WHERE purchases.app = $1 AND purchases.environment = $2 AND purchases.purchase = $3"

    private static func projection(
        _ group: DocumentGroup, stored row: Row?
    ) throws(StorageFailure) -> PurchaseProjection {
        let stored = try row?.read { row throws(StorageFailure) in
            let (dueAt, history) = (try row.instant(), try CheckRows.history(&row))
            try row.skip()
            let log = try PurchaseRows.reportedPurchase(group.purchase, in: group.app, &row)
            return (dueAt: dueAt, history: history, log: log)
        }
        let log =
            stored?.log
            ?? ReportedPurchase(app: group.app, timeline: Timeline(of: group.purchase, []))
        let history =
            stored?.history
            ?? CheckHistory(
                knownAt: group.attested.first?.document.receivedAt ?? Instant(milliseconds: 0))
        return PurchaseProjection(
            app: group.app, before: log.timeline,
            after: log.timeline.adding(group.attested.flatMap(\.facts)),
            attested: group.attested,
            history: history,
            dueBefore: stored?.dueAt, reported: log)
    }

    // MARK: - Rows

    /// Replaces the stored timeline of a purchase and computes when its next check is due. The
    /// history of checks is unchanged. Appends events if the new timeline differs from the last
    /// reported state.
    func replace(
        _ timeline: Timeline, in app: AppID, receivedAt: Instant, at now: Instant,
        _ lost: inout LastEvents
    ) throws(StorageFailure) {
        let known = try tx.checks.history(of: timeline.purchase, in: app)?.history
        let history = known ?? CheckHistory(knownAt: receivedAt)
        let due = timeline.nextCheck(history, rules: checkRules)
        let rules = tx.purchases.accessRules(of: app)
        var log = try tx.purchases.lastReported(of: timeline, in: app, &lost)
        if log.customer == nil,
            let spender = try tx.walletUpdates.formerSpender(
                of: log.timeline, becoming: timeline, in: app)
        {
            try tx.ownership.link(timeline.purchase, to: spender, by: .token, in: app, at: now)
            log = try tx.purchases.lastReported(of: timeline, in: app, &lost)
        } else if log.timeline.accountToken != timeline.accountToken {
            try tx.inquiries.reschedule(about: [timeline.purchase], in: app, at: now)
        }
        let entries = log.apply(timeline, from: .rebuild, at: now, rules)
        try tx.purchases.upsert([
            PurchaseRows.row(of: log, rules, due: due, knownAt: history.knownAt)
        ])
        try tx.reminders.watchTerms(of: log)
        try tx.events.append(entries)
    }
}

/// The documents that attest something about one purchase, with the facts about it.
private struct DocumentGroup {
    var app: AppID
    var purchase: PurchaseID
    var attested: [DocumentWithFacts]

    func isSame(as other: Self) -> Bool { purchase == other.purchase && app == other.app }

    func precedes(_ other: Self) -> Bool {
        app == other.app ? purchase < other.purchase : app < other.app
    }
}
