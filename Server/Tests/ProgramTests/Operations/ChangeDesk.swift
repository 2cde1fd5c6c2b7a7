import BucketClient
import Crypto
import Foundation
import HTTPServer
import Ledger
import Logging
import Storage
import StorageSQLite
import Synchronization
import Testing

@testable import Program

/// A served database whose changes are shipped. The clock moves a second whenever it is read.
final class ChangeDesk: Sendable {
    let folder: String
    let log = LineCollector()
    let settings: BackupSettings
    private let time = Mutex(Instant(milliseconds: 1_795_248_000_000))
    private let calls = Mutex<[@Sendable () -> Void]>([])
    private let open = Mutex<SQLiteDriver?>(nil)
    private let parts = Mutex<(ChangeShipper, BackupWorker)?>(nil)
    private let mirrored = Mutex<BucketMirror?>(nil)
    /// The bucket to which everything is uploaded. Nil if there is none.
    private let bucket: BucketClient?
    private let logBytesMax: Int64
    private let changesBytesMax: Int
    /// The space of the disk of the database.
    let disk = Mutex(DiskSpace(bytes: 1_000_000_000, freeBytes: 900_000_000))

    var database: String { folder + "/p.sqlite" }
    var backups: String { folder + "/backups" }

    init(
        in folder: String, recipients: [String] = [], uploadingTo bucket: BucketClient? = nil,
        keep: BackupRetention = BackupRetention(),
        logBytesMax: Int64 = ChangeShipper.logBytesMax,
        changesBytesMax: Int = WriteAheadLog.changesBytesMax
    ) async throws {
        self.folder = folder
        self.bucket = bucket
        self.logBytesMax = logBytesMax
        self.changesBytesMax = changesBytesMax
        var settings = BackupSettings(folder: "backups")
        settings.recipients = recipients
        settings.isContinuous = true
        settings.keep = keep
        self.settings = settings
        try FileManager.default.createDirectory(
            atPath: folder + "/backups", withIntermediateDirectories: true)
        try start()
        let store = Database(try driver)
        try await store.migrate(at: 1)
        try await run("CREATE TABLE filler (number INTEGER PRIMARY KEY, bytes BLOB)")
    }

