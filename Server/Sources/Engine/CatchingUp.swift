import AppStoreClient
import AppStoreFormats
import Ledger
import Storage

extension Engine {
    /// Between two looks for notifications that did not reach us.
    package static let catchUpPause = Duration.hours(1)
    /// The first look goes back as far as the App Store goes on trying.
    private static let catchUpFirst = Duration.days(7)
    /// Each look begins so long before the end of the last: a notification may have been on its way
    /// then.
    private static let catchUpOverlap = Duration.days(1)

    /// How long the store keeps its notifications ("Get Notification History"), without an hour in
    /// which clocks may differ.
    static func historyKept(in environment: Ledger.Environment) -> Duration {
        switch environment {
        case .production: .days(180) - .hours(1)
        case .sandbox: .days(30) - .hours(1)
        }
    }

    /// Whether lost notifications could not be asked for when that was last tried: then what is due
    /// is asked first, so that one endpoint which does not answer stops no other.
    package var isCatchingUpFailing: Bool { catchUpPauses.areAny }

    /// Asks the App Store for the notifications that did not reach us, where that is due, and keeps
    /// them. Returns how many were new. Harmless to repeat, and for several servers at once.
    @discardableResult
    package func catchUp() async throws(EngineFailure) -> Int {
        var count = 0
        var trouble: EngineFailure?
        for (app, environment) in askable {
            do throws(EngineFailure) {
                count += try await catchUp(app, in: environment)
            } catch { trouble = trouble ?? error }
        }
        if let trouble { throw trouble }
        return count
    }

    private func catchUp(
        _ app: AppID, in environment: Ledger.Environment
    ) async throws(EngineFailure) -> Int {
        guard let client = asking.appStore(app) else { return 0 }
        let now = now()
        let pause = CatchUpPauses.Key(app: app, environment: environment)
        guard catchUpPauses.isOver(pause, at: now) else { return 0 }
        let worker = asking.worker
        let (lease, isDone) = try await transaction { tx in
            let done = try tx.standing(of: app, in: environment).caughtUpTo
            let lease = try tx.leaseCatchUp(
                of: app, in: environment, at: now, every: Self.catchUpPause, for: worker)
            return (lease, done.map { $0 + Self.catchUpPause > now } ?? false)
        }
        guard let lease else {
            // Another server may have succeeded meanwhile.
            if isDone { catchUpPauses.end(pause) }
            return 0
        }
        let wished = lease.from.map { $0 - Self.catchUpOverlap } ?? now - Self.catchUpFirst
        // Further back the store refuses the question, and would for ever.
        let from = max(wished, now - Self.historyKept(in: environment))
        do {
            let count = try await keepLost(from: from, to: now, app, environment, client)
            try await transaction { tx in
                try tx.storeAnswered(app, in: environment, at: now)
                try tx.endCatchUp(lease, of: app, in: environment, upTo: now)
            }
            catchUpPauses.end(pause)
            return count
        } catch {
            // Not since the question was begun, which may be long ago.
            let failedAt = self.now()
            let failure = error as? AppStoreFailure
            // A server that stops has not been refused an answer.
            let isStopping = Task.isCancelled
            logger.warning(
                "It could not be found out which notifications were lost.",
                metadata: ["app": "\(app)", "reason": "\(error)"])
            if !isStopping {
                catchUpPauses.begin(pause, at: failedAt, until: failure?.namedMoment)
            }
            try await transaction { tx in
                if !isStopping, failure?.concernsAllQuestions == true {
                    try tx.noteFailure(of: app, in: environment, at: failedAt)
                }
                try tx.endCatchUp(lease, of: app, in: environment, upTo: nil)
            }
            guard !isStopping, failure == nil else { return 0 }
            throw EngineFailure(error)
        }
    }

    private func keepLost(
        from: Instant, to now: Instant, _ app: AppID, _ environment: Ledger.Environment,
        _ client: AppStoreClient
    ) async throws -> Int {
        var count = 0
        var pages = client.notificationPages(
            from: AppStoreDate(from), to: AppStoreDate(now), onlyFailures: true,
            in: environment.storeEnvironment)
        while let page = try await next(of: &pages) {
            for payload in page.signedPayloads where try await keepLost(payload, of: app) {
                count += 1
            }
        }
        return count
    }

    /// How often a page is waited for, and how long at most: the store, or our own pace, wants some
    /// time between two.
    private static let pageWaitsMax = 3
    private static let pageWaitMax = Duration.seconds(5)

    func next(of pages: inout Pages<NotificationPage>) async throws -> NotificationPage? {
        for _ in 0..<Self.pageWaitsMax where asking.waits {
            do throws(AppStoreFailure) { return try await pages.next() } catch {
                guard case .tooMany(let until) = error else { throw error }
                let wait = Instant(until) - now()
                guard wait <= Self.pageWaitMax else { throw error }
                try await Task.sleep(for: max(wait, .zero))
            }
        }
        return try await pages.next()
    }

    /// True where it is new. One that is not trusted is told, and left out.
    ///
    /// - Parameter sendsOn: whether it is sent on to other addresses.
    func keepLost(
        _ payload: String, of appID: AppID, sendsOn: Bool = true
    ) async throws -> Bool {
        let (app, verifier) = try app(appID)
        let bytes = Array(payload.utf8)
        let now = now()
        let outcome = await verifier.notification(bytes, for: app.identity, at: AppStoreDate(now))
        do throws(EngineFailure) {
            let attestation = Attestation(
                notification: try trusted(outcome), bytes,
                from: Attestation.Origin(
                    app: app, source: .reconciliation, receivedAt: now, digests: digests))
            var attested = attestation.kept
            if sendsOn {
                // The others have not had it either.
                let body = JSON.object([JSON.Member("signedPayload", .string(payload))]).bytes
                attested.forward = order(
                    for: ArrivedNotification(contentType: "application/json", body: body),
                    attestation.document)
            }
            let kept = attested
            let isNew = try await transaction { tx in try tx.keep(kept) }
            if isNew { counters.notificationsFound.add() }
            return isNew
        } catch {
            guard case .notTrusted = error else { throw error }
            logger.error(
                "A notification that the App Store gave again is not trusted.",
                metadata: ["app": "\(appID)", "reason": "\(error)"])
            return false
        }
    }
}

extension AppStoreFailure {
    /// Whether other questions will fare no better.
    fileprivate var concernsAllQuestions: Bool {
        switch self {
        case .unauthorized, .unavailable: true
        case .unknownThere, .tooMany, .refused, .unreadable: false
        }
    }

    /// Before then nobody asks again.
    var namedMoment: Instant? {
        if case .tooMany(let until) = self { Instant(until) } else { nil }
    }
}
