import Eventually
import Foundation
import HTTPServer
import Ledger
import Logging
import Storage
import StorageSQLite
import Synchronization
import Testing

@testable import Program

/// The backups that a server makes by itself.
@Suite struct BackupWorkerTests {
    /// A database, the folder of its backups, and a clock.
    private final class Desk: Sendable {
        static let start = Instant(milliseconds: 1_795_248_000_000)

        let database: String
        let folder: String
        let log = LineCollector()
        private let time = Mutex(Desk.start)

        init(in folder: String) async throws {
            database = folder + "/p.sqlite"
            self.folder = folder + "/backups"
            try FileManager.default.createDirectory(
                atPath: self.folder, withIntermediateDirectories: true)
            try await Self.makeDatabase(at: database, madeAt: 1)
        }

        static func makeDatabase(at path: String, madeAt: Int64) async throws {
            let store = Database(try DatabaseAddress.open(path))
            try await store.migrate(at: madeAt)
            store.driver.close()
        }

        var now: Instant {
            get { time.withLock { $0 } }
            set { time.withLock { $0 = newValue } }
        }

        /// A worker that has just been started.
        func worker(of path: String? = nil, keeping days: Int = 7) -> BackupWorker {
            var settings = BackupSettings(folder: "backups")
            settings.keep.days = days
            return BackupWorker(
                settings, in: folder, of: path ?? database, now: { self.now },
                logger: Logger(label: "test") { [log] _ in log.handler })
        }

        /// The names in the folder, except for the file that names the owner.
        var files: Set<String> {
            get throws {
                Set(try FileManager.default.contentsOfDirectory(atPath: folder))
                    .subtracting([BackupFolder.ownerName])
            }
        }

        func touch(_ name: String) throws {
            try Data("x".utf8).write(to: URL(filePath: "\(folder)/\(name)"))
        }
    }

    private static func withDesk(_ body: (Desk) async throws -> Void) async throws {
        try await TemporaryFolder.with { try await body(try await Desk(in: $0)) }
    }

    private static let first = "perennial-2026-11-21T080000Z.sqlite"

    @Test func `a backup is made when it is due, and is reported in the state and in the log`()
        async throws
    {
        try await Self.withDesk { desk in
            let worker = desk.worker()
            #expect(worker.state.newestAt == nil && worker.state.overdue == .zero)
            #expect(await worker.makeIfDue())
            let files = try desk.files
            #expect(files == [Self.first])
            desk.now = Desk.start + .hours(23)
            #expect(await worker.makeIfDue())
            var state = worker.state
            #expect(state.made == 1 && state.failed == 0 && state.files == 1)
            #expect(state.age == .hours(23) && state.overdue == .zero && state.bytes > 0)
            #expect(state.duration != nil && state.problem == nil)
            desk.now = Desk.start + .hours(25)
            #expect(worker.state.overdue == .hours(1))
            #expect(await worker.makeIfDue())
            state = worker.state
            #expect(state.made == 2 && state.files == 2 && state.age == .zero)
            #expect(desk.log.text.matches(of: /the database was backed up/).count == 2)
            let file = SQLiteFile("\(desk.folder)/\(Self.first)")
            #expect(try await file.damage() == [])
            #expect(FileStatus(path: file.path)?.permissions == 0o600)
        }
    }

