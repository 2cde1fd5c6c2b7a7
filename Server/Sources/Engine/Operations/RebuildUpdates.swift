import Ledger
import Storage

/// Replaces the facts in use with rebuilt facts, and emits the events of the differences.
struct RebuildUpdates {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// Replaces the facts in use with the rebuilt facts, and projects every purchase again. The
    /// rebuilt rows stay, so that the operation can be repeated: call ``Rebuild/finish()`` in a
    /// separate transaction afterwards.
    func swapRebuilt(at now: Instant) throws(StorageFailure) {
        // Numbers all events first: if the row of a purchase is lost, the purchase's last event is
        // read, and only events with numbers can be read.
        for app in try tx.pendingEvents.apps() { try tx.pendingEvents.numberAll(of: app) }
        try tx.rebuild.replaceFacts()
        var lost = LastEvents()
        var apps = Set(tx.rules.money.keys)
        try tx.rebuild.eachRebuiltTimeline { (app, timeline) throws(StorageFailure) in
            apps.insert(app)
            try DocumentRecorder(tx).replace(
                timeline, in: app, receivedAt: timeline.attestedAt, at: now, &lost)
            try tx.money.rebuild(of: timeline.purchase, in: app)
        }
        try deletePurchasesWithoutFacts(at: now)
        try tx.money.deleteWithoutFacts()
        for app in apps.sorted() { try tx.sums.rebuild(of: app) }
        for app in tx.rules.wallets.keys.sorted() {
            try tx.customers.each(of: app) { (customer) throws(StorageFailure) in
                try WalletUpdates(tx).emitAdjustments(
                    of: customer, in: app, from: .rebuild, at: now)
                for environment in Environment.allCases {
                    try WalletUpdates(tx).linkSpent(by: customer, in: app, environment, at: now)
                }
            }
        }
    }

    /// Deletes purchases that no document attests any more, and appends events for them.
    private func deletePurchasesWithoutFacts(at now: Instant) throws(StorageFailure) {
        var entries: [EventEntry] = []
        for var purchase in try tx.rebuild.purchasesWithoutFacts() {
            let nothing = Timeline(of: purchase.timeline.purchase, [])
            entries += PurchaseEvents.apply(
                nothing, to: &purchase, from: .rebuild, at: now,
                tx.rules.access(of: purchase.app))
        }
        try tx.rebuild.deletePurchasesWithoutFacts()
        try tx.events.append(entries)
    }
}

extension Timeline {
    /// When the latest of the timeline's facts was attested.
    fileprivate var attestedAt: Instant {
        let proofs = appProofs?.all.map(\.at) ?? []
        return (periods.map(\.attestedAt) + proofs + [renewal?.at].compactMap(\.self)).max()
            ?? Instant(milliseconds: 0)
    }
}
