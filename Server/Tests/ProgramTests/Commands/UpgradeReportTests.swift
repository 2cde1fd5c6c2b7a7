import Foundation
import Storage
import Testing

@testable import Program

/// The output of `check --upgrade`.
@Suite struct UpgradeReportTests {
    private func report(on database: String, in folder: String) async throws -> UpgradeReport {
        let path = folder + "/perennial.yaml"
        let text = "apps:\n  birds:\n    bundle_id: com.example.birds\n    app_apple_id: 1\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return await UpgradeReport(
            try ProcessOptions.parse(["--config", path, "--database", database]))
    }

    /// A database file without the tables of the last step of today's schema, whose number is 106.
    private func makeEarlier(_ path: String, oldest: String = "NULL") async throws {
        let store = Database(try DatabaseAddress.open(path))
        try await store.migrate(at: 1)
        try await store.driver.write { connection in
            for statement in [
                "DROP TABLE operator_passkeys", "DROP TABLE operator_recovery_codes",
                "UPDATE schema_versions SET version = 105, oldest_version = \(oldest)",
            ] { try connection.run(statement, []) }
        }
        store.driver.close()
    }

    /// The text without the numbers that change with each further step.
    private static func form(_ text: some StringProtocol) -> String {
        String(text).replacing(#/this program \d+/#, with: "this program N")
            .replacing(#/runs \d+ steps?/#, with: "runs N steps")
    }

    @Test func `check --upgrade describes the next start as the page shows, and changes nothing`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let path = folder + "/p.sqlite"
            try await makeEarlier(path)
            let report = try await self.report(on: path, in: folder)
            #expect(report.isOK)
            #expect(report.lines.first?.contains("has schema version 105") == true)
            // The page shows these lines, when this was the last step.
            let page = try String(
                contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
                    .appending(path: "../../../../docs/operations.md"), encoding: .utf8)
            let shown = page.split(separator: "\n").map { $0.trimmingPrefix(#/ +/#) }
                .filter { $0.contains(#/^(ok  |note)  /#) }
            #expect(shown.count == 6)
            let found = report.lines.map(Self.form)
            for line in shown {
                let form = Self.form(line.replacing("perennial.sqlite", with: path))
                #expect(found.contains(form), "\(line) is not in \(report.lines)")
            }
            #expect(report.lines.contains { $0.hasPrefix("ok    duration: under a second") })
            #expect(report.lines.contains { $0.hasPrefix("note  going back: ") })
            #expect(report.lines.last?.contains("back up first") == true)
            #expect(try await DatabaseAddress.version(of: path) == 105)
        }
    }

    @Test func `check --upgrade says if the next start changes no table`() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder + "/p.sqlite"
            let absent = try await report(on: path, in: folder)
            #expect(absent.isOK && absent.lines.count == 1)
            #expect(absent.lines[0].contains("is empty"))
            #expect(!FileManager.default.fileExists(atPath: path))
            let store = Database(try DatabaseAddress.open(path))
            try await store.migrate(at: 1)
            let present = try await report(on: path, in: folder)
            #expect(present.lines.count == 1 && present.isOK)
            #expect(present.lines[0].contains("the next start changes no table"))
            // A newer program has migrated the database.
            _ = try await store.driver.write {
                try $0.run(
                    "INSERT INTO schema_versions (version, applied_at_ms, oldest_version) "
                        + "VALUES ($1, 1, $2)",
                    [.integer(Int64(Schema.version + 1)), .integer(Int64(Schema.version))])
            }
            let newer = try await report(on: path, in: folder)
            #expect(newer.isOK && newer.lines[0].contains("this program can use it"))
            _ = try await store.driver.write {
                try $0.run("UPDATE schema_versions SET oldest_version = version", [])
            }
            let refused = try await report(on: path, in: folder)
            #expect(!refused.isOK && refused.lines[0].hasPrefix("DO    "), "\(refused.lines)")
            store.driver.close()
        }
    }

    @Test
    func `check --upgrade names tables, rows, time, disk space and the older servers to stop`() {
        let plan = UpgradePlan(
            version: 104,
            steps: [
                UpgradePlan.Step(
                    version: 105, name: "plumage",
                    effect: .excludes(before: 105, because: "birds moult"), changes: [],
                    read: ["purchases"], locked: ["purchases"])
            ],
            oldestVersion: 105,
            tables: [
                "purchases": UpgradePlan.TableSize(
                    rows: 1_204_332, isLimit: false, bytes: 700_000_000, measuredRows: 2_000,
                    measuredTime: .milliseconds(66))
            ])
        let lines = UpgradeText(plan: plan, place: "postgres://db/p", isOnServer: true).lines
        let text = lines.joined(separator: "\n")
        #expect(lines[1].hasPrefix("note  step 105, plumage: "))
        #expect(text.contains("at least 39 s, because the steps read 1,204,332 rows of purchases"))
        #expect(text.contains("(2,000 of them took 66 ms)"))
        #expect(text.contains("are refused after 12 s"))
        #expect(text.contains("locks: on purchases."))
        #expect(text.contains("(lock_timeout)"))
        #expect(text.contains("up to 701 MB must be free"))
        #expect(text.contains("stop those of a schema version before 105"))
        #expect(text.contains("because birds moult"))
    }

    @Test(arguments: [(7, "7"), (1_000, "1,000"), (1_020_030, "1,020,030")])
    func `check --upgrade writes numbers with a comma between thousands`(
        number: Int64, text: String
    ) {
        #expect(UpgradeText.grouped(number) == text)
    }
}
