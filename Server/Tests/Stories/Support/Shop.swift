import AppStoreClient
import AppStoreFormats
import Engine
import Ledger
import Logging
import Simulator
import Storage

@testable import Program

/// A server and a simulator with the example shop, on one clock. The server and the simulator have
/// separate HTTP ports.
struct Shop: Sendable {
    let simulator: Wire
    let server: Wire
    let engine: Engine
    /// Sends requests to the simulator, as a server sends them to Apple.
    let appStore: AppStoreClient
    let authority: SigningAuthority
    /// The database itself, for stories about damaged rows.
    let database: any DatabaseDriver
    let address: String

    static let appKey = "pk_story"
    static let secretKey = "sk_story"

    /// Adds a device to an account, which is created if it does not exist.
    func addDevice(_ account: String, _ more: [String: JSON] = [:]) async throws {
        let members = more.sorted { $0.key < $1.key }.map { JSON.Member($0.key, $0.value) }
        try await simulator.post(
            "/_sim/devices", .object([JSON.Member("account", .string(account))] + members))
    }

    /// The server's answer about a customer's entitlement; nil if the answer lacks it.
    func entitlement(_ name: String, of customer: String, _ query: String = "") async throws
        -> JSON?
    {
        try await server.get("/v1/customers/\(customer)\(query)")["entitlements"]?[name]
    }

    /// All notifications of version 1 so far, as the bodies that are posted.
    func v1Notifications() async throws -> [[UInt8]] {
        let sent = try await simulator.get("/_sim/notifications")
        return (sent["notifications"]?.array ?? []).compactMap { notification in
            notification["body"].flatMap { $0.members == nil ? nil : $0.bytes }
        }
    }

    /// All notifications so far, as the bodies that are posted.
    func notifications() async throws -> [[UInt8]] {
        let sent = try await simulator.get("/_sim/notifications")
        return (sent["notifications"]?.array ?? []).compactMap { notification in
            notification["signed_payload"]?.string.map { payload in
                let body: JSON = ["signedPayload": .string(payload)]
                return body.bytes
            }
        }
    }
}

/// Starts a shop, plays the story, and stops the shop.
///
/// - Parameters:
///   - forwards: the addresses to which the server forwards notifications.
///   - engine: the kind of the server's database.
///   - app: the server's configuration of the app.
///   - notifies: whether the simulator posts notifications to the server.
///   - questions: the kinds of requests that the server sends to the simulator.
func withShop(
    on engine: StoryDatabase, app: AppConfiguration = birds, seed: UInt64 = 1,
    notifies: Bool = true, graceDays: Int = 16,
    renewsEarlySeconds: Int64 = 0, questions: LocalStack.Settings.Checks = .none,
    announcements: LocalStack.Settings.NotificationVersions = .signed, era: V1Era = .year2021,
    forwards: ForwardRules = .none,
    _ story: @escaping @Sendable (Shop) async throws -> Void
) async throws {
    try await engine.withAddress { address in
        try await withShop(
            at: address, app, seed: seed, notifies: notifies, graceDays: graceDays,
            renewsEarlySeconds: renewsEarlySeconds, questions: questions,
            announcements: announcements, era: era, forwards: forwards, story)
    }
}

private func withShop(
    at address: String, _ app: AppConfiguration, seed: UInt64, notifies: Bool, graceDays: Int,
    renewsEarlySeconds: Int64,
    questions: LocalStack.Settings.Checks,
    announcements: LocalStack.Settings.NotificationVersions, era: V1Era, forwards: ForwardRules,
    _ story: @escaping @Sendable (Shop) async throws -> Void
) async throws {
    var simulator = SimulatorSettings(seed: seed, shop: try app.storeKit ?? ExampleShop.file())
    simulator.graceDays = graceDays
    simulator.renewsEarlySeconds = renewsEarlySeconds
    simulator.v1Era = era
    var app = app
    app.settings.forwards = forwards
    var settings = LocalStack.Settings(
        app: app, simulator: simulator, authority: try SigningAuthority(),
        databaseAddress: address,
        keys: [(Shop.appKey, .app), (Shop.secretKey, .secret)],
        logger: Logger(label: "story") { _ in SwiftLogNoOpLogHandler() })
    settings.checks = questions
    settings.notificationVersions = announcements
    let authority = settings.authority
    let end: Void? = try await LocalStack.run(settings) { store in
        let shop = Shop(
            simulator: Wire(base: store.simulatorURL),
            server: Wire(base: store.serverURL, bearer: Shop.appKey), engine: store.engine,
            appStore: store.appStore,
            authority: authority, database: store.database,
            address: address)
        if !notifies {
            try await shop.simulator.post("/_sim/faults", ["notifications": ["drop": 1]])
        }
        try await story(shop)
    }
    guard end != nil else { throw Wire.Unexpected(description: "the shop stopped by itself") }
}

/// The example app. Every product gives what its story needs.
var birds: AppConfiguration {
    AppConfiguration(
        settings: AppSettings(
            id: "birds", bundleID: ExampleShop.bundleID, appAppleID: ExampleShop.appAppleID,
            isSimulated: true,
            entitlements: [
                "pro": ["pro.monthly", "pro.yearly", "premium.monthly"],
                "plus": ["plus.monthly", "pro.monthly", "pro.yearly", "premium.monthly"],
                "premium": ["premium.monthly"],
                "season": ["season.spring"],
            ], terms: DevShop.terms, wallets: DevShop.wallets), extraRoots: [])
}