    /// Runs the body with a desk that has made its first backup.
    static func with(
        logBytesMax: Int64 = ChangeShipper.logBytesMax,
        changesBytesMax: Int = WriteAheadLog.changesBytesMax,
        _ body: (ChangeDesk) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            let desk = try await ChangeDesk(
                in: folder, logBytesMax: logBytesMax, changesBytesMax: changesBytesMax)
            defer { desk.close() }
            #expect(try desk.shipper.needsBackup)
            #expect(try await desk.worker.makeIfDue(), "\(desk.log.text)")
            #expect(try !desk.shipper.needsBackup, "\(desk.log.text)")
            try await body(desk)
        }
    }

    var now: Instant {
        calls.withLock { $0.isEmpty ? nil : $0.removeFirst() }?()
        return time.withLock { time in
            time = time + .seconds(1)
            return time
        }
    }

    func wait(_ duration: Duration) { time.withLock { $0 = $0 + duration } }

    /// Runs one of these functions at each of the next readings of the clock.
    func onNextReadings(_ functions: [@Sendable () -> Void]) { calls.withLock { $0 = functions } }

    var driver: SQLiteDriver {
        get throws { try #require(open.withLock { $0 }) }
    }
    var shipper: ChangeShipper {
        get throws { try #require(parts.withLock { $0 }).0 }
    }
    var worker: BackupWorker {
        get throws { try #require(parts.withLock { $0 }).1 }
    }

    var mirror: BucketMirror {
        get throws { try #require(mirrored.withLock { $0 }) }
    }

    /// Starts what a server runs, and ends an earlier run. The changes that the earlier run has not
    /// shipped stay in the write-ahead log.
    func start() throws {
        close()
        try ShippedChain.begin(of: database)
        let driver = try SQLiteDriver(path: database)
        open.withLock { $0 = driver }
        let logger = Logger(label: "test") { [log] _ in log.handler }
        let mirror = bucket.map { bucket in
            BucketMirror(
                to: BucketOwner(client: bucket, database: database), of: backups,
                erasures: database + ErasureFile.suffix, keep: settings.keep, now: { self.now },
                logger: logger)
        }
        mirrored.withLock { $0 = mirror }
        let shipper = ChangeShipper(
            settings, in: backups, of: database, by: driver, now: { self.now }, logger: logger,
            log: WriteAheadLog(of: database, changesBytesMax: changesBytesMax),
            logBytesMax: logBytesMax, disk: { self.disk.withLock { $0 } },
            shipped: { mirror?.add($0) })
        let worker = BackupWorker(
            settings, in: backups, of: database, now: { self.now }, shipper: shipper,
            mirror: mirror, logger: logger)
        parts.withLock { $0 = (shipper, worker) }
    }

    func close() { open.withLock { $0?.close() } }

    func run(_ sql: String) async throws {
        try await driver.write { connection in _ = try connection.run(sql, []) }
    }

    /// Inserts rows, replaces some, and deletes some.
    func change(_ rows: Int, bytes: Int = 3_000) async throws {
        for _ in 0..<rows {
            try await run("INSERT INTO filler (bytes) VALUES (randomblob(\(bytes)))")
        }
        try await run("DELETE FROM filler WHERE number % 5 = 3")
        try await run("UPDATE filler SET bytes = randomblob(40) WHERE number % 7 = 2")
    }

    /// Ships, and returns the moment of the last file.
    @discardableResult
    func ship() async throws -> Instant {
        try await shipper.ship()
        return try changeFiles().last?.moment ?? time.withLock { $0 }
    }

    // MARK: - Files

    var backupCount: Int {
        get throws { try BackupFolder(path: backups).backups().count }
    }

    var newestBackup: String {
        get throws { try #require(try BackupFolder(path: backups).backups().last).path }
    }

    func changeFiles() throws -> [ChangeFolder.File] {
        try ChangeFolder(of: try newestBackup).files()
    }

    /// Replaces the folder of the changes by a link, which can be broken in one step.
    func linkChanges() throws {
        let path = ChangeFolder(of: try newestBackup).path
        try Disk.rename(path, to: folder + "/changes")
        try setChanges(areThere: true, at: path)
    }

    func setChanges(areThere: Bool, at path: String? = nil) throws {
        let path = try path ?? ChangeFolder(of: try newestBackup).path
        let link = folder + "/link"
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: folder + (areThere ? "/changes" : "/nothing"))
        try Disk.rename(link, to: path)
    }

    // MARK: - Content

    /// The hash of the content of a database.
    func hash(of path: String? = nil) async throws -> String {
        let copy = "\(folder)/hashed"
        BackupCopy.remove(copy)
        defer { BackupCopy.remove(copy) }
        try await SQLiteFile(path ?? database).copy(into: copy)
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: copy)))
        // Counters in the header that every write of a file changes.
        for range in [24..<28, 40..<44, 92..<100] {
            for index in range { bytes[index] = 0 }
        }
        return Data(SHA256.hash(data: bytes)).base64EncodedString()
    }

    func point(at moment: Instant?) throws(StartFailure) -> PointInTime {
        try PointInTime(
            at: moment, in: BackupFolder(path: backups), now: time.withLock { $0 })
    }

    /// Restores a moment into another database.
    func restore(at moment: Instant?) async throws -> DatabaseRestore.Outcome {
        let point = try point(at: moment)
        return try await DatabaseRestore(
            backup: point.backup.path, path: folder + "/restored.sqlite", now: now, changes: point
        ).run()
    }

    /// The hash of the content at a moment, after it was checked for damage.
    ///
    /// - Parameter moment: nil for the latest.
    func hash(at moment: Instant?, identity: String? = nil) async throws -> String {
        try await hash(of: try point(at: moment), identity: identity)
    }

    /// The hash of the content that a backup and its changes lead to, after it was checked.
    func hash(of point: PointInTime, identity: String? = nil) async throws -> String {
        let copy = "\(folder)/replayed"
        BackupCopy.remove(copy)
        defer { BackupCopy.remove(copy) }
        try await EncryptedBackup.withPlain(
            point.backup.path, identity: identity, at: "\(folder)/plain"
        ) { plain in
            try Disk.make(copy)
            try Disk.copy(plain, into: copy)
        }
        try await point.apply(to: copy, identity: identity)
        let found = try await SQLiteFile(copy).read { try $0.texts("PRAGMA integrity_check") }
        #expect(found == ["ok"])
        return try await hash(of: copy)
    }
}