    @Test func `the first server that uses a folder says that the folder belongs to it`()
        async throws
    {
        try await Self.withDesk { desk in
            for _ in 1...2 { #expect(await desk.worker().makeIfDue()) }
            let lines = desk.log.text.matches(of: /the folder of the backups belongs to this/)
            #expect(lines.count == 1)
        }
    }

    @Test func `several workers and a restart at the same time make only one backup`() async throws
    {
        try await Self.withDesk { desk in
            let workers = (0..<4).map { _ in desk.worker() }
            await withTaskGroup(of: Void.self) { tasks in
                for worker in workers { tasks.addTask { _ = await worker.makeIfDue() } }
            }
            #expect(workers.map(\.state.made).reduce(0, +) == 1)
            desk.now = Desk.start + .hours(1)
            let restarted = desk.worker()
            #expect(await restarted.makeIfDue())
            #expect(restarted.state.made == 0 && restarted.state.age == .hours(1))
            let files = try desk.files
            #expect(files == [Self.first])
        }
    }

    @Test func `if the clock was ahead at the start, backups continue after it is corrected`()
        async throws
    {
        try await Self.withDesk { desk in
            desk.now = Desk.start + .days(5_000)
            let worker = desk.worker()
            #expect(await worker.makeIfDue())
            desk.now = Desk.start
            #expect(await worker.makeIfDue())
            #expect(worker.state.made == 2 && worker.state.newestAt == Desk.start)
        }
    }

    @Test func `expired backups are deleted even if no backup is due`() async throws {
        try await Self.withDesk { desk in
            let worker = desk.worker()
            #expect(await worker.makeIfDue())
            let old = [30, 29].map { BackupFolder.name(at: Desk.start - .days(30) - .hours($0)) }
            for name in old { try desk.touch(name) }
            #expect(await worker.makeIfDue())
            let files = try desk.files
            #expect(worker.state.made == 1)
            #expect(files == [Self.first, old[1]])
        }
    }

    @Test func `backups from the future stay, and after a correction new backups are made`()
        async throws
    {
        try await Self.withDesk { desk in
            desk.now = Desk.start + .days(5_000)
            #expect(await desk.worker(keeping: 1).makeIfDue())
            for days in [0, 1, 2] {
                desk.now = Desk.start + .days(days)
                #expect(await desk.worker(keeping: 1).makeIfDue())
            }
            let worker = desk.worker(keeping: 1)
            #expect(await worker.makeIfDue())
            #expect(worker.state.newestAt == desk.now && worker.state.overdue == .zero)
            let ahead = BackupFolder.name(at: Desk.start + .days(5_000))
            let files = try desk.files
            #expect(files.isSuperset(of: [ahead, BackupFolder.name(at: desk.now)]))
        }
    }

    @Test func `old backups are deleted, and other files in the folder stay`() async throws {
        try await Self.withDesk { desk in
            let others: Set = [
                "perennial-2020-01-01.sqlite", "notes.txt", "perennial-2020-01-01T000000Z.dump",
                "perennial-2020-13-01T000000Z.sqlite", "Perennial-2020-01-01T000000Z.sqlite",
                "perennial-2020-01-01T000000Z.sqlite.bak", "mine.sqlite.part",
                "x-perennial-2020-01-01T000000Z.sqlite.part",
            ]
            for name in others { try desk.touch(name) }
            let linked = BackupFolder.name(at: Instant(milliseconds: 5_000))
            try FileManager.default.createSymbolicLink(
                atPath: "\(desk.folder)/\(linked)", withDestinationPath: "notes.txt")
            let folder = BackupFolder.name(at: Instant(milliseconds: 9_000))
            try FileManager.default.createDirectory(
                atPath: "\(desk.folder)/\(folder)", withIntermediateDirectories: true)
            for days in 0..<40 {
                desk.now = Desk.start + .days(days)
                #expect(await desk.worker(keeping: 2).makeIfDue())
            }
            let files = try desk.files
            #expect(files.isSuperset(of: others.union([linked, folder])))
            // The backups of two days, of the ends of four earlier weeks, and of the end of one
            // earlier month.
            let own = files.subtracting(others).subtracting([linked, folder])
            #expect(
                own
                    == Set(
                        [
                            "2026-11-30", "2026-12-06", "2026-12-13", "2026-12-20", "2026-12-27",
                            "2026-12-29", "2026-12-30",
                        ].map { "perennial-\($0)T080000Z.sqlite" }))
        }
    }

    @Test func `the unfinished file of a killed backup is deleted, and is not counted as a backup`()
        async throws
    {
        try await Self.withDesk { desk in
            let leftovers = ["", "-journal", "-wal", "-shm"].map {
                "perennial-2026-11-20T080000Z.sqlite.part" + $0
            }
            for name in leftovers { try desk.touch(name) }
            #expect(try BackupFolder(path: desk.folder).backups() == [])
            #expect(await desk.worker().makeIfDue())
            #expect(try desk.files == [Self.first])
        }
    }

    @Test(arguments: [
        ("rm -r backups", "does not exist or cannot be written"),
        ("rm -r backups; touch backups", "does not exist or cannot be written"),
        ("rm -r backups; ln -s /dev/null backups", "does not exist or cannot be written"),
        ("echo other >backups/perennial-backups.owner", "has the backups of another database"),
        ("printf x >p.sqlite; rm -f p.sqlite-wal", "could not be backed up"),
        ("truncate -s 8T p.sqlite", "a backup needs"),
    ])
    func `a failed backup is logged once, and the next attempt can succeed`(
        spoil: String, says: String
    ) async throws {
        try await Self.withDesk { desk in
            let worker = desk.worker()
            let place = URL(filePath: desk.folder).deletingLastPathComponent().path
            _ = try await Shell.output(of: "cd '\(place)' && \(spoil)")
            #expect(await !worker.makeIfDue())
            let problem = try #require(worker.state.problem)
            #expect(problem.message.contains(says), "\(problem)")
            #expect(!problem.remedy.isEmpty)
            #expect(worker.state.failed == 1 && worker.state.newestAt == nil)
            #expect(desk.log.text.matches(of: /the database was not backed up/).count == 1)
            let files = (try? desk.files) ?? []
            #expect(files.allSatisfy { BackupFolder.moment(of: $0) == nil }, "\(files)")
            // When the folder is available again, the backups are available, too.
            _ = try await Shell.output(
                of: "cd '\(place)' && rm -rf backups p.sqlite* && mkdir backups")
            try await Desk.makeDatabase(at: desk.database, madeAt: 1)
            #expect(await worker.makeIfDue())
            #expect(worker.state.problem == nil && worker.state.made == 1)
        }
    }

