import ArgumentParser
import Foundation
import Testing

@testable import Program

/// Compares the commands and the flags that several commands share with the tables in
/// docs/configuration.md.
@Suite struct CommandDocsTests {
    private typealias Leaf = (path: String, type: any ParsableCommand.Type)

    /// The commands that have no subcommands, by their path.
    private static var leaves: [Leaf] { leaves(of: Perennial.self, after: []) }

    private static func leaves(of type: any ParsableCommand.Type, after path: [String]) -> [Leaf] {
        let parts = type.configuration.subcommands
        guard !parts.isEmpty else { return [(path.joined(separator: " "), type)] }
        return parts.flatMap { part in leaves(of: part, after: path + [part._commandName]) }
    }

    private static func page() throws -> [String] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../docs/configuration.md")
        return try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
    }

    @Test func `docs/configuration.md has a row for every command`() throws {
        let rows = try Self.page().filter { $0.hasPrefix("| `perennial ") }
        let defaults: Set = ["reconcile purchases", "export table"]
        for (path, _) in Self.leaves {
            let words = path.split(separator: " ")
            let isListed = rows.contains { row in
                let names = row.split { !$0.isLetter && $0 != "-" }
                guard let first = words.first, row.hasPrefix("| `perennial \(first)") else {
                    return false
                }
                // The row may omit the name of a default command.
                return words.allSatisfy(names.contains) || defaults.contains(path)
            }
            #expect(isListed, "No row of docs/configuration.md is about perennial \(path).")
        }
    }

    @Test(arguments: ["--app", "--environment", "--data", "--clock-from"])
    func `the row of a shared flag names exactly the commands that have the flag`(flag: String)
        throws
    {
        let row = try #require(try Self.page().first { $0.hasPrefix("| `\(flag) ") })
        let listed = row.split(separator: "|")[1].matches(of: #/`([^`]+)`/#).map { String($0.1) }
        // For these commands, `--data` names the folder that the command creates.
        let makers: Set = ["dev", "simulate", "prove"]
        let having = Self.leaves.filter { path, type in
            !makers.contains(path)
                && Perennial.helpMessage(for: type).contains("  \(flag) <")
        }.map { $0.path }
        for path in having {
            let isListed = listed.contains { path == $0 || path.hasPrefix($0 + " ") }
            #expect(isListed, "The row of \(flag) in docs/configuration.md lacks \(path).")
        }
        for name in listed {
            let has = having.contains { $0 == name || $0.hasPrefix(name + " ") }
            #expect(has, "\(name) has no \(flag), which docs/configuration.md says.")
        }
    }
}
