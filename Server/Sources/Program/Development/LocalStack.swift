import AppStoreClient
import AppStoreFormats
import AsyncHTTPClient
import Engine
import HTTPServer
import Ledger
import Logging
import ServiceLifecycle
import Simulator
import Storage
import Synchronization

/// A server and an App Store simulator in one process. The server follows the simulator's clock,
/// and the simulator posts its notifications to the server.
package struct LocalStack: Sendable {
    package let engine: Engine
    package let database: any DatabaseDriver
    package let simulator: AppStoreSimulator
    /// A client of the simulator, which takes the place of Apple's App Store.
    package let appStore: AppStoreClient
    /// The server's URL, for example `http://127.0.0.1:8080`.
    package let serverURL: String
    package let simulatorURL: String

    private static let pause = Duration.milliseconds(200)
    /// The number of checks per second. The number is so high that it limits nothing. A limit per
    /// second would be meaningless, because the simulator's clock may stand still.
    private static let checksPerSecond = 1_000_000

    package struct Settings: Sendable {
        package var app: AppConfiguration
        package var simulator: SimulatorSettings
        package var authority: SigningAuthority
        package var databaseAddress: String
        package var keys: [(key: String, kind: KeyKind)]
        /// The address that server and simulator listen on.
        package var host = "127.0.0.1"
        /// The names by which server and simulator are reached, in addition to names of this
        /// machine.
        package var hostNames: [String] = []
        /// The server's port; 0 means any free port.
        package var port = 0
        package var simulatorPort = 0
        package var logger: Logger
        /// Which purchases the server checks with the simulator, and by which method.
        package var checks = Checks.all
        /// The version of the notifications that the simulator posts to the server.
        package var notificationVersions = NotificationVersions.signed
        /// How the server posts events.
        package var webhooks = WebhookSender.transport()
        /// Whether the server has the phone's page.
        package var hasPhone = false
        /// A closure that is called before virtual time advances to a moment.
        package var keepTime: @Sendable (AppStoreDate) throws -> Void = { _ in }

        package enum NotificationVersions: Sendable {
            case signed
            /// Only version 1, which the simulator sends in its `v1Era`.
            case v1
            case both
        }

        package enum Checks: Sendable {
            case none
            /// Checks due purchases, but does not backfill missed notifications.
            case due
            /// Checks due purchases by receipts and the shared secret, without a key.
            case receipts
            case all
        }

        package init(
            app: AppConfiguration, simulator: SimulatorSettings, authority: SigningAuthority,
            databaseAddress: String, keys: [(key: String, kind: KeyKind)], logger: Logger
        ) {
            self.app = app
            self.simulator = simulator
            self.authority = authority
            self.databaseAddress = databaseAddress
            self.keys = keys
            self.logger = logger
        }
    }

    /// Starts server and simulator, runs the body, and stops both. Requests in progress are
    /// finished first.
    ///
    /// - Returns: the body's result, or nil if a signal stopped both before the body returned.
    package static func run<Value: Sendable>(
        _ settings: Settings, stopsOnSignals: Bool = false,
        _ body: @escaping @Sendable (LocalStack) async throws -> Value
    ) async throws -> Value? {
        try await HTTPClient.withHTTPClient(configuration: .notifications) { client in
            try await run(settings, client, stopsOnSignals: stopsOnSignals, body)
        }
    }

    private static func run<Value: Sendable>(
        _ settings: Settings, _ client: HTTPClient, stopsOnSignals: Bool,
        _ body: @escaping @Sendable (LocalStack) async throws -> Value
    ) async throws -> Value? {
        let clock = DeferredClock(settings.simulator.now)
        let appStore = DeferredAppStore()
        let assembly = try await Assembly(
            apps: [settings.appInForce], databaseAddress: settings.databaseAddress,
            simulatorRoot: settings.authority.rootDER,
            receiptRoot: settings.authority.receipts.rootDER, now: { clock.now },
            reconciliation: Self.reconciliation(settings.checks, appStore),
            forwarding: ForwardSender(client: client).forwarding(),
            webhooks: settings.webhooks, logger: settings.logger)
        defer { assembly.database.close() }
        assembly.engine.tokens.rememberNoKeys()
        for (key, kind) in settings.keys {
            try await assembly.engine.keys.add(
                key: key, app: settings.app.settings.id, kind: kind, name: "development")
        }
        let parts = LocalServices(
            settings: settings, assembly: assembly, clock: clock, appStore: appStore,
            client: client, phone: settings.hasPhone ? DeferredPhone() : nil,
            reconciler: ReconciliationWorker(
                engine: { assembly.engine }, pause: Self.pause,
                asksForLost: settings.checks == .all, logger: settings.logger),
            teller: .transitions(
                engine: { assembly.engine }, pause: Self.pause, logger: settings.logger),
            forwarder: ForwardWorker(
                engine: { assembly.engine }, pause: Self.pause, logger: settings.logger),
            courier: WebhookWorker(
                engine: { assembly.engine }, pause: Self.pause, logger: settings.logger))
        return try await parts.run(stopsOnSignals: stopsOnSignals, body)
    }
}

extension LocalStack {
    fileprivate static func reconciliation(
        _ questions: Settings.Checks, _ appStore: DeferredAppStore
    ) -> ReconciliationSettings {
        let worker = CheckWorker.ofThisProcess(checksPerSecond: checksPerSecond)
        var reconciliation = ReconciliationSettings(worker: worker) { _ in
            switch questions {
            case .none, .receipts: nil
            case .due, .all: appStore.client
            }
        }
        if questions == .receipts {
            reconciliation.receiptVerification = { _ in appStore.verification }
        }
        reconciliation.canWait = false
        return reconciliation
    }
}

extension LocalStack.Settings {
    /// The app with the simulator's shared secret, unless the app has its own. The app's webhooks
    /// may be on this machine.
    fileprivate var appInForce: AppConfiguration {
        var app = app
        app.settings.webhooks.allowsLoopback = true
        if app.settings.sharedSecret == nil {
            app.settings.sharedSecret = AppSecret(simulator.sharedSecret)
        }
        return app
    }
}

/// A clock that stands still until there is a simulator, and then follows the simulator's clock.
/// The server needs a clock, and the simulator needs the server's address, before either has
/// started.
final class DeferredClock: Sendable {
    private let source = Mutex<VirtualClock?>(nil)
    private let start: AppStoreDate

    init(_ start: AppStoreDate) { self.start = start }

    func follow(_ clock: VirtualClock) { source.withLock { $0 = clock } }

    var now: Instant {
        let milliseconds = source.withLock { $0?.milliseconds }
        return Instant(milliseconds: milliseconds ?? start.milliseconds)
    }
}
