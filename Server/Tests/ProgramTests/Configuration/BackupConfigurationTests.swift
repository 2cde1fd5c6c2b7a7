import Foundation
import Ledger
import Testing

@testable import Program

/// The section `backup` of the configuration.
@Suite struct BackupConfigurationTests {
    private static func read(_ lines: String) throws -> ConfigurationFile {
        try ConfigurationFile(
            "apps:\n  a:\n    bundle_id: x\n" + lines, file: { _ in nil })
    }

    @Test func `backups need a backup section in the configuration, which must name a folder`()
        throws
    {
        #expect(try Self.read("").backup == nil)
        let usual = try #require(try Self.read("backup: {folder: b}").backup)
        #expect(usual == BackupSettings(folder: "b"))
        #expect(usual.every == .hours(24))
        #expect(usual.keep.days == 7 && usual.keep.weeks == 5 && usual.keep.months == 12)
        let all = try Self.read(
            """
            backup:
              folder: /b
              every_hours: 1
              keep: {days: 3, weeks: 0, months: 1}
            """
        ).backup
        #expect(all?.folder == "/b" && all?.every == .hours(1))
        #expect(all?.keep.days == 3 && all?.keep.weeks == 0 && all?.keep.months == 1)
    }

    @Test(arguments: [
        ("backup: {}", "backup has no folder.", "Name a folder"),
        ("backup: {folder: ''}", "backup has no folder.", "Name a folder"),
        ("backup: [b]", "backup must be a mapping.", "key: value"),
        ("backup: {folder: b, every_hours: 0}", "every_hours is out of range.", "from 1 to 168"),
        ("backup: {folder: b, every_hours: 1.5}", "is not a whole number.", "digits"),
        ("backup: {folder: b, keep: {days: 0}}", "days is out of range.", "from 1 to 366"),
        ("backup: {folder: b, keep: {weeks: 521}}", "weeks is out of range.", "from 0 to 520"),
        ("backup: {folder: b, keep: {month: 1}}", "“month” is unknown in keep", "months"),
        ("backup: {folder: b, encrypt_to: age1x}", "encrypt_to needs 1 to 10", "age-keygen"),
        ("backup: {folder: b, encrypt_to: []}", "encrypt_to needs 1 to 10", "age-keygen"),
        ("backup: {folder: b, every: 1}", "“every” is unknown in backup", "every_hours"),
        ("backups: {folder: b}", "“backups” is unknown in the configuration", "backup"),
    ])
    func `a wrong value in the backup settings is reported with its line and a remedy`(
        lines: String, says: String, remedy: String
    ) throws {
        let failure = try #require(throws: ConfigurationFailure.self) { try Self.read(lines) }
        let problem = try #require(failure.complaints.first { $0.message.contains(says) })
        #expect(problem.line == 4 && problem.remedy.contains(remedy), "\(problem)")
    }

    @Test func `a server on PostgreSQL or in memory refuses to make backups`() throws {
        let settings = BackupSettings(folder: "b")
        try ServeRules.check(settings, of: "p.sqlite")
        try ServeRules.check(nil, of: "postgres://db/p")
        for address in ["postgres://anna:secret@db/p", "host=db dbname=p", ":memory:"] {
            let failure = try #require(throws: StartFailure.self) {
                try ServeRules.check(settings, of: address)
            }
            #expect(failure.remedy.contains("pg_dump") && failure.remedy.contains("pg_basebackup"))
            #expect(!"\(failure)".contains("secret"))
        }
    }

    /// The lines of `perennial check` with backups in the folder `backups`.
    private static func findings(in folder: String) async throws -> [String] {
        let path = folder + "/perennial.yaml"
        let text = "apps: {birds: {bundle_id: com.example.birds}}\nbackup: {folder: backups}\n"
        try Data(text.utf8).write(to: URL(filePath: path))
        try Data().write(to: URL(filePath: folder + "/p.sqlite"))
        let options = try ProcessOptions.parse([
            "--config", path, "--database", folder + "/p.sqlite",
        ])
        return await CheckReport(options).lines
    }

    @Test func `perennial check says if the folder of the backups is missing`() async throws {
        try await TemporaryFolder.with { folder in
            let lines = try await Self.findings(in: folder)
            #expect(lines.contains { $0.hasPrefix("DO    backups: The folder of the backups") })
        }
    }

    @Test func `perennial check reports a list of erasures that cannot be read`() async throws {
        try await TemporaryFolder.with { folder in
            let list = folder + "/p.sqlite" + ErasureFile.suffix
            // A folder in its place cannot be read.
            try FileManager.default.createDirectory(
                atPath: list, withIntermediateDirectories: false)
            let lines = try await Self.findings(in: folder)
            let start = "DO    The list of erasures \(list) cannot be read."
            #expect(lines.contains { $0.hasPrefix(start) }, "\(lines)")
        }
    }

    @Test
    func `perennial check shows the age of the backups, and warns if they share a disk`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let moment = Instant(milliseconds: 1_795_248_000_000)
            let backup = "\(folder)/backups/\(BackupFolder.name(at: moment))"
            try FileManager.default.createDirectory(
                atPath: folder + "/backups", withIntermediateDirectories: true)
            let none = try await Self.findings(in: folder)
            #expect(
                none.contains("ok    backups every 24 hours in \(folder)/backups: no backup yet"))
            try Data().write(to: URL(filePath: backup))
            let lines = try await Self.findings(in: folder)
            let line =
                "ok    backups every 24 hours in \(folder)/backups: 1, the newest from "
                + "2026-11-21 08:00 UTC"
            #expect(lines.contains(line), "\(lines)")
            #expect(lines.contains { $0.contains("on the same disk as the database") })
        }
    }
}
