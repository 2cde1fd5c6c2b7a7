import ArgumentParser
import AsyncHTTPClient
import BucketClient
import Engine
import Foundation
import HTTPServer
import Ledger
import Logging
import OpenIDConnect
import OutgoingHTTP
import ServiceLifecycle
import Storage
import StorageSQLite
import Traces
import UnixSignals

/// Runs the server alone, for production.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Start the server, without a simulator, an example, or default keys."
    )

    @OptionGroup var options: ProcessOptions
    @Option(help: "The address to listen on. Variable: PERENNIAL_HOST. Default: 127.0.0.1.")
    var host: String?
    @Option(help: "The port to listen on. Variable: PERENNIAL_PORT. Default: 8080.")
    var port: String?
    @Option(help: "Follow a simulator's clock. Only if every app is simulated.")
    var clockFrom: String?

    func run() async throws {
        try await EventLoopExecutor.run {
            try await Outcome.reportingFailures { try await serve() }
        }
    }

    private func serve() async throws {
        let file = try Outcome.configuration(at: options.configPath)
        Outcome.warn(file.servingWarnings, at: options.configPath)
        let settings = try options.settings(file, flags: ["host": host, "port": port])
        try ServeRules.check(file.apps, clockFrom: clockFrom)
        try ServeRules.check(file.backup, of: settings.database)
        try await ServerAddresses(settings).requireFree()
        let lock = try ServerLock.acquire(for: settings.database)
        defer { lock?.release() }
        if lock != nil { try prepareBackups(of: settings.database, file.backup) }
        try await LogPlaceFile(for: settings.database)?.check()
        let logger = Log.start(settings.logLevel)
        guard let clockFrom else {
            return try await serve(file, settings, clock: nil, logger)
        }
        try await HTTPClient.withHTTPClient { client in
            let clock = try await ClockFollower(clockFrom, client: client, logger: logger)
            try await serve(file, settings, clock: clock, logger)
        }
    }

    /// Makes the preparations for backups that must be made before the database is opened.
    private func prepareBackups(of database: String, _ backup: BackupSettings?) throws {
        // An interrupted backup may have left plain text, even if the configuration no longer has
        // backups.
        EncryptedBackup(database: database, recipients: []).removePlain()
        unlink(EncryptedBackup.plainChanges(of: database))
        if backup?.isContinuous == true {
            try ShippedChain.begin(of: database)
        } else {
            ShippedChain.remove(of: database)
        }
    }

    private func serve(
        _ file: ConfigurationFile, _ settings: ProcessSettings, clock: ClockFollower?,
        _ logger: Logger
    ) async throws {
        // If the signal were not trapped, it would end the process.
        let signals = await UnixSignalsSequence(trapping: .sighup)
        try await HTTPClient.withHTTPClient(configuration: .withoutRedirects) { http in
            let now: @Sendable () -> Instant = { clock?.now ?? .machine }
            let stores = AppStores(file.apps, http: http, now: now)
            let roots = SimulatorRoots(
                signatures: try await clock?.root(), receipts: try await clock?.receiptRoot())
            let erasures = erasures(of: file, settings, logger)
            let copy = try ReportDatabase.open(settings)
            defer { copy?.close() }
            let traces = file.traces.map { TraceRecorder(share: $0.share) }
            let assembly = try await Assembly(
                apps: file.apps, databaseAddress: settings.database,
                simulatorRoot: roots.signatures, receiptRoot: roots.receipts, now: now,
                reconciliation: stores.reconciliation(lease: settings.checkLease),
                forwarding: ForwardSender(client: http).forwarding(),
                webhooks: WebhookSender.transport(),
                operators: file.dashboard?.operators ?? OperatorSettings(),
                erasures: erasures?.list, traces: traces, copy: copy,
                logger: logger)
            defer { assembly.database.close() }
            try await check(assembly, settings, copy, logger)
            try await repeatErasures(erasures, of: file, settings, assembly, http)
            let addresses = ServerAddresses(settings)
            var server = server(of: assembly, file, clock, logger)
            server.dashboard = file.dashboard?.access(sending: OpenIDClient.sender(http))
            try server.encodeDescription()
            try await server.learnKeys(of: assembly.engine)
            let backups = backups(of: file, settings, assembly, http, logger)
            let certificate = certificate(of: file, now, logger)
            connect(backups, certificate, settings, traces, to: &server)
            let live = LiveServer(server, listeners: Set(addresses.all.map(\.listener)))
            if let dashboard = file.dashboard {
                try await FirstOperator.printLink(dashboard, assembly.engine)
            }
            let reload = ConfigurationReload(
                of: live, apps: file.apps, settings: settings, dashboard: file.dashboard,
                backup: file.backup, alerts: file.alerts, limits: file.limits, traces: file.traces,
                certificate: certificate, stores: stores, clockFrom: clockFrom,
                roots: roots, logger: logger,
                repeatErasures: { _ = try await erasures?.run(on: $0, of: $1) }, read: readAgain)
            var services = services(of: live, logger)
            services.append(ReloadOnSignal(reload: reload, signals: signals))
            if let places = LogPlaceFile(for: settings.database) {
                services.append(
                    LogPlaceWorker(
                        file: places, engine: { live.current.engine }, logger: logger))
            }
            services += backups?.services ?? []
            services += traces.map { sending($0, of: file, by: http, live, logger) } ?? []
            services += alerts(of: file, live, logger)
            if let certificate { services.append(CertificateWatch(reload: certificate)) }
            services.insert(
                contentsOf: addresses.services(of: live, certificate?.live, logger), at: 0)
            if let clock { services.insert(clock, at: 0) }
            try await ServiceGroup(together: services, stopsOnSignals: true, logger: logger)
                .run(before: { await backups?.shipRest() })
        }
    }

    /// Checks the databases before the server uses them.
    private func check(
        _ assembly: Assembly, _ settings: ProcessSettings, _ copy: (any DatabaseDriver)?,
        _ logger: Logger
    ) async throws {
        try await LogPlaceFile(for: settings.database)?.check()
        try await ReportDatabase.check(copy, settings.reportDatabase, of: assembly, logger)
        try await ServeRules.checkKeys(of: assembly)
    }

    /// The service that sends traces.
    private func sending(
        _ traces: TraceRecorder, of file: ConfigurationFile, by http: HTTPClient,
        _ live: LiveServer, _ logger: Logger
    ) -> [any Service] {
        guard let settings = file.traces else { return [] }
        return [
            Worker.traces(
                from: traces, by: TraceSender(settings, http), logger: logger,
                states: live.current.workers)
        ]
    }

    private func server(
        of assembly: Assembly, _ file: ConfigurationFile, _ clock: ClockFollower?, _ logger: Logger
    ) -> PerennialServer {
        let limits = file.limits
        var refreshClock: (@Sendable () async -> Void)?
        if let clock { refreshClock = { await clock.refresh() } }
        var server = PerennialServer(
            engine: assembly.engine, logger: logger,
            logLinesDropped: { LineLog.standardError.droppedCount }, refreshClock: refreshClock,
            refusedKeys: DevelopmentKeys.all(of: assembly.apps.map(\.id)),
            waitLimits: limits.waits, connectionLimits: limits.connections,
            streamLimits: limits.streams, requestLimits: limits.requests)
        server.sendsAlerts = file.alerts != nil
        server.readsConfiguration = ConfigurationProposal.reading(inPlaceOf: options.configPath)
        return server
    }

    /// Lets the server's metrics and pages read the state of the process's other work, such as
    /// backups.
    private func connect(
        _ backups: BackupWorker?, _ certificate: CertificateReload?, _ settings: ProcessSettings,
        _ traces: TraceRecorder?, to server: inout PerennialServer
    ) {
        if let backups { server.readsBackups = { backups.state } }
        server.readings = {
            ProcessReadings(
                certificateEnd: certificate?.live.current.end,
                disk: DatabaseDisk.space(for: settings.database), spansDropped: traces?.dropped)
        }
    }

    private func backups(
        of file: ConfigurationFile, _ settings: ProcessSettings, _ assembly: Assembly,
        _ http: HTTPClient, _ logger: Logger
    ) -> BackupWorker? {
        guard let backup = file.backup, let folder = backupFolder(of: file) else { return nil }
        let erasures = erasures(of: file, settings, logger)?.file.path
        let mirror = bucketOwner(of: file, settings, http).map { owner in
            BucketMirror(
                to: owner, of: folder.path, erasures: erasures, keep: backup.keep, logger: logger)
        }
        var shipper: ChangeShipper?
        if backup.isContinuous, let driver = assembly.database as? SQLiteDriver {
            shipper = ChangeShipper(
                backup, in: folder.path, of: settings.database, by: driver, logger: logger,
                shipped: { mirror?.add($0) })
        }
        return BackupWorker(
            backup, in: folder.path, of: settings.database, shipper: shipper, mirror: mirror,
            logger: logger)
    }

    /// The bucket of the configuration, if there is one.
    private func bucketOwner(
        of file: ConfigurationFile, _ settings: ProcessSettings, _ http: HTTPClient
    ) -> BucketOwner? {
        file.backup?.bucket.map { access in
            BucketOwner(
                client: BucketClient(access, now: { .machine }, send: BucketClient.sender(http)),
                database: settings.database)
        }
    }

    /// Erases the people on the lists of this machine and of the bucket again.
    private func repeatErasures(
        _ erasures: ErasureRepetition?, of file: ConfigurationFile, _ settings: ProcessSettings,
        _ assembly: Assembly, _ http: HTTPClient
    ) async throws {
        if let owner = bucketOwner(of: file, settings, http) {
            try await erasures?.addErasures(of: owner)
        }
        try await erasures?.run(on: assembly.engine, backups: backupFolder(of: file))
    }

    /// The worker that sends alerts, if the configuration has any.
    private func alerts(
        of file: ConfigurationFile, _ live: LiveServer, _ logger: Logger
    ) -> [any Service] {
        guard let settings = file.alerts else { return [] }
        let sender = AlertSender(settings, dashboard: file.dashboard)
        let worker = AlertWorker(
            of: { live.current }, on: settings.channels,
            holder: CheckWorker.ofThisProcess().holder
        ) { await sender.send($0, on: $1) }
        return worker.workers(logger: logger, states: live.current.workers)
    }

    private func backupFolder(of file: ConfigurationFile) -> BackupFolder? {
        file.backup.map {
            BackupFolder(path: ConfigurationFolder(of: options.configPath).path($0.folder))
        }
    }

    private func erasures(
        of file: ConfigurationFile, _ settings: ProcessSettings, _ logger: Logger
    ) -> ErasureRepetition? {
        ErasureFile(
            for: settings.database, in: settings.erasures, backups: backupFolder(of: file)?.path
        ).map { ErasureRepetition(file: $0, logger: logger) }
    }

    private func certificate(
        of file: ConfigurationFile, _ now: @escaping @Sendable () -> Instant, _ logger: Logger
    ) -> CertificateReload? {
        file.tls.map { settings in
            let reload = CertificateReload(
                settings, in: ConfigurationFolder(of: options.configPath), now: now, logger: logger)
            // Checks once at the start, to report a certificate that has expired.
            reload.reloadIfChanged()
            return reload
        }
    }

    private func services(of live: LiveServer, _ logger: Logger) -> [any Service] {
        let engine: @Sendable () -> Engine = { live.current.engine }
        let states = live.current.workers
        return [
            Worker.partitions(engine: engine(), logger: logger, states: states),
            Worker.statistics(engine: engine(), logger: logger, states: states),
            ReconciliationWorker(engine: engine, logger: logger, states: states),
            Worker.transitions(engine: engine, logger: logger, states: states),
            Worker.reports(engine: engine, logger: logger, states: states),
            Worker.measurements(engine: engine, logger: logger, states: states),
            Worker.retention(engine: engine, logger: logger, states: states),
            Sequencer(engine: engine(), logger: logger),
            ForwardWorker(
                engine: engine, replacements: live.replacements, logger: logger, states: states),
            WebhookWorker(engine: engine, logger: logger, states: states),
            Worker.keyUses(
                of: { live.current }, logger: logger, states: live.current.workers),
        ]
    }

    /// Reads the configuration that the process would have if it started now.
    private func readAgain() throws -> (ConfigurationFile, ProcessSettings) {
        let file = try ConfigurationFile(path: options.configPath)
        return (file, try options.settings(file, flags: ["host": host, "port": port]))
    }
}

