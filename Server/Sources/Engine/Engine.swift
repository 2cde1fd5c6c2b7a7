import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Ledger
import Logging
import Storage

/// The operations of the server: records what Apple signs and says what a customer may use. Ledger
/// makes the decisions, Storage writes the rows, and this type sets the boundaries of transactions.
package struct Engine: Sendable {
    private(set) var db: Database
    private(set) var apps: [AppID: AppSettings]
    private(set) var verifiers: [AppID: Verifier]
    let now: @Sendable () -> Instant
    let logger: Logger
    let counters = Counters()
    let digests = HeaderDigests()
    private(set) var unlistedProducts = UnlistedProducts()
    private(set) var reconciliation: ReconciliationSettings
    let urgentChecks = UrgentChecks()
    let reconciliationStateCache = ReconciliationStateCache()
    let forwarding: ForwardingSettings
    let forwardingStateCache = ForwardingStateCache()
    let webhookTransport: WebhookTransport
    let webhookStateCache = WebhookStateCache()
    let mint = TokenMint()
    private(set) var offeringSignatures = OfferingSignatures()
    private(set) var reminderRuleChecks = RuleChecks()
    private(set) var moneyRuleChecks = RuleChecks()
    private(set) var moneyRuleWarnings = RuleChecks()
    private(set) var shownRuleChecks = RuleChecks()
    let backfillBackoff = BackfillBackoff()
    let reportFetchPauses = ReportFetchPauses()
    let reportVersions = ReportVersions()
    let historyWalks = HistoryWalkStates()
    let roundRobin = RoundRobin()
    let growth = GrowthMeter()
    private(set) var signers: [AppID: OfferSigner]
    package let operatorSettings: OperatorSettings
    let passwords = PasswordThreads()

    /// - Parameter verifiers: the verifier of each app, which holds the roots that the app trusts.
    /// - Parameter now: the machine's clock, or a simulator's.
    /// - Parameter reconciliation: how the App Store is queried.
    /// - Parameter forwarding: how notifications are forwarded to other addresses.
    /// - Parameter webhooks: how webhooks are rendered and posted.
    /// - Parameter signers: the offer signer of each app that may sign offers.
    /// - Parameter operators: how operators sign in.
    package init(
        database: any DatabaseDriver, apps: [AppSettings], verifiers: [AppID: Verifier],
        now: @escaping @Sendable () -> Instant, reconciliation: ReconciliationSettings = .disabled,
        forwarding: ForwardingSettings = .disabled, webhooks: WebhookTransport = .disabled,
        signers: [AppID: OfferSigner] = [:], operators: OperatorSettings = OperatorSettings(),
        logger: Logger
    ) {
        Self.requireConsistency(of: apps, verifiers)
        db = Database(database, rules: Self.rules(of: apps, reconciliation))
        self.reconciliation = reconciliation
        self.forwarding = forwarding
        webhookTransport = webhooks
        self.signers = signers
        operatorSettings = operators
        self.apps = Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0) })
        self.verifiers = verifiers
        self.now = now
        self.logger = logger
    }

    /// Returns an engine with another configuration of its apps. It shares everything else with
    /// this one: the database, the caches, the counters, and the work in progress. This one goes
    /// on by the former configuration, so that a request is answered by one configuration only.
    ///
    /// - Parameter reconciliation: the clients of the apps' App Stores. The worker stays as it is.
    package func replacing(
        apps: [AppSettings], verifiers: [AppID: Verifier], signers: [AppID: OfferSigner],
        reconciliation: ReconciliationSettings
    ) -> Engine {
        Self.requireConsistency(of: apps, verifiers)
        var engine = self
        engine.apps = Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0) })
        engine.verifiers = verifiers
        engine.signers = signers
        engine.reconciliation.appStore = reconciliation.appStore
        engine.reconciliation.receiptVerification = reconciliation.receiptVerification
        engine.db = db.replacing(Self.rules(of: apps, self.reconciliation))
        // What these remember follows from the configuration.
        engine.unlistedProducts = UnlistedProducts()
        engine.offeringSignatures = OfferingSignatures()
        engine.reminderRuleChecks = RuleChecks()
        engine.moneyRuleChecks = RuleChecks()
        engine.moneyRuleWarnings = RuleChecks()
        engine.shownRuleChecks = RuleChecks()
        return engine
    }

    private static func requireConsistency(
        of apps: [AppSettings], _ verifiers: [AppID: Verifier]
    ) {
        precondition(
            apps.allSatisfy { verifiers[$0.id] != nil }, "Every app must have a verifier.")
        precondition(
            Set(apps.map(\.bundleID)).count == apps.count, "Bundle IDs of apps must be unique.")
    }

    private static func rules(
        of apps: [AppSettings], _ reconciliation: ReconciliationSettings
    ) -> DatabaseRules {
        DatabaseRules(
            checks: reconciliation.rules,
            access: Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0.rules) }),
            appsWithReminders: Set(apps.filter(\.terms.hasReminders).map(\.id)),
            wallets: Dictionary(
                uniqueKeysWithValues: apps.filter { !$0.wallets.allCurrencies.isEmpty }
                    .map { ($0.id, $0.wallets) }),
            money: Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0.money.rules) }),
            withForeignTokens: Set(apps.filter { $0.accountTokens == .other }.map(\.id)),
            erasedHash: { $0.hash }, erasureKeying: .hmac)
    }

    /// Migrates the database schema to this program's version. Idempotent.
    ///
    /// - Throws: ``StorageFailure`` if that fails.
    package func prepare() async throws {
        try await db.migrate(at: now().milliseconds)
        if let version = try await db.citusVersion() {
            logger.notice(
                "the database is distributed by Citus: statements are planned for their values",
                metadata: ["version": "\(version)"])
        }
        try await prepareWebhooks()
    }

    /// Creates the tables of the coming months if the database partitions documents by month.
    /// Idempotent.
    package func createPartitions() async throws(EngineFailure) {
        let now = now()
        do { try await db.createPartitions(around: now) } catch { throw EngineFailure(error) }
    }

    /// Collects statistics of tables that have changed much, if the database needs them to find
    /// rows. Returns the number of these tables.
    package func refreshStatistics() async throws(EngineFailure) -> Int {
        do { return try await db.refreshStatistics() } catch { throw EngineFailure(error) }
    }

    /// Returns whether the database can be read and written. After any failed write a small test
    /// write is tried; until one succeeds, the engine is not ready.
    package func isReady() async -> Bool {
        do { try await db.checkWrites(at: now()) } catch {
            logger.error("writing to the database failed", metadata: ["error": "\(error)"])
            return false
        }
        do {
            _ = try await read { tx in try tx.keyCount(of: AppID(rawValue: "")) }
            return true
        } catch {
            logger.error("reading from the database failed", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Runs a closure in a transaction. The first one of an operator's act also appends its entry
    /// in the audit: see ``PendingAct``.
    ///
    /// - Parameters:
    ///   - isErasing: whether the closure erases a customer, which is not possible while documents
    ///     are recorded.
    ///   - outcome: what the value says of the act. Only what was done has an entry.
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
                if outcome(value) == .done { try tx.append(entry) }
                return value
            }
            act.record(outcome(value))
            return value
        } catch { throw EngineFailure(error) }
    }

    private func commit<Value: Sendable>(
        isErasing: Bool, _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws -> Value {
        isErasing
            ? try await db.transactionWithoutRecordings(body) : try await db.transaction(body)
    }

    /// Runs a closure on a snapshot: see ``Storage/Database/snapshotTransaction(_:)``.
    func snapshotTransaction<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws(EngineFailure) -> Value {
        do { return try await db.snapshotTransaction(body) } catch { throw EngineFailure(error) }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws(EngineFailure) -> Value {
        do { return try await db.read(body) } catch { throw EngineFailure(error) }
    }

    /// The same, for what may read millions of rows, such as a report.
    func scan<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws(EngineFailure) -> Value {
        do { return try await db.scan(body) } catch { throw EngineFailure(error) }
    }

    func app(_ id: AppID) throws(EngineFailure) -> (AppSettings, Verifier) {
        guard let settings = apps[id], let verifier = verifiers[id] else { throw .unknownApp(id) }
        return (settings, verifier)
    }

    /// The configured apps, by name.
    package var appIDs: [AppID] { apps.keys.sorted { $0.rawValue < $1.rawValue } }

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

    /// The app whose bundle ID a document claims. The claim is unverified: it only selects the
    /// identity that the document is then verified against.
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

extension Instant {
    init(_ date: AppStoreDate) { self.init(milliseconds: date.milliseconds) }
}

extension AppStoreDate {
    init(_ instant: Instant) { self.init(milliseconds: instant.milliseconds) }
}
