import Dice
import Foundation
import Ledger
import Logging
import ServiceLifecycle
import Storage
import StorageSQLite
import Testing

@testable import Program

/// Changes are shipped between backups, so that every second can be restored. These tests are about
/// the server: ``PointInTimeTests`` are about the restore.
@Suite struct ChangeShipperTests {
    @Test func `a restore to any shipped moment gives the database as it was at that moment`()
        async throws
    {
        try await ChangeDesk.with { desk in
            var dice = Dice(announcedBy: "ChangeShipperTests")
            var moments: [(Instant, String)] = []
            for round in 1...12 {
                try await desk.change(Int.random(in: 1...30, using: &dice))
                if Int.random(in: 1...3, using: &dice) == 1 { try desk.start() }
                // Another backup begins while changes are shipped.
                if round == 6 {
                    desk.wait(.hours(25))
                    #expect(try await desk.worker.makeIfDue())
                }
                let hash = try await desk.hash()
                moments.append((try await desk.ship(), hash))
            }
            #expect(try desk.backupCount == 2, "\(desk.log.text)")
            for (moment, hash) in moments {
                #expect(try await desk.hash(at: moment) == hash, "\(moment)")
            }
            #expect(try await desk.hash(at: nil) == moments.last?.1)
        }
    }

    @Test func `if the write-ahead log is checkpointed repeatedly, no change is lost`() async throws
    {
        try await ChangeDesk.with { desk in
            for _ in 1...5 {
                try await desk.change(25, bytes: 400_000)
                try await desk.ship()
                let chain = try #require(ShippedChain(of: desk.database))
                #expect(chain.isMoved)
            }
            try await desk.change(3)
            let hash = try await desk.hash()
            let moment = try await desk.ship()
            #expect(try desk.backupCount == 1 && !desk.shipper.needsBackup)
            #expect(try await desk.hash(at: moment) == hash)
            let bytes = WriteAheadLog(of: desk.database).bytes
            #expect(bytes < 30_000_000, "the log begins again")
        }
    }

