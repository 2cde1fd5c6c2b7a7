import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Ledger
import Storage
import Synchronization

// A notification that was answered with 200 and lost behind that, as by a proxy, by an old backend
// at the same URL, or by a database that was restored from a backup, is no failure to the App
// Store. So twice a day its whole history since the last walk is read, and what is missing here is
// kept. A page holds twenty, and nearly all of them are known: they cost one search by their id.

extension Engine {
    /// Between two walks. Half a day, so that what was lost is known within a day although a walk
    /// fails, or the store is late.
    package static let walkPause = Duration.hours(12)
    /// The first walk of a process comes sooner: its database may be a backup that was restored.
    private static let walkPauseAtStart = Duration.hours(1)
    /// Each walk begins so long before the end of the last: what was made then may have come into
    /// the history later.
    private static let walkOverlap = Duration.hours(2)
    /// The first walk of a database that has documents begins so long before the newest of them:
    /// what nobody told may have stood so long, since that is how often a running subscription is
    /// asked about. So it is also where documents were imported: the walk begins with what the
    /// import cannot have held. Where no purchase is known it begins now: no answer can be wrong.
    /// A server that was started before an import has walked without those purchases: so the end of
    /// an import makes the next walk a first one again.
    static let walkFirst = Duration.days(30)
    /// Pages after which the lease is made longer: it lasts for more than so many.
    private static let pagesBetweenExtensions = 20

    /// Reads the App Store's history of notifications, where that is due, and keeps those that are
    /// missing here. Returns how many were. Harmless to repeat, and for several servers at once:
    /// one walks, and whoever comes after it goes on where it stopped.
    @discardableResult
    package func walkHistory() async throws(EngineFailure) -> Int {
        var count = 0
        var trouble: EngineFailure?
        for (app, environment) in askable {
            guard let client = asking.appStore(app) else { continue }
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
        let place = CatchUpPauses.Key(app: app, environment: environment)
        let now = now()
        guard walks.pauses.isOver(place, at: now) else { return 0 }
        let pause = walks.hasWalked(place) ? Self.walkPause : Self.walkPauseAtStart
        guard let lease = try await leaseWalk(of: app, in: environment, at: now, every: pause)
        else { return 0 }
        var walk = HistoryWalk(
            lease: lease, client: client, at: try await start(of: lease, at: now), end: now)
        do {
            let isDone = try await goOn(&walk)
            if isDone {
                walks.pauses.end(place)
                walks.noteWalked(place)
            }
        } catch {
            try await note(error, of: walk)
        }
        tell(walk)
        try await transaction { tx in try tx.end(lease) }
        return walk.missing
    }

    private func leaseWalk(
        of app: AppID, in environment: Ledger.Environment, at now: Instant, every pause: Duration
    ) async throws(EngineFailure) -> WalkLease? {
        // It is looked every second: mostly it is enough to read.
        let isDue = try await reading { tx in
            try tx.isWalkDue(of: app, in: environment, at: now, every: pause)
        }
        guard isDue else { return nil }
        let worker = asking.worker
        return try await transaction { tx in
            try tx.leaseWalk(of: app, in: environment, at: now, every: pause, for: worker)
        }
    }

    private func start(of lease: WalkLease, at now: Instant) async throws(EngineFailure) -> Instant
    {
        let wished: Instant
        if let from = lease.from {
            wished = from - Self.walkOverlap
        } else {
            let newest = try await reading { tx in
                try tx.hasPurchases(of: lease.app, in: lease.environment)
                    ? tx.newestDocument(of: lease.app) : nil
            }
            wished = newest.map { $0 - Self.walkFirst } ?? now
        }
        // Further back the store refuses the question.
        return min(now, max(wished, now - Self.historyKept(in: lease.environment)))
    }

    /// Walks stretch by stretch, and keeps how far it came after each, so that whoever goes on
    /// after a crash repeats one stretch at most. False where another server has taken over.
    private func goOn(_ walk: inout HistoryWalk) async throws -> Bool {
        let lease = walk.lease
        while walk.at < walk.end {
            let end = min(walk.end, walk.at + walks.stretch(walk.place))
            switch try await readStretch(&walk, to: end) {
            case .lost: return false
            case .tooLong:
                guard walks.shorten(walk.place) else {
                    throw AppStoreFailure.unreadable("more notifications in a minute than are read")
                }
                continue
            case .read(let pages): walks.note(pages, walk.place)
            }
            walk.at = end
            // A first walk that is cut off begins anew: it must not send on what it finds.
            let walkedTo = walk.sendsOn ? end : nil
            guard try await transaction({ tx in try tx.extend(lease, walkedTo: walkedTo) }) else {
                return false
            }
        }
        let end = walk.end
        return try await transaction { tx in try tx.extend(lease, walkedTo: end) }
    }

    private func readStretch(
        _ walk: inout HistoryWalk, to end: Instant
    ) async throws -> HistoryStretch {
        let lease = walk.lease
        var pages = walk.client.notificationPages(
            from: AppStoreDate(walk.at), to: AppStoreDate(end), onlyFailures: false,
            in: lease.environment.storeEnvironment)
        var count = 0
        while let page = try await next(of: &pages) {
            count += 1
            counters.historyPages.add()
            walk.pages += 1
            walk.notifications += page.signedPayloads.count
            for payload in try await missing(page.signedPayloads, of: lease.app)
            where try await keepLost(payload, of: lease.app, sendsOn: walk.sendsOn) {
                walk.missing += 1
            }
            if page.hasMore, count == HistoryWalks.pagesMax { return .tooLong }
            if count % Self.pagesBetweenExtensions == 0 {
                guard try await transaction({ tx in try tx.extend(lease) }) else { return .lost }
            }
        }
        return .read(pages: count)
    }

    /// Those that are not kept. What cannot be read is among them: to be refused, and told.
    private func missing(_ payloads: [String], of app: AppID) async throws -> [String] {
        var ids: [(signedAt: Instant, id: [UInt8], formerID: [UInt8])] = []
        var readable: [String] = []
        var missing: [String] = []
        for payload in payloads {
            let bytes = Array(payload.utf8)
            guard let digest = DocumentDigest(jws: bytes),
                let signedAt = Verifier.claimedSigning(of: bytes)
            else {
                missing.append(payload)
                continue
            }
            ids.append((Instant(signedAt), digest.signed, digest.whole))
            readable.append(payload)
        }
        let asked = ids
        let kept = try await reading { tx in try tx.areKept(asked, of: app) }
        return missing + zip(readable, kept).filter { !$0.1 }.map(\.0)
    }

    private func note(_ error: any Error, of walk: HistoryWalk) async throws(EngineFailure) {
        logger.warning(
            "The App Store's history of notifications could not be read to its end.",
            metadata: ["app": "\(walk.lease.app)", "reason": "\(error)"])
        // A server that stops has not been refused an answer.
        guard !Task.isCancelled else { return }
        let failure = error as? AppStoreFailure
        // A shorter stretch is repeated at less cost, and gets through where single pages fail.
        if failure != nil { _ = walks.shorten(walk.place) }
        walks.pauses.begin(walk.place, at: now(), until: failure?.namedMoment)
        guard failure == nil else { return }
        try await transaction { tx in try tx.end(walk.lease) }
        throw EngineFailure(error)
    }

    private func tell(_ walk: HistoryWalk) {
        guard walk.pages > 0 else { return }
        logger.log(
            level: walk.missing > 0 ? .notice : .info,
            "The App Store's history of notifications was read.",
            metadata: [
                "app": "\(walk.lease.app)", "environment": "\(walk.lease.environment.rawValue)",
                "pages": "\(walk.pages)", "notifications": "\(walk.notifications)",
                "missing": "\(walk.missing)", "until": "\(walk.at)",
            ])
    }
}

/// One walk through the history, and where it is.
private struct HistoryWalk: Sendable {
    let lease: WalkLease
    let client: AppStoreClient
    var at: Instant
    let end: Instant
    var pages = 0
    var notifications = 0
    var missing = 0

