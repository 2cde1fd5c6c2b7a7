import Ledger
import Logging
import Storage
import Synchronization

/// Where the walk over the test purchases continues. Lost at a restart: then the walk begins again.
final class SandboxWalk: Sendable {
    struct Place: Hashable, Sendable {
        var app: AppID
        /// The last purchase that was examined; empty at the beginning.
        var last: TransactionID
    }

    private let place = Mutex<Place?>(nil)
    private let hasIndex = Mutex(false)

    var next: Place? { place.withLock { $0 } }
    func move(to next: Place?) { place.withLock { $0 = next } }

    var isPrepared: Bool { hasIndex.withLock { $0 } }
    func setPrepared() { hasIndex.withLock { $0 = true } }
}

/// Deletes what was stored for longer than configured, and rows that have expired. Any number of
/// servers may do this at once: each decides again within the transaction that deletes.
package struct RetentionService: Sendable {
    let context: Context
    let audit: AuditService
    let operatorSettings: OperatorSettings
    let walk: SandboxWalk

    /// - Parameter former: the service of the previous configuration, whose walk continues.
    init(
        context: Context, audit: AuditService, operatorSettings: OperatorSettings,
        former: RetentionService?
    ) {
        self.context = context
        self.audit = audit
        self.operatorSettings = operatorSettings
        walk = former?.walk ?? SandboxWalk()
    }

    /// The number of test purchases that are examined in one step.
    package static let purchasesAtOnce = 200
    /// When a transaction has deleted this many documents, the next group of purchases waits for
    /// the next transaction.
    static let documentsAtOnce = 1_000

    /// Examines the next test purchases, and forgets those that are old: see
    /// ``RetentionDecisions``. Returns the number of examined purchases; 0 at the end of a walk
    /// over all apps, and if no app has configured a time.
    package func forgetSandboxPurchases() async throws(EngineFailure) -> Int {
        let apps = context.apps.values.filter { $0.retention.sandbox != nil }
            .sorted { $0.id < $1.id }
        let start = walk.next
        let remaining = apps.filter { app in start.map { app.id >= $0.app } ?? true }
        guard let app = remaining.first, let retention = app.retention.sandbox else {
            walk.move(to: nil)
            return 0
        }
        guard try await prepare() else { return 0 }
        let now = context.now()
        let begin = TransactionID(rawValue: "")
        let page = try await page(
            of: app, after: start?.app == app.id ? start?.last ?? begin : begin,
            before: now - retention, at: now)
        try await forget(page.old, of: app, before: now - retention, at: now)
        if page.count == Self.purchasesAtOnce, let last = page.last {
            walk.move(to: SandboxWalk.Place(app: app.id, last: last))
            return page.count
        }
        guard let next = remaining.dropFirst().first else {
            walk.move(to: nil)
            return 0
        }
        walk.move(to: SandboxWalk.Place(app: next.id, last: begin))
        return max(1, page.count)
    }

    /// Creates the index by which facts of a document are found, once. Returns false if an operator
    /// must create it.
    private func prepare() async throws(EngineFailure) -> Bool {
        guard !walk.isPrepared else { return true }
        let hasIndex: Bool
        do { hasIndex = try await context.db.createRetentionIndex() } catch {
            throw context.counted(error)
        }
        guard hasIndex else {
            context.logger.error(
                "old test purchases stay, because an index is missing that would block recordings",
                metadata: ["remedy": "\(Database.retentionIndexStatement)"])
            return false
        }
        walk.setPrepared()
        return true
    }

    private struct Page: Sendable {
        /// The purchases that may be forgotten with their groups.
        var old: [PurchaseID]
        /// The number of all purchases of the page.
        var count: Int
        var last: TransactionID?
    }

    private func page(
        of app: AppSettings, after last: TransactionID, before cutoff: Instant, at now: Instant
    ) async throws(EngineFailure) -> Page {
        try await context.read { tx in
            let decisions = RetentionDecisions(tx: tx, app: app, cutoff: cutoff, now: now)
            let page = try tx.retention.sandboxPurchases(
                of: app.id, after: last, limit: Self.purchasesAtOnce)
            var old: [PurchaseID] = []
            // A group that stays is found here, where it blocks no writer.
            for aged in page where try decisions.isForgettable(aged) {
                guard try decisions.group(around: aged.purchase) != nil else { continue }
                old.append(aged.purchase)
            }
            return Page(old: old, count: page.count, last: page.last?.purchase.original)
        }
    }

    private struct Deletion: Sendable {
        /// How many purchases of the list are done.
        var done = 0
        var purchases = 0
        var documents = 0
        /// Whether nothing was deleted, because a rebuild has not ended.
        var isBlocked = false
    }

    /// Forgets purchases with their groups, in transactions of limited size.
    private func forget(
        _ purchases: [PurchaseID], of app: AppSettings, before cutoff: Instant, at now: Instant
    ) async throws(EngineFailure) {
        var sum = Deletion()
        while sum.done < purchases.count {
            let rest = purchases.dropFirst(sum.done)
            // No document may be recorded meanwhile: it could be one of those that are deleted.
            let step = try await context.transaction(isErasing: true) { tx in
                try Self.forgetFirst(of: rest, app, before: cutoff, at: now, tx)
            }
            sum.done += step.done
            sum.purchases += step.purchases
            sum.documents += step.documents
            guard !step.isBlocked else {
                return context.logger.notice(
                    "old test purchases stay until a rebuild ends, or is run again",
                    metadata: ["app": "\(app.id)"])
            }
        }
        guard sum.purchases > 0 else { return }
        context.logger.notice(
            "old test purchases were deleted",
            metadata: [
                "app": "\(app.id)", "purchases": "\(sum.purchases)",
                "documents": "\(sum.documents)",
            ])
    }

    /// Forgets the first purchases of a list. A rebuild comes first: while it runs, all purchases
    /// stay until the next walk.
    private static func forgetFirst(
        of list: ArraySlice<PurchaseID>, _ app: AppSettings, before cutoff: Instant,
        at now: Instant, _ tx: DatabaseSession
    ) throws(StorageFailure) -> Deletion {
        var deletion = Deletion()
        guard try !tx.retention.isRebuilding(app.id) else {
            (deletion.done, deletion.isBlocked) = (list.count, true)
            return deletion
        }
        let decisions = RetentionDecisions(tx: tx, app: app, cutoff: cutoff, now: now)
        for purchase in list where deletion.documents < documentsAtOnce {
            deletion.done += 1
            // The purchase may be gone already, with the group of an earlier one.
            guard let group = try decisions.group(around: purchase) else { continue }
            try RetentionUpdates(tx).forget(group, in: app.id, at: now)
            deletion.purchases += group.purchases.count
            deletion.documents += group.documents.count
        }
        return deletion
    }
}
