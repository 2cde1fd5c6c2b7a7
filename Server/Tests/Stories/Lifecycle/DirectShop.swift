import AppStoreFormats
import Engine
import Ledger
import Logging
import Simulator
import Storage

@testable import Program

/// A server and a simulator on one clock, for stories of many steps. The server and the simulator
/// exchange documents without HTTP, and the shop sells every kind of product.
struct DirectShop: Sendable {
    let store: AppStoreSimulator
    let engine: Engine
    private let settings: SimulatorSettings
    private let webhooks: PostedWebhooks?
    private let folder: TemporaryFolder

    static let app: AppID = "birds"
    /// One authority for all stories, because making certificates takes longer than a story.
    private static let authority = Result { try SigningAuthority() }

    /// Opens a shop, plays the story, and closes the shop.
    ///
    /// - Parameter webhooks: the receiver of webhooks in RevenueCat's form; nil for no receiver.
    static func open(
        _ change: (inout SimulatorSettings) -> Void = { _ in }, webhooks: PostedWebhooks? = nil,
        _ story: (DirectShop) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        var settings = SimulatorSettings(shop: try FullShop.file(), notificationURL: "direct")
        change(&settings)
        let clock = DeferredClock(settings.now)
        let server = try await assembly(
            on: address("prompt", in: folder), settings, webhooks
        ) { clock.now }
        let engine = server.engine
        let store = AppStoreSimulator(
            settings, authority: try authority.get(), keepsRoot: true,
            post: { _, body in await Self.post(body, to: engine) })
        clock.follow(store.clock)
        let shop = DirectShop(
            store: store, engine: engine, settings: settings, webhooks: webhooks, folder: folder)
        try await story(shop)
        server.database.close()
    }

    /// Starts a second server without any documents. The story records the earlier notifications on
    /// it in another way.
    ///
    /// - Parameter address: the address of its database; nil for its own file.
    func withLateServer(
        _ name: String, on address: String? = nil, _ story: (DirectShop) async throws -> Void
    ) async throws {
        let clock = store.clock
        let address = address ?? Self.address(name, in: folder)
        let server = try await Self.assembly(on: address, settings) {
            Instant(milliseconds: clock.milliseconds)
        }
        try await story(
            DirectShop(
                store: store, engine: server.engine, settings: settings, webhooks: nil,
                folder: folder))
        server.database.close()
    }

    /// All notifications sent so far, in the form of posted bodies.
    func bodies() async -> [[UInt8]] {
        // Apps do not get an organization's purchases.
        await store.notifications.filter { !$0.attempts.isEmpty }.map {
            Self.body($0.signedPayload)
        }
    }

    private static func body(_ payload: String) -> [UInt8] {
        let body: JSON = ["signedPayload": .string(payload)]
        return body.bytes
    }

    private static func post(_ body: [UInt8], to engine: Engine) async -> PostResult {
        do {
            _ = try await engine.recording.record(notification: body)
            return PostResult(status: 200)
        } catch {
            return PostResult(status: 503, error: "\(error)")
        }
    }

    private static func address(_ name: String, in folder: TemporaryFolder) -> String {
        "\(folder.path)/\(name).sqlite"
    }

    private static func assembly(
        on address: String, _ settings: SimulatorSettings, _ webhooks: PostedWebhooks? = nil,
        now: @escaping @Sendable () -> Instant
    ) async throws -> Assembly {
        var app = configuration(selling: settings.shop)
        app.settings.webhooks.endpoints = webhooks.map { [$0.endpoint] } ?? []
        let server = try await Assembly(
            apps: [app], databaseAddress: address,
            simulatorRoot: try authority.get().rootDER, now: now,
            webhooks: webhooks?.transport ?? .disabled,
            logger: Logger(label: "story") { _ in SwiftLogNoOpLogHandler() })
        try await server.engine.webhooks.prepare()
        return server
    }

    /// Emits the events that elapsed time causes, and posts all webhooks that are due.
    func deliver() async throws {
        guard let webhooks else { return }
        while try await engine.events.emitTimeBased() > 0 {}
        try await engine.events.numberEvents()
        let endpoint = try await engine.webhooks.find(webhooks.endpoint.id, of: Self.app)
        while try await engine.webhooks.enqueueDeliveries(to: endpoint) > 0 {}
        while try await engine.webhooks.deliverDue(to: endpoint) > 0 {}
    }

    /// Each product gives the entitlement that has the product's name.
    private static func configuration(selling shop: StoreKitFile) -> AppConfiguration {
        let products = shop.products.map(\.id)
        return AppConfiguration(
            settings: AppSettings(
                id: app, bundleID: ExampleShop.bundleID, appAppleID: ExampleShop.appAppleID,
                isSimulated: true,
                entitlements: Dictionary(
                    uniqueKeysWithValues: products.map {
                        (EntitlementID(rawValue: $0), [ProductID(rawValue: $0)])
                    })), extraRoots: [])
    }
}
