import Dice
import Engine
import Foundation
import Ledger
import Storage
import StorageSQLite
import Testing

@testable import Program

/// Which changes a restore of a moment applies, and when it is refused.
@Suite struct PointInTimeTests {
    private static let apps = [
        AppConfiguration(
            settings: AppSettings(id: "rage", bundleID: "com.example.rage", entitlements: [:]),
            extraRoots: [])
    ]

    @Test func `a missing or damaged file is named, and earlier moments can be restored`()
        async throws
    {
        try await ChangeDesk.with { desk in
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
                #expect(failure?.message == "\(files[3].path) is damaged.", "\(failure as Any)")
                #expect(failure?.remedy.contains("--at \(moments[1])") == true)
                _ = try await desk.hash(at: moments[1])
            }
            unlink(files[3].path)
            let failure = await #expect(throws: StartFailure.self) {
                _ = try await desk.hash(at: moments[3])
            }
            #expect(
                failure?.message == "A file before \(files[4].path) is missing.",
                "\(failure as Any)")
            #expect(failure?.remedy.contains("--at \(moments[1])") == true)
        }
    }

    @Test func `a file of changes under the name of another file counts as damaged`() async throws {
        try await ChangeDesk.with { desk in
            for _ in 1...3 {
                try await desk.change(2)
                try await desk.ship()
            }
            let files = try desk.changeFiles()
            unlink(files[2].path)
            try FileManager.default.copyItem(atPath: files[1].path, toPath: files[2].path)
            let failure = await #expect(throws: StartFailure.self) {
                _ = try await desk.hash(at: nil)
            }
            #expect(failure?.message == "\(files[2].path) is damaged.", "\(failure as Any)")
        }
    }

    /// Copying the rows would not notice a damaged index.
    @Test func `changes that damage an index are refused, and the error names an earlier moment`()
        async throws
    {
        try await ChangeDesk.with { desk in
            try await desk.run("CREATE INDEX filler_lengths ON filler (length(bytes))")
            try await desk.change(5)
            let earlier = try await desk.ship()
            let indexed = try await desk.hash(at: earlier)
            try await desk.run("INSERT INTO filler (bytes) VALUES (randomblob(777))")
            try await desk.ship()
            let root = try await desk.driver.read { connection in
                try connection.texts(
                    "SELECT CAST(rootpage AS TEXT) FROM sqlite_master WHERE name = 'filler_lengths'"
                )
            }
            let page = try #require(root.first.flatMap { UInt32($0) })
            let file = try #require(try desk.changeFiles().last).path
            let bytes = try Data(contentsOf: URL(filePath: file))
            var segment = try #require(ChangeSegment(bytes))
            // The index as it was before: an entry is missing.
            let former = try Data(contentsOf: URL(filePath: try desk.changeFiles()[1].path))
            let stale = try #require(ChangeSegment(former)?.changes.pages[page])
            #expect(segment.changes.pages.updateValue(stale, forKey: page) != nil)
            try segment.data.write(to: URL(filePath: file))
            let failure = await #expect(throws: StartFailure.self) {
                _ = try await desk.restore(at: nil)
            }
            #expect(failure?.message.contains(file) == true, "\(failure as Any)")
            #expect(failure?.remedy.contains("--at \(earlier)") == true, "\(failure as Any)")
            _ = try await desk.restore(at: earlier)
            #expect(try await desk.hash(at: earlier) == indexed)
        }
    }

    @Test func `a moment before the first or after the last change is refused`() async throws {
        try await ChangeDesk.with { desk in
            try await desk.change(2)
            let last = try await desk.ship()
            let first = try #require(try desk.changeFiles().first?.moment)
            let early = #expect(throws: StartFailure.self) {
                try desk.point(at: first + .milliseconds(-1))
            }
            #expect(early?.remedy.contains("restored is \(first).") == true, "\(early as Any)")
            #expect(try desk.point(at: first).files.count == 1)
            #expect(try desk.point(at: last).files.count == 2)
            let late = #expect(throws: StartFailure.self) {
                try desk.point(at: last + .milliseconds(1))
            }
            #expect(late?.message.contains("are from \(last), before") == true, "\(late as Any)")
            #expect(late?.remedy.contains("--at latest") == true)
            #expect(try desk.point(at: nil).files.count == 2)
            try await desk.change(2)
            let next = try await desk.ship()
            let point = try desk.point(at: last + .milliseconds(1))
            #expect(point.files.count == 2 && point.next == next)
            #expect(point.sentence.hasSuffix("up to \(last); the next ones are from \(next)"))
        }
    }

    /// The machine goes back to a snapshot of its disk. The disk of the backups does not.
    @Test
    func `a restore omits changes that a disk snapshot reverted, unless it names their time`()
        async throws
    {
        try await ChangeDesk.with { desk in
            try await desk.change(5)
            try await desk.ship()
            desk.close()
            let names = ["", "-wal", SQLiteFile.shippedSuffix]
            for name in names {
                try FileManager.default.copyItem(
                    atPath: desk.database + name, toPath: "\(desk.folder)/snapshot\(name)")
            }
            try desk.start()
            var lost: [(Instant, String)] = []
            for _ in 1...3 {
                try await desk.change(7)
                let hash = try await desk.hash()
                lost.append((try await desk.ship(), hash))
            }
            desk.close()
            BackupCopy.remove(desk.database)
            for name in names {
                unlink(desk.database + name)
                try FileManager.default.copyItem(
                    atPath: "\(desk.folder)/snapshot\(name)", toPath: desk.database + name)
            }
            try desk.start()
            for _ in 1...3 {
                try await desk.change(1)
                let hash = try await desk.hash()
                #expect(try await desk.hash(at: try await desk.ship()) == hash)
            }
            #expect(try desk.backupCount == 1, "\(desk.log.text)")
            for (moment, hash) in lost { #expect(try await desk.hash(at: moment) == hash) }
        }
    }

    @Test func `changes that were shipped twice are restored once`() async throws {
        try await ChangeDesk.with { desk in
            try await desk.change(5)
            try await desk.ship()
            // A power failure brings back an older version of the file beside the database.
            let chain = try #require(ShippedChain(of: desk.database))
            for _ in 1...3 {
                try await desk.change(5)
                try await desk.ship()
            }
            try ShippedChain.write(chain, of: desk.database)
            try desk.start()
            try await desk.change(5)
            let hash = try await desk.hash()
            #expect(try await desk.hash(at: try await desk.ship()) == hash)
            #expect(try desk.changeFiles().map(\.number) == Array(1...6))
            #expect(try desk.point(at: nil).files.map(\.number) == [1, 2, 6])
        }
    }

    @Test
    func `if a moment occurs twice because the clock was set back, its later state is restored`()
        async throws
    {
        try await ChangeDesk.with { desk in
            var moments: [Instant] = []
            for _ in 1...3 {
                try await desk.change(2)
                moments.append(try await desk.ship())
            }
            desk.wait(.seconds(-30))
            try await desk.change(2)
            let hash = try await desk.hash()
            let again = try await desk.ship()
            #expect(again < moments[2])
            #expect(try await desk.hash(at: again) == hash)
            #expect(try await desk.hash(at: moments[2]) == hash)
        }
    }

    @Test func `backups and changes with future times do not count as the latest ones`()
        async throws
    {
        try await ChangeDesk.with { desk in
            desk.wait(.days(900))
            try await desk.shipper.ship()
            #expect(try await desk.worker.makeIfDue())
            desk.wait(.days(-900))
            // These changes follow the backup that was made at the wrong time.
            try await desk.change(2)
            try await desk.shipper.ship()
            desk.wait(.hours(25))
            #expect(try await desk.worker.makeIfDue(), "\(desk.log.text)")
            try await desk.change(2)
            let hash = try await desk.hash()
            try await desk.shipper.ship()
            let failure = #expect(throws: StartFailure.self) { try desk.point(at: nil) }
            #expect(failure?.message.contains("later than this machine's clock") == true)
            #expect(try await desk.hash(at: desk.now) == hash)
        }
    }

    @Test func `a drill also applies the shipped changes`() async throws {
        try await ChangeDesk.with { desk in
            try await desk.run("CREATE TABLE later (number INTEGER)")
            try await desk.ship()
            let point = try desk.point(at: nil)
            let outcome = try await RestoreDrill(
                backup: point.backup, changes: point, apps: Self.apps, now: .machine
            ).run()
            #expect(outcome.rebuild.isClean)
            let file = try #require(point.files.last).path
            try Data().write(to: URL(filePath: file))
            await #expect(throws: StartFailure.self) {
                _ = try await RestoreDrill(
                    backup: point.backup, changes: point, apps: Self.apps, now: .machine
                ).run()
            }
        }
    }

    @Test(
        arguments: [
            ("latest", nil), ("2026-11-30T08:37:51Z", 1_796_027_871_000),
            ("2026-11-30T08:37:51.250Z", 1_796_027_871_250),
        ] as [(String, Int64?)])
    func `a moment is written in UTC, with or without milliseconds`(
        text: String, milliseconds: Int64?
    ) throws {
        #expect(try PointInTime.moment(text)?.milliseconds == milliseconds)
    }

    @Test(arguments: ["", "yesterday", "2026-11-30", "2026-11-30T08:37:51+01:00"])
    func `text in any other format is not accepted as a moment`(text: String) {
        #expect(throws: StartFailure.self) { try PointInTime.moment(text) }
    }

    // MARK: - The log

    @Test func `a log with a torn or changed end is read up to its last complete transaction`()
        async throws
    {
        try await ChangeDesk.with { desk in
            for _ in 1...6 { try await desk.change(1, bytes: 20_000) }
            let log = try Data(contentsOf: URL(filePath: desk.database + "-wal"))
            let whole = try #require(try WriteAheadLog(of: desk.database).changes(after: nil))
            let copy = desk.folder + "/q"
            let frame = 24 + SQLiteDriver.pageBytes
            #expect(32 + Int(whole.end.frames) * frame <= log.count)
            var dice = Dice(announcedBy: "PointInTimeTests.torn")
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

    @Test func `a transaction over the size limit is not read`() async throws {
        try await ChangeDesk.with { desk in
            try await desk.change(1, bytes: 100_000)
            let place = try #require(ShippedChain(of: desk.database)).place
            func log(_ bytes: Int) -> WriteAheadLog {
                WriteAheadLog(of: desk.database, transactionBytesMax: bytes)
            }
            #expect(try log(200_000).changes(after: place) != nil)
            let failure = #expect(throws: StorageFailure.self) {
                try log(80_000).changes(after: place)
            }
            #expect(failure?.kind == .other, "\(failure as Any)")
        }
    }
}
