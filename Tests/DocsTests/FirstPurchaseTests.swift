import Foundation
import PerennialTesting
import Testing

/// Tests the first section of the guide, which makes an app that sells.
@Suite(.timeLimit(.minutes(2)))
struct FirstPurchaseTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOf: Toolchain.root.appendingPathComponent(path), encoding: .utf8)
    }

    private static func section() throws -> String {
        let page = try text("docs/getting-started.md")
        let begin = try #require(page.range(of: "## An app that sells\n"))
        let rest = page[begin.upperBound...]
        return String(rest[..<(rest.range(of: "\n## ")?.lowerBound ?? rest.endIndex)])
    }

    /// The commands of the section, except the first, which starts the world.
    private static func commands() throws -> [String] {
        try section().components(separatedBy: "\n").filter { $0.hasPrefix("    ") }
            .map { String($0.dropFirst(4)) }
            .filter { $0.hasPrefix("curl") || $0.hasPrefix("export") || $0.hasPrefix("XDG") }
    }

    @Test func `the guide shows the code of the example app`() throws {
        let example = try Self.text("Examples/FirstPurchase/main.swift")
        #expect(try Self.section().contains("```swift\n\(example)```\n"))
    }

    @Test(.enabled(if: World.isAvailable, "skipped: no program"))
    func `the guide's commands buy and renew, and show what the server shows`() async throws {
        let world = try await World.start()
        let app = Toolchain.modules.deletingLastPathComponent()
            .appendingPathComponent("FirstPurchase").path
        var script = "set -e\nexport PERENNIAL_SERVER=\(world.server.absoluteString)\n"
        for command in try Self.commands() {
            script +=
                command
                .replacingOccurrences(
                    of: "http://localhost:8090", with: world.simulator.absoluteString
                )
                .replacingOccurrences(of: "localhost:8090", with: world.simulator.absoluteString)
                .replacingOccurrences(of: "localhost:8080", with: world.server.absoluteString)
                .replacingOccurrences(of: "swift run FirstPurchase", with: app)
                + "; echo; echo =\n"
        }
        let output = try Toolchain.shell(script)
        await world.stop()
        let answers = output.text.components(separatedBy: "\n=\n")
        try #require(output.status == 0 && answers.count == 7, "\(output.text)")
        #expect(answers[2].contains("\npurchase: bought\n"), "\(answers[2])")
        // A month later the app buys nothing, and access is still open.
        #expect(!answers[4].contains("purchase:"), "\(answers[4])")
        #expect(answers[4].contains("open"), "\(answers[4])")
        #expect(answers[5].contains("\"active\": true"), "\(answers[5])")
    }

    @Test(arguments: [
        ("", "Set PERENNIAL_SIMULATOR"),
        ("PERENNIAL_SIMULATOR=http://127.0.0.1:1", "PERENNIAL_DEVICE to"),
        (
            "PERENNIAL_SIMULATOR=http://127.0.0.1:1 PERENNIAL_DEVICE=anna-1",
            "It is not known yet whether pro is open. Does a server answer at http://127.0.0.1:1?"
        ),
    ])
    func `if an app cannot buy, it prints the reason and the remedy, and fails`(
        variables: String, says: String
    ) throws {
        let app = Toolchain.modules.deletingLastPathComponent()
            .appendingPathComponent("FirstPurchase").path
        let output = try Toolchain.withFolder { folder in
            try Toolchain.shell(
                """
                unset PERENNIAL_SIMULATOR PERENNIAL_DEVICE
                export PERENNIAL_SERVER=http://127.0.0.1:1 XDG_STATE_HOME='\(folder.path)'
                \(variables) '\(app)' 2>&1
                """)
        }
        #expect(output.status == 1, "\(output.text)")
        #expect(output.text.contains(says), "\(output.text)")
        #expect(!output.text.contains("Fatal error"), "\(output.text)")
    }
}
