import CLibPQ
import Foundation
import Storage

/// Where a server is and how to reach it: what a connection string says, and what we add to it.
///
/// Everything that libpq knows may stand in the string: several hosts, TLS, files of passwords.
/// What neither the string nor libpq's own environment variables say gets a value of ours.
struct PostgresAddress: Sendable {
    /// For one host; libpq tries each in turn.
    static let connectSeconds = 5
    /// Sent bytes that are not acknowledged for so long mean that the server is gone.
    static let deadPeerMilliseconds = 30_000
    static let keepaliveIdleSeconds = 10

    /// libpq's own words and values, in the order in which they are handed to it.
    let words: [(name: String, value: String)]

    private static let ours = [
        // Of several hosts, the one that takes writes: so we follow when another one is promoted.
        "target_session_attrs": "read-write",
        "connect_timeout": "\(connectSeconds)",
        "tcp_user_timeout": "\(deadPeerMilliseconds)",
        "keepalives_idle": "\(keepaliveIdleSeconds)",
        "fallback_application_name": "perennial",
        "client_encoding": "UTF8",
    ]

    /// - Parameter text: `postgres://…`, `postgresql://…`, or words like `host=db user=perennial`.
    /// - Throws: ``StorageFailure`` where libpq cannot read it. The text itself is not repeated: it
    ///   may hold a password.
    init(_ text: String) throws(StorageFailure) {
        guard text.contains("://") || text.contains("=") else {
            throw StorageFailure(
                "the database's address is neither postgres://… nor words like host=… dbname=…")
        }
        var words: [(name: String, value: String)] = []
        for option in try Self.options(in: text) {
            if let value = option.value {
                words.append((option.name, value))
            } else if let value = Self.ours[option.name], !option.isInEnvironment {
                words.append((option.name, value))
            }
        }
        self.words = words
    }

    private struct Option {
        var name: String
        var value: String?
        var isInEnvironment: Bool
    }

    /// Every option that libpq knows, with its value where the text gives one.
    private static func options(in text: String) throws(StorageFailure) -> [Option] {
        var message: UnsafeMutablePointer<CChar>?
        guard let first = PQconninfoParse(text, &message) else {
            defer { PQfreemem(message) }
            let said = message.map { String(cString: $0) } ?? "out of memory"
            throw StorageFailure(
                "the database's address cannot be read: "
                    + said.replacing(text, with: "…")
                    .trimmingCharacters(in: .whitespacesAndNewlines))
        }
        defer { PQconninfoFree(first) }
        var options: [Option] = []
        var next = first
        while let name = next.pointee.keyword {
            let variable = next.pointee.envvar.map { String(cString: $0) }
            options.append(
                Option(
                    name: String(cString: name),
                    value: next.pointee.val.map { String(cString: $0) },
                    isInEnvironment: variable.flatMap {
                        ProcessInfo.processInfo.environment[$0]
                    } != nil))
            next += 1
        }
        return options
    }

    /// Opens a connection. The caller ends it with `PQfinish`, also where it failed.
    func connect() -> OpaquePointer? {
        withTerminated(words.map(\.name)) { names in
            withTerminated(words.map(\.value)) { values in PQconnectdbParams(names, values, 0) }
        }
    }

    /// Calls a function with C strings and a null pointer behind them.
    private func withTerminated<Result>(
        _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = texts.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        let pointers = copies.map { UnsafePointer($0) } + [nil]
        return pointers.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else {
                preconditionFailure("There is always the null pointer at the end.")
            }
            return body(start)
        }
    }
}
