import Ledger
import Storage

/// Records documents with their facts, projects purchases, and emits events.
package struct DocumentRecorder {
    let tx: DatabaseSession

    package init(_ tx: DatabaseSession) { self.tx = tx }

    /// The function that records documents for ``Storage/Database/record(_:by:)``.
    package static let recorder: Recorder = { tx, attested in
        try DocumentRecorder(tx).record(attested)
    }

    private var rules: DatabaseRules { tx.rules }

    /// Inserts facts with the documents that attest them, and projects them into the purchases that
    /// they are about. Existing facts are unchanged. Idempotent.
    ///
    /// Then writes all other rows that depend on a changed purchase. Each ``PurchaseProjection``
    /// contains the timelines before and after the change, and the documents that cause it.
    func project(
        _ attested: [DocumentWithFacts], _ walletCache: inout WalletProjectionCache
    ) throws(StorageFailure) {
        try tx.facts.insert(attested)
        var projections = try self.projections(of: attested)
        for index in projections.indices where rules.hasWallets(projections[index].app) {
            try emitEvents(&projections[index], &walletCache)
        }
        try tx.purchases.upsert(projections.map(\.change))
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
        for (key, wallet) in walletCache.all { try WalletUpdates(tx).save(wallet, in: key.app) }
        try tx.events.append(projections.flatMap(\.entries))
    }

    /// Inserts facts with the document that attests them, and projects them into the purchases that
    /// they are about. Existing facts are unchanged. Idempotent.
    package func project(
        _ facts: [Fact], from document: StoredDocument
    ) throws(StorageFailure) {
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
        projection.emitEvents(rules.access(of: projection.app), &wallet)
        walletCache.checkIn(wallet, in: projection.app)
    }

    /// Marks open inquiries about a purchase as due. The customer whom the purchase's account token
    /// identifies now may have consented, although the former customer had not.
    private func rescheduleConsumptionInquiries(about projection: PurchaseProjection)
        throws(StorageFailure)
    {
        guard let receivedAt = projection.attested.last?.document.receivedAt else { return }
        try tx.inquiries.reschedule(
            about: [projection.after.purchase], in: projection.app, at: receivedAt)
    }

    /// Marks the seat reports of a purchase as due. The App Store may accept them again, or may
    /// have ended claims.
    private func resumeSeatReports(about projection: PurchaseProjection) throws(StorageFailure) {
        guard let receivedAt = projection.attested.last?.document.receivedAt else { return }
        try tx.seatReports.resumeSeatReports(
            on: projection.after.purchase, in: projection.app, at: receivedAt)
    }

    /// The wallets that a purchase affects. Returns nil if the purchase credits nothing, or has no
    /// customer.
    private func walletProjection(
        for projection: PurchaseProjection, among walletCache: inout WalletProjectionCache
    ) throws(StorageFailure) -> WalletProjection? {
        guard let rules = rules.wallets[projection.app],
            !rules.currencies(of: projection.after).isEmpty,
            let holder = try OwnershipUpdates(tx).beneficiary(
                projection.reported.customer, token: projection.after.accountToken,
                in: projection.app)
        else { return nil }
        return try walletCache.checkOut(
            of: holder, in: projection.app, projection.after.purchase.environment, tx)
    }

    /// Handles a purchase without an owner whose account token changes (Apple: "Set App Account
    /// Token"). If the customer whom the former token identifies has spent any of the purchase's
    /// credits, the purchase is linked to that customer. If nothing was spent, wallet events report
    /// that the credits left that customer's wallets. The events of the two customers do not
    /// mention each other, because an erasure would not find the ids there.
    private func formerCustomerEvents(
        of projection: inout PurchaseProjection, _ walletCache: inout WalletProjectionCache
    ) throws(StorageFailure) {
        let (app, purchase) = (projection.app, projection.before.purchase)
        guard projection.reported.customer == nil, let first = projection.attested.first?.document,
            let former = try WalletUpdates(tx).formerBeneficiary(
                of: projection.before, becoming: projection.after, in: app),
            var wallet = try walletCache.checkOut(of: former, in: app, purchase.environment, tx)
        else { return }
        if wallet.hasSpent(of: purchase) {
            try OwnershipUpdates(tx).link(
                purchase, to: former, by: .token, in: app, at: first.receivedAt)
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

    /// Projects documents into purchases, ordered by key, so that two servers never deadlock. Also
    /// determines the events, except for apps with wallets.
    private func projections(of attested: [DocumentWithFacts]) throws(StorageFailure)
        -> [PurchaseProjection]
    {
        let groups = DocumentGroup.groups(attested)
        let keys = groups.map { (purchase: $0.purchase, app: $0.app) }
        return try tx.purchases.read(keys) { [rules] place, known in
            let group = groups[place]
            let projection = PurchaseProjection(of: group, known, rules.checks)
            guard !rules.hasWallets(group.app) else { return projection }
            return projection.withEvents(rules.access(of: group.app))
        }
    }

    /// Replaces the stored timeline of a purchase and computes when its next check is due. The
    /// history of checks is unchanged. Appends events if the new timeline differs from the last
    /// reported state.
    func replace(
        _ timeline: Timeline, in app: AppID, receivedAt: Instant, at now: Instant,
        _ lost: inout LastEvents
    ) throws(StorageFailure) {
        let known = try tx.checks.history(of: timeline.purchase, in: app)?.history
        let history = known ?? CheckHistory(knownAt: receivedAt)
        let due = timeline.nextCheck(history, rules: self.rules.checks)
        let rules = self.rules.access(of: app)
        var log = try tx.purchases.lastReported(of: timeline, in: app, &lost)
        if log.customer == nil,
            let spender = try WalletUpdates(tx).formerSpender(
                of: log.timeline, becoming: timeline, in: app)
        {
            try OwnershipUpdates(tx).link(
                timeline.purchase, to: spender, by: .token, in: app, at: now)
            log = try tx.purchases.lastReported(of: timeline, in: app, &lost)
        } else if log.timeline.accountToken != timeline.accountToken {
            try tx.inquiries.reschedule(about: [timeline.purchase], in: app, at: now)
        }
        let entries = PurchaseEvents.apply(
            timeline, to: &log, from: .rebuild, at: now, rules)
        try tx.purchases.upsert([
            PurchaseChange(KnownPurchase(log, history, dueAt: due), isChanged: true)
        ])
        try tx.reminders.watchTerms(of: log)
        try tx.events.append(entries)
    }
}

extension DocumentRecorder {
    /// Records a document with its facts. Returns false if the document was recorded before; then
    /// its facts are stored already.
    func record(_ attested: DocumentWithFacts) throws(StorageFailure) -> Bool {
        try record([attested])[0]
    }

    /// Records a document with its facts. Use this overload if a transaction records several
    /// documents in sequence, and the events of each document must be emitted before the next
    /// document is read.
    ///
    /// - Parameter walletCache: the cached wallets, passed on from one call to the next.
    func record(
        _ attested: DocumentWithFacts, _ walletCache: inout WalletProjectionCache
    ) throws(StorageFailure) -> Bool {
        try record([attested], &walletCache)[0]
    }

    /// Records documents with their facts, with one batch per table. For each document, returns
    /// false if the document was recorded before, or if it occurs twice in the list.
    func record(_ attested: [DocumentWithFacts]) throws(StorageFailure) -> [Bool] {
        var walletCache = WalletProjectionCache()
        return try record(attested, &walletCache)
    }

    private func record(
        _ attested: [DocumentWithFacts], _ walletCache: inout WalletProjectionCache
    ) throws(StorageFailure) -> [Bool] {
        let isNew = try tx.documents.insert(attested.map(\.document))
        let new = zip(attested, isNew).filter(\.1).map(\.0)
        try project(new, &walletCache)
        try OwnershipUpdates(tx).linkSuccessors(new, &walletCache)
        try ConsumptionUpdates(tx).record(new)
        try SeatUpdates(tx).recordUnclaims(new)
        try tx.forwards.enqueue(attested)
        return isNew
    }
}
