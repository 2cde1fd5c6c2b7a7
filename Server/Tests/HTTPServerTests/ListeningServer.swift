import AppStoreFormats
import AppStoreTrust
import Engine
import Eventually
import Foundation
import HTTPBasics
import Hummingbird
import Ledger
import Logging
import ServiceLifecycle
import Signing
import Storage
import StorageSQLite
import Synchronization
import Testing

@testable import HTTPServer

/// A server that listens on its own port, and its database.
struct ListeningServer {
    /// The roots that an app trusts, and a signer whose certificate these roots issued.
    private struct Issuer: Sendable {
        let roots: TrustRoots
        let signer: Signer

        init() throws {
            let authority = try Authority()
            roots = try TrustRoots(der: [try authority.root.der])
            signer = try authority.signer()
        }
    }

    /// No app trusts the roots of another app.
    private static let issuers = Result<[AppID: Issuer], any Error> {
        ["birds": try Issuer(), "cats": try Issuer()]
    }

    let port: Int
    let engine: Engine
    let database: WatchedDatabase
    let bodies: BodyBudget
    let streams: StreamPlaces
    let waits: CustomerWait
    let keys: KeyCache
    let connections: ConnectionCounts
    private let services: ServiceGroup

    static var birds: AppSettings {
        AppSettings(
            id: "birds", bundleID: "com.example.birds", entitlements: ["pro": ["pro.monthly"]])
    }

    static var cats: AppSettings {
        AppSettings(
            id: "cats", bundleID: "com.example.cats", entitlements: ["pro": ["pro.monthly"]])
    }

    /// - Parameter others: apps besides birds, which is the only one with a key.
    /// - Parameter certificate: encrypts the connections. Nil for plain HTTP.
    static func run(
        _ birds: AppSettings = birds, beside others: [AppSettings] = [],
        bodies limits: BodyBudgetLimits = BodyBudgetLimits(),
        streams streamLimits: EventStreamLimits = EventStreamLimits(),
        waits waitLimits: WaitLimits = WaitLimits(),
        connections connectionLimits: ConnectionLimits = ConnectionLimits(),
        requests requestLimits: RequestLimits = RequestLimits(),
        certificate: LiveCertificate? = nil,
        dashboard: DashboardAccess? = nil,
        additions: (@Sendable (Router<ServerContext>) -> Void)? = nil,
        _ body: @escaping @Sendable (ListeningServer) async throws -> Void
    ) async throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let database = WatchedDatabase(try SQLiteDriver.inMemory())
        let apps = [birds] + others
        var verifiers: [AppID: Verifier] = [:]
        for app in apps { verifiers[app.id] = Verifier(roots: try issuer(for: app.id).roots) }
        let engine = Engine(
            database: database, apps: apps, verifiers: verifiers, now: { TestServer.now },
            logger: logger)
        try await engine.prepare()
        try await engine.keys.add(key: "pk_test_birds", app: "birds", kind: .app, name: "test")
        let (ports, listening) = AsyncStream<Int>.makeStream()
        var configured = PerennialServer(
            engine: engine, logger: logger, bodyLimits: limits, waitLimits: waitLimits,
            connectionLimits: connectionLimits, streamLimits: streamLimits,
            requestLimits: requestLimits)
        configured.dashboard = dashboard
        configured.additions = additions
        let server = configured
        let application = LiveServer(server).application(
            .only, host: "127.0.0.1", port: 0, certificate: certificate
        ) { listening.yield($0) }
        let services = ServiceGroup(
            configuration: ServiceGroupConfiguration(services: [application], logger: logger))
        try await withThrowingTaskGroup { group in
            group.addTask { try await services.run() }
            try await body(
                Self(
                    port: try await ports.first("the port"), engine: engine, database: database,
                    bodies: server.bodies, streams: server.streams, waits: server.waits,
                    keys: server.keys, connections: server.connections, services: services))
            group.cancelAll()
        }
    }

    func connect() throws -> Connection { try Connection(to: port) }

    /// Starts a graceful shutdown, as a signal does. Does not wait until the server has stopped.
    func shutDown() async { await services.triggerGracefulShutdown() }

    /// The ids of all documents of an app.
    func documents(of app: AppID) async throws -> Set<[UInt8]> {
        try await database.read { connection in
            let documents = try DatabaseSession(connection).documents.all(
                of: app, after: .start, limit: 1_000)
            return Set(documents.map(\.id))
        }
    }

    private static func issuer(for app: AppID) throws -> Issuer {
        try #require(try issuers.get()[app])
    }

    /// Returns a signed notification that differs for each number.
    ///
    /// - Parameter trusted: the app whose roots the signer has, if this app is not `app`.
    static func notification(
        _ number: Int, bundleVersion: String = "1", for app: AppSettings = birds,
        signedAs trusted: AppID? = nil
    ) throws -> String {
        var data = NotificationData()
        data.bundleId = app.bundleID
        data.bundleVersion = bundleVersion
        data.environment = .sandbox
        var payload = NotificationPayload()
        payload.notificationType = .test
        payload.notificationUUID = "6f9619ff-8b86-4011-b42d-\(100_000_000_000 + number)"
        payload.version = "2.0"
        payload.signedDate = AppStoreDate(milliseconds: TestServer.now.milliseconds)
        payload.data = data
        return try issuer(for: trusted ?? app.id).signer.text(payload.json)
    }
}

