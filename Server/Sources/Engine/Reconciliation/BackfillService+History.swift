import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Ledger
import Storage
import Synchronization

// Some notifications are lost after a 200 response: by a proxy, by an old backend at the same URL,
// or because the database was restored from a backup. The App Store does not see this as a failure.
// So twice a day the whole notification history since the last walk is read, and missing
// notifications are recorded. A page contains twenty notifications. Nearly all notifications are
// known, and cost only a lookup by id.

extension BackfillService {
    /// The interval between two walks. The interval is half a day, so that a loss is detected
    /// within a day even if one walk fails or the App Store is late.
    package static let walkInterval = Duration.hours(12)
    /// The minimum interval before the first walk of a process. This interval is shorter, because
    /// the database may have been restored from a backup.
    private static let firstWalkInterval = Duration.hours(1)
    /// The time by which each walk overlaps the previous one, because notifications may be added to
    /// the history late.
    private static let walkOverlap = Duration.hours(2)
    /// The time from the start of the first walk of a database to its newest document. A running
    /// subscription is checked at this interval, so an undetected loss may be that old. After an
    /// import, this time covers the notifications that the import cannot have contained. If the
    /// database contains no purchase yet, the first walk begins at the present time, because a lost
    /// notification cannot have made an answer of this server wrong. A server that was started
    /// before an import has made its first walk without the imported purchases. So after an import,
    /// the next walk counts as the first walk again.
    static let firstWalkSpan = Duration.days(30)
    /// The number of pages after which the lease is extended. The lease lasts longer than reading
    /// these pages takes.
    private static let pagesBetweenExtensions = 20

    /// Reads the App Store's notification history if a walk is due, and records the notifications
    /// that are missing here. Returns the number of missing notifications. Idempotent, and safe for
    /// several servers at once: one server reads, and the next server continues where the first one
    /// stopped.
    @discardableResult
    package func walkHistory() async throws(EngineFailure) -> Int {
        var count = 0
        var trouble: EngineFailure?
        for (app, environment) in reconciliation.queryableStores {
            guard let client = context.reconciliationSettings.appStore(app) else { continue }
            do throws(EngineFailure) {
                count += try await walk(app, in: environment, client)
            } catch { trouble = trouble ?? error }
        }
        if let trouble { throw trouble }
        return count
    }

    private func walk(
        _ app: AppID, in environment: Ledger.Environment, _ client: AppStoreClient
    ) async throws(EngineFailure) -> Int {
        let place = BackfillBackoff.Key(app: app, environment: environment)
        let now = context.now()
        guard historyWalks.backoff.isOver(place, at: now) else { return 0 }
        let pause = historyWalks.hasWalked(place) ? Self.walkInterval : Self.firstWalkInterval
        guard let lease = try await leaseWalk(of: app, in: environment, at: now, every: pause)
        else { return 0 }
        var walk = HistoryWalk(
            lease: lease, client: client, at: try await start(of: lease, at: now), end: now)
        do {
            let isDone = try await continueWalk(&walk)
            if isDone {
                historyWalks.backoff.clear(place)
                historyWalks.markWalked(place)
            }
        } catch {
            try await recordFailure(error, of: walk)
        }
        logWalk(walk)
        try await context.transaction { tx in try tx.appStore.release(lease) }
        return walk.missing
    }

    private func leaseWalk(
        of app: AppID, in environment: Ledger.Environment, at now: Instant, every pause: Duration
    ) async throws(EngineFailure) -> AppStoreLease? {
        // This function runs every second. In most cases it only has to read.
        let isDue = try await context.read { tx in
            try tx.appStore.isDue(.walk, of: app, in: environment, at: now, every: pause)
        }
        guard isDue else { return nil }
        let worker = context.reconciliationSettings.worker
        return try await context.transaction { tx in
            try tx.appStore.lease(
                .walk, of: app, in: environment, at: now, every: pause, for: worker)
        }
    }

