import AppStoreClient
import AppStoreTrust
import Ledger
import Logging
import Storage
import Traces

/// The values that every service uses: the database, the apps, the clock, the log, and
/// transactions.
package final class Context: Sendable {
    let db: Database
    let apps: [AppID: AppSettings]
    let verifiers: [AppID: Verifier]
    let now: @Sendable () -> Instant
    let logger: Logger
    let counters: Counters
    let digests: HeaderDigests
    let reconciliationSettings: ReconciliationSettings
    let growth: GrowthMeter
    let newestNotifications: NewestNotifications
    let passwords: PasswordThreads
    /// Records spans. Nil if no traces are sent.
    package let traces: TraceRecorder?

    /// - Parameter former: the context of the previous configuration. The new context shares its
    ///   caches.
    init(
        database: Database, apps: [AppSettings], verifiers: [AppID: Verifier],
        now: @escaping @Sendable () -> Instant, logger: Logger,
        reconciliation: ReconciliationSettings, traces: TraceRecorder? = nil,
        former: Context? = nil
    ) {
        db = database
        self.apps = Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0) })
        self.verifiers = verifiers
        self.now = now
        self.logger = logger
        reconciliationSettings = reconciliation
        counters = former?.counters ?? Counters()
        digests = former?.digests ?? HeaderDigests()
        growth = former?.growth ?? GrowthMeter()
        newestNotifications = former?.newestNotifications ?? NewestNotifications()
        passwords = former?.passwords ?? PasswordThreads()
        self.traces = former?.traces ?? traces
    }

    /// Returns a context for another configuration, with the same database, clock and caches.
    func replacing(
        apps: [AppSettings], verifiers: [AppID: Verifier], reconciliation: ReconciliationSettings,
        rules: DatabaseRules
    ) -> Context {
        Context(
            database: db.replacing(rules), apps: apps, verifiers: verifiers, now: now,
            logger: logger, reconciliation: reconciliation, former: self)
    }

    /// The time by the server's clock.
    package var serverTime: Instant { now() }

    /// Runs a closure in a transaction. The first transaction of an operator's action also appends
    /// its entry in the audit: see ``PendingAct``.
    ///
    /// - Parameters:
    ///   - isErasing: whether the closure erases a customer or deletes documents, which is not
    ///     possible while documents are recorded.
    ///   - outcome: whether the closure's result means that the action has changed anything. Only a
    ///     change gets an entry.
    func transaction<Value: Sendable>(
        isErasing: Bool = false,
        outcome: @escaping @Sendable (Value) -> ActOutcome = { _ in .done },
        _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws(EngineFailure) -> Value {
        do {
            guard let act = PendingAct.current, let entry = act.dueEntry else {
                return try await commit(isErasing: isErasing, body)
            }
            let value = try await commit(isErasing: isErasing) { tx in
                let value = try body(tx)
                if outcome(value) == .done { try tx.audit.append(entry) }
                return value
            }
            act.record(outcome(value))
            return value
        } catch { throw counted(error) }
    }

    private func commit<Value: Sendable>(
        isErasing: Bool, _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws -> Value {
        isErasing
            ? try await db.transactionWithoutRecordings(body) : try await db.transaction(body)
    }

    /// Runs a closure in a transaction on a snapshot: see
    /// ``Storage/Database/snapshotTransaction(_:)``.
    func snapshotTransaction<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws(EngineFailure) -> Value {
        do { return try await db.snapshotTransaction(body) } catch { throw counted(error) }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws(EngineFailure) -> Value {
        do { return try await db.read(body) } catch { throw counted(error) }
    }

    /// Runs a closure that reads possibly millions of rows, such as for a report, on one consistent
    /// snapshot.
    func scan<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws(EngineFailure) -> Value {
        do { return try await db.scan(body) } catch { throw counted(error) }
    }

    /// Runs a closure like ``scan(_:)``, for reports: on the copy of the database, if there is one.
    func scanForReport<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws(EngineFailure) -> Value {
        do {
            return try await (db.copy ?? db.driver).scan { [rules = db.rules] in
                try body(DatabaseSession($0, rules))
            }
        } catch { throw counted(error) }
    }

    /// Converts the error of a transaction, and counts it if it is a failure of the database.
    func counted(_ error: any Error) -> EngineFailure {
        counters.add(databaseFailure: error)
        return EngineFailure(error)
    }

    func app(_ id: AppID) throws(EngineFailure) -> (AppSettings, Verifier) {
        guard let settings = apps[id], let verifier = verifiers[id] else { throw .unknownApp(id) }
        return (settings, verifier)
    }

    /// The configured apps, by name.
    package var appIDs: [AppID] { apps.keys.sorted { $0.rawValue < $1.rawValue } }

    /// Whether reports are read from a copy of the database.
    package var hasReportDatabase: Bool { db.copy != nil }

    /// Whether any app accepts evidence from before StoreKit 2.
    package var acceptsLegacy: Bool { apps.values.contains(where: \.acceptsLegacy) }

    /// The only configured app, or nil if there are several. With a single app, a document's claim
    /// need not be read to choose the app.
    var onlyApp: (AppSettings, Verifier)? {
        guard apps.count == 1, let settings = apps.values.first,
            let verifier = verifiers[settings.id]
        else { return nil }
        return (settings, verifier)
    }

    /// The app whose bundle ID a document claims. The claim is unverified: it only selects the app
    /// for which the document is then verified.
    func app(claimedBy jws: [UInt8]) throws(EngineFailure) -> (AppSettings, Verifier) {
        let claim = Verifier.peek(jws)
        guard let settings = apps.values.first(where: { $0.bundleID == claim?.bundleID }),
            let verifier = verifiers[settings.id]
        else {
            if claim == nil { throw .unreadable("The payload is not a signed document.") }
            throw .notForAnyApp(
                found: claim?.bundleID, known: apps.values.map(\.bundleID).sorted())
        }
        return (settings, verifier)
    }
}
