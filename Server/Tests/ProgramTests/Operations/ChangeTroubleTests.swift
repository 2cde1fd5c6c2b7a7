import Foundation
import Ledger
import Storage
import StorageSQLite
import Testing

@testable import Program

/// What the server does while changes cannot be shipped, and what it keeps and deletes.
@Suite struct ChangeTroubleTests {
    @Test func `if the folder of changes cannot be written, changes are shipped later`()
        async throws
    {
        try await ChangeDesk.with { desk in
            try desk.linkChanges()
            try desk.setChanges(areThere: false)
            try await desk.change(5)
            for _ in 1...3 { try await desk.shipper.ship() }
            #expect(desk.log.text.matches(of: /were not shipped/).count == 1, "\(desk.log.text)")
            desk.wait(.seconds(120))
            #expect(try desk.shipper.lag > .seconds(120))
            let state = try desk.worker.state
            #expect(state.changesLag ?? .zero > .seconds(120))
            #expect(state.changesProblem?.remedy.contains("disk") == true)
            try desk.setChanges(areThere: true)
            let hash = try await desk.hash()
            let moment = try await desk.ship()
            #expect(try await desk.hash(at: moment) == hash)
            #expect(try desk.shipper.lag < .seconds(60))
            #expect(try desk.worker.state.changesProblem == nil)
        }
    }

    @Test func `changes wait for a folder that is not mounted, and a removed backup is replaced`()
        async throws
    {
        try await ChangeDesk.with { desk in
            try Disk.rename(desk.backups, to: desk.folder + "/unmounted")
            try await desk.change(5)
            try await desk.shipper.ship()
            #expect(try desk.shipper.problem != nil && !desk.shipper.needsBackup)
            try Disk.rename(desk.folder + "/unmounted", to: desk.backups)
            let hash = try await desk.hash()
            #expect(try await desk.hash(at: try await desk.ship()) == hash)
            for isBackup in [false, true] {
                let backup = try desk.newestBackup
                let path = isBackup ? backup : ChangeFolder(of: backup).path
                try FileManager.default.removeItem(atPath: path)
                try await desk.shipper.ship()
                #expect(try desk.shipper.needsBackup, "\(path)")
                #expect(desk.log.text.contains("removed"), "\(desk.log.text)")
                // After the second gap, the backup waits for a minute.
                if isBackup { desk.wait(.seconds(60)) }
                #expect(try await desk.worker.makeIfDue(), "\(desk.log.text)")
                #expect(try !desk.shipper.needsBackup)
            }
        }
    }

    @Test func `if the write-ahead log cannot be shipped, it does not fill the disk`() async throws
    {
        try await ChangeDesk.with(logBytesMax: 1_000_000) { desk in
            try desk.linkChanges()
            try desk.setChanges(areThere: false)
            for _ in 1...4 {
                try await desk.change(20, bytes: 400_000)
                try await desk.shipper.ship()
            }
            #expect(try desk.shipper.needsBackup)
            try desk.setChanges(areThere: true)
            let bytes = WriteAheadLog(of: desk.database).bytes
            try await desk.change(20, bytes: 400_000)
            try await desk.shipper.ship()
            #expect(WriteAheadLog(of: desk.database).bytes <= bytes + 16_000_000)
            #expect(try await desk.worker.makeIfDue(), "\(desk.log.text)")
            let hash = try await desk.hash()
            #expect(try await desk.hash(at: try await desk.ship()) == hash)
        }
    }

    @Test func `before the database's disk is full, a log that cannot be shipped is abandoned`()
        async throws
    {
        try await ChangeDesk.with { desk in
            try Disk.rename(desk.backups, to: desk.folder + "/unmounted")
            try await desk.change(25, bytes: 400_000)
            for _ in 1...3 { try await desk.shipper.ship() }
            #expect(try !desk.shipper.needsBackup)
            desk.disk.withLock { $0.freeBytes = 99_000_000 }
            try await desk.shipper.ship()
            #expect(try desk.shipper.needsBackup)
            #expect(desk.log.text.contains("has only 94 MiB free"), "\(desk.log.text)")
            // The log is checkpointed, and starts again.
            try await desk.shipper.ship()
            let bytes = WriteAheadLog(of: desk.database).bytes
            try await desk.change(10, bytes: 400_000)
            #expect(WriteAheadLog(of: desk.database).bytes == bytes)
            try Disk.rename(desk.folder + "/unmounted", to: desk.backups)
            #expect(try await desk.worker.makeIfDue(), "\(desk.log.text)")
            let hash = try await desk.hash()
            #expect(try await desk.hash(at: try await desk.ship()) == hash)
        }
    }