    private func start(of lease: AppStoreLease, at now: Instant) async throws(EngineFailure)
        -> Instant
    {
        let wished: Instant
        if let from = lease.from {
            wished = from - Self.walkOverlap
        } else {
            let newest = try await context.read { tx in
                try tx.purchases.hasAny(of: lease.app, in: lease.environment)
                    ? tx.documents.newest(of: lease.app) : nil
            }
            wished = newest.map { $0 - Self.firstWalkSpan } ?? now
        }
        // The App Store rejects requests for times further back.
        return min(now, max(wished, now - Self.notificationRetention(in: lease.environment)))
    }

    /// Walks in stretches, and saves the position after each stretch, so that a server that
    /// continues after a crash repeats at most one stretch. Returns false if another server has
    /// taken over.
    private func continueWalk(_ walk: inout HistoryWalk) async throws -> Bool {
        let lease = walk.lease
        while walk.at < walk.end {
            let end = min(walk.end, walk.at + historyWalks.stretch(walk.place))
            switch try await readStretch(&walk, to: end) {
            case .leaseLost: return false
            case .tooLong:
                guard historyWalks.shorten(walk.place) else {
                    throw AppStoreFailure.unreadable("more notifications in a minute than are read")
                }
                continue
            case .read(let pages): historyWalks.adjustStretch(pages, walk.place)
            }
            walk.at = end
            // A first walk that is interrupted starts again from the beginning, because it must not
            // forward the notifications that it finds.
            let walkedTo = walk.sendsOn ? end : nil
            guard
                try await context.transaction({ tx in
                    try tx.appStore.extend(lease, doneTo: walkedTo)
                })
            else {
                return false
            }
        }
        let end = walk.end
        return try await context.transaction { tx in try tx.appStore.extend(lease, doneTo: end) }
    }

    private func readStretch(
        _ walk: inout HistoryWalk, to end: Instant
    ) async throws -> HistoryStretch {
        let lease = walk.lease
        var pages = walk.client.notificationPages(
            from: AppStoreDate(walk.at), to: AppStoreDate(end), onlyFailures: false,
            in: lease.environment.storeEnvironment)
        var count = 0
        while let page = try await nextPage(of: &pages) {
            count += 1
            context.counters.historyPages.add()
            walk.pages += 1
            walk.notifications += page.signedPayloads.count
            for payload in try await missing(page.signedPayloads, of: lease.app)
            where try await recordMissed(payload, of: lease.app, sendsOn: walk.sendsOn) {
                walk.missing += 1
                // A first walk finds notifications that were sent before this server had the
                // address. These are not lost.
                if walk.sendsOn { context.counters.notificationsLost.add() }
            }
            if page.hasMore, count == HistoryWalkStates.pagesMax { return .tooLong }
            if count % Self.pagesBetweenExtensions == 0 {
                guard try await context.transaction({ tx in try tx.appStore.extend(lease) }) else {
                    return .leaseLost
                }
            }
        }
        return .read(pages: count)
    }

    /// The notifications that are not recorded. Notifications that cannot be read are included, so
    /// that they are rejected and logged.
    private func missing(_ payloads: [String], of app: AppID) async throws -> [String] {
        var ids: [(signedAt: Instant, id: [UInt8])] = []
        var readable: [String] = []
        var missing: [String] = []
        for payload in payloads {
            let bytes = Array(payload.utf8)
            guard let digest = DocumentDigest(jws: bytes),
                let signedAt = Verifier.claimedSigningDate(of: bytes)
            else {
                missing.append(payload)
                continue
            }
            ids.append((Instant(signedAt), digest.signed))
            readable.append(payload)
        }
        let asked = ids
        let kept = try await context.read { tx in try tx.documents.areStored(asked, of: app) }
        return missing + zip(readable, kept).filter { !$0.1 }.map(\.0)
    }

