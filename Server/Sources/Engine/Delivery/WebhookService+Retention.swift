import Ledger
import Storage

/// The deletion of deliveries that ended long ago.
extension WebhookService {
    private static let deletionBatch = 500
    /// The maximum number of deletion batches in one refresh.
    private static let deletionBatchesMax = 20

    /// Deletes deliveries that have ended long ago, in batches.
    func deleteOldDeliveries(
        of app: AppID, at now: Instant
    ) async throws(EngineFailure) {
        let retention = try context.settings(of: app).retention
        for _ in 0..<Self.deletionBatchesMax {
            let count = try await context.transaction { tx in
                try tx.deliveries.delete(
                    of: app, deliveredBefore: now - retention.accepted,
                    failedBefore: now - retention.failed, limit: Self.deletionBatch)
            }
            if count < Self.deletionBatch { return }
        }
    }
}
