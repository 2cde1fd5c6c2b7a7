import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Ledger
import Logging
import Storage
import Traces

/// The operations of the server, with one service for each subject: they record Apple's documents
/// and report what a customer may use. Ledger makes the decisions, Storage writes the rows, and
/// services begin and end the transactions.
package struct Engine: Sendable {
    package let context: Context
    package let alerts: AlertService
    package let tokens: TokenService
    package let answerSigning: AnswerSigningService
    package let keys: KeyService
    package let attributes: AttributeService
    package let audit: AuditService
    package let consumption: ConsumptionService
    package let content: ContentService
    package let forwarding: ForwardingService
    package let terms: TermService
    package let grants: GrantService
    package let wallets: WalletService
    package let verification: VerificationService
    package let ownership: OwnershipService
    package let seats: SeatService
    package let invitations: InvitationService
    package let appleReports: AppleReportService
    package let reporting: ReportingService
    package let sessions: SessionService
    package let events: EventService
    package let offers: OfferService
    package let documents: DocumentService
    package let recording: RecordingService
    package let reconciliation: ReconciliationService
    package let renewalExtensions: RenewalExtensionService
    package let maintenance: MaintenanceService
    package let measurements: MeasurementService
    package let operators: OperatorService
    package let passkeys: PasskeyService
    package let customers: CustomerService
    package let customerLists: CustomerListService
    package let webhooks: WebhookService
    package let legacy: LegacyService
    package let backfill: BackfillService
    package let imports: ImportService
    package let rehearsals: RehearsalService
    package let retention: RetentionService
    package let notifications: NotificationService

    /// - Parameter verifiers: the verifier of each app, which holds the roots that the app trusts.
    /// - Parameter now: the machine's clock, or a simulator's.
    /// - Parameter reconciliation: how the App Store is queried.
    /// - Parameter forwarding: how notifications are forwarded to other addresses.
    /// - Parameter webhooks: how webhooks are rendered and posted.
    /// - Parameter signers: the offer signer of each app that may sign offers.
    /// - Parameter operators: how operators sign in.
    /// - Parameter erasures: the list of erasures outside of the database; nil if there is none.
    /// - Parameter traces: records spans; nil if no traces are sent.
    /// - Parameter copy: a copy of the database from which reports are read; nil if they are read
    ///   from the database itself.
    package init(
        database: any DatabaseDriver, apps: [AppSettings], verifiers: [AppID: Verifier],
        now: @escaping @Sendable () -> Instant, reconciliation: ReconciliationSettings = .disabled,
        forwarding: ForwardingSettings = .disabled, webhooks: WebhookTransport = .disabled,
        signers: [AppID: OfferSigner] = [:], operators: OperatorSettings = OperatorSettings(),
        erasures: ErasureList? = nil, traces: TraceRecorder? = nil,
        copy: (any DatabaseDriver)? = nil, logger: Logger
    ) {
        Self.requireConsistency(of: apps, verifiers)
        let context = Context(
            database: Database(
                database, rules: Self.rules(of: apps, reconciliation), copy: copy), apps: apps,
            verifiers: verifiers, now: now, logger: logger, reconciliation: reconciliation,
            traces: traces)
        self.init(
            context,
            ServiceSettings(
                forwarding: forwarding, webhooks: webhooks, signers: signers, operators: operators,
                erasures: erasures),
            former: nil)
    }

    /// Creates the services. Each service takes over the caches of its former version, except for
    /// values that depend on the configuration.
    private init(_ context: Context, _ settings: ServiceSettings, former: Engine?) {
        self.context = context
        alerts = AlertService(context: context, former: former?.alerts)
        tokens = TokenService(context: context, former: former?.tokens)
        answerSigning = AnswerSigningService(context: context, former: former?.answerSigning)
        keys = KeyService(context: context)
        attributes = AttributeService(context: context)
        audit = AuditService(context: context)
        consumption = ConsumptionService(context: context)
        content = ContentService(context: context)
        forwarding = ForwardingService(
            context: context, forwardingSettings: settings.forwarding, former: former?.forwarding)
        terms = TermService(context: context)
        grants = GrantService(context: context)
        wallets = WalletService(context: context)
        verification = VerificationService(context: context)
        ownership = OwnershipService(context: context)
        seats = SeatService(context: context)
        invitations = InvitationService(context: context)
        appleReports = AppleReportService(context: context, former: former?.appleReports)
        reporting = ReportingService(context: context)
        sessions = SessionService(
            context: context, audit: audit, operatorSettings: settings.operators)
        events = EventService(context: context, terms: terms)
        offers = OfferService(context: context, tokens: tokens, signers: settings.signers)
        documents = DocumentService(context: context, verification: verification)
        recording = RecordingService(
            context: context, forwarding: forwarding, verification: verification)
        reconciliation = ReconciliationService(
            context: context, verification: verification, seats: seats,
            former: former?.reconciliation)
        maintenance = MaintenanceService(context: context, verification: verification)
        measurements = MeasurementService(context: context, former: former?.measurements)
        operators = OperatorService(context: context, audit: audit, sessions: sessions)
        passkeys = PasskeyService(context: context, audit: audit, sessions: sessions)
        customerLists = CustomerListService(context: context)
        customers = CustomerService(
            context: context, verification: verification, events: events,
            reconciliation: reconciliation, erasureList: settings.erasures)
        renewalExtensions = RenewalExtensionService(
            context: context, customers: customers, reconciliation: reconciliation)
        webhooks = WebhookService(
            context: context, events: events, webhookTransport: settings.webhooks,
            former: former?.webhooks)
        legacy = LegacyService(
            context: context, verification: verification, reconciliation: reconciliation)
        backfill = BackfillService(
            context: context, forwarding: forwarding, verification: verification,
            reconciliation: reconciliation, former: former?.backfill)
        imports = ImportService(
            context: context, verification: verification, reconciliation: reconciliation,
            customers: customers)
        rehearsals = RehearsalService(context: context, tokens: tokens)
        retention = RetentionService(
            context: context, audit: audit, operatorSettings: settings.operators,
            former: former?.retention)
        notifications = NotificationService(context: context)
    }

    /// Returns an engine with another configuration of its apps. Both engines share everything
    /// else: the database, the caches, the counters, and the work in progress. This engine
    /// continues with the former configuration, so that each request is answered by only one
    /// configuration.
    ///
    /// - Parameter reconciliation: the clients of the apps' App Stores. The name and the limits of
    ///   the worker stay the same.
    package func replacing(
        apps: [AppSettings], verifiers: [AppID: Verifier], signers: [AppID: OfferSigner],
        reconciliation: ReconciliationSettings
    ) -> Engine {
        Self.requireConsistency(of: apps, verifiers)
        var settings = context.reconciliationSettings
        settings.appStore = reconciliation.appStore
        settings.receiptVerification = reconciliation.receiptVerification
        return Engine(
            context.replacing(
                apps: apps, verifiers: verifiers, reconciliation: settings,
                rules: Self.rules(of: apps, settings)),
            ServiceSettings(
                forwarding: forwarding.forwardingSettings, webhooks: webhooks.webhookTransport,
                signers: signers, operators: sessions.operatorSettings,
                erasures: customers.erasureList),
            former: self)
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

    /// Migrates the database schema to this program's version, unless a newer program has migrated
    /// it further. Idempotent.
    ///
    /// - Throws: ``StorageFailure`` if the migration fails, or if this program cannot use the
    ///   database.
    package func prepare() async throws {
        try await context.db.migrate(at: context.now().milliseconds)
        let version = try await context.db.schemaVersion()
        if version > Schema.version {
            context.logger.notice(
                "a newer program has migrated the database, and this program can use it",
                metadata: ["schema": "\(version)", "own": "\(Schema.version)"])
        }
        if let version = try await context.db.citusVersion() {
            context.logger.notice(
                "the database is distributed by Citus: statements are planned for their values",
                metadata: ["version": "\(version)"])
        }
        try await webhooks.prepare()
        try await customers.prepare()
    }

    /// Whether the database can be read and written. After a failed write, the engine is not ready
    /// until a test write succeeds.
    package func isReady() async -> Bool {
        do { try await context.db.checkWrites(at: context.now()) } catch {
            context.logger.error("writing to the database failed", metadata: ["error": "\(error)"])
            return false
        }
        do {
            _ = try await context.read { tx in try tx.keys.count(of: AppID(rawValue: "")) }
            return true
        } catch {
            context.logger.error(
                "reading from the database failed", metadata: ["error": "\(error)"])
            return false
        }
    }
}

/// The settings that only some services use.
private struct ServiceSettings {
    var forwarding: ForwardingSettings
    var webhooks: WebhookTransport
    var signers: [AppID: OfferSigner]
    var operators: OperatorSettings
    var erasures: ErasureList?
}

extension Instant {
    init(_ date: AppStoreDate) { self.init(milliseconds: date.milliseconds) }
}

extension AppStoreDate {
    init(_ instant: Instant) { self.init(milliseconds: instant.milliseconds) }
}
