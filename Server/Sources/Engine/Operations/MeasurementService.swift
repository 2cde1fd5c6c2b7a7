import Ledger
import Storage
import Synchronization

/// The state of the database and of an app's derived rows, for metrics.
package struct Measurements: Hashable, Sendable {
    /// Whether the database could be read and written.
    package var isReady: Bool
    /// The version of the database's schema.
    package var schemaVersion: Int
    /// The size of the database, without SQLite's write-ahead log.
    package var databaseBytes: Int64
    package var apps: [AppMeasurements]
    /// How far the copy for reports is behind. Nil if there is no copy, or if it cannot be read.
    package var copyLag: Duration?

    /// The database could not be measured.
    static let unready = Self(isReady: false, schemaVersion: 0, databaseBytes: 0, apps: [])

    package init(
        isReady: Bool, schemaVersion: Int, databaseBytes: Int64, apps: [AppMeasurements]
    ) {
        self.isReady = isReady
        self.schemaVersion = schemaVersion
        self.databaseBytes = databaseBytes
        self.apps = apps
    }
}

/// How far the derived rows and the event log of an app are behind.
package struct AppMeasurements: Hashable, Sendable {
    package var app: AppID
    /// The number of committed events without numbers; at most ``MeasurementRows/countMax``.
    package var unnumberedEvents = 0
    package var oldestUnnumberedAge = Duration.zero
    /// Among the changes that time alone causes and that are due, how long the oldest has been due.
    package var oldestTransitionAge = Duration.zero
    /// The number of changes that are not in the sums about money; at most
    /// ``MeasurementRows/countMax``.
    package var unsummedChanges = 0
    package var oldestUnsummedAge = Duration.zero
    /// The number of events whose effect on the rows about customers is not written yet.
    package var unshownEvents: Int64 = 0

    package init(app: AppID) { self.app = app }
}

/// When the newest notification arrived, by app and environment.
final class NewestNotifications: Sendable {
    private struct Key: Hashable {
        var app: AppID
        var environment: Environment
    }

    private let moments = Mutex<[Key: Instant]>([:])

    func record(_ document: StoredDocument) {
        record(document.receivedAt, of: document.app, in: document.environment)
    }

    func record(_ moment: Instant, of app: AppID, in environment: Environment) {
        moments.withLock { moments in
            let key = Key(app: app, environment: environment)
            moments[key] = max(moment, moments[key] ?? moment)
        }
    }

    func find(_ app: AppID, in environment: Environment) -> Instant? {
        moments.withLock { $0[Key(app: app, environment: environment)] }
    }
}

/// Measures the database for metrics.
package struct MeasurementService: Sendable {
    private final class Cache: Sendable {
        let measurements = Mutex<Measurements?>(nil)
        /// The apps whose newest stored notifications were looked up.
        let searched = Mutex<Set<AppID>>([])
    }

    /// The number of documents that are read at once in the search for the newest notifications.
    /// ``headPiecesMax`` is the maximum number of such reads.
    private static let headsMax = 1_000
    private static let headPiecesMax = 10

    let context: Context
    private let cache: Cache

    /// - Parameter former: the service of the previous configuration, whose cache is reused.
    init(context: Context, former: MeasurementService?) {
        self.context = context
        cache = former?.cache ?? Cache()
    }

    /// The measurements of the last ``refresh(isReady:)``. Nil before the first refresh.
    package var last: Measurements? { cache.measurements.withLock { $0 } }

    /// When the newest notification arrived at this server. If no notification has arrived since
    /// this server started, returns when the newest notification arrived at any server of the
    /// database. Nil if no notification is known: after a start, only the newest documents are
    /// searched.
    package func newestNotification(of app: AppID, in environment: Ledger.Environment) -> Instant? {
        context.newestNotifications.find(app, in: environment)
    }

    /// Measures the database.
    ///
    /// - Parameter isReady: the result of ``Engine/isReady()``. If false, nothing is read.
    package func refresh(isReady: Bool) async throws(EngineFailure) {
        guard isReady else {
            return cache.measurements.withLock { last in
                last = last ?? .unready
                last?.isReady = false
            }
        }
        let now = context.now()
        let apps = context.appIDs
        let version: Int
        do { version = try await context.db.schemaVersion() } catch { throw context.counted(error) }
        let seen = try await context.read { tx in
            Measurements(
                isReady: true, schemaVersion: version,
                databaseBytes: try tx.measurements.databaseBytes(),
                apps: try apps.map { try Self.measure($0, at: now, tx) })
        }
        let copyLag = try? await lagOfCopy()
        cache.measurements.withLock {
            $0 = seen
            $0?.copyLag = copyLag
        }
        for app in apps where cache.searched.withLock({ !$0.contains(app) }) {
            try await searchNotifications(of: app)
            cache.searched.withLock { _ = $0.insert(app) }
        }
    }

    private static func measure(
        _ app: AppID, at now: Instant, _ tx: DatabaseSession
    ) throws -> AppMeasurements {
        func age(_ moment: Instant?) -> Duration { moment.map { max(.zero, now - $0) } ?? .zero }
        var found = AppMeasurements(app: app)
        let unnumbered = try tx.measurements.unnumberedEvents(of: app)
        (found.unnumberedEvents, found.oldestUnnumberedAge) =
            (unnumbered.count, age(unnumbered.oldest))
        found.oldestTransitionAge = age(try tx.measurements.oldestDueTransition(of: app, at: now))
        let unsummed = try tx.measurements.unsummedChanges(of: app)
        (found.unsummedChanges, found.oldestUnsummedAge) = (unsummed.count, age(unsummed.oldest))
        if let showing = try tx.shown.showing(of: app) {
            found.unshownEvents = max(0, try tx.events.lastSequence(of: app) - showing.sequence)
        }
        return found
    }

    /// Finds the newest notification of each environment that arrived before this process started.
    private func searchNotifications(of app: AppID) async throws(EngineFailure) {
        let found = try await context.read { tx in
            var found: [Ledger.Environment: Instant] = [:]
            var place: DocumentCursor?
            for _ in 0..<Self.headPiecesMax {
                let heads = try tx.documents.heads(of: app, before: place, limit: Self.headsMax)
                for head in heads where head.source == .notification {
                    found[head.environment] = found[head.environment] ?? head.receivedAt
                }
                let isOver = found.count == Ledger.Environment.allCases.count
                guard !isOver, heads.count == Self.headsMax, let last = heads.last else { break }
                place = DocumentCursor(signedAt: last.signedAt, id: last.id)
            }
            return found
        }
        for (environment, moment) in found {
            context.newestNotifications.record(moment, of: app, in: environment)
        }
    }
}
