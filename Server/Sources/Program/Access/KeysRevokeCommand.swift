import ArgumentParser
import Engine
import HTTPServer
import Ledger
import Storage

/// Revokes a key.
struct KeysRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Revoke a key, so that it is no longer accepted.")

    @Argument(help: "The start of its hash, as shown by `perennial keys list`.") var prefix: String
    @Option(help: "The app the key is for, if there are several.") var app: String?
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            let assembly = try await options.assembly(for: .modifying)
            defer { assembly.database.close() }
            let app = try assembly.app(named: app)
            let keys = try await assembly.engine.keys.all(of: app)
            let key = try Self.key(beginning: prefix, among: keys, of: app)
            try await assembly.engine.keys.revoke(key)
            print("Revoked: \(key.line)")
            print("Servers notice within \(KeyCache.lifeSeconds) seconds.")
            if keys.count == 1 {
                Outcome.printError(
                    "warning: app \(app) has no key left, and no server starts without one. "
                        + "Create one with `perennial keys create`.")
            }
        }
    }

    /// Returns the one key whose hash begins with the prefix.
    static func key(
        beginning prefix: String, among keys: [StoredKey], of app: AppID
    ) throws(StartFailure) -> StoredKey {
        let prefix = prefix.lowercased()
        guard !prefix.isEmpty, prefix.allSatisfy(\.isHexDigit) else {
            throw StartFailure(
                "The prefix must be the start of a key's hash.",
                remedy: "Use the hex digits shown by `perennial keys list`, not the key itself.")
        }
        let found = keys.filter { Hexadecimal.text($0.hash).hasPrefix(prefix) }
        guard let key = found.first else {
            throw StartFailure(
                "App \(app) has no key whose hash begins with \(prefix).",
                remedy: "Run `perennial keys list` to see the keys.")
        }
        guard found.count == 1 else {
            throw StartFailure(
                "\(found.count) keys of app \(app) have a hash that begins with \(prefix).",
                remedy: "Use more digits: "
                    + found.map { Hexadecimal.text($0.hash) }.joined(separator: ", ") + ".")
        }
        return key
    }
}
