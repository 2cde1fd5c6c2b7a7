import AppStoreFormats
import AppStoreTrust
import Engine
import Foundation
import Ledger
import Logging
import Signing
import Storage
import StorageSQLite
import Synchronization

@testable import HTTPServer

/// A server on a port of its own, and the database that it asks.
struct ListeningServer {
    /// Whose signatures it trusts, and one of those who sign.
    private static let authority = Result { try Authority() }
    private static let signer = Result { try authority.get().signer() }

    let port: Int
    let engine: Engine
    let database: WatchedDatabase

    static var birds: AppSettings {
        AppSettings(
            id: "birds", bundleID: "com.example.birds", entitlements: ["pro": ["pro.monthly"]])
    }

    static func run(
        _ birds: AppSettings = birds,
        _ body: @escaping @Sendable (ListeningServer) async throws -> Void
    ) async throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let database = WatchedDatabase(try SQLiteDatabase.inMemory())
        let roots = try TrustRoots(der: [try authority.get().root.der])
        let engine = Engine(
            database: database, apps: [birds], verifiers: ["birds": Verifier(roots: roots)],
            now: { TestServer.now }, logger: logger)
        try await engine.prepare()
        try await engine.keep(key: "pk_test_birds", app: "birds", kind: .app, name: "test")
        let (ports, listening) = AsyncStream<Int>.makeStream()
        let server = PerennialServer(engine: engine, logger: logger)
        let application = server.application(host: "127.0.0.1", port: 0) { listening.yield($0) }
        try await withThrowingTaskGroup { group in
            group.addTask { try await application.run() }
            for await port in ports.prefix(1) {
                try await body(Self(port: port, engine: engine, database: database))
            }
            group.cancelAll()
        }
    }

    func connect() throws -> Connection { try Connection(to: port) }

    /// Signed, and another for each number.
    static func notification(_ number: Int, bundleVersion: String = "1") throws -> String {
        var data = NotificationData()
        data.bundleId = "com.example.birds"
        data.bundleVersion = bundleVersion
        data.environment = .sandbox
        var payload = NotificationPayload()
        payload.notificationType = .test
        payload.notificationUUID = "6f9619ff-8b86-4011-b42d-\(100_000_000_000 + number)"
        payload.version = "2.0"
        payload.signedDate = AppStoreDate(milliseconds: TestServer.now.milliseconds)
        payload.data = data
        return try signer.get().text(payload.json)
    }
}

/// Counts what is asked of a database, and lets a test come before each write.
final class WatchedDatabase: LocalDatabase {
    private struct Counts {
        var atOnce = 0
        var awaited = 0
        var writes = 0
    }

    typealias BeforeWrite = @Sendable () async throws -> Void

    private let database: any LocalDatabase
    private let counts = Mutex(Counts())
    private let beforeWrite = Mutex<BeforeWrite>({})
    private let slowReads = Mutex(0)

    init(_ database: any LocalDatabase) { self.database = database }

    /// Reads on the thread that asks.
    var readsAtOnce: Int { counts.withLock { $0.atOnce } }
    var readsAwaited: Int { counts.withLock { $0.awaited } }
    var writes: Int { counts.withLock { $0.writes } }

    func comeBeforeWrites(_ body: @escaping BeforeWrite) { beforeWrite.withLock { $0 = body } }

    /// So many next reads on the thread that asks hold it for a tenth of a second, in which more
    /// comes to it.
    func slowDown(reads count: Int) { slowReads.withLock { $0 = count } }

    /// The next write fails, and only that.
    func failOnce() {
        let isDue = Mutex(true)
        comeBeforeWrites {
            let fails = isDue.withLock { isDue in
                defer { isDue = false }
                return isDue
            }
            if fails { throw StorageFailure("a test wants it so") }
        }
    }

    var dialect: Dialect { database.dialect }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Storage.Connection) throws -> Value
    ) async throws -> Value {
        counts.withLock { $0.writes += 1 }
        try await beforeWrite.withLock { $0 }()
        return try await database.write(body)
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Storage.Connection) throws -> Value
    ) async throws -> Value {
        counts.withLock { $0.awaited += 1 }
        return try await database.read(body)
    }

    func readAtOnce<Value>(_ body: (any Storage.Connection) throws -> Value) throws -> Value {
        counts.withLock { $0.atOnce += 1 }
        let isSlow = slowReads.withLock { slowReads in
            defer { slowReads = max(0, slowReads - 1) }
            return slowReads > 0
        }
        if isSlow { Thread.sleep(forTimeInterval: 0.1) }
        return try database.readAtOnce(body)
    }

    func close() { database.close() }
}

/// What a client sends, as text.
enum RequestText {
    static let key = "authorization: Bearer pk_test_birds\r\n"

    static func get(_ path: String, _ fields: String = key) -> String {
        "GET \(path) HTTP/1.1\r\nhost: birds\r\n\(fields)\r\n"
    }

    /// A notification, written as Apple writes it.
    static func post(_ notification: String, _ fields: String = "") -> String {
        post(body: #"{"signedPayload":"\#(notification)"}"#, fields)
    }

    /// A notification in a body whose length is not said beforehand.
    static func chunked(_ notification: String) -> String {
        let body = #"{"signedPayload":"\#(notification)"}"#
        return "POST /apple/notifications HTTP/1.1\r\nhost: birds\r\n"
            + "transfer-encoding: chunked\r\n\r\n"
            + "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
    }

    static func post(body: String, _ fields: String = "") -> String {
        "POST /apple/notifications HTTP/1.1\r\nhost: birds\r\n"
            + "content-type: application/json\r\ncontent-length: \(body.utf8.count)\r\n"
            + "\(fields)\r\n\(body)"
    }
}
