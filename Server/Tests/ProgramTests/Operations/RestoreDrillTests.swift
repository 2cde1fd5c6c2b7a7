import Engine
import Foundation
import Ledger
import Storage
import Testing

@testable import Program

/// Trial restores in a temporary folder.
@Suite struct RestoreDrillTests {
    private static let apps = [
        AppConfiguration(
            settings: AppSettings(id: "rage", bundleID: "com.example.rage", entitlements: [:]),
            extraRoots: [])
    ]

    /// Runs the body with a database of two customers, and a backup of it.
    private static func withBackup(
        _ body: (_ folder: String, _ backup: BackupFolder.Backup) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            let assembly = try await Assembly(
                apps: apps, databaseAddress: folder + "/p.sqlite", now: { .machine },
                logger: .quiet)
            for name in ["anna", "ben"] {
                _ = try await assembly.engine.customers.alias(
                    CustomerID(rawValue: name + "-2"), to: CustomerID(rawValue: name), app: "rage",
                    environment: .production)
            }
            assembly.database.close()
            let file = "\(folder)/\(BackupFolder.name(at: Instant(milliseconds: 0)))"
            _ = try await BackupCopy(of: folder + "/p.sqlite").make(at: file)
            try await body(
                folder, try RestoreDrill.backup(named: file, in: nil, at: .machine))
        }
    }

    /// The bytes and the times of last change of all files in a folder.
    private static func files(in folder: String) throws -> [String: String] {
        var found: [String: String] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let path = "\(folder)/\(name)"
            var status = stat()
            guard stat(path, &status) == 0 else { continue }
            let bytes = FileManager.default.contents(atPath: path) ?? Data()
            found[name] =
                "\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) \(bytes.hashValue)"
        }
        return found
    }

    private static func drill(_ backup: BackupFolder.Backup) -> RestoreDrill {
        RestoreDrill(backup: backup, apps: apps, now: .machine)
    }

    @Test func `a drill verifies a backup, and changes no file`() async throws {
        try await Self.withBackup { folder, backup in
            // A server has the database open.
            let lock = try ServerLock.acquire(for: folder + "/p.sqlite")
            defer { lock?.release() }
            let before = try Self.files(in: folder)
            let drill = Self.drill(backup)
            let outcome = try await drill.run()
            #expect(outcome.rebuild.isClean && outcome.contents.customers == 2)
            #expect(try Self.files(in: folder) == before)
            let lines = drill.lines(of: outcome)
            #expect(lines[0].contains(" MiB, from 1970-01-01 00:00 UTC, "), "\(lines)")
            #expect(lines[1].hasPrefix("restored: 0 documents, 2 customers, 2 events;"), "\(lines)")
        }
    }

    @Test(arguments: [
        ("DELETE FROM events WHERE sequence = 2", "1 event found, but 2 were emitted"),
        ("DROP TABLE documents", "cannot be used"),
        ("UPDATE schema_versions SET version = 43", "from before the first release"),
    ])
    func `a backup that could not be restored fails the drill`(
        damage: String, says: String
    ) async throws {
        try await Self.withBackup { folder, backup in
            let store = try DatabaseAddress.open(backup.path)
            try await store.write { connection in _ = try connection.run(damage, []) }
            store.close()
            let failure = await #expect(throws: StartFailure.self) {
                _ = try await Self.drill(backup).run()
            }
            #expect(failure?.description.contains(says) == true, "\(failure as Any)")
        }
    }

    @Test func `a damaged index fails the drill, even if the rows can be restored`() async throws {
        try await Self.withBackup { _, backup in
            let store = try DatabaseAddress.open(backup.path)
            try await store.write { connection in
                _ = try connection.run("CREATE TABLE birds (name TEXT, song TEXT)", [])
                _ = try connection.run("INSERT INTO birds VALUES ('wren', 'loud')", [])
                _ = try connection.run("CREATE INDEX songs ON birds (song)", [])
            }
            store.close()
            var bytes = try Data(contentsOf: URL(filePath: backup.path))
            // The last page of the file belongs to the index.
            let place = try #require(bytes.range(of: Data("loud".utf8), options: .backwards))
            bytes.replaceSubrange(place, with: Data("mute".utf8))
            try bytes.write(to: URL(filePath: backup.path))
            let failure = await #expect(throws: StartFailure.self) {
                _ = try await Self.drill(backup).run()
            }
            #expect(failure?.message.contains("is damaged") == true, "\(failure as Any)")
        }
    }

    @Test func `a drill takes the newest backup that is not from the future`() throws {
        let newest = RestoreDrill.newest
        let none = try #require(throws: StartFailure.self) {
            try RestoreDrill.backup(named: newest, in: nil, at: .machine)
        }
        #expect(none.remedy.contains("--backup FILE"))
        let path = FileManager.default.temporaryDirectory.path + "/\(UUID().uuidString)"
        let folder = BackupFolder(path: path)
        #expect(throws: StartFailure.self) {
            try RestoreDrill.backup(named: newest, in: folder, at: .machine)
        }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let empty = try #require(throws: StartFailure.self) {
            try RestoreDrill.backup(named: newest, in: folder, at: .machine)
        }
        #expect(empty.message == "There is no backup in \(path).")
        for second in [1, 2, 3] {
            let moment = Instant(milliseconds: Int64(second) * 1000)
            try Data().write(to: URL(filePath: folder.file(at: moment)))
        }
        let found = try RestoreDrill.backup(
            named: newest, in: folder, at: Instant(milliseconds: 2500))
        #expect(found.at == Instant(milliseconds: 2000))
        #expect(throws: StartFailure.self) {
            try RestoreDrill.backup(named: path, in: nil, at: .machine)
        }
    }

    @Test(arguments: [
        (0, "0 minutes"), (-90, "0 minutes"), (61, "1 minute"), (7199, "119 minutes"),
        (7200, "2 hours"), (172_799, "47 hours"), (172_800, "2 days"),
    ])
    func `the age of a backup is shown in minutes, hours or days`(seconds: Int, words: String) {
        #expect(RestoreDrill.words(for: .seconds(seconds)) == words)
    }

    @Test(arguments: [
        [], ["--mark", "b.sqlite"], ["--drill", "b.sqlite"], ["--drill", "--mark"],
        ["--backup", "b.sqlite"], ["b.sqlite", "--backup", "newest"], ["--mark", "--at", "latest"],
        ["--drill", "--at", "latest", "--backup", "newest"],
    ])
    func `perennial restore requires one of a file, --mark and --drill`(arguments: [String]) {
        #expect(throws: (any Error).self) { try RestoreCommand.parse(arguments) }
    }
}
