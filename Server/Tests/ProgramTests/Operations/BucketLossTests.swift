import BucketDouble
import Foundation
import Ledger
import Logging
import Synchronization
import Testing

@testable import Program

/// No changes, backups and erasures are lost in a bucket, whatever happens around it.
@Suite struct BucketLossTests {
    private typealias Mirror = BucketMirrorTests

    /// Runs the body before the first request that uploads a file with this ending.
    private static func before(
        _ ending: String, in bucket: BucketDouble, _ body: @escaping @Sendable () async -> Void
    ) {
        let isFirst = Mutex(true)
        bucket.state.withLock { state in
            state.before = { request in
                guard request.method == "PUT", request.path.hasSuffix(ending) else { return }
                let isNext = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                if isNext { await body() }
            }
        }
    }

    // MARK: - Changes

    @Test func `if more files are added during an upload than the queue holds, all are uploaded`()
        async throws
    {
        try await Mirror.withDesk { desk, bucket in
            try desk.start()
            let mirror = try desk.mirror
            try await desk.change(1)
            try await desk.ship()
            Self.before(".pages", in: bucket) {
                _ = try? await desk.change(1)
                _ = try? await desk.ship()
                let unknown = "\(desk.backups)/perennial-unknown.changes/file"
                for _ in 0...BucketMirror.waitingMax { mirror.add(unknown) }
            }
            #expect(await mirror.uploadChanges(), "\(desk.log.text)")
            #expect(await mirror.uploadChanges(), "\(desk.log.text)")
            #expect(bucket.names == (try Mirror.names(in: desk)))
            let latest = try await Mirror.hash(at: "latest", in: bucket, desk)
            #expect(try await desk.hash() == latest)
        }
    }

    @Test
    func `after the disk was set back to a snapshot, a restore from the bucket is up to date`()
        async throws
    {
        try await Mirror.withDesk { desk, bucket in
            let files = ["p.sqlite", "p.sqlite-wal", "p.sqlite.shipped", "backups"]
            func copy(_ from: String, _ to: String) throws {
                for file in files where Disk.exists("\(from)/\(file)") {
                    try? FileManager.default.removeItem(atPath: "\(to)/\(file)")
                    try FileManager.default.copyItem(
                        atPath: "\(from)/\(file)", toPath: "\(to)/\(file)")
                }
            }
            try await desk.change(1)
            try await desk.ship()
            #expect(try await desk.mirror.uploadChanges())
            desk.close()
            let snapshot = desk.folder + "/snapshot"
            try FileManager.default.createDirectory(
                atPath: snapshot, withIntermediateDirectories: false)
            try copy(desk.folder, snapshot)
            try desk.start()
            for _ in 0..<3 {
                try await desk.change(1)
                try await desk.ship()
            }
            #expect(try await desk.mirror.uploadChanges())
            desk.close()
            try? FileManager.default.removeItem(atPath: desk.database + "-shm")
            try copy(snapshot, desk.folder)
            try desk.start()
            let former = try desk.shipper.backup
            #expect(former != nil)
            try await desk.change(2)
            try await desk.ship()
            let before = bucket.names
            #expect(try await desk.mirror.uploadChanges(), "\(desk.log.text)")
            #expect(bucket.names == before)
            #expect(try desk.shipper.needsBackup)
            #expect(desk.log.text.contains("the disk was set back"), "\(desk.log.text)")
            desk.wait(.hours(25))
            #expect(try await desk.worker.makeIfDue(), "\(desk.log.text)")
            #expect(try desk.shipper.backup != former)
            try await desk.change(1)
            try await desk.ship()
            #expect(try await desk.mirror.compare(), "\(desk.log.text)")
            #expect(try await desk.mirror.uploadChanges(), "\(desk.log.text)")
            #expect(bucket.names.isSuperset(of: before))
            let latest = try await Mirror.hash(at: "latest", in: bucket, desk)
            #expect(try await desk.hash() == latest)
        }
    }

    @Test func `files that another program deleted from the bucket are uploaded again`()
        async throws
    {
        try await Mirror.withDesk { desk, bucket in
            try await desk.change(1)
            try await desk.ship()
            #expect(try await desk.mirror.uploadChanges())
            let all = bucket.names
            bucket.state.withLock { state in
                for key in state.objects.keys
                where key.hasSuffix(".pages") || key.hasSuffix(ErasureFile.copyName) {
                    state.objects[key] = nil
                }
            }
            #expect(bucket.names != all)
            #expect(try await desk.mirror.compare(), "\(desk.log.text)")
            #expect(try await desk.mirror.uploadChanges(), "\(desk.log.text)")
            #expect(bucket.names == all)
        }
    }

    // MARK: - Owners

    @Test func `a server on a copy of the database changes nothing in the bucket`()
        async throws
    {
        try await Mirror.withDesk { desk, bucket in
            let before = bucket.state.withLock { $0.objects }
            try await TemporaryFolder.with { folder in
                // Each desk says that its database was made at the same moment.
                let copy = try await ChangeDesk(in: folder, uploadingTo: bucket.client())
                defer { copy.close() }
                copy.wait(.days(400))
                #expect(try await copy.worker.makeIfDue())
                #expect(try await !copy.mirror.compare())
                #expect(try await !copy.mirror.uploadChanges())
                #expect(try copy.mirror.problem?.message.contains("another server") == true)
                #expect(bucket.state.withLock { $0.objects } == before)
                try await BucketOwner(client: bucket.client(), database: copy.database).replace()
                #expect(try await copy.mirror.compare(), "\(copy.log.text)")
                let taken = bucket.names
                #expect(try await !desk.mirror.compare())
                #expect(try await !desk.mirror.uploadChanges())
                #expect(bucket.names == taken)
            }
        }
    }

