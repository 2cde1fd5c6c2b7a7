import AppStoreClient
import AppStoreFormats
import AsyncHTTPClient
import Engine
import HTTPServer
import Hummingbird
import PerennialContract
import ServiceLifecycle
import Simulator
import Storage

/// The services of a ``LocalStack``. The server starts first, because the simulator needs the
/// server's address.
struct LocalServices: Sendable {
    let settings: LocalStack.Settings
    let assembly: Assembly
    let clock: DeferredClock
    let appStore: DeferredAppStore
    let client: HTTPClient
    /// The phone of the page. Nil if the server has no such page.
    let phone: DeferredPhone?
    let reconciler: ReconciliationWorker
    let teller: Worker
    let forwarder: ForwardWorker
    let courier: WebhookWorker

    private enum Completion<Value: Sendable>: Sendable {
        case services
        case body(Value)
    }

    func run<Value: Sendable>(
        stopsOnSignals: Bool,
        _ body: @escaping @Sendable (LocalStack) async throws -> Value
    ) async throws -> Value? {
        let (ports, portSink) = AsyncStream.makeStream(of: Int.self)
        let (stores, storeSink) = AsyncStream.makeStream(of: LocalStack.self)
        let group = ServiceGroup(
            together: [
                HTTPListener(
                    app: server.application(
                        host: settings.host, port: settings.port
                    ) { portSink.yield($0) },
                    host: settings.host, port: settings.port, flag: "--port"),
                DeferredSimulator(parts: self, ports: ports) { storeSink.yield($0) }, reconciler,
                teller, Sequencer(engine: assembly.engine, logger: settings.logger), forwarder,
                courier,
            ], stopsOnSignals: stopsOnSignals, logger: settings.logger)
        return try await withThrowingTaskGroup(of: Completion<Value>.self) { tasks in
            tasks.addTask {
                try await group.run()
                return .services
            }
            tasks.addTask {
                for await store in stores { return .body(try await body(store)) }
                throw CancellationError()
            }
            defer { tasks.cancelAll() }
            guard case .body(let value)? = try await tasks.next() else { return nil }
            await group.triggerGracefulShutdown()
            _ = try await tasks.next()
            return value
        }
    }
}

extension LocalServices {
    fileprivate var server: PerennialServer {
        var server = PerennialServer(
            engine: assembly.engine, logger: settings.logger,
            logLinesDropped: { LineLog.standardError.droppedCount })
        server.localNames = LocalNames(others: settings.hostNames)
        server.readsConfiguration = ConfigurationProposal.reading(inPlaceOf: [settings.app])
        if let phone {
            let dashboard = DashboardAccess.developer(
                random: (.random(in: .min ... .max), .random(in: .min ... .max)))
            server.dashboard = dashboard
            if let viewer = dashboard.developer {
                let routes = PhoneRoutes(
                    phone: phone, app: settings.app.settings.id, access: dashboard, viewer: viewer)
                server.additions = { routes.add(to: $0) }
            }
        }
        return server
    }

    /// The URL at which server and simulator reach each other.
    fileprivate func url(_ port: Int) -> String {
        ListenAddress(host: settings.host, port: port).localURL
    }

    fileprivate func backend(serverURL: String, simulatorURL: String) -> PhoneBackend {
        func key(_ kind: KeyKind) -> String? { settings.keys.first { $0.kind == kind }?.key }
        return PhoneBackend(
            PhoneBackend.Settings(
                settings.app.settings,
                simulator: LoopbackClient(client: client, url: simulatorURL),
                app: LoopbackClient(client: client, url: serverURL, key: key(.app)),
                secret: LoopbackClient(client: client, url: serverURL, key: key(.secret))))
    }
}

/// Starts the simulator once the server listens.
private struct DeferredSimulator: Service {
    let parts: LocalServices
    let ports: AsyncStream<Int>
    let onListening: @Sendable (LocalStack) -> Void

    func run() async throws {
        for await port in ports.cancelOnGracefulShutdown() {
            return try await run(serverURL: parts.url(port))
        }
    }

    private func run(serverURL: String) async throws {
        var settings = parts.settings.simulator
        let url = serverURL + Paths.notifications
        let announcements = parts.settings.notificationVersions
        settings.notificationURL = announcements == .v1 ? nil : url
        if announcements != .signed { settings.v1NotificationURL = url }
        let simulator = AppStoreSimulator(
            settings, authority: parts.settings.authority, keepsRoot: true,
            post: NotificationSender(client: parts.client).post,
            quiesce: {
                await parts.reconciler.processDue()
                await parts.teller.processDue()
                await parts.forwarder.processDue()
                await parts.courier.processDue()
            }, quiescesFirst: true, keepTime: parts.settings.keepTime)
        parts.clock.follow(simulator.clock)
        let secret = AppSecret(settings.sharedSecret)
        let credentials = try AppStoreCredentials.simulated(bundleID: settings.bundleID)
        try await SimulatorHost(
            simulator: simulator, host: parts.settings.host, port: parts.settings.simulatorPort,
            flag: "--simulator-port", logger: parts.settings.logger,
            names: LocalNames(others: parts.settings.hostNames)
        ) { port in
            let url = parts.url(port)
            let appStore = AppStoreClient(
                credentials, now: { simulator.clock.now },
                send: httpSender(parts.client, hosts: .simulator(url)))
            parts.appStore.follow(
                appStore,
                VerifyReceiptClient(
                    secret, now: { simulator.clock.now },
                    send: httpSender(parts.client, hosts: .simulator(url))))
            parts.phone?.connect(parts.backend(serverURL: serverURL, simulatorURL: url))
            onListening(
                LocalStack(
                    engine: parts.assembly.engine, database: parts.assembly.database,
                    simulator: simulator, appStore: appStore, serverURL: serverURL,
                    simulatorURL: url))
        }.run()
    }
}
