import BucketDouble
import Engine
import Foundation
import Ledger
import Synchronization
import Testing

@testable import Program

/// What is uploaded to a bucket, in which order, and what is deleted from it.
@Suite struct BucketMirrorTests {
    /// Runs the body with a desk whose first backup is in the bucket.
    static func withDesk(
        keep: BackupRetention = BackupRetention(),
        _ body: (ChangeDesk, BucketDouble) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            let bucket = BucketDouble()
            let desk = try await ChangeDesk(
                in: folder, uploadingTo: bucket.client(), keep: keep)
            defer { desk.close() }
            #expect(try await desk.worker.makeIfDue(), "\(desk.log.text)")
            #expect(try await desk.mirror.compare(), "\(desk.log.text)")
            #expect(try await desk.mirror.uploadChanges(), "\(desk.log.text)")
            try await body(desk, bucket)
        }
    }

    /// The hash of what another machine restores from the bucket.
    static func hash(
        at moment: String, in bucket: BucketDouble, _ desk: ChangeDesk
    ) async throws -> String {
        try await TemporaryFolder.with { other in
            let found = try await BucketBackups(client: bucket.client(), now: desk.now)
                .download(at: moment, into: other)
            return try await desk.hash(of: try #require(found.changes))
        }
    }

    /// The names in the folder that the bucket must have, too. It always has a list of erasures.
    static func names(in desk: ChangeDesk) throws -> Set<String> {
        let all = try FileManager.default.subpathsOfDirectory(atPath: desk.backups)
        return Set(all.filter { !$0.hasSuffix(ChangeFolder.suffix) } + [ErasureFile.copyName])
    }

    // MARK: - Restores

    @Test func `the state at each second can be restored from the bucket on another machine`()
        async throws
    {
        try await Self.withDesk { desk, bucket in
            var moments: [(at: Instant, hash: String)] = []
            for rows in [3, 5, 2] {
                try await desk.change(rows)
                moments.append((try await desk.ship(), try await desk.hash()))
                #expect(try await desk.mirror.uploadChanges(), "\(desk.log.text)")
            }
            #expect(bucket.names == (try Self.names(in: desk)))
            for moment in moments {
                #expect(try await Self.hash(at: "\(moment.at)", in: bucket, desk) == moment.hash)
            }
            let latest = try await Self.hash(at: "latest", in: bucket, desk)
            #expect(try await desk.hash() == latest)
        }
    }

    @Test func `the newest backup, or a named one, is restored from the bucket`() async throws {
        try await Self.withDesk { desk, bucket in
            let first = URL(filePath: try desk.newestBackup).lastPathComponent
            desk.wait(.hours(25))
            #expect(try await desk.worker.makeIfDue())
            let second = URL(filePath: try desk.newestBackup).lastPathComponent
            let backups = BucketBackups(client: bucket.client(), now: desk.now)
            for (name, expected) in [(nil, second), (first, first)] as [(String?, String)] {
                try await TemporaryFolder.with { other in
                    let found = try await backups.download(name, into: other)
                    #expect(found.backup.path == "\(other)/\(expected)")
                    #expect(found.address == "s3://backups/perennial/\(expected)")
                    #expect(
                        try Data(contentsOf: URL(filePath: found.backup.path))
                            == Data(contentsOf: URL(filePath: "\(desk.backups)/\(expected)")))
                }
            }
            await #expect(throws: StartFailure.self) {
                _ = try await backups.download("perennial-unknown", into: desk.folder)
            }
        }
    }

    /// The server is killed after each request, and another one goes on.
    @Test func `the bucket can be restored after a kill at any request`() async throws {
        try await Self.withDesk { desk, bucket in
            var known: Set<String> = [try await desk.hash()]
            for round in 0..<12 {
                for _ in 0..<3 {
                    try await desk.change(1)
                    try await desk.ship()
                    known.insert(try await desk.hash())
                }
                if round.isMultiple(of: 4) {
                    desk.wait(.hours(25))
                    _ = try await desk.worker.makeIfDue()
                }
                let left = Mutex(round)
                bucket.state.withLock { state in
                    state.before = { _ in
                        let isOver = left.withLock { count in
                            count -= 1
                            return count < 0
                        }
                        if isOver { bucket.state.withLock { $0.isAway = true } }
                    }
                }
                _ = try await desk.mirror.uploadChanges()
                bucket.state.withLock { ($0.before, $0.isAway) = (nil, false) }
                let found = try await Self.hash(at: "latest", in: bucket, desk)
                #expect(known.contains(found), "round \(round)")
                try desk.start()
            }
            #expect(try await desk.mirror.compare(), "\(desk.log.text)")
            #expect(try await desk.mirror.uploadChanges(), "\(desk.log.text)")
            #expect(bucket.names == (try Self.names(in: desk)))
            let latest = try await Self.hash(at: "latest", in: bucket, desk)
            #expect(try await desk.hash() == latest)
        }
    }

    /// Changes go on after the former backup until the bucket has the new one.
    @Test func `while a large backup is uploaded, changes are uploaded without a delay`()
        async throws
    {
        try await Self.withDesk { desk, bucket in
            let found = Mutex<[(latest: String, now: String)]>([])
            let isFirst = Mutex(true)
            bucket.state.withLock { state in
                state.before = { request in
                    let isBackup = request.method == "PUT" && request.path.hasSuffix(".sqlite")
                    let isNext =
                        isBackup
                        && isFirst.withLock { isFirst in
                            defer { isFirst = false }
                            return isFirst
                        }
                    guard isNext else { return }
                    let states = await Self.states(after: 2, in: bucket, desk)
                    found.withLock { $0.append(states) }
                }
            }
            desk.wait(.hours(25))
            let isMade = try await desk.worker.makeIfDue()
            #expect(isMade, "\(desk.log.text)")
            let states = found.withLock { $0 }
            #expect(states.count == 1)
            #expect(states.allSatisfy { $0.latest == $0.now }, "\(states)")
            #expect(bucket.names.count { $0.hasSuffix(".sqlite") } == 2)
        }
    }

    /// The hashes of the latest state in the bucket and of the database, after some changes.
    private static func states(
        after rows: Int, in bucket: BucketDouble, _ desk: ChangeDesk
    ) async -> (latest: String, now: String) {
        do {
            try await desk.change(rows)
            try await desk.ship()
            _ = try await desk.mirror.uploadChanges()
            return (try await hash(at: "latest", in: bucket, desk), try await desk.hash())
        } catch { return ("\(error)", "") }
    }

    // MARK: - Deletion

    @Test func `backups that the setting keep does not cover are also deleted from the bucket`()
        async throws
    {
        let keep = BackupRetention(days: 2, weeks: 0, months: 0)
        try await Self.withDesk(keep: keep) { desk, bucket in
            for _ in 0..<12 {
                desk.wait(.hours(25))
                #expect(try await desk.worker.makeIfDue())
                try await desk.change(1)
                try await desk.ship()
                #expect(try await desk.mirror.uploadChanges())
                #expect(try await desk.mirror.compare(), "\(desk.log.text)")
            }
            #expect(bucket.names.count { $0.hasSuffix(".sqlite") } == 2)
            #expect(bucket.names == (try Self.names(in: desk)))
        }
    }

    @Test(arguments: [false, true])
    func `if the backup folder is lost or emptied, nothing is deleted from the bucket`(
        isEmptied: Bool
    ) async throws {
        try await Self.withDesk { desk, bucket in
            for _ in 0..<3 {
                desk.wait(.hours(25))
                #expect(try await desk.worker.makeIfDue())
                try await desk.change(1)
                try await desk.ship()
                #expect(try await desk.mirror.uploadChanges())
                #expect(try await desk.mirror.compare())
            }
            let before = bucket.names
            try FileManager.default.removeItem(atPath: desk.backups)
            if isEmptied {
                try FileManager.default.createDirectory(
                    atPath: desk.backups, withIntermediateDirectories: false)
            }
            try desk.start()
            try await desk.change(1)
            try await desk.shipper.ship()
            _ = try await desk.worker.makeIfDue()
            _ = try await desk.mirror.uploadChanges()
            #expect(try await desk.mirror.compare(), "\(desk.log.text)")
            desk.wait(.hours(2))
            _ = try await desk.worker.makeIfDue()
            #expect(try await desk.mirror.compareIfDue(), "\(desk.log.text)")
            #expect(bucket.names.isSuperset(of: before))
            guard isEmptied else { return }
            #expect(try await desk.mirror.uploadChanges(), "\(desk.log.text)")
            let latest = try await Self.hash(at: "latest", in: bucket, desk)
            #expect(try await desk.hash() == latest)
        }
    }

    @Test func `a server changes nothing in the bucket of another database`()
        async throws
    {
        try await Self.withDesk { desk, bucket in
            let before = bucket.state.withLock { $0.objects }
            try await TemporaryFolder.with { folder in
                let other = try await ChangeDesk(
                    in: folder, uploadingTo: bucket.client())
                defer { other.close() }
                try await other.run("UPDATE schema_versions SET applied_at_ms = 7")
                #expect(try await other.worker.makeIfDue())
                #expect(try await !other.mirror.compare())
                #expect(try await !other.mirror.uploadChanges())
                #expect(try other.mirror.problem?.message.contains("another database") == true)
            }
            #expect(bucket.state.withLock { $0.objects } == before)
        }
    }

    // MARK: - Trouble

    @Test func `after an outage of the bucket, the waiting files are uploaded in order`()
        async throws
    {
        try await Self.withDesk { desk, bucket in
            #expect(try desk.mirror.problem == nil)
            bucket.state.withLock { $0.isAway = true }
            for _ in 0..<5 {
                try await desk.change(1)
                try await desk.ship()
                #expect(try await !desk.mirror.uploadChanges())
            }
            desk.wait(.hours(25))
            #expect(try await desk.worker.makeIfDue())
            #expect(try desk.mirror.lag > .hours(25))
            #expect(try desk.mirror.problem?.message.contains("does not respond") == true)
            #expect(try desk.worker.state.bucketProblem != nil)
            bucket.state.withLock { ($0.isAway, $0.requests) = (false, []) }
            #expect(try await desk.mirror.uploadChanges())
            #expect(try desk.mirror.lag > .hours(25), "the backup is not there yet")
            #expect(try await desk.mirror.compare())
            #expect(try await desk.mirror.uploadChanges())
            #expect(try desk.mirror.lag < .seconds(120))
            #expect(try desk.mirror.problem == nil)
            #expect(bucket.names == (try Self.names(in: desk)))
            let puts = bucket.state.withLock { $0.requests }.filter {
                $0.hasPrefix("PUT") && $0.hasSuffix(".pages")
            }
            #expect(puts.count >= 6)
            #expect(puts == puts.sorted())
            #expect(desk.log.text.contains("the bucket of the backups can be used again"))
        }
    }

    @Test func `if more files wait than the queue holds, the others are found on the disk`()
        async throws
    {
        try await Self.withDesk { desk, bucket in
            let mirror = try desk.mirror
            try await desk.change(1)
            try await desk.ship()
            let unknown = "\(desk.backups)/perennial-unknown.changes/file"
            for _ in 0...BucketMirror.waitingMax { mirror.add(unknown) }
            #expect(mirror.state.withLock { $0.waiting.count } < 10)
            #expect(await mirror.uploadChanges())
            #expect(bucket.names == (try Self.names(in: desk)))
        }
    }

    // MARK: - Erasures

    @Test func `a list of erasures with fewer entries never replaces the list in the bucket`()
        async throws
    {
        try await Self.withDesk { desk, bucket in
            let list = "\(desk.backups)/\(ErasureFile.copyName)"
            let (old, one, two) = (
                Self.line("old", at: desk.now - .days(500)), Self.line("one", at: desk.now),
                Self.line("two", at: desk.now)
            )
            try Data((old + one).utf8).write(to: URL(filePath: list))
            #expect(try await desk.mirror.uploadChanges(), "\(desk.log.text)")
            // No backup of the bucket is from before the oldest one.
            #expect(Self.erasures(in: bucket) == one)
            try FileManager.default.removeItem(atPath: list)
            #expect(try await desk.mirror.uploadChanges())
            try Data(two.utf8).write(to: URL(filePath: list))
            #expect(try await desk.mirror.uploadChanges())
            #expect(Self.erasures(in: bucket) == one + two)
            let lines = try await BucketBackups(client: bucket.client(), now: desk.now).erasures()
            #expect(lines?.count == 2)
        }
    }

    private static let code = [UInt8](repeating: 7, count: 32)

    /// A line of a list of erasures.
    static func line(_ name: String, at moment: Instant) -> String {
        let codes = [ErasureIntent.Code(exact: code, tombstone: code)]
        return ErasureText.text(of: [
            .intent(ErasureIntent(name: name, app: "birds", at: moment, key: "k", codes: codes))
        ])
    }

    /// The list of erasures in the bucket.
    static func erasures(in bucket: BucketDouble) -> String? {
        bucket.state.withLock { state in
            state.objects["perennial/\(ErasureFile.copyName)"].map {
                String(decoding: $0.bytes, as: UTF8.self)
            }
        }
    }
}