    @Test func `a bucket with backups but without an owner file is not changed`() async throws {
        try await Mirror.withDesk { desk, bucket in
            bucket.state.withLock {
                $0.objects["perennial/\(BackupFolder.ownerName)"] = nil
            }
            let before = bucket.names
            #expect(try await !desk.mirror.compare())
            let message = try #require(try desk.mirror.problem).message
            #expect(message.contains("no \(BackupFolder.ownerName)"), "\(message)")
            #expect(bucket.names == before)
        }
    }

    // MARK: - Backups

    @Test func `if a shutdown interrupts a backup's upload, changes follow the previous backup`()
        async throws
    {
        try await Mirror.withDesk { desk, bucket in
            let former = try desk.shipper.backup
            desk.wait(.hours(25))
            let gate = KeyedLock()
            let making = Mutex<Task<Bool, any Error>?>(nil)
            Self.before(".sqlite", in: bucket) { making.withLock { $0 }?.cancel() }
            await gate.lock()
            let task = Task {
                await gate.lock()
                gate.unlock()
                return try await desk.worker.makeIfDue()
            }
            making.withLock { $0 = task }
            gate.unlock()
            _ = try await task.value
            #expect(try desk.shipper.backup == former)
            #expect(try desk.backupCount == 2)
        }
    }

    @Test func `if one backup is uploaded twice at once, it is sent once`() async throws {
        try await Mirror.withDesk { desk, bucket in
            let mirror = try desk.mirror
            bucket.state.withLock { $0.isAway = true }
            desk.wait(.hours(25))
            #expect(try await desk.worker.makeIfDue())
            bucket.state.withLock { ($0.isAway, $0.requests) = (false, []) }
            let name = URL(filePath: try desk.newestBackup).lastPathComponent
            async let first: Void = mirror.uploadBackup(name)
            async let second: Void = mirror.uploadBackup(name)
            _ = try await (first, second)
            let puts = bucket.state.withLock { $0.requests }.count { $0 == "PUT perennial/\(name)" }
            #expect(puts == 1)
            try await mirror.uploadBackup("perennial-2020-01-01T000000Z.sqlite")
            #expect(mirror.state.withLock { $0.backups?.count } == 2)
        }
    }

    @Test func `before the disk is full, the log is no longer kept for an upload`() async throws {
        try await ChangeDesk.with { desk in
            try await desk.change(1, bytes: 12_000_000)
            #expect(try desk.shipper.hasRoomInLog)
            desk.disk.withLock { $0.freeBytes = 150_000_000 }
            #expect(try !desk.shipper.hasRoomInLog)
        }
    }

    // MARK: - Erasures

    @Test func `an erasure is uploaded even while many changes wait for their upload`() async throws
    {
        try await Mirror.withDesk { desk, bucket in
            for _ in 0..<3 {
                try await desk.change(1)
                try await desk.ship()
            }
            try desk.start()
            let line = Mirror.line("one", at: desk.now)
            bucket.state.withLock { $0.requests = [] }
            Self.before(".pages", in: bucket) {
                let list = "\(desk.backups)/\(ErasureFile.copyName)"
                try? Data(line.utf8).write(to: URL(filePath: list))
            }
            #expect(try await desk.mirror.uploadChanges(), "\(desk.log.text)")
            #expect(Mirror.erasures(in: bucket) == line)
            let puts = bucket.state.withLock { $0.requests }.filter { $0.hasPrefix("PUT") }
            #expect(puts.count == 4, "\(puts)")
            #expect(puts.dropFirst().first == "PUT perennial/\(ErasureFile.copyName)")
        }
    }

    @Test func `the list of erasures beside the database is also uploaded`() async throws {
        try await Mirror.withDesk { desk, bucket in
            let line = Mirror.line("one", at: desk.now)
            let list = URL(filePath: desk.database + ErasureFile.suffix)
            try Data(line.utf8).write(to: list)
            #expect(try await desk.mirror.uploadChanges(), "\(desk.log.text)")
            #expect(Mirror.erasures(in: bucket) == line)
            try FileManager.default.removeItem(at: list)
            try FileManager.default.createDirectory(at: list, withIntermediateDirectories: false)
            #expect(try await !desk.mirror.uploadChanges(), "an unreadable list is a failure")
        }
    }

    @Test func `a server that cannot read the bucket's list of erasures does not start`()
        async throws
    {
        let bucket = BucketDouble()
        let line = Mirror.line("one", at: Instant(milliseconds: 1_795_248_000_000))
        try await bucket.client().write(Array(line.utf8), as: ErasureFile.copyName)
        try await TemporaryFolder.with { folder in
            let log = LineCollector()
            let file = ErasureFile(path: folder + "/x.erasures")
            let repetition = ErasureRepetition(
                file: file, logger: Logger(label: "test") { _ in log.handler })
            let owner = BucketOwner(client: bucket.client(), database: folder + "/x.sqlite")
            try await repetition.addErasures(of: owner)
            #expect(try String(contentsOfFile: file.path, encoding: .utf8) == line)
            bucket.state.withLock { $0.isAway = true }
            await #expect(throws: StartFailure.self) {
                try await repetition.addErasures(of: owner)
            }
            try Data("id\n".utf8).write(to: URL(filePath: folder + "/x.sqlite.bucket"))
            try await repetition.addErasures(of: owner)
            #expect(log.text.contains("the list of erasures in the bucket was not read"))
        }
    }
}
