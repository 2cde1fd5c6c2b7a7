import ArgumentParser
import Engine
import HTTPServer
import Ledger
import Storage

/// Lists the keys.
struct KeysListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: """
            List the keys: app, kind, start of the hash, creation time, scopes, end, last use, name.
            """)

    @Option(help: "Only keys of this app.") var app: String?
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            let assembly = try await options.assembly(for: .inspecting)
            defer { assembly.database.close() }
            let apps =
                try app.map { [try assembly.app(named: $0)] } ?? assembly.apps.map(\.id).sorted()
            for app in apps {
                for key in try await assembly.engine.keys.all(of: app) { print(key.line) }
            }
        }
    }
}

extension StoredKey {
    /// The number of hex digits shown, which is enough to distinguish a key from others.
    private static let shownDigits = 8

    /// The key's line in a list.
    var line: String {
        let digits = Hexadecimal.text(hash).prefix(Self.shownDigits)
        let words = "\(app)  \(kind.rawValue)  \(digits)  \(createdAt.minute)"
        let scopes = kind == .secret ? scopes.text : nil
        let end = until.map { "until \($0.minute)" }
        let use = lastUsedAt.map { "last used \($0.minute)" } ?? "no use recorded"
        return [words, scopes, end, use, name.isEmpty ? nil : name].compactMap(\.self)
            .joined(separator: "  ")
    }
}