    private func recordFailure(_ error: any Error, of walk: HistoryWalk) async throws(EngineFailure)
    {
        context.logger.warning(
            "The App Store's history of notifications could not be read to its end.",
            metadata: ["app": "\(walk.lease.app)", "reason": "\(error)"])
        // If this server is stopping, the App Store did not cause the failure.
        guard !Task.isCancelled else { return }
        let failure = error as? AppStoreFailure
        // A shorter stretch costs less to repeat, and may succeed if single pages fail.
        if let failure {
            context.counters.add(failure)
            _ = historyWalks.shorten(walk.place)
        }
        historyWalks.backoff.recordFailure(walk.place, at: context.now(), until: failure?.retryAt)
        guard failure == nil else { return }
        try await context.transaction { tx in try tx.appStore.release(walk.lease) }
        throw EngineFailure(error)
    }

    private func logWalk(_ walk: HistoryWalk) {
        guard walk.pages > 0 else { return }
        context.logger.log(
            level: walk.missing > 0 ? .notice : .info,
            "The App Store's history of notifications was read.",
            metadata: [
                "app": "\(walk.lease.app)", "environment": "\(walk.lease.environment.rawValue)",
                "pages": "\(walk.pages)", "notifications": "\(walk.notifications)",
                "missing": "\(walk.missing)", "until": "\(walk.at)",
            ])
    }
}

/// One walk through the history, and its position.
private struct HistoryWalk: Sendable {
    let lease: AppStoreLease
    let client: AppStoreClient
    var at: Instant
    let end: Instant
    var pages = 0
    var notifications = 0
    var missing = 0

    var place: BackfillBackoff.Key {
        BackfillBackoff.Key(app: lease.app, environment: lease.environment)
    }

    /// Whether missing notifications are forwarded, because the other addresses have not received
    /// them either. False on the first walk, because the other addresses may have received all of
    /// them weeks ago.
    var sendsOn: Bool { lease.from != nil }
}

/// The result of reading a stretch of time.
private enum HistoryStretch: Sendable {
    case read(pages: Int)
    /// The stretch has more pages than are read at a time, and must be divided.
    case tooLong
    /// Another server has taken over the lease.
    case leaseLost
}

/// The state of this process's walks: for each app and environment, the length of the stretch that
/// is requested at once, and whether a walk was made.
final class HistoryWalkStates: Sendable {
    /// The maximum number of pages of one stretch. Longer stretches are divided.
    static let pagesMax = 1_000
    private static let initialStretch = Duration.days(1)
    private static let stretchMin = Duration.seconds(60)
    private static let stretchMax = Duration.days(7)
    /// The intended number of pages of a stretch. After a stretch with fewer pages, the next
    /// stretch is longer. After a stretch with more pages, the next stretch is shorter.
    private static let targetPages = 100...500

    let backoff = BackfillBackoff()

    private struct Known {
        var stretch = HistoryWalkStates.initialStretch
        var hasWalked = false
    }

    private let known = Mutex<[BackfillBackoff.Key: Known]>([:])

    func hasWalked(_ place: BackfillBackoff.Key) -> Bool {
        known.withLock { $0[place]?.hasWalked ?? false }
    }

    func markWalked(_ place: BackfillBackoff.Key) {
        known.withLock { $0[place, default: Known()].hasWalked = true }
    }

    func stretch(_ place: BackfillBackoff.Key) -> Duration {
        known.withLock { $0[place, default: Known()].stretch }
    }

    /// Halves the length of the next stretch. Returns false if the stretch has the minimum length
    /// already.
    func shorten(_ place: BackfillBackoff.Key) -> Bool {
        known.withLock { known in
            let stretch = known[place, default: Known()].stretch
            guard stretch > Self.stretchMin else { return false }
            known[place, default: Known()].stretch = max(Self.stretchMin, stretch / 2)
            return true
        }
    }

    func adjustStretch(_ pages: Int, _ place: BackfillBackoff.Key) {
        known.withLock { known in
            let stretch = known[place, default: Known()].stretch
            if pages > Self.targetPages.upperBound {
                known[place]?.stretch = max(Self.stretchMin, stretch / 2)
            } else if pages < Self.targetPages.lowerBound {
                known[place]?.stretch = min(Self.stretchMax, stretch * 2)
            }
        }
    }
}
