import ArgumentParser
import AsyncHTTPClient
import Engine
import HTTPServer
import Ledger
import Logging
import ServiceLifecycle

/// Runs the server alone, for production.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Start the server, without a simulator, an example, or default keys."
    )

    @OptionGroup var options: ProcessOptions
    @Option(help: "The address to listen on (PERENNIAL_HOST; 127.0.0.1).") var host: String?
    @Option(help: "The port to listen on (PERENNIAL_PORT; 8080).") var port: String?
    @Option(help: "Follow a simulator's clock. Only if every app is simulated.")
    var clockFrom: String?

    func run() async throws {
        try await EventLoopExecutor.run {
            try await Outcome.reportingFailures { try await serve() }
        }
    }

    private func serve() async throws {
        let file = try Outcome.configuration(at: options.configPath)
        let settings = try options.settings(file, flags: ["host": host, "port": port])
        try ServeRules.check(file.apps, clockFrom: clockFrom)
        let lock = try ServerLock.acquire(for: settings.database)
        defer { lock?.release() }
        let logger = Log.start(settings.logLevel)
        guard let clockFrom else {
            return try await serve(file, settings, clock: nil, logger)
        }
        try await HTTPClient.withHTTPClient { client in
            let clock = try await ClockFollower(clockFrom, client: client, logger: logger)
            try await serve(file, settings, clock: clock, logger)
        }
    }

    private func serve(
        _ file: ConfigurationFile, _ settings: Settings, clock: ClockFollower?, _ logger: Logger
    ) async throws {
        try await HTTPClient.withHTTPClient(configuration: .appStore) { http in
            let now: @Sendable () -> Instant = { clock?.now ?? .machine }
            let stores = AppStores(file.apps, http: http, now: now)
            let assembly = try await Assembly(
                apps: file.apps, databaseAddress: settings.database,
                simulatorRoot: try await clock?.root(),
                receiptRoot: try await clock?.receiptRoot(), now: now,
                asking: stores.asking(lease: settings.checkLease),
                forwarding: ForwardSender(client: http).forwarding(), logger: logger)
            try await serve(assembly, settings, clock: clock, logger)
        }
    }

    private func serve(
        _ assembly: Assembly, _ settings: Settings, clock: ClockFollower?, _ logger: Logger
    ) async throws {
        defer { assembly.database.close() }
        try await ServeRules.checkKeys(of: assembly)
        var refreshClock: (@Sendable () async -> Void)?
        if let clock { refreshClock = { await clock.refresh() } }
        let server = PerennialServer(
            engine: assembly.engine, logger: logger,
            logLinesDropped: { LineLog.standardError.droppedCount }, refreshClock: refreshClock,
            refusedKeys: DevelopmentKeys.all(of: assembly.apps.map(\.id)))
        let app = server.application(host: settings.host, port: settings.port) { port in
            logger.notice(
                "listening",
                metadata: ["host": "\(settings.host)", "port": .stringConvertible(port)])
        }
        var services: [any Service] = [
            HTTPListener(
                app: app, host: settings.host, port: settings.port, flag: "--port"),
            Worker.partitions(engine: assembly.engine, logger: logger),
            ReconciliationWorker(engine: assembly.engine, logger: logger),
            Worker.transitions(engine: assembly.engine, logger: logger),
            Sequencer(engine: assembly.engine, logger: logger),
            ForwardWorker(engine: assembly.engine, logger: logger),
            Worker.keyUses(of: server, logger: logger),
        ]
        if let clock { services.insert(clock, at: 0) }
        try await ServiceGroup(together: services, stopsOnSignals: true, logger: logger).run()
    }
}

/// Conditions under which the server refuses to start in production.
enum ServeRules {
    /// A simulated app trusts a root that is not Apple's. So it may not run next to a real app that
    /// follows the same clock, and may not run by the machine's clock alone.
    static func check(_ apps: [AppConfiguration], clockFrom: String?) throws(StartFailure) {
        let simulated = apps.filter(\.settings.isSimulated).map(\.settings.id.rawValue)
        let real = apps.filter { !$0.settings.isSimulated }.map(\.settings.id.rawValue)
        if clockFrom == nil, !simulated.isEmpty {
            throw StartFailure(
                "\(simulated.sorted().joined(separator: ", ")): simulated apps cannot be served.",
                remedy: "Remove it from the configuration, use `perennial dev`, or follow its "
                    + "simulator with --clock-from URL.")
        }
        if clockFrom != nil, !real.isEmpty {
            throw StartFailure(
                "\(real.sorted().joined(separator: ", ")): real apps cannot follow a simulator's "
                    + "clock.",
                remedy: "Leave out --clock-from, or serve simulated apps only.")
        }
    }

    static func checkKeys(of assembly: Assembly) async throws {
        for app in assembly.apps where try await !assembly.engine.hasKeys(app.id) {
            throw noKey(of: app.id)
        }
        try await requireNoDevelopmentKey(in: assembly)
    }

    private static func requireNoDevelopmentKey(in assembly: Assembly) async throws {
        for key in DevelopmentKeys.all(of: assembly.apps.map(\.id)).sorted() {
            guard let holder = try await assembly.engine.keyHolder(key) else { continue }
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
