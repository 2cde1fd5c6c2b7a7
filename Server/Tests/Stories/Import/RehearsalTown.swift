import AppStoreFormats
import AppStoreTrust
import Engine
import Ledger
import Logging
import Rehearsal
import RevenueCatClient
import RevenueCatDouble
import Simulator
import Storage
import StorageSQLite
import Synchronization

@testable import Program

/// A server and a double of RevenueCat that have received the same notifications about the same
/// random customers. The double knows each customer by the same ids.
struct RehearsalTown: Sendable {
    static let app: AppID = "birds"

    /// The time of both systems.
    final class Clock: Sendable {
        private let time: Mutex<Instant>

        init(_ now: AppStoreDate) { time = Mutex(Instant(milliseconds: now.milliseconds)) }

        var now: Instant { time.withLock { $0 } }
        func set(_ now: AppStoreDate) {
            time.withLock { $0 = Instant(milliseconds: now.milliseconds) }
        }
    }

    let engine: Engine
    let double: RevenueCatDouble
    /// The double's answers without any fault, once late documents have arrived.
    private let honest: RevenueCatDouble
    let customers: [RevenueCatPopulation.Customer]
    let clock: Clock

    /// The products of each entitlement, in both systems.
    static let entitlements: [String: [String]] = [
        "pro": ["pro.monthly", "pro.yearly", "premium.monthly"],
        "plus": ["plus.monthly", "pro.monthly", "pro.yearly", "premium.monthly"],
        "premium": ["premium.monthly"],
        "guide": ["guide"],
    ]

    /// Plays random lives. Everything depends on the seed.
    ///
    /// - Parameter months: how long the lives are, in months of 30 days.
    /// - Parameter end: when they end; nil for a fixed moment.
    /// - Parameter database: the server's database; nil for one in memory.
    static func played(
        _ count: Int, months: Int, seed: UInt64, until end: Instant? = nil,
        in database: (any DatabaseDriver)? = nil
    ) async throws -> Self {
        let shop = try ExampleShop.file()
        let authority = try SigningAuthority(seed: 1).fast
        let start = end.map {
            AppStoreDate(milliseconds: ($0 - .days(30 * months)).milliseconds)
        }
        let simulator = try RevenueCatPopulation.simulator(
            shop, seed: seed, now: start ?? SimulatorSettings.defaultNow, authority: authority)
        let clock = Clock(simulator.clock.now)
        let project = RevenueCatDouble.Project(shop: shop, entitlements: entitlements)
        let double = RevenueCatDouble(project, now: simulator.clock.now)
        let honest = RevenueCatDouble(project, now: simulator.clock.now)
        let settings = AppSettings(
            id: app, bundleID: ExampleShop.bundleID, appAppleID: ExampleShop.appAppleID,
            isSimulated: true,
            entitlements: Dictionary(
                uniqueKeysWithValues: entitlements.map { name, products in
                    (
                        EntitlementID(rawValue: name),
                        Set(products.map { ProductID(rawValue: $0) })
                    )
                }))
        let engine = Engine(
            database: try database ?? SQLiteDriver.inMemory(), apps: [settings],
            verifiers: [app: Verifier(roots: try TrustRoots(der: [authority.rootDER]))],
            now: { clock.now }, logger: Logger(label: "town") { _ in SwiftLogNoOpLogHandler() })
        try await engine.prepare()
        _ = try await engine.tokens.rotateKey(of: app)
        var population = RevenueCatPopulation(seed: seed)
        if count > 0 {
            try await population.play(
                count, within: .months(months), on: simulator, into: double
            ) { document in
                clock.set(document.at)
                honest.set(now: document.at)
                honest.receive(signedPayload: document.signedPayload)
                _ = try await engine.recording.record(notification: document.body)
            }
        }
        clock.set(simulator.clock.now)
        honest.set(now: simulator.clock.now)
        let town = Self(
            engine: engine, double: double, honest: honest, customers: population.customers,
            clock: clock)
        for customer in population.customers { try await town.link(customer) }
        return town
    }

    /// The server learns the owners of the purchases, as in an import.
    private func link(_ customer: RevenueCatPopulation.Customer) async throws {
        let id = CustomerID(rawValue: customer.ids[0])
        for number in customer.purchases {
            for environment in Environment.allCases {
                let purchase = PurchaseID(TransactionID(rawValue: number), in: environment)
                do {
                    _ = try await engine.ownership.transfer(
                        OwnershipChange(purchase: purchase, reason: "import"), to: id,
                        app: Self.app)
                } catch EngineFailure.unknownPurchase { continue }
            }
        }
        for number in customer.purchases { honest.logIn(customer.ids[0], purchase: number) }
        for other in customer.ids.dropFirst() {
            honest.alias(customer.ids[0], other)
            _ = try await engine.customers.alias(
                CustomerID(rawValue: other), to: id, app: Self.app, environment: .production)
        }
    }

    /// Rehearses against the double.
    ///
    /// - Parameter secondLook: whether to compare twice: late documents arrive in between.
    func rehearse(
        secondLook: Bool = true, _ change: (inout RehearsalRun) -> Void = { _ in }
    ) async throws -> RehearsalResult {
        let (double, honest) = (double, honest)
        let late = double.planted.filter { $0.kind == .late }.flatMap(\.ids)
        let arrived = Mutex(false)
        let client = Self.client(of: double) { path in
            // One id may be the beginning of another one.
            let words = path.split { "/?".contains($0) }
            let isLate = late.contains { words.contains(RehearsalTown.encoded($0)[...]) }
            return isLate && arrived.withLock { $0 } ? honest : double
        }
        var run = RehearsalRun(engine: engine, app: Self.app, client: client)
        run.secondLookAfter = secondLook ? .seconds(120) : nil
        run.sleep = { _ in arrived.withLock { $0 = true } }
        change(&run)
        return try await run.run()
    }

    /// A client that reads a double without HTTP, and does not wait.
    ///
    /// - Parameter source: the double that answers a request, by its path.
    static func client(
        of double: RevenueCatDouble, from source: @escaping @Sendable (String) -> RevenueCatDouble
    ) -> RevenueCatClient {
        RevenueCatClient(
            project: double.project.id, key: double.project.v2Key,
            send: { request in
                let answer = await source(request.path).respond(
                    to: request.path, authorization: request.authorization)
                guard !answer.isLost else {
                    throw RevenueCatClientFailure.unavailable("no complete response")
                }
                return RevenueCatResponse(
                    status: answer.status, retryAfter: answer.headers["retry-after"],
                    body: answer.body)
            }, sleep: { _ in })
    }

    private static func encoded(_ id: String) -> String {
        id.replacing("$", with: "%24").replacing(":", with: "%3A")
    }
}
