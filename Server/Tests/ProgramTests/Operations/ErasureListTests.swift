import Foundation
import Ledger
import Logging
import Storage
import Synchronization
import Testing

@testable import Engine
@testable import Program

/// A list outside of the database makes sure that erasures survive a restore.
@Suite struct ErasureListTests {
    private static let anna = CustomerID(rawValue: "anna-whose-id-is-easy-to-find")
    private static let app = AppID(rawValue: "rage")
    private static let apps = [
        AppConfiguration(
            settings: AppSettings(id: app, bundleID: "com.example.rage", entitlements: [:]),
            extraRoots: [])
    ]

    /// Where a crash interrupts an erasure.
    private enum Crash {
        /// The server is killed after the intent was listed.
        case beforeTransaction
        /// The server is killed after the transaction.
        case beforeEnd
    }

    /// A database, its list of erasures, a folder for backups, and a clock that moves a second
    /// whenever it is read.
    private final class Desk: Sendable {
        let folder: String
        let log = LineCollector()
        private let time = Mutex(Instant(milliseconds: 1_795_248_000_000))

        var database: String { folder + "/p.sqlite" }
        var backups: String { folder + "/backups" }
        var list: String { database + ErasureFile.suffix }

        init(in folder: String) throws {
            self.folder = folder
            try FileManager.default.createDirectory(
                atPath: folder + "/backups", withIntermediateDirectories: true)
        }

        var now: Instant {
            time.withLock { time in
                time = time + .seconds(1)
                return time
            }
        }

        var repetition: ErasureRepetition? {
            ErasureFile(for: database, in: nil, backups: backups).map {
                ErasureRepetition(
                    file: $0, logger: Logger(label: "test") { [log] _ in log.handler })
            }
        }

        /// Starts the engine as a server does, and closes the database after the body.
        func served<Value>(
            crashing crash: Crash? = nil, _ body: (CustomerService) async throws -> Value
        ) async throws -> Value {
            let repetition = try #require(repetition)
            let list = crash.map { Self.list(repetition.file, crashing: $0) } ?? repetition.list
            let assembly = try await Assembly(
                apps: ErasureListTests.apps, databaseAddress: database, now: { self.now },
                erasures: list, logger: .quiet)
            defer { assembly.database.close() }
            try await repetition.run(on: assembly.engine)
            return try await body(assembly.engine.customers)
        }

        private static func list(_ file: ErasureFile, crashing crash: Crash) -> ErasureList {
            let list = file.list(.quiet)
            return ErasureList { lines in
                switch (crash, lines.first) {
                case (.beforeEnd, .end): throw CancellationError()
                case (.beforeTransaction, _):
                    try await list.append(lines)
                    throw CancellationError()
                default: try await list.append(lines)
                }
            }
        }

        func backUp(as name: String) async throws -> String {
            let file = "\(folder)/\(name)"
            _ = try await BackupCopy(of: database).make(at: file)
            return file
        }

        func restore(_ backup: String) async throws {
            let outcome = try await DatabaseRestore(
                backup: backup, path: database, now: now
            ).run()
            if let aside = outcome.aside { BackupCopy.remove(aside) }
        }

        func isKnown(_ id: CustomerID) async throws -> Bool {
            try await served { try await $0.isKnown(id, app: ErasureListTests.app) }
        }

        /// The names of the files that contain a text.
        func files(containing text: String) throws -> [String] {
            let needle = Data(text.utf8)
            let names = try FileManager.default.subpathsOfDirectory(atPath: folder)
            return names.filter { name in
                FileManager.default.contents(atPath: "\(folder)/\(name)")?
                    .range(of: needle) != nil
            }.sorted()
        }
    }

    private static func withDesk(_ body: (Desk) async throws -> Void) async throws {
        try await TemporaryFolder.with { try await body(try Desk(in: $0)) }
    }

    private static func come(_ id: CustomerID, to customers: CustomerService) async throws {
        _ = try await customers.alias(
            CustomerID(rawValue: id.rawValue + "-2"), to: id, app: app, environment: .production)
    }

