import Foundation
import Ledger
import Storage
import Testing

@testable import Program

@Suite struct DatabaseUseTests {
    private static func make(_ path: String) async throws {
        let store = Database(try DatabaseAddress.open(path))
        try await store.migrate(at: 0)
        store.driver.close()
    }

    /// Returns the message of the refusal, or nil if the database was restored.
    private static func refusal(_ backup: String, to path: String) async throws -> String? {
        do {
            let restoring = DatabaseRestore(backup: backup, path: path, now: .machine)
            _ = try await restoring.run()
            return nil
        } catch let failure as StartFailure {
            #expect(failure.remedy == "Let it end, then restore.")
            #expect(!Disk.exists(path + ".restoring"))
            return failure.message
        }
    }

    @Test func `a restore is refused while any program has the database open`() async throws {
        try await TemporaryFolder.with { folder in
            let (path, file) = (folder + "/p.sqlite", folder + "/b.sqlite")
            try await Self.make(path)
            _ = try await BackupCopy(of: path).make(at: file)
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/link.sqlite", withDestinationPath: path)
            // SQLite has not opened the file yet, so only the lock shows that the database is in
            // use.
            let first = try #require(try DatabaseUse.shared(of: path))
            let second = try #require(try DatabaseUse.shared(of: folder + "/link.sqlite"))
            let message = "Another program has the database \(Disk.resolvedName(path)) open."
            #expect(try await Self.refusal(file, to: path) == message)
            first.release()
            #expect(try await Self.refusal(file, to: path) == message)
            second.release()
            #expect(try await Self.refusal(file, to: path) == nil)
        }
    }

    @Test func `a database is in use from its opening until its closing`() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder + "/p.sqlite"
            let databases = [try DatabaseAddress.open(path), try DatabaseAddress.open(path)]
            for database in databases {
                #expect(throws: StartFailure.self) { try DatabaseUse.alone(of: path) }
                database.close()
            }
            #expect(try DatabaseUse.alone(of: path) != nil)
            // The driver of this database is deallocated without a call of `close()`.
            _ = try DatabaseAddress.open(path)
            #expect(try DatabaseUse.alone(of: path) != nil)
        }
    }

    @Test func `during a restore, the database cannot be opened or copied`() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder + "/p.sqlite"
            try await Self.make(path)
            let alone = try #require(try DatabaseUse.alone(of: path))
            let opening = #expect(throws: StartFailure.self) { try DatabaseAddress.open(path) }
            #expect(opening?.message == "The database \(path) is being restored.")
            let copying = await #expect(throws: StartFailure.self) {
                try await BackupCopy(of: path).make(at: folder + "/b.sqlite")
            }
            #expect(copying?.message == opening?.message)
            alone.release()
            try DatabaseAddress.open(path).close()
        }
    }

    @Test func `if the lock file cannot be created, the database is opened anyway`() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder + "/p.sqlite"
            // The link stops the creation of the lock file like a read-only folder would, but for
            // root, too.
            try FileManager.default.createSymbolicLink(
                atPath: path + ".use", withDestinationPath: "/nowhere/at/all")
            #expect(try DatabaseUse.shared(of: path) == nil)
            try await Self.make(path)
            _ = try await BackupCopy(of: path).make(at: folder + "/b.sqlite")
            #expect(throws: StartFailure.self) { try DatabaseUse.alone(of: path) }
        }
    }

    @Test func `every user who may read the database may mark it as in use`() async throws {
        try await TemporaryFolder.with { folder in
            let (path, other) = (folder + "/p.sqlite", folder + "/q.sqlite")
            try await Self.make(path)
            #expect(FileStatus(path: path + ".use")?.permissions == 0o600)
            try Disk.make(other)
            guard chmod(other, 0o640) == 0 else { throw CocoaError(.fileWriteNoPermission) }
            _ = try DatabaseUse.shared(of: other)
            #expect(FileStatus(path: other + ".use")?.permissions == 0o640)
            #expect(FileStatus(path: other + ".use")?.owner == FileStatus(path: other)?.owner)
        }
    }

    @Test(arguments: ["postgres://db/p", "host=db dbname=p", ":memory:"])
    func `a database whose address is not a file has no lock`(address: String) throws {
        #expect(try DatabaseUse.shared(of: address) == nil)
    }
}
