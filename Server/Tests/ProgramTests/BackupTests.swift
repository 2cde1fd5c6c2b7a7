import Engine
import Eventually
import Foundation
import Ledger
import Storage
import StorageSQLite
import Testing

@testable import Program

@Suite struct BackupTests {
    /// Runs the body with an open database that has some events.
    private static func withDatabase(
        _ body: (_ folder: String, _ path: String, _ store: Database) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            let path = folder + "/p.sqlite"
            let store = Database(try DatabaseAddress.open(path))
            defer { store.driver.close() }
            try await store.migrate(at: 0)
            try await tell(3, to: store)
            try await body(folder, path, store)
        }
    }

    private static func tell(_ count: Int, to store: Database) async throws {
        for number in 0..<count {
            try await store.transaction { tx in
                let purchase = PurchaseID(TransactionID(rawValue: "\(number)"), in: .production)
                let customer = try IdentityUpdates(tx).customer("anna", in: "rage", at: .machine)
                    .customer
                try OwnershipUpdates(tx).block(
                    purchase, of: customer, reason: "", in: "rage", at: .machine)
                try OwnershipUpdates(tx).unblock(purchase, of: customer, in: "rage", at: .machine)
            }
        }
    }

    private static func events(in path: String) async throws -> Int64 {
        try await SQLiteFile(path).read { try Database.contents($0) }.events
    }

    private static func files(in folder: String) throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: folder))
    }

    @Test func `a backup is complete, readable only by its user, and overwrites nothing`()
        async throws
    {
        try await Self.withDatabase { folder, path, store in
            let file = folder + "/b.sqlite"
            let contents = try await BackupCopy(of: path).make(at: file)
            #expect(contents.events == 6 && contents.loggedEvents == 6 && contents.customers == 1)
            #expect(FileStatus(path: file)?.permissions == 0o600)
            #expect(try await Self.events(in: file) == 6)
            // Neither the backup nor the test's reading leaves another file beside the backup.
            #expect(try Self.files(in: folder).filter { $0.hasPrefix("b.") } == ["b.sqlite"])

            let bytes = FileManager.default.contents(atPath: file)
            let failure = await #expect(throws: StartFailure.self) {
                try await BackupCopy(of: path).make(at: file)
            }
            #expect(failure?.message.hasSuffix("File exists.") == true, "\(failure as Any)")
            #expect(FileManager.default.contents(atPath: file) == bytes)
        }
    }

    @Test func `a backup is refused while the unfinished file of another backup exists`()
        async throws
    {
        try await Self.withDatabase { folder, path, store in
            let file = folder + "/b.sqlite"
            try Disk.make(file + ".part")
            let failure = await #expect(throws: StartFailure.self) {
                try await BackupCopy(of: path).make(at: file)
            }
            #expect(failure?.remedy.contains("interrupted") == true)
            #expect(!Disk.exists(file))
        }
    }

    @Test
    func `a backup during writes contains everything that was written before the backup began`()
        async throws
    {
        try await Self.withDatabase { folder, path, store in
            let writing = Task {
                var count = 0
                while !Task.isCancelled {
                    try await Self.tell(1, to: store)
                    count += 1
                }
                return count
            }
            for number in 1...20 {
                let before = try await store.read { try $0.events.lastSequence(of: "rage") }
                let contents = try await BackupCopy(of: path).make(at: "\(folder)/\(number)")
                #expect(contents.events >= before && contents.events == contents.loggedEvents)
            }
            writing.cancel()
            #expect(try await writing.value > 0, "nothing was written during the backup")
        }
    }

    @Test func `a backup of a damaged database, or of a file that is not a database, is refused`()
        async throws
    {
        try await Self.withDatabase { folder, path, store in
            let copy = folder + "/b.sqlite"
            _ = try await BackupCopy(of: path).make(at: copy)
            // The copy lacks an event that the log counts.
            let store = Database(try DatabaseAddress.open(copy))
            try await store.driver.write { connection in
                _ = try connection.run("DELETE FROM events WHERE sequence = 2", [])
            }
            store.driver.close()
            let failure = await #expect(throws: StartFailure.self) {
                try await BackupCopy(of: copy).make(at: folder + "/c.sqlite")
            }
            #expect(failure?.message.contains("5 events found, but 6 were emitted") == true)

            try Data("birds".utf8).write(to: URL(fileURLWithPath: folder + "/text"))
            for other in ["text", "none"] {
                await #expect(throws: StartFailure.self) {
                    try await BackupCopy(of: "\(folder)/\(other)").make(at: folder + "/d.sqlite")
                }
            }
            #expect(try Self.files(in: folder).isDisjoint(with: ["c.sqlite", "d.sqlite"]))
            #expect(!Disk.exists(folder + "/none"))
        }
    }

    @Test func `a damaged page of a backup is detected`() async throws {
        try await Self.withDatabase { folder, path, store in
            let file = folder + "/b.sqlite"
            try await Self.tell(200, to: store)
            _ = try await BackupCopy(of: path).make(at: file)
            var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
            let page = SQLiteDriver.pageBytes
            for start in stride(from: page, to: bytes.count, by: page) {
                bytes.replaceSubrange(start..<(start + 8), with: Data(repeating: 0xFF, count: 8))
            }
            try bytes.write(to: URL(fileURLWithPath: file))
            let failure = await #expect(throws: StartFailure.self) {
                try await DatabaseRestore(backup: file, path: path + "2", now: .machine).run()
            }
            #expect(failure?.remedy.contains("use another backup") == true, "\(failure as Any)")
            #expect(!Disk.exists(path + "2"))
        }
    }

    @Test
    func `a backup of PostgreSQL is refused with commands to use instead, without the password`()
        throws
    {
        let failure = try #require(throws: StartFailure.self) {
            try BackupCommand.requireFile("postgres://anna:secret@db/p", for: "b.dump")
        }
        #expect(
            failure.remedy.contains("(umask 077; pg_dump --format=custom --file=b.dump ADDRESS)"))
        #expect(failure.remedy.contains("pg_basebackup"))
        #expect(failure.remedy.contains("restore --mark"))
        #expect(!"\(failure)".contains("secret"))
    }
}

