import AppStoreClient
import Ledger
import Storage

/// Pauses after the App Store has failed.
extension Engine {
    /// After more failures in a row than these, all servers pause queries to the App Store.
    private static let failuresWithoutPause = 2
    private static let appStoreBackoff = ExponentialBackoff(
        first: .seconds(15), longest: .seconds(600))

    func recordFailure(_ failure: AppStoreFailure, _ lease: CheckLease) async throws(EngineFailure)
    {
        let now = now()
        let isStopping = Task.isCancelled
        let environment = lease.purchase.environment
        logger.warning(
            "checking a purchase with the App Store failed",
            metadata: ["purchase": "\(lease.purchase)", "reason": "\(failure)"])
        try await transaction { tx in
            // If this server is stopping, the failure is not the App Store's.
            if isStopping { return try tx.release(lease) }
            switch failure {
            case .rateLimited(let until):
                try tx.appStorePaused(lease.app, in: environment, until: Instant(until))
                try tx.release(lease)
            case .unknownID, .refused:
                try tx.appStoreResponded(lease.app, in: environment, at: now)
                try tx.failCheck(lease, at: now)
            case .unauthorized, .unavailable, .unreadable:
                try tx.recordAppStoreFailure(of: lease.app, in: environment, at: now)
                try tx.failCheck(lease, at: now)
            }
        }
    }
}

extension DatabaseSession {
    func recordAppStoreFailure(
        of app: AppID, in environment: Ledger.Environment, at now: Instant
    ) throws(StorageFailure) {
        let standing = try appStoreHealth(of: app, in: environment)
        // A request that was sent together with a failed one adds no information if it fails too.
        guard standing.pausedUntil <= now else { return }
        try appStoreFailed(
            app, in: environment,
            pausedUntil: now + Engine.appStorePause(after: standing.failures + 1))
    }
}

extension Engine {
    /// There is no pause after the first failures, since one purchase may fail for a reason of its
    /// own.
    fileprivate static func appStorePause(after failures: Int) -> Duration {
        appStoreBackoff.delay(after: failures - failuresWithoutPause)
    }
}
