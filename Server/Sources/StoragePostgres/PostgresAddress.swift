import CLibPQ
import Foundation
import Storage

/// The address of a server and the options for the connection: the options of a connection string,
/// plus our defaults.
///
/// The string may use all options of libpq: several hosts, TLS, password files. Our defaults apply
/// to options that neither the string nor libpq's environment variables set.
struct PostgresAddress: Sendable {
    /// The timeout of connecting to one host, in seconds. libpq tries one host after another.
    static let connectSeconds = 5
    /// The server is considered unreachable if sent data is not acknowledged for this long.
    static let deadPeerMilliseconds = 30_000
    static let keepaliveIdleSeconds = 10

    /// Names and values of libpq options, in the order in which they are passed to libpq.
    let parameters: [(name: String, value: String)]
    /// Whether to apply our default, by which the server must accept writes. False if the address
    /// itself says which servers to use.
    private let requiresWrites: Bool

    private static let target = "target_session_attrs"
    private static let defaults = [
        // If there are several hosts, libpq uses the host that accepts writes, so that connections
        // follow a failover.
        target: "read-write",
        "connect_timeout": "\(connectSeconds)",
        "tcp_user_timeout": "\(deadPeerMilliseconds)",
        "keepalives_idle": "\(keepaliveIdleSeconds)",
        "fallback_application_name": PostgresDriver.applicationName,
        "client_encoding": "UTF8",
    ]

    /// Parses a connection string.
    ///
    /// - Parameter text: `postgres://…`, `postgresql://…`, or key-value pairs like `host=db
    ///   user=perennial`.
    /// - Throws: ``StorageFailure`` if libpq cannot parse it. The message does not repeat the text,
    ///   which may contain a password.
    init(_ text: String) throws(StorageFailure) {
        guard text.contains("://") || text.contains("=") else {
            throw StorageFailure(
                "the database address must be postgres://… or key-value pairs like host=… dbname=…")
        }
        var words: [(name: String, value: String)] = []
        var requiresWrites = false
        for option in try Self.options(in: text) {
            if let value = option.value {
                words.append((option.name, value))
            } else if let value = Self.defaults[option.name], !option.isInEnvironment {
                words.append((option.name, value))
                if option.name == Self.target { requiresWrites = true }
            }
        }
        self.parameters = words
        self.requiresWrites = requiresWrites
    }

    private struct Option {
        var name: String
        var value: String?
        var isInEnvironment: Bool
    }

    /// All options that libpq supports, with the values that the text gives.
    private static func options(in text: String) throws(StorageFailure) -> [Option] {
        var message: UnsafeMutablePointer<CChar>?
        guard let first = PQconninfoParse(text, &message) else {
            defer { PQfreemem(message) }
            let said = message.map { String(cString: $0) } ?? "out of memory"
            throw StorageFailure(
                "the database address cannot be parsed: "
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

    /// Opens a connection. The caller must close it with `PQfinish`, even if the attempt failed.
    func connect() -> OpaquePointer? { connect(parameters) }

    /// Opens a connection to a server that need not accept writes. Returns nil if the address
    /// itself says which servers to use.
    func connectForReading() -> OpaquePointer? {
        guard requiresWrites else { return nil }
        return connect(parameters.filter { $0.name != Self.target })
    }

    private func connect(_ parameters: [(name: String, value: String)]) -> OpaquePointer? {
        withTerminated(parameters.map(\.name)) { names in
            withTerminated(parameters.map(\.value)) { values in PQconnectdbParams(names, values, 0)
            }
        }
    }

    /// Calls a function with an array of C strings that ends with a null pointer.
    private func withTerminated<Result>(
        _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = texts.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        let pointers = copies.map { UnsafePointer($0) } + [nil]
        return pointers.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else {
                preconditionFailure("The array contains at least a null pointer.")
            }
            return body(start)
        }
    }
}
