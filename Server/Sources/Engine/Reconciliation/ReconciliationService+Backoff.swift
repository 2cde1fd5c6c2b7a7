import AppStoreClient
import Ledger
import Storage

/// Pauses after the App Store has failed.
extension ReconciliationService {
    /// The number of failures in a row that cause no pause. After one more failure, all servers
    /// pause their queries to the App Store.
    private static let failuresWithoutPause = 2
    private static let appStoreBackoff = ExponentialBackoff(
        first: .seconds(15), longest: .seconds(600))

    func recordFailure(_ failure: AppStoreFailure, _ lease: CheckLease) async throws(EngineFailure)
    {
        let now = context.now()
        let isStopping = Task.isCancelled
        let environment = lease.purchase.environment
        if !isStopping { context.counters.add(failure) }
        context.logger.warning(
            "checking a purchase with the App Store failed",
            metadata: ["purchase": "\(lease.purchase)", "reason": "\(failure)"])
        try await context.transaction { tx in
            // If this server is stopping, the App Store did not cause the failure.
            if isStopping { return try tx.checks.release(lease) }
            switch failure {
            case .rateLimited(let until):
                try tx.appStore.paused(lease.app, in: environment, until: Instant(until))
                try tx.checks.release(lease)
            case .unknownID, .refused:
                try tx.appStore.responded(lease.app, in: environment, at: now)
                try tx.checks.fail(lease, at: now)
            case .unauthorized, .unavailable, .unreadable:
                try ReconciliationDecisions(tx).recordAppStoreFailure(
                    of: lease.app, in: environment, at: now)
                try tx.checks.fail(lease, at: now)
            }
        }
    }

    /// The pause of queries to the App Store after failures in a row. The first failures cause no
    /// pause, because the reason may be the checked purchase.
    static func appStorePause(after failures: Int) -> Duration {
        appStoreBackoff.delay(after: failures - failuresWithoutPause)
    }

    /// Whether an outage may end while a client waits. False once the pauses have reached their
    /// maximum, about a quarter of an hour after the first failure.
    static func isBriefOutage(after failures: Int) -> Bool {
        appStorePause(after: failures) < appStoreBackoff.longest
    }
}