@Suite struct RestoringTests {
    private static func make(_ path: String, customers: [String]) async throws {
        let store = Database(try DatabaseAddress.open(path))
        try await store.migrate(at: 0)
        try await store.transaction { tx in
            for name in customers {
                let id = CustomerID(rawValue: name)
                let customer = try IdentityUpdates(tx).customer(id, in: "rage", at: .machine)
                    .customer
                let purchase = PurchaseID(TransactionID(rawValue: name), in: .production)
                try OwnershipUpdates(tx).block(
                    purchase, of: customer, reason: "", in: "rage", at: .machine)
            }
        }
        store.driver.close()
    }

    private static func customers(in path: String) async throws -> Int64 {
        try await SQLiteFile(path).read { try Database.contents($0) }.customers
    }

    private static let now = Instant(milliseconds: 1_795_248_000_000)

    private static func restore(_ backup: String, to path: String) async throws
        -> DatabaseRestore.Outcome
    {
        try await DatabaseRestore(backup: backup, path: path, now: now).run()
    }

    @Test func `a restore replaces the database, and keeps the old database under another name`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let (path, file) = (folder + "/p.sqlite", folder + "/b.sqlite")
            try await Self.make(path, customers: ["anna", "ben"])
            _ = try await BackupCopy(of: path).make(at: file)
            try await Self.make(path, customers: ["cleo"])
            guard chmod(path, 0o640) == 0 else { throw CocoaError(.fileWriteNoPermission) }