    @Test func `a folder with backups of one database refuses backups of another database`()
        async throws
    {
        try await Self.withDesk { desk in
            #expect(await desk.worker().makeIfDue())
            let other = desk.database + "2"
            try await Desk.makeDatabase(at: other, madeAt: 2)
            desk.now = Desk.start + .days(2)
            let worker = desk.worker(of: other)
            #expect(await !worker.makeIfDue())
            #expect(worker.state.problem?.message.contains("another database") == true)
            // A restored database is the same one.
            let restored = desk.database + "3"
            _ = try await DatabaseRestore(
                backup: "\(desk.folder)/\(Self.first)", path: restored, now: .machine
            ).run()
            #expect(await desk.worker(of: restored).makeIfDue())
        }
    }

    @Test func `a backup's file name has the time to the second, and other names are not backups`()
    {
        let moment = Instant(milliseconds: 1_795_248_059_999)
        let name = BackupFolder.name(at: moment)
        #expect(name == "perennial-2026-11-21T080059Z.sqlite")
        #expect(BackupFolder.moment(of: name) == Instant(milliseconds: 1_795_248_059_000))
        for other in [
            "perennial-2026-11-21T080059.sqlite", "perennial-2026-11-21T086059Z.sqlite",
            "perennial-2026-02-30T080059Z.sqlite", "perennial-1969-11-21T080059Z.sqlite",
            "perennial-2026-11-21T080059Z.sqlite.part", "perennial-.sqlite", "",
        ] {
            #expect(BackupFolder.moment(of: other) == nil, "\(other)")
        }
    }

    // MARK: - The program

    /// Makes a database so large that its backup can be interrupted.
    private static func addBallast(to database: String) async throws {
        let store = try DatabaseAddress.open(database)
        defer { store.close() }
        try await store.write { connection in
            try connection.run("CREATE TABLE ballast (bytes BLOB NOT NULL)", [])
            try connection.run(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) "
                    + "INSERT INTO ballast SELECT zeroblob(500) FROM n", [])
        }
    }

    @Test func `a server that stops abandons its unfinished backup, and deletes the file`()
        async throws
    {
        try await Self.withDesk { desk in
            try await Self.addBallast(to: desk.database)
            var isInterrupted = false
            for _ in 0..<20 where !isInterrupted {
                let worker = desk.worker()
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    tasks.addTask { await worker.run() }
                    try await eventually("a backup begins") { try !desk.files.isEmpty }
                    tasks.cancelAll()
                }
                let files = try desk.files
                isInterrupted = files.isEmpty
                #expect(worker.state.failed == 0 && worker.state.problem == nil)
                // If the backup was faster than this test, try again.
                for name in files { unlink("\(desk.folder)/\(name)") }
            }
            #expect(isInterrupted)
        }
    }

    @Test func `a server killed during a backup leaves nothing that looks like a backup`()
        async throws
    {
        try await Self.withDesk { desk in
            let place = URL(filePath: desk.folder).deletingLastPathComponent().path
            let program = try BuiltProgram.path()
            _ = try await Shell.output(
                of: """
                    cd '\(place)'
                    echo 'apps: {birds: {bundle_id: com.example.birds}}
                    backup: {folder: backups}' >perennial.yaml
                    '\(program)' keys create --kind app --database p.sqlite >/dev/null 2>&1
                    """)
            try await Self.addBallast(to: desk.database)
            func serve() throws -> Process {
                let process = Process()
                process.executableURL = URL(filePath: program)
                process.arguments = ["serve", "--database", "p.sqlite", "--port", "0"]
                process.currentDirectoryURL = URL(filePath: place)
                process.standardError = FileHandle.nullDevice
                process.standardOutput = FileHandle.nullDevice
                try process.run()
                return process
            }
            var isInterrupted = false
            for _ in 0..<20 where !isInterrupted {
                let server = try serve()
                try await eventually("a backup begins") { try !desk.files.isEmpty }
                kill(server.processIdentifier, SIGKILL)
                try await server.waitForEnd()
                let files = try desk.files
                let isComplete = files.contains { BackupFolder.moment(of: $0) != nil }
                isInterrupted = !isComplete
                #expect(try BackupFolder(path: desk.folder).backups().isEmpty == !isComplete)
                // If the backup was faster than this test, try again.
                if isComplete {
                    for name in files { unlink("\(desk.folder)/\(name)") }
                }
            }
            #expect(isInterrupted)
            let server = try serve()
            try await eventually("the next start makes a backup") {
                try desk.files.contains { BackupFolder.moment(of: $0) != nil }
            }
            kill(server.processIdentifier, SIGTERM)
            try await server.waitForEnd()
            let files = try desk.files
            #expect(files.count == 1, "\(files)")
            let file = SQLiteFile("\(desk.folder)/\(try #require(files.first))")
            #expect(try await file.damage() == [])
        }
    }
}
