import Foundation
import Ledger
import Testing

@testable import Program

/// Runs the commands of docs/backups.md for a SQLite file, in their order on the page.
@Suite struct BackupDocsTests {
    private static func page() throws -> String {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../docs/backups.md")
        return try String(contentsOf: file, encoding: .utf8)
    }

    /// The commands, with the folders of the page inside of one folder.
    private static func commands(in folder: String) throws -> [String] {
        try page().split(separator: "\n").filter { line in
            line.hasPrefix("    ") && line.contains(#/^ +(install|perennial) /#)
                && !line.contains("postgres://") && !line.contains(".age")
                // The drill restores a moment, and other tests restore from a bucket.
                && !line.contains("--at ") && !line.contains("s3://")
        }.map { line in
            line.trimmingCharacters(in: .whitespaces)
                .replacing("-o perennial ", with: "")
                .replacing(#/^perennial /#, with: "\"$perennial\" ")
                .replacing("perennial-2026-11-23.sqlite", with: "perennial-$(date +%F).sqlite")
                .replacing(
                    #/ (/var/backups/perennial|/backup/|/var/lib/perennial/|/etc/perennial/)/#
                ) { " \(folder)/" + ($0.output.1 == "/var/backups/perennial" ? "backups" : "") }
        }
    }

    private static func yaml() throws -> String {
        let block = try #require(try page().firstMatch(of: #/```yaml\n(backup:[\s\S]*?)```/#))
        return String(block.output.1)
    }

    /// The text with all numbers replaced, because they differ from run to run.
    private static func form(of text: some StringProtocol) -> String {
        String(text).replacing(#/\d+/#, with: "N").replacing(#/N (\w+?)s?\b/#) {
            "N \($0.output.1)"
        }
    }

    @Test func `the commands in docs/backups.md work, and a drill prints the lines on the page`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let commands = try Self.commands(in: folder)
            #expect(
                commands.map { $0.split(separator: " ")[1] } == [
                    "-d", "backup", "restore", "restore",
                ])
            let configuration =
                "apps: {birds: {bundle_id: com.example.birds, app_apple_id: 1}}\n"
                + (try Self.yaml()).replacing("/var/backups/perennial", with: "backups")
            try Data(configuration.utf8).write(to: URL(filePath: folder + "/perennial.yaml"))
            let program = try BuiltProgram.path()
            func run(_ command: String) async throws -> String {
                try await Shell.output(
                    of: """
                        set -euo pipefail; cd '\(folder)'; perennial='\(program)'
                        \(command) 2>&1 || echo "exit code $?"
                        """)
            }
            _ = try await run("\"$perennial\" keys create --kind app --database perennial.sqlite")
            for command in commands {
                // The server has made a backup by now.
                if command.contains("--drill") { try await Self.backUp(in: folder) }
                let output = try await run(command)
                #expect(!output.contains("exit code"), "\(command)\n\(output)")
                guard command.contains("--drill") else { continue }
                let shown = try #require(
                    try Self.page().firstMatch(of: #/```\n(/var/backups[\s\S]*?)```/#))
                let lines = shown.output.1.replacing(
                    "/var/backups/perennial", with: "\(folder)/backups")
                let found = Self.form(of: output)
                for line in lines.split(separator: "\n") {
                    #expect(found.contains(Self.form(of: line)), "\(line)\nis not in\n\(output)")
                }
            }
        }
    }

    private static func backUp(in folder: String) async throws {
        let now = Instant.machine - .hours(3)
        let worker = BackupWorker(
            BackupSettings(folder: "backups"), in: folder + "/backups",
            of: folder + "/perennial.sqlite", now: { now }, logger: .quiet)
        #expect(await worker.makeIfDue())
    }
}