    var place: CatchUpPauses.Key {
        CatchUpPauses.Key(app: lease.app, environment: lease.environment)
    }

    /// Whether what is missing here is sent on: the others have not had it either. On the first
    /// walk it may be all that they have known for weeks.
    var sendsOn: Bool { lease.from != nil }
}

/// What came of reading a stretch of time.
private enum HistoryStretch: Sendable {
    case read(pages: Int)
    /// There is more in it than is read at a time: it is to be walked in shorter ones.
    case tooLong
    /// Another server has the lease.
    case lost
}

/// What this process remembers of its walks: for each app and environment how long a stretch of
/// time is asked for at once.
final class HistoryWalks: Sendable {
    /// Pages of one stretch; where there are more, it is walked in shorter ones.
    static let pagesMax = 1_000
    private static let stretchFirst = Duration.days(1)
    private static let stretchMin = Duration.seconds(60)
    private static let stretchMax = Duration.days(7)
    /// A stretch of fewer pages is made longer the next time, one of more shorter.
    private static let pagesWished = 100...500

    let pauses = CatchUpPauses()

    private struct Known {
        var stretch = HistoryWalks.stretchFirst
        var hasWalked = false
    }

    private let known = Mutex<[CatchUpPauses.Key: Known]>([:])

    func hasWalked(_ place: CatchUpPauses.Key) -> Bool {
        known.withLock { $0[place]?.hasWalked ?? false }
    }

    func noteWalked(_ place: CatchUpPauses.Key) {
        known.withLock { $0[place, default: Known()].hasWalked = true }
    }

    func stretch(_ place: CatchUpPauses.Key) -> Duration {
        known.withLock { $0[place, default: Known()].stretch }
    }

    /// False where it cannot be shorter.
    func shorten(_ place: CatchUpPauses.Key) -> Bool {
        known.withLock { known in
            let stretch = known[place, default: Known()].stretch
            guard stretch > Self.stretchMin else { return false }
            known[place, default: Known()].stretch = max(Self.stretchMin, stretch / 2)
            return true
        }
    }

    func note(_ pages: Int, _ place: CatchUpPauses.Key) {
        known.withLock { known in
            let stretch = known[place, default: Known()].stretch
            if pages > Self.pagesWished.upperBound {
                known[place]?.stretch = max(Self.stretchMin, stretch / 2)
            } else if pages < Self.pagesWished.lowerBound {
                known[place]?.stretch = min(Self.stretchMax, stretch * 2)
            }
        }
    }
}
