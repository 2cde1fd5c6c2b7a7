import AppStoreFormats
import AppStoreTrust
import Engine
import Ledger
import Logging
import Signing
import StorageSQLite
import Testing

@Suite struct MeasurementTests {
    private static let now = Instant(milliseconds: Moment.year2026.onWire.milliseconds)

    private static func engine(_ database: SQLiteDriver, _ authority: Authority) throws -> Engine {
        Engine(
            database: database,
            apps: [AppSettings(id: "birds", bundleID: "com.example.birds", entitlements: [:])],
            verifiers: ["birds": Verifier(roots: try TrustRoots(der: [authority.root.der]))],
            now: { now }, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private static func newest(_ engine: Engine) -> [Instant] {
        Ledger.Environment.allCases.compactMap {
            engine.measurements.newestNotification(of: "birds", in: $0)
        }
    }

    @Test func `the time of the newest notification is known at once, and is read after a restart`()
        async throws
    {
        let (database, authority) = (try SQLiteDriver.inMemory(), try Authority())
        let engine = try Self.engine(database, authority)
        try await engine.prepare()
        try await engine.measurements.refresh(isReady: true)
        #expect(Self.newest(engine) == [])
        let payload: JSON = [
            "notificationType": "UNCLAIM_SEATS", "notificationUUID": "n-1",
            "signedDate": Moment.year2026.onWire.json,
            "unclaimInfo": ["unclaimSeatIds": ["a"]],
        ]
        let body: JSON = ["signedPayload": .string(try authority.signer().text(payload))]
        _ = try await engine.recording.record(notification: body.bytes)
        #expect(Self.newest(engine) == [Self.now])

        let restarted = try Self.engine(database, authority)
        #expect(Self.newest(restarted) == [])
        try await restarted.measurements.refresh(isReady: true)
        #expect(Self.newest(restarted) == [Self.now])
    }

    @Test func `a standby with events that the primary lacks is reported as another history`()
        async throws
    {
        var app = AppSettings(id: "birds", bundleID: "com.example.birds", entitlements: [:])
        app.wallets = WalletRules(credits: ["seeds.100": ["seeds": 100]])
        let (database, copy) = (try SQLiteDriver.inMemory(), try SQLiteDriver.inMemory())
        let verifiers: [AppID: Verifier] = ["birds": Verifier(roots: .apple)]
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let other = Engine(
            database: copy, apps: [app], verifiers: verifiers, now: { Self.now }, logger: logger)
        let engine = Engine(
            database: database, apps: [app], verifiers: verifiers, now: { Self.now }, copy: copy,
            logger: logger)
        for one in [other, engine] { try await one.prepare() }
        #expect(try await engine.measurements.lagOfCopy() == .zero)
        _ = try await other.wallets.book(
            NewBooking(.credit, currency: "seeds", amount: 1, reason: "a gift", key: "1"),
            of: "anna", app: "birds", environment: .production)
        _ = try await other.customers.erase("anna", app: "birds")
        await #expect(throws: EngineFailure.self) {
            try await engine.measurements.lagOfCopy()
        }
    }

    @Test func `while the database is not ready, the last measurements are kept`() async throws {
        let engine = try Self.engine(try SQLiteDriver.inMemory(), try Authority())
        try await engine.prepare()
        #expect(engine.measurements.last == nil)
        try await engine.measurements.refresh(isReady: false)
        #expect(engine.measurements.last?.isReady == false)
        try await engine.measurements.refresh(isReady: true)
        let bytes = try #require(engine.measurements.last?.databaseBytes)
        #expect(bytes > 0 && engine.measurements.last?.isReady == true)
        try await engine.measurements.refresh(isReady: false)
        #expect(engine.measurements.last?.databaseBytes == bytes)
        #expect(engine.measurements.last?.isReady == false)
    }
}
