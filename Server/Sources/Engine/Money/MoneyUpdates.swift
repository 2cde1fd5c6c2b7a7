import Ledger
import Storage

/// Derives the rows about money again, and the timelines from which these rows are computed.
struct MoneyUpdates {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// Derives the rows of the next purchases again. Also replaces a timeline if this version of
    /// the program derives another timeline from the same facts. Returns the number of purchases; 0
    /// if no purchase is left, or if another server is deriving the rows.
    func continueFill(of app: AppID, at now: Instant) throws(StorageFailure) -> Int {
        guard let purchases = try tx.money.nextFill(of: app) else { return 0 }
        try tx.purchases.touch(purchases, in: app)
        for purchase in purchases {
            try deriveTimeline(of: purchase, in: app, at: now)
            try tx.money.rebuild(of: purchase, in: app, replacing: true)
        }
        try tx.money.recordFill(of: purchases, in: app)
        return purchases.count
    }

    /// Derives the timeline of a purchase from its facts. If the result differs from the stored
    /// timeline, replaces the stored timeline and emits the events of the difference. Leaves
    /// consumables unchanged, because only a rebuild also corrects wallets.
    private func deriveTimeline(
        of purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        let timeline = Timeline(
            of: purchase, try tx.facts.all(about: purchase, in: app).lazy.map(\.fact))
        guard !timeline.hasConsumables,
            try !tx.purchases.contains(timeline, in: app)
        else { return }
        var lost = LastEvents()
        try DocumentRecorder(tx).replace(timeline, in: app, receivedAt: now, at: now, &lost)
    }
}
