import AppStoreClient
import AppStoreFormats
import Ledger
import Storage
import Synchronization

/// Decides when to query the App Store about a purchase again.
struct ReconciliationDecisions {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// Whether an urgent check is due. False if the purchase was checked a moment ago, or if
    /// queries to the App Store are paused.
    func isDue(_ wish: UrgentChecks.Entry, at now: Instant) throws(StorageFailure)
        -> Bool
    {
        guard let known = try tx.checks.history(of: wish.purchase, in: wish.app)?.history else {
            return false
        }
        let standing = try tx.appStore.health(of: wish.app, in: wish.purchase.environment)
        guard standing.pausedUntil <= now else { return false }
        return [known.askedAt, known.failedAt].allSatisfy { moment in
            moment.map { $0 + ReconciliationService.urgentCheckInterval <= now } ?? true
        }
    }

    /// Whether the App Store may soon respond about a purchase, although it has not done so within
    /// the last minute. True if the last failure is temporary, if queries are paused only for a
    /// short time, or if another server waits for the response.
    func mayRespondSoon(
        about wish: UrgentChecks.Entry, at now: Instant
    ) throws(StorageFailure) -> Bool {
        guard let known = try tx.checks.history(of: wish.purchase, in: wish.app)?.history else {
            return false
        }
        func isRecent(_ moment: Instant?) -> Bool {
            moment.map { $0 + ReconciliationService.urgentCheckInterval > now } ?? false
        }
        if known.failedAt == nil, isRecent(known.askedAt) { return false }
        let standing = try tx.appStore.health(of: wish.app, in: wish.purchase.environment)
        guard standing.failures == 0 else {
            return ReconciliationService.isBriefOutage(after: standing.failures)
        }
        // The App Store does respond to requests, so a failure concerns only this purchase.
        return !isRecent(known.failedAt)
    }

    func recordAppStoreFailure(
        of app: AppID, in environment: Ledger.Environment, at now: Instant
    ) throws(StorageFailure) {
        let standing = try tx.appStore.health(of: app, in: environment)
        // If several requests were sent together and one has failed, the failures of the others add
        // no information.
        guard standing.pausedUntil <= now else { return }
        try tx.appStore.failed(
            app, in: environment,
            pausedUntil: now + ReconciliationService.appStorePause(after: standing.failures + 1))
    }
}