/// Counts the accesses to a database, and runs a test's code before each write.
final class WatchedDatabase: DatabaseDriver {
    typealias BeforeWrite = @Sendable () async throws -> Void

    /// `Mutex` wraps a function again at each access if the function itself is its value. A
    /// structure around the function prevents this.
    private struct Hooks: Sendable {
        var beforeWrite: BeforeWrite = {}
    }

    private let database: any DatabaseDriver
    private let writeCount = Mutex(0)
    private let hooks = Mutex(Hooks())
    private let readFailure = Mutex<StorageFailure.Kind?>(nil)

    init(_ database: any DatabaseDriver) { self.database = database }

    var writes: Int { writeCount.withLock { $0 } }

    func comeBeforeWrites(_ body: @escaping BeforeWrite) {
        hooks.withLock { $0.beforeWrite = body }
    }

    /// Holds all writes until the returned continuation is finished.
    func holdWrites() -> AsyncStream<Void>.Continuation {
        let (gate, opening) = AsyncStream<Void>.makeStream()
        comeBeforeWrites { for await _ in gate { break } }
        return opening
    }

    /// Waits until more than `count` writes have started, even if they are held.
    func awaitWrite(after count: Int) async throws {
        try await eventually("another write") { writes > count }
    }

    /// Makes all writes fail, until this function is called with nil.
    func failWrites(_ kind: StorageFailure.Kind?) {
        comeBeforeWrites {
            if let kind { throw StorageFailure("a test wants it so", kind: kind) }
        }
    }

    /// Makes all reads and writes fail, until this function is called with nil.
    func failAll(_ kind: StorageFailure.Kind?) {
        readFailure.withLock { $0 = kind }
        failWrites(kind)
    }

    var dialect: Dialect { database.dialect }

    func write<Value: Sendable>(
        _ mode: WriteMode, _ body: @escaping @Sendable (any Storage.Connection) throws -> Value
    ) async throws -> Value {
        writeCount.withLock { $0 += 1 }
        let hooks = hooks.withLock { $0 }
        try await hooks.beforeWrite()
        return try await database.write(mode, body)
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Storage.Connection) throws -> Value
    ) async throws -> Value {
        if let kind = readFailure.withLock({ $0 }) {
            throw StorageFailure("a test wants it so", kind: kind)
        }
        return try await database.read(body)
    }

    func close() { database.close() }
}

/// The requests of a client, as text.
enum RequestText {
    static let key = "authorization: Bearer pk_test_birds\r\n"

    static func get(_ path: String, _ fields: String = key) -> String {
        "GET \(path) HTTP/1.1\r\nhost: birds\r\n\(fields)\r\n"
    }

    /// The body of a notification, with the same white space as Apple's bodies.
    static func body(_ notification: String) -> String {
        #"{"signedPayload":"\#(notification)"}"#
    }

    static func post(_ notification: String, _ fields: String = "") -> String {
        post(body: body(notification), fields)
    }

    /// A request with a notification in a chunked body, whose length is not announced.
    static func chunked(_ notification: String) -> String {
        let body = body(notification)
        return "POST /apple/notifications HTTP/1.1\r\nhost: birds\r\n"
            + "transfer-encoding: chunked\r\n\r\n"
            + "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
    }

    static func post(
        body: String, _ fields: String = "", to path: String = "/apple/notifications"
    ) -> String {
        "POST \(path) HTTP/1.1\r\nhost: birds\r\n"
            + "content-type: application/json\r\ncontent-length: \(body.utf8.count)\r\n"
            + "\(fields)\r\n\(body)"
    }
}
