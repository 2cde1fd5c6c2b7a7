import Engine
import Foundation
import HTTPServer
import Ledger
import Testing

@testable import Program

/// A pasted configuration is read like the configuration file, but it may not name additional files
/// or variables.
@Suite struct ConfigurationProposalTests {
    private static let head = "apps:\n  a:\n    bundle_id: x\n"

    /// Runs the body with a folder that has a configuration and other files.
    private func withFolder(
        _ files: [String: String], _ body: (ProposedConfiguration.Reading) throws -> Void
    ) throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("proposal-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files {
            try Data(text.utf8).write(to: folder.appendingPathComponent(name))
        }
        let path = folder.appendingPathComponent("perennial.yaml").path
        try body(ConfigurationProposal.reading(inPlaceOf: path))
    }

    @Test func `a proposed configuration has the settings of each app and the differences`() throws
    {
        let file = Self.head + "    products: {monthly: [pro]}\n"
        try withFolder(["perennial.yaml": file]) { read in
            let changed = try read(Self.head + "    products: {monthly: [plus]}\n")
            #expect(
                changed.differences["a"] == [
                    "- product monthly gives pro", "+ product monthly gives plus",
                ])
            #expect(changed.settings["a"]?.entitlements["plus"] == ["monthly"])
            let other = try read(Self.head.replacing("  a:", with: "  b:"))
            #expect(other.settings["a"] == nil && other.differences["a"]?.isEmpty == false)
            #expect(try read(file).differences["a"] == [])
        }
    }

    @Test func `a proposal may name only files that the current configuration names`() throws {
        let files = [
            "perennial.yaml": Self.head + "    shared_secret_file: own\n",
            "own": "0123456789abcdef0123456789abcdef",
            "other": "0123456789abcdef0123456789abcdef",
        ]
        try withFolder(files) { read in
            _ = try read(Self.head + "    shared_secret_file: own\n")
            for name in ["other", "missing", "/etc/hostname"] {
                let refusal = #expect(throws: ProposedConfiguration.Refusal.self) {
                    try read(Self.head + "    shared_secret_file: \(name)\n")
                }
                // The message does not reveal which of the files exist.
                #expect(refusal?.problems.count == 1, "\(name)")
                #expect(refusal?.problems.first?.contains("contains no shared secret") == true)
            }
            _ = #expect(throws: ProposedConfiguration.Refusal.self) {
                try read(Self.head + "    shared_secret_env: PATH\n")
            }
        }
    }

    @Test func `an app in a proposal may name only files that the same app names now`() throws {
        let two = Self.head + "    shared_secret_file: own\n" + Self.other
        let files = [
            "perennial.yaml": two + "    shared_secret_file: other\n",
            "own": "0123456789abcdef0123456789abcdef",
            "other": "0123456789abcdef0123456789abcdef",
        ]
        try withFolder(files) { read in
            _ = try read(Self.head + "    shared_secret_file: own\n")
            let stolen = Self.head + "    shared_secret_file: other\n"
            for text in [stolen, stolen + Self.other + "    shared_secret_file: other\n"] {
                let refusal = #expect(throws: ProposedConfiguration.Refusal.self) {
                    try read(text)
                }
                #expect(refusal?.problems.count == 1)
            }
        }
    }

    /// A second app, after the one in `head`.
    private static let other = "  b:\n    bundle_id: y\n"

    @Test func `in a proposal, an app may name only variables that the same app names now`()
        throws
    {
        // Two environment variables of this process whose values can be used as secrets. The file
        // contains both names, but the second one only as a part of a longer name.
        let names = ProcessInfo.processInfo.environment.filter { name, value in
            let text = value.trimmingCharacters(in: .whitespacesAndNewlines)
            return name.wholeMatch(of: /[A-Z_]{4,}/) != nil && (1...200).contains(text.count)
        }.keys.sorted().prefix(2)
        let (own, other) = (try #require(names.first), try #require(names.dropFirst().first))
        let file =
            "# MY_\(other)\n" + Self.head + Self.other + "    shared_secret_env: \(own)\n"
        try withFolder(["perennial.yaml": file]) { read in
            _ = try read(file)
            for name in names {
                _ = #expect(throws: ProposedConfiguration.Refusal.self, "\(name)") {
                    try read(Self.head + "    shared_secret_env: \(name)\n")
                }
            }
        }
    }

    @Test func `messages about a proposal never contain values from its text`() throws {
        try withFolder(["perennial.yaml": Self.head]) { read in
            let texts = [
                Self.head + "    legacy: hunter2\n",
                Self.head + "    shared_secret_file: hunter2\n",
                Self.head + "    products: hunter2\n", "settings: {port: hunter2}\n" + Self.head,
            ]
            for text in texts {
                let refusal = #expect(throws: ProposedConfiguration.Refusal.self) {
                    try read(text)
                }
                let said = refusal?.problems.joined() ?? ""
                #expect(!said.isEmpty && !said.contains("hunter2"), "\(text): \(said)")
            }
        }
    }
}
