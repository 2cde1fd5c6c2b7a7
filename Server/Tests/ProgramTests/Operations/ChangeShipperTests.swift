import Crypto
import Dice
import Foundation
import Ledger
import Logging
import Storage
import StorageSQLite
import Synchronization
import Testing

@testable import Program

/// Changes are shipped between backups, so that every second can be restored.
@Suite struct ChangeShipperTests {
    /// A served database whose changes are shipped. The clock moves a second whenever it is read.
    private final class Desk: Sendable {
        let folder: String
        let log = LineCollector()
        let settings: BackupSettings
        private let time = Mutex(Instant(milliseconds: 1_795_248_000_000))
        private let open = Mutex<SQLiteDriver?>(nil)
        private let parts = Mutex<(ChangeShipper, BackupWorker)?>(nil)
        private let logBytesMax: Int64

        var database: String { folder + "/p.sqlite" }
        var backups: String { folder + "/backups" }

        init(
            in folder: String, recipients: [String] = [],
            logBytesMax: Int64 = ChangeShipper.logBytesMax
        ) async throws {
            self.folder = folder
            self.logBytesMax = logBytesMax
            var settings = BackupSettings(folder: "backups")
            settings.recipients = recipients
            settings.isContinuous = true
            self.settings = settings
            try FileManager.default.createDirectory(
                atPath: folder + "/backups", withIntermediateDirectories: true)
            try await start()
            let store = Database(try driver)
            try await store.migrate(at: 1)
            try await run("CREATE TABLE filler (number INTEGER PRIMARY KEY, bytes BLOB)")
        }

        var now: Instant {
            time.withLock { time in
                time = time + .seconds(1)
                return time
            }
        }

        func wait(_ duration: Duration) { time.withLock { $0 = $0 + duration } }

