import Engine
import Eventually
import Foundation
import Ledger
import Storage
import Testing

@testable import Program

/// Read-only commands on a database that is missing, has no tables, or is from before the first
/// release.
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

    private func report(on database: String, in folder: String) async throws -> CheckReport {
        let path = folder + "/perennial.yaml"
        let text = "apps:\n  birds:\n    bundle_id: com.example.birds\n    app_apple_id: 1\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return await CheckReport(
            try ProcessOptions.parse(["--config", path, "--database", database]))
    }

    @Test func `a read-only command creates no tables in an empty database`() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder + "/p.sqlite"
            try Data().write(to: URL(filePath: path))
            let failure = await #expect(throws: StartFailure.self) {
                _ = try await assembly(path, for: .inspecting)
            }
            #expect(failure?.message.contains("has schema version 0") == true)
            let copy = Migration(from: path, to: folder + "/copy.sqlite")
            await #expect(throws: StartFailure.self) { try await copy.run() }
            let report = try await self.report(on: path, in: folder)
            #expect(report.lines.contains { $0.contains("which is empty") }, "\(report.lines)")
            #expect(try await DatabaseAddress.version(of: path) == 0)

            try await assembly(path, for: .modifying).database.close()
            #expect(try await DatabaseAddress.version(of: path) == Schema.version)
            try await assembly(path, for: .inspecting).database.close()
            let after = try await self.report(on: path, in: folder)
            #expect(after.lines.contains { $0.hasPrefix("ok    database") }, "\(after.lines)")
            #expect(!after.lines.contains { $0.contains("which is empty") }, "\(after.lines)")
        }
    }

    @Test func `a database from before the first release is refused and stays unchanged`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let path = folder + "/p.sqlite"
            let store = Database(try DatabaseAddress.open(path))
            try await store.migrate(at: 0)
            try await store.driver.write { connection in
                _ = try connection.run("UPDATE schema_versions SET version = 43", [])
            }
            store.driver.close()
            for purpose in [Assembly.Purpose.inspecting, .modifying, .serving] {
                let failure = await #expect(throws: StartFailure.self) {
                    _ = try await assembly(path, for: purpose)
                }
                let text = failure.map { "\($0.message) \($0.remedy)" } ?? ""
                #expect(text.contains("from before the first release"), "\(purpose): \(text)")
                #expect(text.contains("--fresh"), "\(purpose): \(text)")
            }
            let report = try await self.report(on: path, in: folder)
            #expect(!report.isOK, "\(report.lines)")
            let says = "from before the first release (schema version 43)"
            #expect(report.lines.contains { $0.contains(says) }, "\(report.lines)")
        }
    }

    @Test func `perennial check creates no database, and says how to create one`() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder + "/deep/p.sqlite"
            let report = try await self.report(on: path, in: folder)
            #expect(report.lines.contains { $0.hasPrefix("ok    database") }, "\(report.lines)")
            #expect(report.lines.contains { $0.contains("keys create --app birds") })
            #expect(!report.isOK)
            #expect(!FileManager.default.fileExists(atPath: folder + "/deep"))
        }
    }

    @Test func `perennial check mentions simulated apps next to production apps, and succeeds`()
        async throws
    {
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

    @Test func `a command that changes a database does not create one`() async throws {
        try await TemporaryFolder.with { folder in
            await #expect(throws: StartFailure.self) {
                _ = try await assembly(folder + "/mistyped.sqlite", for: .modifying)
            }
            let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(files.isEmpty)
        }
    }
}
