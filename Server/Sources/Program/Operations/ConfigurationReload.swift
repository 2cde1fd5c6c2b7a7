import Engine
import HTTPServer
import Ledger
import Logging
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Puts a changed configuration in force while the server runs.
///
/// The file is read and checked as at the start. If it has a problem, the whole file is refused,
/// and the former configuration stays in force. Changed settings of the process take effect only
/// after a restart: their names are logged.
final class ConfigurationReload: Sendable {
    /// The maximum number of problems, and of changes, that are logged.
    static let linesMax = 50

    private let live: LiveServer
    /// The settings that the process was started with.
    private let settings: ProcessSettings
    private let dashboard: DashboardConfiguration?
    private let backup: BackupSettings?
    private let alerts: AlertSettings?
    private let limits: LimitSettings
    private let traces: TraceSettings?
    /// Nil if the process was started without a certificate.
    private let certificate: CertificateReload?
    private let clockFrom: String?
    private let roots: SimulatorRoots
    private let repeatErasures: @Sendable (Engine, Set<AppID>) async throws -> Void
    private let logger: Logger
    private let read: @Sendable () throws -> (ConfigurationFile, ProcessSettings)
    private let stores: Mutex<AppStores>
    private let latest: Mutex<[AppConfiguration]>
    private let line = KeyedLock()

    /// - Parameters:
    ///   - live: the server, whose current configuration is `apps`.
    ///   - roots: the roots that simulated apps trust in addition to the configured ones.
    ///   - repeatErasures: repeats the erasures in the list of erasures that are about these apps.
    ///     Called before the server serves an app that was not configured before.
    ///   - read: reads the configuration again, with the settings that follow from it.
    init(
        of live: LiveServer, apps: [AppConfiguration], settings: ProcessSettings,
        dashboard: DashboardConfiguration? = nil, backup: BackupSettings? = nil,
        alerts: AlertSettings? = nil, limits: LimitSettings = LimitSettings(),
        traces: TraceSettings? = nil,
        certificate: CertificateReload? = nil, stores: AppStores, clockFrom: String? = nil,
        roots: SimulatorRoots = SimulatorRoots(), logger: Logger,
        repeatErasures: @escaping @Sendable (Engine, Set<AppID>) async throws -> Void = { _, _ in },
        read: @escaping @Sendable () throws -> (ConfigurationFile, ProcessSettings)
    ) {
        self.live = live
        self.settings = settings
        self.dashboard = dashboard
        self.backup = backup
        self.alerts = alerts
        self.limits = limits
        self.traces = traces
        self.certificate = certificate
        self.clockFrom = clockFrom
        self.roots = roots
        self.repeatErasures = repeatErasures
        self.logger = logger
        self.read = read
        self.stores = Mutex(stores)
        latest = Mutex(apps)
    }

    /// Reads the configuration, and puts it in force unless it has problems. Returns whether it is
    /// now in force. Idempotent.
    @discardableResult
    func reload() async -> Bool {
        await line.lock()
        defer { line.unlock() }
        do { try await replace() } catch let failure as ConfigurationFailure {
            for problem in failure.complaints.prefix(Self.linesMax) {
                refuse(problem.text(file: failure.file))
            }
            return false
        } catch let failure as StartFailure {
            refuse("\(failure.message) \(failure.remedy)")
            return false
        } catch {
            refuse("\(error)")
            return false
        }
        return true
    }

    private func refuse(_ problem: String) {
        logger.error(
            "the changed configuration is refused; the former one stays in force",
            metadata: ["problem": .string(problem)])
    }

    private func replace() async throws {
        let (file, new) = try read()
        try ServeRules.check(file.apps, clockFrom: clockFrom)
        try ServeRules.check(file.backup, of: new.database)
        let stores = stores.withLock { $0.replacing(file.apps) }
        let apps = file.apps.map(\.settings)
        let engine = live.current.engine.replacing(
            apps: apps, verifiers: try Assembly.verifiers(of: file.apps, roots),
            signers: Assembly.signers(of: file.apps), reconciliation: stores.reconciliation())
        try await ServeRules.checkKeys(of: apps.map(\.id), in: engine)
        try await engine.webhooks.prepare()
        try await engine.customers.prepare()
        let added = Set(engine.context.appIDs).subtracting(live.current.engine.context.appIDs)
        if !added.isEmpty { try await repeatErasures(engine, added) }
        try await live.current.learnKeys(of: engine)
        live.replace(engine, refusedKeys: DevelopmentKeys.all(of: apps.map(\.id)))
        self.stores.withLock { $0 = stores }
        var waiting = settings.names(differingFrom: new)
        if file.dashboard != dashboard { waiting.append("dashboard") }
        if file.backup != backup { waiting.append("backup") }
        if file.alerts != alerts { waiting.append("alerts") }
        if file.limits != limits { waiting.append("limits") }
        if file.traces != traces { waiting.append("traces") }
        if let certificate, let tls = file.tls { certificate.replace(tls) }
        if (certificate == nil) != (file.tls == nil) { waiting.append("tls") }
        report(file.apps, waiting, file.warnings + file.servingWarnings)
    }

    private func report(
        _ apps: [AppConfiguration], _ waiting: [String], _ warnings: [ConfigurationProblem]
    ) {
        for warning in warnings.prefix(Self.linesMax) {
            logger.warning(
                "the configuration has an oddity", metadata: ["oddity": .string("\(warning)")])
        }
        let former = latest.withLock { latest in
            defer { latest = apps }
            return latest
        }
        let changes = ConfigChange.differences(former, apps).prefix(Self.linesMax)
        logger.notice(
            "the configuration was read again and is in force",
            metadata: ["changes": .array(changes.map { .string($0) })])
        guard !waiting.isEmpty else { return }
        logger.warning(
            "some settings change only when the server is restarted",
            metadata: ["settings": .string(waiting.joined(separator: ", "))])
    }
}

/// Reads the configuration again whenever the process gets SIGHUP.
struct ReloadOnSignal: Service {
    let reload: ConfigurationReload
    /// The signals are trapped before the server listens, because an untrapped SIGHUP ends a
    /// process.
    let signals: UnixSignalsSequence

    func run() async throws {
        for await _ in signals.cancelOnGracefulShutdown() { await reload.reload() }
    }
}
