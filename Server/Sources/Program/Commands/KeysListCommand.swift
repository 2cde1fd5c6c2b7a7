import ArgumentParser
import Engine
import HTTPServer
import Ledger

/// Says which keys there are.
struct KeysListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the keys: app, kind, how the hash begins, when it was made, its name.")

    @Option(help: "Only of this app.") var app: String?
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reported {
            let assembly = try await options.assembly(for: .looking)
            defer { assembly.database.close() }
            let apps =
                try app.map { [try assembly.app(named: $0)] } ?? assembly.apps.map(\.id).sorted()
            for app in apps {
                for key in try await assembly.engine.keys(of: app) { print(key.line) }
            }
        }
    }
}

/// Takes a key away.
struct KeysRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Take a key away: nobody is let in by it any more.")

    @Argument(help: "How its hash begins, as `perennial keys list` shows it.") var prefix: String
    @Option(help: "The app that it is for, where there are several.") var app: String?
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reported {
            let assembly = try await options.assembly(for: .changing)
            defer { assembly.database.close() }
            let app = try assembly.app(named: app)
            let keys = try await assembly.engine.keys(of: app)
            let key = try Self.key(beginning: prefix, among: keys, of: app)
            try await assembly.engine.revoke(key)
            print("Revoked: \(key.line)")
            print("Servers notice within \(KeyRing.lifeSeconds) seconds.")
            if keys.count == 1 {
                Outcome.toStandardError(
                    "warning: app \(app) has no key left, and no server starts without one. "
                        + "Make one with `perennial keys create`.")
            }
        }
    }

    /// The one key that is meant.
    static func key(
        beginning prefix: String, among keys: [StoredKey], of app: AppID
    ) throws(StartFailure) -> StoredKey {
        let prefix = prefix.lowercased()
        guard !prefix.isEmpty, prefix.allSatisfy(\.isHexDigit) else {
            throw StartFailure(
                "That is not how the hash of a key begins.",
                remedy: "Give the hex digits that `perennial keys list` shows, and not the key.")
        }
        let found = keys.filter { Hexadecimal.text($0.hash).hasPrefix(prefix) }
        guard let key = found.first else {
            throw StartFailure(
                "App \(app) has no key whose hash begins with \(prefix).",
                remedy: "See which there are: `perennial keys list`.")
        }
        guard found.count == 1 else {
            throw StartFailure(
                "\(found.count) keys of app \(app) have a hash that begins with \(prefix).",
                remedy: "Give more digits: "
                    + found.map { Hexadecimal.text($0.hash) }.joined(separator: ", ") + ".")
        }
        return key
    }
}

extension StoredKey {
    /// Hex digits of its hash that are shown: enough to tell it from others.
    private static let shownDigits = 8

    /// What is shown of it.
    var line: String {
        let digits = Hexadecimal.text(hash).prefix(Self.shownDigits)
        let words = "\(app)  \(kind.rawValue)  \(digits)  \(createdAt.minute)"
        return name.isEmpty ? words : "\(words)  \(name)"
    }
}