    /// The next write restarts the log, and overwrites the changes that were not shipped.
    @Test func `if a checkpoint moves changes before they are shipped, they are shipped later`()
        async throws
    {
        try await ChangeDesk.with { desk in
            try desk.linkChanges()
            try await desk.change(25, bytes: 400_000)
            desk.onNextReadings([
                {},  // The attempt begins.
                // The changes were read. Another change is committed before the checkpoint.
                {
                    let isDone = DispatchSemaphore(value: 0)
                    Task {
                        try? await desk.run("INSERT INTO filler (bytes) VALUES ('late')")
                        isDone.signal()
                    }
                    #expect(isDone.wait(timeout: .now() + .seconds(60)) == .success)
                },
                // The log was checkpointed.
                { #expect(throws: Never.self) { try desk.setChanges(areThere: false) } },
            ])
            try await desk.shipper.ship()
            #expect(desk.log.text.contains("were not shipped"), "\(desk.log.text)")
            try await desk.change(4)
            try await desk.shipper.ship()
            try desk.setChanges(areThere: true)
            let hash = try await desk.hash()
            let moment = try await desk.ship()
            #expect(try !desk.shipper.needsBackup, "\(desk.log.text)")
            #expect(try await desk.hash(at: moment) == hash)
            #expect(desk.log.text.contains("are shipped again"))
        }
    }

    @Test func `if another program checkpoints the write-ahead log, a new backup is made`()
        async throws
    {
        try await ChangeDesk.with { desk in
            try await desk.change(5)
            try await desk.ship()
            try await desk.change(5)
            ShippedChain.remove(of: desk.database)
            desk.close()
            try await SQLiteFile(desk.database).checkpoint()
            try desk.start()
            // The content of the file beside the database is lost, too.
            #expect(try desk.shipper.needsBackup)
            #expect(try await desk.worker.makeIfDue())
            try await desk.change(5)
            let hash = try await desk.hash()
            #expect(try await desk.hash(at: try await desk.ship()) == hash)
            #expect(try desk.backupCount == 2)
        }
    }

    @Test func `a write-ahead log that was restarted without the shipper is detected`() async throws
    {
        try await ChangeDesk.with { desk in
            try await desk.change(5)
            try await desk.ship()
            try await desk.change(5)
            let chain = try #require(ShippedChain(of: desk.database))
            ShippedChain.remove(of: desk.database)
            desk.close()
            try await SQLiteFile(desk.database).checkpoint()
            try ShippedChain.write(chain, of: desk.database)
            try desk.start()
            try await desk.change(1)
            try await desk.ship()
            #expect(try desk.shipper.needsBackup)
            #expect(try desk.shipper.problem?.message.contains("write-ahead log") == true)
            #expect(desk.log.text.contains("are shipped until another backup is made"))
        }
    }

    @Test func `changes that another program appended, checkpointed and overwrote are noticed`()
        async throws
    {
        try await ChangeDesk.with { desk in
            try await desk.change(25, bytes: 400_000)
            try await desk.ship()
            let chain = try #require(ShippedChain(of: desk.database))
            #expect(chain.isMoved)
            desk.close()
            // Another program recovers the log, appends to it, checkpoints it, and restarts it.
            let other = try SQLiteDriver(path: desk.database)
            for round in 1...2 {
                try await other.write { connection in
                    _ = try connection.run("INSERT INTO filler (bytes) VALUES ('\(round)')", [])
                }
                if round == 1 { _ = try await other.checkpoint { true } }
            }
            other.close()
            let log = WriteAheadLog(of: desk.database)
            #expect(try log.start()?.count == chain.place.count &+ 1)
            try desk.start()
            try await desk.shipper.ship()
            #expect(try desk.shipper.needsBackup, "\(desk.log.text)")
            #expect(try await desk.worker.makeIfDue(), "\(desk.log.text)")
            try await desk.change(1)
            let hash = try await desk.hash()
            #expect(try await desk.hash(at: try await desk.ship()) == hash)
        }
    }

    /// The whole log was checkpointed, so the next write restarts it.
    @Test func `after a gap, changes made during the next backup are shipped`() async throws {
        try await ChangeDesk.with { desk in
            try ShippedChain.write(nil, of: desk.database)
            try desk.start()
            try await desk.change(25, bytes: 400_000)
            try await desk.shipper.ship()
            _ = try await desk.shipper.backUp { () -> (file: String, Bool) in
                try await desk.change(3)
                let file = BackupFolder(path: desk.backups).file(at: desk.now)
                _ = try await BackupCopy(of: desk.database, keepingPages: true).make(at: file)
                try await desk.change(3)
                return (file, true)
            }
            let hash = try await desk.hash()
            try await desk.ship()
            #expect(try await desk.hash(at: nil) == hash)
        }
    }

    @Test func `no restore ends between two parts of the changes made during a backup`()
        async throws
    {
        try await ChangeDesk.with(changesBytesMax: 100_000) { desk in
            desk.wait(.hours(25))
            _ = try await desk.shipper.backUp { () -> (file: String, Bool) in
                try await desk.change(20, bytes: 40_000)
                let file = BackupFolder(path: desk.backups).file(at: desk.now)
                _ = try await BackupCopy(of: desk.database, keepingPages: true).make(at: file)
                return (file, true)
            }
            let hash = try await desk.hash()
            // Only a part was shipped, and that part is older than the copy of the pages.
            #expect(try desk.changeFiles().map(\.hasMore) == [true])
            #expect(try await desk.hash(at: nil) != hash)
            #expect(try desk.point(at: nil).backup.path != desk.newestBackup)
            try await desk.ship()
            #expect(try await desk.hash(at: nil) == hash)
            #expect(try desk.point(at: nil).backup.path == desk.newestBackup)
        }
    }

    // MARK: - The end of the server

    /// A listener stops after the shipper: services stop in reverse order.
    private struct LateWriter: Service {
        var desk: ChangeDesk

        func run() async throws {
            try? await gracefulShutdown()
            try await desk.change(5)
        }
    }

    /// When this service ends, all services are stopped.
    private struct Stop: Service {
        func run() async {}
    }

    @Test func `changes written while the server stops can be restored`() async throws {
        try await ChangeDesk.with { desk in
            let worker = try desk.worker
            let group = ServiceGroup(
                together: [LateWriter(desk: desk)] + worker.services + [Stop()],
                stopsOnSignals: false, logger: Logger(label: "test") { _ in desk.log.handler })
            try await group.run(before: { await worker.shipRest() })
            let hash = try await desk.hash()
            #expect(try await desk.hash(at: nil) == hash, "\(desk.log.text)")
        }
    }

    @Test func `a server stops even if a disk does not respond`()
        async throws
    {
        try await ChangeDesk.with { desk in
            try await desk.change(1)
            let answers = DispatchSemaphore(value: 0)
            desk.onNextReadings([{ _ = answers.wait(timeout: .now() + .seconds(60)) }])
            try await desk.shipper.shipRest(within: .milliseconds(50))
            #expect(desk.log.text.contains("shipped after the next start"))
            answers.signal()
            let hash = try await desk.hash()
            try await desk.shipper.ship()
            #expect(try await desk.hash(at: nil) == hash)
        }
    }

    @Test(.enabled(if: (try? AgeProgram()) != nil))
    func `encrypted changes have no plain text and can be restored`() async throws {
        try await TemporaryFolder.with { folder in
            let key = try await Shell.output(
                of: "cd '\(folder)' && age-keygen -o key 2>/dev/null && age-keygen -y key")
            let desk = try await ChangeDesk(
                in: folder, recipients: [key.trimmingCharacters(in: .whitespacesAndNewlines)])
            defer { desk.close() }
            #expect(try await desk.worker.makeIfDue(), "\(desk.log.text)")
            try await desk.run("INSERT INTO filler (bytes) VALUES ('anna-in-plain-text')")
            let hash = try await desk.hash()
            let moment = try await desk.ship()
            #expect(try await desk.hash(at: moment, identity: folder + "/key") == hash)
            for name in try FileManager.default.subpathsOfDirectory(atPath: desk.backups) {
                let bytes = FileManager.default.contents(atPath: "\(desk.backups)/\(name)")
                #expect(bytes?.range(of: Data("anna-in-plain-text".utf8)) == nil, "\(name)")
            }
            let plain = EncryptedBackup.plainChanges(of: desk.database)
            #expect(!Disk.exists(plain))
            await #expect(throws: StartFailure.self) { _ = try await desk.hash(at: moment) }
            // Another look at the folder does not disturb changes that are being encrypted.
            try Disk.make(plain)
            #expect(try await desk.worker.makeIfDue(), "\(desk.log.text)")
            #expect(Disk.exists(plain))
        }
    }
}