            let outcome = try await Self.restore(file, to: path)
            #expect(outcome.contents.customers == 2)
            #expect(try await Self.customers(in: path) == 2)
            #expect(FileStatus(path: path)?.permissions == 0o640)
            let aside = try #require(outcome.aside)
            #expect(try await Self.customers(in: aside) == 3)
            #expect(try await Self.customers(in: file) == 2)
            #expect(
                Set(try FileManager.default.contentsOfDirectory(atPath: folder)) == [
                    "p.sqlite", "p.sqlite.lock", "p.sqlite.use", "b.sqlite",
                    "p.sqlite.replaced-1795248000000",
                ])

            let store = Database(try DatabaseAddress.open(path))
            let epochs = try await store.read { try $0.events.epochs(of: "rage") }
            store.driver.close()
            #expect(epochs.current == outcome.epoch && epochs.sharedCount(with: nil) == 2)
            // The backup keeps its own epoch, so each restore creates a new epoch.
            #expect(try await Self.restore(file, to: folder + "/q.sqlite").epoch != outcome.epoch)
        }
    }

    @Test func `a restore also keeps the last writes of a killed server under another name`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let (path, file) = (folder + "/p.sqlite", folder + "/b.sqlite")
            try await Self.make(file, customers: ["anna"])
            // The log file remains beside a database after a kill, although no program has the
            // database open.
            let open = Database(try DatabaseAddress.open(folder + "/open.sqlite"))
            try await open.migrate(at: 0)
            _ = try await open.transaction {
                try IdentityUpdates($0).customer("ben", in: "rage", at: .machine)
            }
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(
                    atPath: folder + "/open.sqlite" + suffix, toPath: path + suffix)
            }
            open.driver.close()
            let outcome = try await Self.restore(file, to: path)
            #expect(try await Self.customers(in: try #require(outcome.aside)) == 1)
            #expect(!Disk.exists(path + "-wal"))
        }
    }

    @Test func `a restore replaces a damaged database, and creates a missing database`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let file = folder + "/b.sqlite"
            try await Self.make(file, customers: ["anna"])
            let path = folder + "/p.sqlite"
            for suffix in ["", "-wal"] {
                try Data(repeating: 7, count: 50_000).write(
                    to: URL(fileURLWithPath: path + suffix))
            }
            let aside = try #require(try await Self.restore(file, to: path).aside)
            #expect(try await Self.customers(in: path) == 1)
            let damaged = FileManager.default.contents(atPath: aside)
            #expect(damaged == Data(repeating: 7, count: 50_000))
            #expect(!Disk.exists(path + "-wal"))

            let fresh = folder + "/deep/p.sqlite"
            #expect(try await Self.restore(file, to: fresh).aside == nil)
            #expect(try await Self.customers(in: fresh) == 1)
            #expect(FileStatus(path: fresh)?.permissions == 0o600)
        }
    }

    @Test func `a restore that would lose or damage data is refused`() async throws {
        try await TemporaryFolder.with { folder in
            let (path, file) = (folder + "/p.sqlite", folder + "/b.sqlite")
            try await Self.make(path, customers: ["anna", "ben"])
            try await Self.make(file, customers: ["anna"])
            func refusal(_ backup: String) async throws -> StartFailure? {
                let failure = await #expect(throws: StartFailure.self) {
                    try await Self.restore(backup, to: path)
                }
                #expect(try await Self.customers(in: path) == 2)
                #expect(!Disk.exists(path + ".restoring"))
                return failure
            }
            let itself = try await refusal(path)
            #expect(itself?.message.hasSuffix("is the database itself.") == true)
            let none = try await refusal(folder + "/none")
            #expect(none?.message.contains("There is no backup") == true)

            let lock = try #require(try ServerLock.acquire(for: path))
            let served = try await refusal(file)
            #expect(served?.message.contains("Another server works on") == true)
            lock.release()

            // Another command still uses this database.
            let open = Database(try DatabaseAddress.open(path))
            _ = try await open.transaction {
                try IdentityUpdates($0).customer("ben", in: "rage", at: .machine)
            }
            let used = try await refusal(file)
            #expect(used?.remedy == "Let it end, then restore.")
            open.driver.close()
            _ = try await Self.restore(file, to: path)
            #expect(try await Self.customers(in: path) == 1)
        }
    }

    @Test func `a restore through a symbolic link replaces the database, not the link`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let (link, file) = (folder + "/link.sqlite", folder + "/b.sqlite")
            try await Self.make(folder + "/p.sqlite", customers: ["anna", "ben"])
            try await Self.make(file, customers: ["anna"])
            try FileManager.default.createSymbolicLink(
                atPath: link, withDestinationPath: "p.sqlite")
            let aside = try #require(try await Self.restore(file, to: link).aside)
            #expect(try await Self.customers(in: folder + "/p.sqlite") == 1)
            #expect(try await Self.customers(in: link) == 1)
            #expect(try await Self.customers(in: aside) == 2)
        }
    }

    @Test func `a backup from before the first release is refused, and the database is unchanged`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let (path, file) = (folder + "/p.sqlite", folder + "/b.sqlite")
            try await Self.make(path, customers: ["anna"])
            try await Self.make(file, customers: ["anna", "ben"])
            let store = Database(try DatabaseAddress.open(file))
            try await store.driver.write { connection in
                _ = try connection.run("UPDATE schema_versions SET version = 43", [])
            }
            store.driver.close()
            let failure = await #expect(throws: StartFailure.self) {
                _ = try await Self.restore(file, to: path)
            }
            #expect(failure?.message.contains("from before the first release") == true)
            #expect(try await Self.customers(in: path) == 1)
        }
    }
}