    @Test func `if a restored backup contains an erased customer, the server erases the customer`()
        async throws
    {
        try await Self.withDesk { desk in
            try await desk.served {
                try await Self.come(Self.anna, to: $0)
                try await Self.come("ben", to: $0)
            }
            let backup = try await desk.backUp(as: "old")
            let erased = try await desk.served { customers in
                _ = try await customers.erase(Self.anna, app: Self.app)
                return try await customers.isKnown(Self.anna, app: Self.app)
            }
            #expect(!erased)
            try await desk.restore(backup)
            #expect(try desk.files(containing: Self.anna.rawValue) == ["old", "p.sqlite"])
            #expect(try await !desk.isKnown(Self.anna))
            #expect(try await desk.isKnown("ben"))
            #expect(desk.log.text.contains("repeated customers=1 erasures=1"), "\(desk.log.text)")
            _ = try await desk.backUp(as: "new")
            // The list is beside the database and beside the backups.
            #expect(Disk.exists(desk.list))
            #expect(Disk.exists("\(desk.backups)/\(ErasureFile.copyName)"))
            #expect(try desk.files(containing: Self.anna.rawValue) == ["old"])
            let kinds = try await Self.kinds(in: desk.database)
            #expect(kinds.contains("customer_erased"))
        }
    }

    private static func kinds(in path: String) async throws -> [String] {
        let store = Database(try DatabaseAddress.open(path))
        defer { store.driver.close() }
        return try await store.read { tx in
            try tx.events.all(of: app, after: 0, limit: 100).map {
                $0.entry.change.kind.rawValue
            }
        }
    }

    @Test func `if the disk of the database is lost, the list beside the backups is sufficient`()
        async throws
    {
        try await Self.withDesk { desk in
            try await desk.served { try await Self.come(Self.anna, to: $0) }
            let backup = try await desk.backUp(as: "old")
            try await desk.served { _ = try await $0.erase(Self.anna, app: Self.app) }
            BackupCopy.remove(desk.database)
            unlink(desk.list)
            try await desk.restore(backup)
            #expect(try await !desk.isKnown(Self.anna))
            #expect(Disk.exists(desk.list), "it is written again")
        }
    }

    @Test func `a customer who returns after an erasure is not erased by restarts and restores`()
        async throws
    {
        try await Self.withDesk { desk in
            try await desk.served { try await Self.come(Self.anna, to: $0) }
            let before = try await desk.backUp(as: "before")
            try await desk.served {
                _ = try await $0.erase(Self.anna, app: Self.app)
                try await Self.come(Self.anna, to: $0)
            }
            #expect(try await desk.isKnown(Self.anna))
            let after = try await desk.backUp(as: "after")
            try await desk.restore(after)
            #expect(try await desk.isKnown(Self.anna))
            // The return is lost together with everything else since the backup.
            try await desk.restore(before)
            #expect(try await !desk.isKnown(Self.anna))
            try await desk.served { try await Self.come(Self.anna, to: $0) }
            #expect(try await desk.isKnown(Self.anna))
            try await desk.restore(before)
            #expect(try await !desk.isKnown(Self.anna))
        }
    }

    @Test func `restoring the wrong backup first does not erase people from the right backup`()
        async throws
    {
        try await Self.withDesk { desk in
            try await desk.served { try await Self.come(Self.anna, to: $0) }
            let before = try await desk.backUp(as: "before")
            try await desk.served {
                _ = try await $0.erase(Self.anna, app: Self.app)
                try await Self.come(Self.anna, to: $0)
            }
            let after = try await desk.backUp(as: "after")
            try await desk.restore(before)
            #expect(try await !desk.isKnown(Self.anna))
            try await desk.restore(after)
            #expect(try await desk.isKnown(Self.anna))
        }
    }

