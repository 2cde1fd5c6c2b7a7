import Engine
import Hummingbird
import Ledger
import PerennialContract
import Storage

extension NotificationRoutes {
    /// The number of notifications on a page if the request sets no limit.
    static let notificationsDefault = 40
    private static let hour: Int64 = 3_600_000
    private static let hoursInSummary = 24
    private static let inquirySpan = 7 * 24 * hour

    var listing: [Route] {
        [
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, Paths.receivedNotifications, "notifications",
                    "Recorded notifications of the App Store, latest signature first",
                    description: "docs/api.md says how a document is read.",
                    parameters: [
                        .environment, .after,
                        .limit(
                            usual: Self.notificationsDefault,
                            most: NotificationService.notificationsMax),
                    ], output: .json(NotificationList.self)), list),
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, Paths.notificationSummary, "notificationSummary",
                    "How many notifications came in the last 24 hours, and how late",
                    parameters: [.environment], output: .json(NotificationSummary.self)),
                summary),
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, Paths.storeInquiries, "storeInquiries",
                    "How the server queries the App Store, and what it queries next",
                    parameters: [.environment], output: .json(StoreInquiries.self)),
                storeInquiries),
        ]
    }

    @Sendable func list(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let limit = try RequestReader.limit(
            in: request, usual: Self.notificationsDefault,
            most: NotificationService.notificationsMax)
        return try JSONResponse.ok(
            try await list(
                of: holder.app, in: try RequestReader.environment(in: request),
                after: request.uri.queryParameters["after"].map { String($0) }, limit: limit))
    }

    @Sendable func summary(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        try JSONResponse.ok(
            try await summary(
                of: holder.app, in: try RequestReader.environment(in: request)))
    }

    @Sendable func storeInquiries(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        try JSONResponse.ok(
            try await storeInquiries(
                of: holder.app, in: try RequestReader.environment(in: request)))
    }

    // MARK: - Operations, which the dashboard has in common

    /// Returns a page of the recorded notifications, the latest signed first.
    ///
    /// - Parameter cursor: the `next_cursor` of an earlier page.
    func list(
        of app: AppID, in environment: Ledger.Environment, after cursor: String?,
        limit: Int = notificationsDefault
    ) async throws -> NotificationList {
        let log = try await engine.notifications.page(
            of: app, in: environment, before: try DocumentCursor(after: cursor), limit: limit)
        return NotificationList(
            items: log.lines.map(NotificationList.Line.init), nextCursor: log.next?.text)
    }

    func summary(
        of app: AppID, in environment: Ledger.Environment
    ) async throws -> NotificationSummary {
        let now = engine.context.serverTime
        let first = now.milliseconds / Self.hour - Int64(Self.hoursInSummary) + 1
        var hours = (0..<Self.hoursInSummary).map {
            NotificationSummary.Hour(
                from: Timestamp(milliseconds: (first + Int64($0)) * Self.hour))
        }
        let start = Instant(
            milliseconds: now.milliseconds - Int64(Self.hoursInSummary) * Self.hour)
        let recent = try await engine.notifications.recent(of: app, in: environment, since: start)
        for head in recent.heads {
            let index = Int(clamping: head.signedAt.milliseconds / Self.hour - first)
            guard hours.indices.contains(index) else { continue }
            hours[index].received += 1
            if head.isBackfilled { hours[index].backfilled += 1 }
        }
        let delays = recent.heads.map(\.delay).sorted()
        func delay(_ part: Double) -> Int? {
            delays.isEmpty ? nil : delays[Int(Double(delays.count - 1) * part)]
        }
        return NotificationSummary(
            environment: StoreEnvironment(environment), from: Timestamp(start),
            until: Timestamp(now), complete: recent.isWhole, received: recent.heads.count,
            backfilled: recent.heads.count(where: \.isBackfilled),
            medianDelayMilliseconds: delay(0.5), slowDelayMilliseconds: delay(0.99), hours: hours,
            repeated: engine.counts.notificationsRepeated,
            refused: engine.counts.notificationsRefused)
    }

    func storeInquiries(
        of app: AppID, in environment: Ledger.Environment
    ) async throws -> StoreInquiries {
        let inquiries = try await engine.notifications.appStoreInquiries(of: app, in: environment)
        let recent = try await engine.notifications.recent(
            of: app, in: environment,
            since: Instant(milliseconds: engine.context.serverTime.milliseconds - Self.inquirySpan))
        let missed = recent.heads.filter(\.isBackfilled)
        return StoreInquiries(
            environment: StoreEnvironment(environment), notifications: recent.heads.count,
            backfilled: missed.count, longestDelayMilliseconds: missed.map(\.delay).max(),
            complete: recent.isWhole,
            nextBackfillAt: inquiries.backfillDueAt.map { Timestamp($0) },
            configured: inquiries.isConfigured,
            respondedAt: inquiries.respondedAt.map { Timestamp($0) },
            failures: inquiries.failures,
            pausedUntil: inquiries.pausedUntil.map { Timestamp($0) }, due: inquiries.due,
            next: inquiries.next.map { check in
                StoreInquiries.Check(
                    originalTransactionID: check.purchase.original.rawValue,
                    dueAt: Timestamp(check.dueAt),
                    askedAt: check.history.askedAt.map { Timestamp($0) },
                    failures: check.history.failures)
            })
    }
}

extension NotificationList.Line {
    init(_ line: NotificationLine) {
        let head = line.head
        self.init(
            documentID: DocumentID(bytes: head.id).rawValue, type: line.type,
            subtype: line.subtype, environment: StoreEnvironment(head.environment),
            source: head.source.rawValue, signedAt: Timestamp(head.signedAt),
            receivedAt: Timestamp(head.receivedAt), customerID: line.owner?.rawValue,
            originalTransactionID: line.purchase?.original.rawValue,
            forwardsAccepted: line.forwards.count { $0.state == .accepted },
            forwardsWaiting: line.forwards.count { $0.state != .accepted })
    }
}

extension DocumentHead {
    /// The time from signature to arrival, in milliseconds.
    fileprivate var delay: Int {
        Int(clamping: max(0, receivedAt.milliseconds - signedAt.milliseconds))
    }

    /// Whether the server had to request the notification from the App Store, because it had not
    /// arrived.
    fileprivate var isBackfilled: Bool { source == .reconciliation }
}