    @Test func `the log is checkpointed even if the file beside the database cannot be written`()
        async throws
    {
        try await ChangeDesk.with { desk in
            // A folder with a file cannot be replaced by a file.
            let path = ShippedChain.path(of: desk.database)
            unlink(path)
            try FileManager.default.createDirectory(
                atPath: path + "/kept", withIntermediateDirectories: true)
            for _ in 1...4 {
                try await desk.change(25, bytes: 400_000)
                try await desk.ship()
            }
            #expect(WriteAheadLog(of: desk.database).bytes < 30_000_000, "the log begins again")
            #expect(try desk.shipper.problem?.message.contains("cannot be written") == true)
            #expect(try !desk.shipper.needsBackup)
            try FileManager.default.removeItem(atPath: path)
            try await desk.shipper.ship()
            #expect(try desk.shipper.problem == nil)
            #expect(ShippedChain(of: desk.database) != nil)
        }
    }

    @Test func `the reported lag grows even if the clock was set back`() async throws {
        try await ChangeDesk.with { desk in
            try desk.linkChanges()
            try desk.setChanges(areThere: false)
            try await desk.change(1)
            desk.wait(.hours(-5))
            try await desk.shipper.ship()
            desk.wait(.seconds(100))
            #expect(try desk.shipper.lag >= .seconds(100))
        }
    }

    @Test func `changes are deleted with their backup, and after a week`() async throws {
        try await ChangeDesk.with { desk in
            let first = try desk.newestBackup
            desk.wait(.hours(25))
            #expect(try await desk.worker.makeIfDue())
            #expect(Disk.exists(ChangeFolder(of: first).path))
            desk.wait(.days(8))
            #expect(try await desk.worker.makeIfDue())
            #expect(Disk.exists(first))
            #expect(!Disk.exists(ChangeFolder(of: first).path))
            #expect(try desk.changeFiles().count == 1)
        }
    }

    @Test func `repeated gaps do not cause a full copy of the database each time`()
        async throws
    {
        try await ChangeDesk.with { desk in
            func gap() async throws {
                let path = ChangeFolder(of: try desk.newestBackup).path
                try FileManager.default.removeItem(atPath: path)
                try await desk.shipper.ship()
                #expect(try desk.shipper.needsBackup)
            }
            for minutes in [0, 1, 5, 30, 60, 60] {
                let count = try desk.backupCount
                try await gap()
                if minutes > 0 {
                    desk.wait(.seconds(minutes * 60 - 20))
                    #expect(try await desk.worker.makeIfDue())
                    #expect(try desk.backupCount == count, "\(minutes)")
                    desk.wait(.seconds(20))
                }
                #expect(try await desk.worker.makeIfDue())
                #expect(try desk.backupCount == count + 1, "\(minutes)")
                #expect(try !desk.shipper.needsBackup)
            }
            // After an hour without a gap, the next gap counts as the first one.
            desk.wait(.hours(1))
            try await gap()
            #expect(try await desk.worker.makeIfDue())
            #expect(try !desk.shipper.needsBackup)
        }
    }

    @Test func `a pause does not become longer if the clock is set back`() {
        var pauses = GapPauses(shippingSince: nil)
        let now = Instant(milliseconds: 1_795_248_000_000)
        for _ in 1...3 { pauses.add(at: now) }
        #expect(!pauses.areOver(at: now + .seconds(299)))
        #expect(pauses.areOver(at: now + .seconds(300)))
        #expect(pauses.areOver(at: now + .hours(-5)))
    }

    @Test func `an incomplete file from a killed server is deleted`() async throws {
        try await ChangeDesk.with { desk in
            let part = ChangeFolder(of: try desk.newestBackup).path + "/00000002-1-2-3.pages.part"
            try Disk.make(part)
            try desk.start()
            try await desk.ship()
            #expect(!Disk.exists(part))
        }
    }
}