    @Test func `an erasure that a kill interrupted is completed at the next start`() async throws {
        try await Self.withDesk { desk in
            try await desk.served { try await Self.come(Self.anna, to: $0) }
            await #expect(throws: EngineFailure.self) {
                try await desk.served(crashing: .beforeTransaction) {
                    _ = try await $0.erase(Self.anna, app: Self.app)
                }
            }
            #expect(try await !desk.isKnown(Self.anna))
        }
    }

    @Test func `a server that is killed just after an erasure does not erase a returned person`()
        async throws
    {
        try await Self.withDesk { desk in
            try await desk.served { try await Self.come(Self.anna, to: $0) }
            let before = try await desk.backUp(as: "before")
            // The customer returns at another server, while the first server is not running.
            try await desk.served(crashing: .beforeEnd) {
                _ = try await $0.erase(Self.anna, app: Self.app)
                try await Self.come(Self.anna, to: $0)
            }
            #expect(try await desk.isKnown(Self.anna))
            try await desk.restore(before)
            #expect(try await !desk.isKnown(Self.anna))
        }
    }

    @Test func `a failed erasure is not repeated by the next start`() async throws {
        try await Self.withDesk { desk in
            try await desk.served { try await Self.come(Self.anna, to: $0) }
            try await Self.run(
                "CREATE TRIGGER refusal BEFORE INSERT ON erasures "
                    + "BEGIN SELECT RAISE(ABORT, 'refused'); END", on: desk.database)
            await #expect(throws: EngineFailure.self) {
                try await desk.served { _ = try await $0.erase(Self.anna, app: Self.app) }
            }
            try await Self.run("DROP TRIGGER refusal", on: desk.database)
            #expect(try await desk.isKnown(Self.anna))
        }
    }

    private static func run(_ sql: String, on path: String) async throws {
        let store = try DatabaseAddress.open(path)
        defer { store.close() }
        try await store.write { connection in _ = try connection.run(sql, []) }
    }

    @Test func `if the list cannot be written, nobody is erased`() async throws {
        try await Self.withDesk { desk in
            try await desk.served { try await Self.come(Self.anna, to: $0) }
            let failure = await #expect(throws: EngineFailure.self) {
                try await desk.served { customers in
                    try FileManager.default.createDirectory(
                        atPath: desk.list, withIntermediateDirectories: false)
                    _ = try await customers.erase(Self.anna, app: Self.app)
                }
            }
            #expect("\(failure as Any)".contains("Nobody is erased"))
            #expect(failure?.row.detail?.contains("nobody was erased") == true)
            try FileManager.default.removeItem(atPath: desk.list)
            #expect(try await desk.isKnown(Self.anna))
        }
    }

    @Test func `the list of another database causes no erasure, and the log says so`() async throws
    {
        try await Self.withDesk { desk in
            try await desk.served {
                try await Self.come(Self.anna, to: $0)
                _ = try await $0.erase(Self.anna, app: Self.app)
            }
            BackupCopy.remove(desk.database)
            try await desk.served { try await Self.come(Self.anna, to: $0) }
            #expect(try await desk.isKnown(Self.anna))
            #expect(desk.log.text.contains("listed erasures are of another database"))
        }
    }

    @Test func `an erased account token that the backup does not know identifies nobody`()
        async throws
    {
        let token = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
        let id = CustomerID(rawValue: token)
        try await Self.withDesk { desk in
            try await desk.served { _ in }
            let backup = try await desk.backUp(as: "old")
            try await desk.served {
                try await Self.come(id, to: $0)
                _ = try await $0.erase(id, app: Self.app)
            }
            try await desk.restore(backup)
            try await desk.served { _ in }
            let store = Database(
                try DatabaseAddress.open(desk.database),
                rules: DatabaseRules(erasedHash: { $0.hash }, erasureKeying: .hmac))
            defer { store.driver.close() }
            #expect(try await store.read { try $0.erasedIDs.contains(token: token, in: Self.app) })
        }
    }

    @Test func `many customers of a restored database are compared in batches`() async throws {
        try await Self.withDesk { desk in
            let ids = (0..<1_200).map { CustomerID(rawValue: "c\($0)") }
            try await desk.served { customers in
                for id in ids { try await Self.come(id, to: customers) }
            }
            let backup = try await desk.backUp(as: "old")
            let erased = [ids[0], ids[999], ids[1_199]]
            try await desk.served { customers in
                for id in erased { _ = try await customers.erase(id, app: Self.app) }
            }
            try await desk.restore(backup)
            try await desk.served { customers in
                for id in ids {
                    let isKnown = try await customers.isKnown(id, app: Self.app)
                    #expect(isKnown != erased.contains(id), "\(id)")
                }
            }
        }
    }
}
