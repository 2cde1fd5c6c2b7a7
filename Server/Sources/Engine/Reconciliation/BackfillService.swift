import AppStoreClient
import AppStoreFormats
import Ledger
import Storage

/// Fetches notifications that were lost, from the history that the App Store keeps.
package struct BackfillService: Sendable {
    let context: Context
    let forwarding: ForwardingService
    let verification: VerificationService
    let reconciliation: ReconciliationService
    let backfillBackoff: BackfillBackoff
    let historyWalks: HistoryWalkStates

    /// - Parameter former: the service of the previous configuration, whose caches are reused.
    init(
        context: Context, forwarding: ForwardingService, verification: VerificationService,
        reconciliation: ReconciliationService, former: BackfillService?
    ) {
        self.context = context
        self.forwarding = forwarding
        self.verification = verification
        self.reconciliation = reconciliation
        backfillBackoff = former?.backfillBackoff ?? BackfillBackoff()
        historyWalks = former?.historyWalks ?? HistoryWalkStates()
    }

    /// The interval between two backfills of notifications that did not arrive.
    package static let backfillInterval = Duration.hours(1)
    /// The length of time that the first backfill covers. The App Store retries a notification for
    /// the same length of time.
    private static let firstBackfillSpan = Duration.days(7)
    /// The time by which each backfill overlaps the previous one, because a notification may have
    /// been on its way when the previous backfill ended.
    private static let backfillOverlap = Duration.days(1)

    /// How long the App Store stores notifications ("Get Notification History"), minus an hour for
    /// differences between clocks.
    static func notificationRetention(in environment: Ledger.Environment) -> Duration {
        switch environment {
        case .production: .days(180) - .hours(1)
        case .sandbox: .days(30) - .hours(1)
        }
    }

    /// Whether the last attempt to backfill notifications failed. After a failure, due purchases
    /// are checked first, so that one unresponsive endpoint does not delay requests to the other
    /// endpoints.
    package var isFailing: Bool { backfillBackoff.isAnyActive }

    /// Requests missed notifications from the App Store if a request is due, and records them.
    /// Returns how many of the notifications were new. Idempotent and safe for several servers at
    /// once.
    @discardableResult
    package func run() async throws(EngineFailure) -> Int {
        var count = 0
        var trouble: EngineFailure?
        for (app, environment) in reconciliation.queryableStores {
            do throws(EngineFailure) {
                count += try await run(app, in: environment)
            } catch { trouble = trouble ?? error }
        }
        if let trouble { throw trouble }
        return count
    }

    private func run(
        _ app: AppID, in environment: Ledger.Environment
    ) async throws(EngineFailure) -> Int {
        guard let client = context.reconciliationSettings.appStore(app) else { return 0 }
        let now = context.now()
        let pause = BackfillBackoff.Key(app: app, environment: environment)
        guard backfillBackoff.isOver(pause, at: now) else { return 0 }
        let worker = context.reconciliationSettings.worker
        let (lease, isDone) = try await context.transaction { tx in
            let done = try tx.appStore.health(of: app, in: environment).backfilledTo
            let lease = try tx.appStore.lease(
                .backfill, of: app, in: environment, at: now, every: Self.backfillInterval,
                for: worker)
            return (lease, done.map { $0 + Self.backfillInterval > now } ?? false)
        }
        guard let lease else {
            // Another server may have succeeded meanwhile.
            if isDone { backfillBackoff.clear(pause) }
            return 0
        }
        let wished = lease.from.map { $0 - Self.backfillOverlap } ?? now - Self.firstBackfillSpan
        // The App Store rejects requests for earlier times, so such a request would fail forever.
        let from = max(wished, now - Self.notificationRetention(in: environment))
        do {
            let count = try await recordMissed(from: from, to: now, app, environment, client)
            try await context.transaction { tx in
                try tx.appStore.responded(app, in: environment, at: now)
                try tx.appStore.release(lease, doneTo: now)
            }
            backfillBackoff.clear(pause)
            return count
        } catch {
            // Uses the time of the failure, because the request may have begun long ago.
            let failedAt = self.context.now()
            let failure = error as? AppStoreFailure
            // If this server is stopping, the App Store did not cause the failure.
            let isStopping = Task.isCancelled
            context.logger.warning(
                "backfilling missed notifications failed",
                metadata: ["app": "\(app)", "reason": "\(error)"])
            if !isStopping {
                if let failure { context.counters.add(failure) }
                backfillBackoff.recordFailure(pause, at: failedAt, until: failure?.retryAt)
            }
            try await context.transaction { tx in
                if !isStopping, failure?.affectsAllRequests == true {
                    try ReconciliationDecisions(tx).recordAppStoreFailure(
                        of: app, in: environment, at: failedAt)
                }
                try tx.appStore.release(lease)
            }
            guard !isStopping, failure == nil else { return 0 }
            throw EngineFailure(error)
        }
    }

    private func recordMissed(
        from: Instant, to now: Instant, _ app: AppID, _ environment: Ledger.Environment,
        _ client: AppStoreClient
    ) async throws -> Int {
        var count = 0
        var pages = client.notificationPages(
            from: AppStoreDate(from), to: AppStoreDate(now), onlyFailures: true,
            in: environment.storeEnvironment)
        while let page = try await nextPage(of: &pages) {
            for payload in page.signedPayloads where try await recordMissed(payload, of: app) {
                count += 1
            }
        }
        return count
    }

    /// The maximum number of retries of a page. ``pageWaitMax`` is the longest wait before a retry.
    /// Such a wait is necessary if the App Store, or Perennial's rate limit, requires a pause
    /// between two pages.
    private static let pageWaitsMax = 3
    private static let pageWaitMax = Duration.seconds(5)

    func nextPage(of pages: inout Pages<NotificationPage>) async throws -> NotificationPage? {
        for _ in 0..<Self.pageWaitsMax where context.reconciliationSettings.canWait {
            do throws(AppStoreFailure) { return try await pages.next() } catch {
                guard case .rateLimited(let until) = error else { throw error }
                let wait = Instant(until) - context.now()
                guard wait <= Self.pageWaitMax else { throw error }
                try await Task.sleep(for: max(wait, .zero))
            }
        }
        return try await pages.next()
    }

    /// Records a missed notification. Returns true if the notification is new. A notification that
    /// is not trusted is logged and skipped.
    ///
    /// - Parameter sendsOn: whether the notification is forwarded to other addresses.
    func recordMissed(
        _ payload: String, of appID: AppID, sendsOn: Bool = true
    ) async throws -> Bool {
        let (app, verifier) = try context.app(appID)
        let bytes = Array(payload.utf8)
        let now = context.now()
        let outcome = await verifier.notification(bytes, for: app.identity, at: AppStoreDate(now))
        do throws(EngineFailure) {
            let attestation = VerifiedDocument(
                notification: try verification.trusted(outcome), bytes,
                from: VerifiedDocument.Origin(
                    app: app, source: .reconciliation, receivedAt: now, digests: context.digests))
            var attested = attestation.documentWithFacts
            if sendsOn {
                // The other addresses have not received the notification either.
                let body = JSON.object([JSON.Member("signedPayload", .string(payload))]).bytes
                attested.forward = forwarding.order(
                    for: ReceivedNotification(contentType: "application/json", body: body),
                    attestation.document)
            }
            let kept = attested
            let isNew = try await context.transaction { tx in try DocumentRecorder(tx).record(kept)
            }
            if isNew { context.counters.notificationsBackfilled.add() }
            return isNew
        } catch {
            guard case .notTrusted = error else { throw error }
            context.logger.error(
                "a backfilled notification is not trusted; it is skipped",
                metadata: ["app": "\(appID)", "reason": "\(error)"])
            return false
        }
    }
}

extension AppStoreFailure {
    /// Whether the failure affects other requests to the App Store, too.
    fileprivate var affectsAllRequests: Bool {
        switch self {
        case .unauthorized, .unavailable: true
        case .unknownID, .rateLimited, .refused, .unreadable: false
        }
    }

    /// The time before which no request should be repeated. Nil if the App Store named none.
    var retryAt: Instant? {
        if case .rateLimited(let until) = self { Instant(until) } else { nil }
    }
}
