import Engine
import Foundation
import Ledger
import Storage
import Testing

@testable import Program

/// Backups that are encrypted with age. Skipped where age is not installed.
@Suite(.enabled(if: (try? AgeProgram()) != nil)) struct EncryptedBackupTests {
    private static let customer = "anna-whose-id-is-easy-to-find"

    /// A database with one customer, an encrypted backup of it, and the file with the key.
    private struct Desk {
        let folder: String
        let recipient: String
        var database: String { folder + "/p.sqlite" }
        var backups: String { folder + "/backups" }
        var identity: String { folder + "/backup.key" }

        init(in folder: String) async throws {
            self.folder = folder
            let made = try await Shell.output(
                of: "cd '\(folder)' && mkdir backups && age-keygen -o backup.key 2>/dev/null"
                    + " && age-keygen -y backup.key")
            recipient = made.trimmingCharacters(in: .whitespacesAndNewlines)
            let store = Database(try DatabaseAddress.open(database))
            try await store.migrate(at: 1)
            _ = try await store.transaction {
                try IdentityUpdates($0).customer(
                    CustomerID(rawValue: customer), in: "rage", at: .machine)
            }
            store.driver.close()
        }

        func worker() -> BackupWorker {
            var settings = BackupSettings(folder: "backups")
            settings.recipients = [recipient]
            return BackupWorker(settings, in: backups, of: database, logger: .quiet)
        }

        func files() throws -> Set<String> {
            Set(try FileManager.default.contentsOfDirectory(atPath: folder))
        }

        /// The path of the only backup.
        func backup() throws -> String {
            let found = try BackupFolder(path: backups).backups()
            #expect(found.count == 1)
            return try #require(found.first).path
        }
    }

    private static func withDesk(_ body: (Desk) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            let desk = try await Desk(in: folder)
            let worker = desk.worker()
            #expect(await worker.makeIfDue())
            try await body(desk)
        }
    }

    private static func restore(
        _ backup: String, to path: String, with identity: String?
    ) async throws -> DatabaseContents {
        try await DatabaseRestore(
            backup: backup, path: path, now: .machine, identity: identity
        ).run().contents
    }

    @Test func `an encrypted backup leaves no plain text, and can be restored`() async throws {
        try await Self.withDesk { desk in
            let backup = try desk.backup()
            #expect(backup.hasSuffix("Z.sqlite.age"))
            #expect(FileStatus(path: backup)?.permissions == 0o600)
            let needle = Data(Self.customer.utf8)
            let database = try Data(contentsOf: URL(filePath: desk.database))
            let log = FileManager.default.contents(atPath: desk.database + "-wal") ?? Data()
            #expect(database.range(of: needle) != nil || log.range(of: needle) != nil)
            let bytes = try Data(contentsOf: URL(filePath: backup))
            #expect(bytes.range(of: needle) == nil)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: desk.backups).count == 2,
                "the backup, and the file that names the owner")
            let before = try desk.files()
            #expect(!before.contains { $0.contains("backing-up") })
            let restored = desk.folder + "/deep/q.sqlite"
            try FileManager.default.createDirectory(
                atPath: desk.folder + "/deep", withIntermediateDirectories: true)
            let contents = try await Self.restore(backup, to: restored, with: desk.identity)
            #expect(contents.customers == 1)
            #expect(!Disk.exists(restored + ".decrypted"))
        }
    }

    @Test
    func `a restore without the right key fails with a message, and a drill with the key succeeds`()
        async throws
    {
        try await Self.withDesk { desk in
            let backup = try desk.backup()
            let other = desk.folder + "/other.key"
            _ = try await Shell.output(of: "age-keygen -o '\(other)' 2>&1")
            let cut = desk.folder + "/cut.age"
            let bytes = try Data(contentsOf: URL(filePath: backup))
            try bytes.dropLast(1_000).write(to: URL(filePath: cut))
            for (file, identity, says) in [
                (backup, nil, "--identity FILE"), (backup, other, "no identity matched"),
                (backup, desk.folder + "/none", "no such file"),
                (cut, desk.identity, "decrypt"),
            ] as [(String, String?, String)] {
                let target = desk.folder + "/r.sqlite"
                let failure = await #expect(throws: StartFailure.self) {
                    _ = try await Self.restore(file, to: target, with: identity)
                }
                #expect(failure?.description.contains(says) == true, "\(failure as Any)")
                let left = try desk.files().filter { $0.hasPrefix("r.sqlite") }
                #expect(left.isSubset(of: ["r.sqlite.lock", "r.sqlite.use"]), "\(left)")
            }
            let drill = RestoreDrill(
                backup: try RestoreDrill.backup(named: backup, in: nil, at: .machine), apps: [],
                now: .machine, identity: desk.identity)
            #expect(try await drill.run().contents.customers == 1)
        }
    }

    @Test func `the unencrypted copy that a killed server left is deleted`() async throws {
        try await TemporaryFolder.with { folder in
            let desk = try await Desk(in: folder)
            let plain = desk.database + EncryptedBackup.plainSuffix
            let part = desk.backups + "/perennial-2026-11-20T080000Z.sqlite.age.part"
            for path in [plain, plain + "-journal", part] {
                try Data("x".utf8).write(to: URL(filePath: path))
            }
            #expect(await desk.worker().makeIfDue())
            for path in [plain, plain + "-journal", part] { #expect(!Disk.exists(path)) }
            _ = try desk.backup()
        }
    }

    @Test func `if age refuses a recipient, the backup fails and leaves no files`() async throws {
        try await TemporaryFolder.with { folder in
            let desk = try await Desk(in: folder)
            let key = "age1" + String(repeating: "q", count: 58)
            let backup = EncryptedBackup(database: desk.database, recipients: [key])
            let before = try desk.files()
            let failure = await #expect(throws: StartFailure.self) {
                _ = try await backup.make(at: desk.backups + "/b.age")
            }
            #expect(failure?.message.contains("malformed recipient") == true, "\(failure as Any)")
            #expect(failure?.remedy.contains("encrypt_to") == true)
            #expect(
                try desk.files().subtracting(["p.sqlite.use"])
                    == before.subtracting(["p.sqlite.use"]))
            #expect(try FileManager.default.contentsOfDirectory(atPath: desk.backups) == [])
        }
    }

    @Test func `without age, the message says how to install it`() {
        let failure = #expect(throws: StartFailure.self) { try AgeProgram(in: "/nowhere:/none") }
        #expect(failure?.remedy.contains("apt install age") == true)
    }
}
