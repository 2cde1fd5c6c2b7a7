import AppStoreClient
import AppStoreFormats
import Ledger
import Storage

/// A recorded notification: its content, its customer, and its forwards.
package struct NotificationLine: Sendable {
    package var head: DocumentHead
    /// Apple's type of the notification. Empty if the stored form is damaged.
    package var type: String
    package var subtype: String?
    package var purchase: PurchaseID?
    package var owner: CustomerID?
    package var forwards: [StoredForward]
}

/// A page of the notifications, the last signed first.
package struct NotificationLog: Sendable {
    package var lines: [NotificationLine]
    /// The position of the next page, with earlier notifications. Nil on the last page.
    package var next: DocumentCursor?
}

/// Notifications that were signed since a moment.
package struct RecentNotifications: Sendable {
    package var heads: [DocumentHead]
    /// Whether the list contains all notifications since the moment. False if there were too many,
    /// so that only the latest were read.
    package var isWhole: Bool
}

/// The state of the queries to the App Store, for one app and environment.
package struct AppStoreInquiries: Sendable {
    /// Whether the configuration has a key for the App Store Server API.
    package var isConfigured: Bool
    package var respondedAt: Instant?
    /// The number of failed requests since the last response.
    package var failures: Int
    /// No requests are made before this time. Nil if there is no pause.
    package var pausedUntil: Instant?
    /// The time when missed notifications are requested again.
    package var backfillDueAt: Instant?
    /// The number of purchases that are due for a check now.
    package var due: Int
    /// The purchases that are checked next.
    package var next: [CheckState]
}

/// Lists notifications and the next queries to the App Store, and requests a test notification.
package struct NotificationService: Sendable {
    let context: Context

    /// The maximum number of notifications on a page.
    package static let notificationsMax = 100
    /// The number of documents that are read at once in the search for notifications.
    /// ``headPiecesMax`` is the maximum number of such reads.
    private static let headsMax = 1_000
    private static let headPiecesMax = 10
    /// The maximum number of purchases that are named as the next to be checked.
    private static let nextChecksMax = 20

    /// The notifications of an environment, the last signed first. A page with fewer than `limit`
    /// notifications is not always the last one, because many other documents may lie between them.
    ///
    /// - Parameter limit: at most ``notificationsMax``.
    package func page(
        of appID: AppID, in environment: Ledger.Environment, before place: DocumentCursor?,
        limit: Int
    ) async throws(EngineFailure) -> NotificationLog {
        _ = try context.app(appID)
        guard limit <= Self.notificationsMax else {
            throw .limitExceeded(what: "notifications", limit: Self.notificationsMax)
        }
        return try await context.read { tx in
            var walk = HeadWalk(environment: environment, place: place, limit: limit)
            try walk.read(appID, tx, pieces: Self.headPiecesMax, of: Self.headsMax)
            return NotificationLog(
                lines: try walk.heads.map {
                    try PurchaseDecisions(tx).notificationLine($0, of: appID)
                },
                next: walk.next)
        }
    }

    /// The notifications that were signed since a moment, the last signed first.
    package func recent(
        of appID: AppID, in environment: Ledger.Environment, since moment: Instant
    ) async throws(EngineFailure) -> RecentNotifications {
        _ = try context.app(appID)
        return try await context.read { tx in
            var walk = HeadWalk(environment: environment, since: moment)
            try walk.read(appID, tx, pieces: Self.headPiecesMax, of: Self.headsMax)
            return RecentNotifications(heads: walk.heads, isWhole: walk.next == nil)
        }
    }

    /// The present and next queries to the App Store.
    package func appStoreInquiries(
        of appID: AppID, in environment: Ledger.Environment
    ) async throws(EngineFailure) -> AppStoreInquiries {
        _ = try context.app(appID)
        let now = context.now()
        let isConfigured = context.reconciliationSettings.appStore(appID) != nil
        return try await context.read { tx in
            let health = try tx.appStore.health(of: appID, in: environment)
            return AppStoreInquiries(
                isConfigured: isConfigured, respondedAt: health.respondedAt,
                failures: health.failures,
                pausedUntil: health.pausedUntil > now ? health.pausedUntil : nil,
                backfillDueAt: health.backfilledTo.map { $0 + BackfillService.backfillInterval },
                due: try tx.appStore.backlog(of: appID, in: environment, at: now).count,
                next: try tx.checks.next(
                    of: appID, in: environment, limit: Self.nextChecksMax))
        }
    }

    /// Asks Apple to send a test notification.
    ///
    /// - Returns: false if the configuration has no key for the request.
    /// - Throws: the failure with which the App Store answers.
    package func requestTest(
        of appID: AppID, in environment: Ledger.Environment
    ) async throws -> Bool {
        _ = try context.app(appID)
        guard let client = context.reconciliationSettings.appStore(appID) else { return false }
        _ = try await client.sendTestNotification(in: environment.storeEnvironment)
        return true
    }
}

/// Reads the heads of documents, the last signed first, and keeps the heads of notifications.
private struct HeadWalk {
    let environment: Ledger.Environment
    var place: DocumentCursor?
    /// The maximum number of heads to keep. Nil if there is no limit.
    var limit: Int?
    /// Documents that were signed before this moment are not read. Nil if there is no such moment.
    var since: Instant?
    private(set) var heads: [DocumentHead] = []
    /// The position where the next page continues. Nil if nothing is left.
    private(set) var next: DocumentCursor?

    init(
        environment: Ledger.Environment, place: DocumentCursor? = nil, limit: Int? = nil,
        since: Instant? = nil
    ) {
        (self.environment, self.place) = (environment, place)
        (self.limit, self.since) = (limit, since)
    }

    mutating func read(
        _ app: AppID, _ tx: DatabaseSession, pieces: Int, of size: Int
    ) throws(StorageFailure) {
        for _ in 0..<pieces {
            let piece = try tx.documents.heads(of: app, before: place, limit: size)
            for head in piece {
                if let since, head.signedAt < since {
                    next = nil
                    return
                }
                let last = place
                place = DocumentCursor(signedAt: head.signedAt, id: head.id)
                guard head.environment == environment, head.kind.isNotification else { continue }
                if heads.count == limit {
                    next = last
                    return
                }
                heads.append(head)
            }
            if piece.count < size {
                next = nil
                return
            }
            next = place
        }
    }
}

extension StoredDocument.Kind {
    fileprivate var isNotification: Bool { self == .notification || self == .notificationV1 }
}
