import Engine
import Eventually
import Foundation
import Ledger
import Storage
import Testing

@testable import Program

/// Commands that only look, at a database that an earlier program has made, or nobody yet.
@Suite struct LookingTests {
    private func assembly(
        _ path: String, for purpose: Assembly.Purpose
    ) async throws -> Assembly {
        let app = AppConfiguration(
            settings: AppSettings(id: "birds", bundleID: "com.example.birds", entitlements: [:]),
            extraRoots: [])
        return try await Assembly(
            apps: [app], databaseAddress: path, for: purpose, now: { .machine }, logger: .quiet)
    }

    /// A database with keys, as a program of an earlier schema left it. Returns that schema: the
    /// newest of the files in `Fixtures/databases` that is not the present one.
    private func makeEarlier(_ path: String) throws -> Int {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Fixtures/databases").standardized
        let earlier = try #require(
            (1..<Schema.version).last { version in
                let name = folder.appending(path: "schema-\(version).sqlite.gz").path
                return FileManager.default.fileExists(atPath: name)
            })
        let file = folder.appending(path: "schema-\(earlier).sqlite.gz")
        try Data().write(to: URL(filePath: path))
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["gzip", "-dc", file.path]
        process.standardOutput = try FileHandle(forWritingTo: URL(filePath: path))
        try process.run()
        try #require(try process.waitForEnd() == 0)
        return earlier
    }

    private func report(on database: String, in folder: String) async throws -> CheckReport {
        let path = folder + "/perennial.yaml"
        let text = "apps:\n  birds:\n    bundle_id: com.example.birds\n    app_apple_id: 1\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return await CheckReport(
            try ProcessOptions.parse(["--config", path, "--database", database]))
    }

    @Test func `an earlier database is not brought up to date by being looked at`() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder + "/p.sqlite"
            let earlier = try makeEarlier(path)
            let failure = await #expect(throws: StartFailure.self) {
                _ = try await assembly(path, for: .inspecting)
            }
            #expect(failure?.message.contains("schema version \(earlier)") == true)
            let copy = Migration(from: path, to: folder + "/copy.sqlite")
            await #expect(throws: StartFailure.self) { try await copy.run() }
            let report = try await self.report(on: path, in: folder)
            #expect(report.isOK, "\(report.lines)")
            let says = "from version \(earlier) to \(Schema.version)"
            #expect(report.lines.contains { $0.contains(says) }, "\(report.lines)")
            #expect(try await DatabaseAddress.version(of: path) == earlier)

            try await assembly(path, for: .modifying).database.close()
            #expect(try await DatabaseAddress.version(of: path) == Schema.version)
            try await assembly(path, for: .inspecting).database.close()
            let after = try await self.report(on: path, in: folder)
            #expect(after.lines.contains { $0.hasPrefix("ok    database") }, "\(after.lines)")
            #expect(!after.lines.contains { $0.contains("from version") }, "\(after.lines)")
        }
    }

    @Test func `a check makes no database, and says how it comes to be`() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder + "/deep/p.sqlite"
            let report = try await self.report(on: path, in: folder)
            #expect(report.lines.contains { $0.hasPrefix("ok    database") }, "\(report.lines)")
            #expect(report.lines.contains { $0.contains("keys create --app birds") })
            #expect(!report.isOK)
            #expect(!FileManager.default.fileExists(atPath: folder + "/deep"))
        }
    }

    @Test func `a check says what would not be served, and does not fail for it`() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder + "/perennial.yaml"
            let simulated =
                "apps:\n  birds: {bundle_id: com.example.birds, simulated: true, products: {}}\n"
            let real = "  rage: {bundle_id: com.example.rage, app_apple_id: 1, products: {}}\n"
            for (text, isNoted) in [(simulated + real, true), ("apps:\n" + real, false)] {
                try Data(text.utf8).write(to: URL(fileURLWithPath: path))
                let report = await CheckReport(
                    try ProcessOptions.parse(["--config", path, "--database", folder + "/p"]))
                let note = report.lines.first { $0.contains("does not start with this") }
                #expect((note != nil) == isNoted, "\(report.lines)")
                #expect(note?.hasPrefix("note  ") ?? true)
                #expect(note?.contains("birds: simulated apps cannot be served.") ?? true)
                #expect(note?.contains("--clock-from") ?? true)
            }
        }
    }

    @Test func `what changes a database does not make one`() async throws {
        try await TemporaryFolder.with { folder in
            await #expect(throws: StartFailure.self) {
                _ = try await assembly(folder + "/mistyped.sqlite", for: .modifying)
            }
            let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(files.isEmpty)
        }
    }
}