        var driver: SQLiteDriver {
            get throws { try #require(open.withLock { $0 }) }
        }
        var shipper: ChangeShipper {
            get throws { try #require(parts.withLock { $0 }).0 }
        }
        var worker: BackupWorker {
            get throws { try #require(parts.withLock { $0 }).1 }
        }

        /// Starts what a server runs. A former run ends, and what it has not shipped stays in the
        /// log.
        func start() async throws {
            open.withLock { $0?.close() }
            try ShippedChain.begin(of: database)
            let driver = try SQLiteDriver(path: database)
            open.withLock { $0 = driver }
            let logger = Logger(label: "test") { [log] _ in log.handler }
            let shipper = ChangeShipper(
                settings, in: backups, of: database, by: driver, now: { self.now },
                logger: logger, logBytesMax: logBytesMax)
            let worker = BackupWorker(
                settings, in: backups, of: database, now: { self.now }, shipper: shipper,
                logger: logger)
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

        /// Ships, and returns the moment after which this can be restored.
        func ship() async throws -> Instant {
            try await shipper.ship()
            return now
        }

        /// The hash of the content of a database.
        func hash(of path: String) async throws -> String {
            let copy = "\(folder)/hashed"
            BackupCopy.remove(copy)
            defer { BackupCopy.remove(copy) }
            try await SQLiteFile(path).copy(into: copy)
            var bytes = [UInt8](try Data(contentsOf: URL(filePath: copy)))
            // Counters in the header that every write of a file changes.
            for range in [24..<28, 40..<44, 92..<100] {
                for index in range { bytes[index] = 0 }
            }
            return Data(SHA256.hash(data: bytes)).base64EncodedString()
        }

        /// The hash of the content at a moment, after it was checked for damage.
        func hash(at moment: Instant, identity: String? = nil) async throws -> String {
            let point = try PointInTime(at: moment, in: BackupFolder(path: backups))
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
            let found = try await SQLiteFile(copy).read {
                try $0.texts("PRAGMA integrity_check")
            }
            #expect(found == ["ok"])
            return try await hash(of: copy)
        }

        var backupCount: Int {
            get throws { try BackupFolder(path: backups).backups().count }
        }

        func changeFiles() throws -> [ChangeFolder.File] {
            let backup = try #require(try BackupFolder(path: backups).backups().last)
            return try ChangeFolder(of: backup.path).files()
        }
    }

    private static func withDesk(
        logBytesMax: Int64 = ChangeShipper.logBytesMax, _ body: (Desk) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            let desk = try await Desk(in: folder, logBytesMax: logBytesMax)
            defer { desk.close() }
            #expect(try desk.shipper.needsBackup)
            #expect(try await desk.worker.makeIfDue(), "\(desk.log.text)")
            #expect(try !desk.shipper.needsBackup, "\(desk.log.text)")
            try await body(desk)
        }
    }

    @Test func `every shipped moment is restored as the database was`() async throws {
        try await Self.withDesk { desk in
            var dice = Dice(announcedBy: "ChangeShipperTests")
            var moments: [(Instant, String)] = []
            for round in 1...12 {
                try await desk.change(Int.random(in: 1...30, using: &dice))
                if Int.random(in: 1...3, using: &dice) == 1 { try await desk.start() }
                // Another backup begins while changes are shipped.
                if round == 6 {
                    desk.wait(.hours(25))
                    #expect(try await desk.worker.makeIfDue())
                }
                let hash = try await desk.hash(of: desk.database)
                moments.append((try await desk.ship(), hash))
            }
            #expect(try desk.backupCount == 2, "\(desk.log.text)")
            for (moment, hash) in moments {
                #expect(try await desk.hash(at: moment) == hash, "\(moment)")
            }
        }
    }

    @Test func `the log is moved again and again, and no change is lost`() async throws {
        try await Self.withDesk { desk in
            for _ in 1...5 {
                try await desk.change(25, bytes: 400_000)
                _ = try await desk.ship()
                let chain = try #require(ShippedChain(of: desk.database))
                #expect(chain.isMoved)
            }
            try await desk.change(3)
            let hash = try await desk.hash(of: desk.database)
            let moment = try await desk.ship()
            #expect(try desk.backupCount == 1 && !desk.shipper.needsBackup)
            #expect(try await desk.hash(at: moment) == hash)
            let bytes = WriteAheadLog(of: desk.database).bytes
            #expect(bytes < 30_000_000, "the log begins again")
        }
    }

    @Test func `if another program moves the log, another backup is made`() async throws {
        try await Self.withDesk { desk in
            try await desk.change(5)
            _ = try await desk.ship()
            try await desk.change(5)
            ShippedChain.remove(of: desk.database)
            desk.close()
            try await SQLiteFile(desk.database).checkpoint()
            try await desk.start()
            // What the file beside the database said is lost, too.
            #expect(try desk.shipper.needsBackup)
            #expect(try await desk.worker.makeIfDue())
            try await desk.change(5)
            let hash = try await desk.hash(of: desk.database)
            #expect(try await desk.hash(at: try await desk.ship()) == hash)
            #expect(try desk.backupCount == 2)
        }
    }

    @Test func `a log that was begun again without the shipper is noticed`() async throws {
        try await Self.withDesk { desk in
            try await desk.change(5)
            _ = try await desk.ship()
            try await desk.change(5)
            let chain = try #require(ShippedChain(of: desk.database))
            ShippedChain.remove(of: desk.database)
            desk.close()
            try await SQLiteFile(desk.database).checkpoint()
            try ShippedChain.write(chain, of: desk.database)
            try await desk.start()
            try await desk.change(1)
            _ = try await desk.ship()
            #expect(try desk.shipper.needsBackup)
            #expect(desk.log.text.contains("are shipped again after another backup"))
        }
    }

    @Test func `if the folder cannot be written, changes are shipped as soon as it can`()
        async throws
    {
        try await Self.withDesk { desk in
            let backup = try #require(try BackupFolder(path: desk.backups).backups().last)
            let folder = ChangeFolder(of: backup.path).path
            try Disk.rename(folder, to: desk.folder + "/away")
            try Disk.make(folder)
            try await desk.change(5)
            for _ in 1...3 { _ = try await desk.ship() }
            #expect(desk.log.text.matches(of: /were not shipped/).count == 1, "\(desk.log.text)")
            desk.wait(.seconds(120))
            #expect(try desk.shipper.lag > .seconds(120))
            #expect(try desk.worker.state.changesLag ?? .zero > .seconds(120))
            unlink(folder)
            try Disk.rename(desk.folder + "/away", to: folder)
            let hash = try await desk.hash(of: desk.database)
            let moment = try await desk.ship()
            #expect(try await desk.hash(at: moment) == hash)
            #expect(try desk.shipper.lag < .seconds(60))
        }
    }

    @Test func `a log that cannot be shipped does not fill the disk`() async throws {
        try await Self.withDesk(logBytesMax: 1_000_000) { desk in
            let backup = try #require(try BackupFolder(path: desk.backups).backups().last)
            let folder = ChangeFolder(of: backup.path).path
            try Disk.rename(folder, to: desk.folder + "/away")
            try Disk.make(folder)
            for _ in 1...4 {
                try await desk.change(20, bytes: 400_000)
                _ = try await desk.ship()
            }
            #expect(try desk.shipper.needsBackup)
            let bytes = WriteAheadLog(of: desk.database).bytes
            try await desk.change(20, bytes: 400_000)
            _ = try await desk.ship()
            #expect(WriteAheadLog(of: desk.database).bytes <= bytes + 16_000_000)
            #expect(try await desk.worker.makeIfDue(), "\(desk.log.text)")
            let hash = try await desk.hash(of: desk.database)
            #expect(try await desk.hash(at: try await desk.ship()) == hash)
        }
    }

    @Test func `a missing or damaged file is named, and moments before it can be restored`()
        async throws
    {
        try await Self.withDesk { desk in
            var moments: [Instant] = []
            for _ in 1...4 {
                try await desk.change(2)
                moments.append(try await desk.ship())
            }
            let files = try desk.changeFiles()
            #expect(files.count == 5)
            let bytes = try Data(contentsOf: URL(filePath: files[3].path))
            var damaged = bytes
            damaged[bytes.count / 2] ^= 1
            for broken in [damaged, bytes.dropLast(1), Data()] {
                try broken.write(to: URL(filePath: files[3].path))
                let failure = await #expect(throws: StartFailure.self) {
                    _ = try await desk.hash(at: moments[3])
                }
                #expect(
                    failure?.message.hasSuffix(
                        "-\(files[3].moment.milliseconds).pages is "
                            + "damaged.") == true, "\(failure as Any)")
                _ = try await desk.hash(at: moments[1])
            }
            unlink(files[3].path)
            let failure = await #expect(throws: StartFailure.self) {
                _ = try await desk.hash(at: moments[3])
            }
            #expect(failure?.message.contains("is missing") == true, "\(failure as Any)")
            let early = #expect(throws: StartFailure.self) {
                try PointInTime(
                    at: Instant(milliseconds: 0), in: BackupFolder(path: desk.backups))
            }
            #expect(early?.remedy.contains("\(files[0].moment)") == true, "\(early as Any)")
        }
    }

    @Test func `changes are deleted with their backup, and after a week`() async throws {
        try await Self.withDesk { desk in
            let first = try #require(try BackupFolder(path: desk.backups).backups().last)
            desk.wait(.hours(25))
            #expect(try await desk.worker.makeIfDue())
            #expect(Disk.exists(ChangeFolder(of: first.path).path))
            desk.wait(.days(8))
            #expect(try await desk.worker.makeIfDue())
            #expect(Disk.exists(first.path))
            #expect(!Disk.exists(ChangeFolder(of: first.path).path))
            #expect(try desk.changeFiles().count == 1)
        }
    }

    @Test(.enabled(if: (try? AgeProgram()) != nil))
    func `encrypted changes have no plain text and can be restored`() async throws {
        try await TemporaryFolder.with { folder in
            let key = try await Shell.output(
                of: "cd '\(folder)' && age-keygen -o key 2>/dev/null && age-keygen -y key")
            let desk = try await Desk(
                in: folder, recipients: [key.trimmingCharacters(in: .whitespacesAndNewlines)])
            defer { desk.close() }
            #expect(try await desk.worker.makeIfDue(), "\(desk.log.text)")
            try await desk.run("INSERT INTO filler (bytes) VALUES ('anna-in-plain-text')")
            let hash = try await desk.hash(of: desk.database)
            let moment = try await desk.ship()
            #expect(try await desk.hash(at: moment, identity: folder + "/key") == hash)
            for name in try FileManager.default.subpathsOfDirectory(atPath: desk.backups) {
                let bytes = FileManager.default.contents(atPath: "\(desk.backups)/\(name)")
                #expect(bytes?.range(of: Data("anna-in-plain-text".utf8)) == nil, "\(name)")
            }
            #expect(!Disk.exists(EncryptedBackup.plainChanges(of: desk.database)))
            await #expect(throws: StartFailure.self) { _ = try await desk.hash(at: moment) }
        }
    }

    @Test func `a log with a torn or changed end is read up to its last whole transaction`()
        async throws
    {
        try await Self.withDesk { desk in
            for _ in 1...6 { try await desk.change(1, bytes: 20_000) }
            let log = try Data(contentsOf: URL(filePath: desk.database + "-wal"))
            let whole = try #require(try WriteAheadLog(of: desk.database).changes(after: nil))
            let copy = desk.folder + "/q"
            let frame = 24 + SQLiteDriver.pageBytes
            #expect(32 + Int(whole.end.frames) * frame <= log.count)
            var dice = Dice(announcedBy: "ChangeShipperTests.torn")
            for _ in 1...60 {
                let place = Int.random(in: 32..<32 + Int(whole.end.frames) * frame, using: &dice)
                var changed = log
                changed[place] ^= 1 << UInt8.random(in: 0...7, using: &dice)
                for bytes in [changed, log.prefix(place)] {
                    try bytes.write(to: URL(filePath: copy + "-wal"))
                    let found = try #require(try WriteAheadLog(of: copy).changes(after: nil))
                    #expect(Int(found.end.frames) <= (place - 32) / frame, "\(place)")
                }
            }
        }
    }
}