/// Conditions under which the server refuses to start in production.
enum ServeRules {
    /// Throws if simulated apps would run by the machine's clock, or together with real apps. A
    /// simulated app trusts a root that is not Apple's. So it may run only with a simulator's
    /// clock, and a real app must never follow such a clock.
    static func check(_ apps: [AppConfiguration], clockFrom: String?) throws(StartFailure) {
        let simulated = apps.filter(\.settings.isSimulated).map(\.settings.id.rawValue)
        let real = apps.filter { !$0.settings.isSimulated }.map(\.settings.id.rawValue)
        if clockFrom == nil, !simulated.isEmpty {
            throw StartFailure(
                "\(simulated.sorted().joined(separator: ", ")): simulated apps cannot be served.",
                remedy: "Remove them from the configuration, use `perennial dev`, or follow their "
                    + "simulator with --clock-from URL.")
        }
        if clockFrom != nil, !real.isEmpty {
            throw StartFailure(
                "\(real.sorted().joined(separator: ", ")): real apps cannot follow a simulator's "
                    + "clock.",
                remedy: "Leave out --clock-from, or serve simulated apps only.")
        }
    }

    /// Only a SQLite file is backed up by its server.
    static func check(
        _ backup: BackupSettings?, of database: String
    ) throws(StartFailure) {
        guard backup != nil, !DatabaseAddress.isFile(database) || database == ":memory:" else {
            return
        }
        throw StartFailure(
            "`backup:` is only for a database in a SQLite file, and "
                + "\(DatabaseAddress.withoutPassword(database)) is none.",
            remedy: "Leave out `backup:`, and back up PostgreSQL with its own tools: pg_dump from "
                + "a timer, or pg_basebackup with an archive of its log.")
    }

    static func checkKeys(of assembly: Assembly) async throws {
        try await checkKeys(of: assembly.apps.map(\.id), in: assembly.engine)
    }

    static func checkKeys(of apps: [AppID], in engine: Engine) async throws {
        for app in apps where try await !engine.keys.hasKeys(app) { throw noKey(of: app) }
        try await requireNoDevelopmentKey(of: apps, in: engine)
    }

    private static func requireNoDevelopmentKey(
        of apps: [AppID], in engine: Engine
    ) async throws {
        for key in DevelopmentKeys.all(of: apps).sorted() {
            guard let holder = try await engine.keys.holder(key) else { continue }
            throw StartFailure(
                "The database contains \(key), a publicly known key of `perennial dev`.",
                remedy: "Use another database, or run `perennial keys revoke "
                    + "--app \(holder.app) \(DevelopmentKeys.hashBeginning(of: key))`.")
        }
    }

    static func noKey(of app: AppID) -> StartFailure {
        StartFailure(
            "App \(app) has no key, so no client could use it.",
            remedy: "Run `perennial keys create --app \(app) --kind app`, with the same "
                + "--config and --database.")
    }
}
