import Ledger
import Storage

/// Decides which test purchases are forgotten.
///
/// Everything about a test purchase is deleted together, or nothing. If a document stayed, a
/// rebuild would derive the purchase again; if a fact stayed without its document, a rebuild could
/// not derive it. A receipt names many purchases, so the purchases that share a document are
/// deleted together, when all of them are old. The events stay: `purchase_forgotten` ends them, and
/// they begin anew if another document arrives.
///
/// Four kinds of purchases stay, because without them an answer would change: open purchases;
/// consumables, which could fill a wallet a second time if they returned; terms that do not renew,
/// because later terms follow them; and subscriptions whose seats the app gives to members.
struct RetentionDecisions {
    let tx: DatabaseSession
    let app: AppSettings
    /// A purchase stays if anything about it is newer.
    let cutoff: Instant
    let now: Instant

    /// The maximum number of purchases that are deleted in one transaction because they share
    /// documents. A group with more purchases stays.
    static let purchasesMax = 500
    /// The maximum number of documents of such a group.
    static let documentsMax = 20_000

    /// The group of a purchase, if it is to be forgotten. Returns nil if any purchase of the group
    /// stays, or if the group exceeds a limit.
    ///
    /// Walks from the purchase to its documents, and from the documents to the other purchases that
    /// they name, until no purchase is new. Stops at the first purchase that stays.
    func group(around first: PurchaseID) throws(StorageFailure) -> ForgottenGroup? {
        var group = ForgottenGroup()
        var known: Set<PurchaseID> = [first]
        var documents: Set<DocumentKey> = []
        var waiting = [first]
        while let purchase = waiting.popLast() {
            guard known.count <= Self.purchasesMax, purchase.environment == .sandbox,
                let aged = try tx.retention.sandboxPurchase(purchase.original, of: app.id),
                try isForgettable(aged)
            else { return nil }
            group.purchases.append(aged.reported)
            let attesting = try tx.retention.documents(
                about: purchase.original, of: app.id, limit: Self.documentsMax + 1)
            let new = attesting.filter { documents.insert($0).inserted }
            guard documents.count <= Self.documentsMax else { return nil }
            group.documents += new
            let named = try tx.retention.purchases(namedBy: new, of: app.id)
            waiting += named.subtracting(known).sorted()
            known.formUnion(named)
        }
        return group
    }

    /// Whether a purchase may be forgotten, if the purchases that share its documents may.
    func isForgettable(_ aged: AgedPurchase) throws(StorageFailure) -> Bool {
        guard isOldAndUnneeded(aged) else { return false }
        let original = aged.purchase.original
        if let last = try tx.retention.lastArrival(about: original, of: app.id), last >= cutoff {
            return false
        }
        return try !tx.retention.hasOpenInquiry(about: original, of: app.id)
    }

    /// Whether a purchase is old enough and needed for nothing, according to its own row. It must
    /// have ended, and must have become known, before the cutoff.
    private func isOldAndUnneeded(_ aged: AgedPurchase) -> Bool {
        let timeline = aged.reported.timeline
        guard let state = aged.reported.reportedState, aged.purchase.environment == .sandbox,
            aged.knownAt < cutoff, aged.nextChangeAt == nil, state.status?.isOpen != true
        else { return false }
        // A check that has been due for so long is never made: the app has no `app_store`.
        guard aged.checkDueAt > now || aged.checkDueAt < cutoff else { return false }
        // The purchase of the app itself gives an entitlement if the app was paid before.
        guard !timeline.hasConsumables, !timeline.hasTerms, !timeline.hasDeveloperSeats,
            timeline.appProofs == nil || app.paidApp == nil
        else { return false }
        return timeline.periods.allSatisfy { ($0.end ?? $0.from) < cutoff }
    }
}

/// Purchases that are forgotten together, and all documents about them.
struct ForgottenGroup: Sendable {
    var purchases: [ReportedPurchase] = []
    var documents: [DocumentKey] = []
}
