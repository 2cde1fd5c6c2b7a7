import Foundation
import Yams

/// Where the spans of traces are sent, and how many.
package struct TraceSettings: Hashable, Sendable {
    /// The address of an OpenTelemetry collector, without a path.
    package var endpoint: String
    /// The share of traces that are sent, from 0 to 1.
    package var share = 1.0
    /// The value of the header `Authorization`. Nil if the collector needs none.
    package var authorization: String?

    /// The settings for a person, without the authorization.
    var text: String { "\(Int((share * 100).rounded())) % of them to \(endpoint)" }

    private static let authorizationBytesMax = 4_096
    private static let known = ["endpoint", "percent", "authorization_file", "authorization_env"]
    /// Hosts on this machine. Nobody can read the traffic to them, so they need no TLS.
    private static let ownHosts: Set = ["localhost", "127.0.0.1", "::1", "[::1]"]

    /// Sends all traces, without authorization.
    init(endpoint: String) { self.endpoint = endpoint }

    /// Reads the mapping `traces`. Returns nil if it has no valid address, which is a complaint.
    init?(_ node: Node, by reader: inout ConfigurationReader) {
        let members = reader.members(of: node, known: Self.known, in: "traces")
        guard let address = members["endpoint"],
            let endpoint = reader.text(address).flatMap(Self.endpoint)
        else {
            reader.complain(
                members["endpoint"] ?? node, "traces has no valid endpoint.",
                "Write the address of an OpenTelemetry collector without a path, such as "
                    + "`endpoint: https://collector.example:4318`: with https, unless it is this "
                    + "machine.")
            return nil
        }
        self.endpoint = endpoint
        if let percent = members["percent"] {
            share = Double(reader.number(percent, in: 1...100, of: "percent") ?? 100) / 100
        }
        authorization = Self.authorization(members, by: &reader)
    }

    /// Returns scheme, host and port. Returns nil if the address is not allowed.
    private static func endpoint(_ text: String) -> String? {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let url = URLComponents(string: text), let host = url.host, !host.isEmpty,
            url.user == nil, url.password == nil, url.query == nil, url.fragment == nil,
            url.path.isEmpty || url.path == "/",
            url.scheme == "https" || (url.scheme == "http" && ownHosts.contains(host))
        else { return nil }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    private static func authorization(
        _ members: [String: Node], by reader: inout ConfigurationReader
    ) -> String? {
        guard let node = members["authorization_file"] ?? members["authorization_env"] else {
            return nil
        }
        let text =
            members["authorization_file"].flatMap { reader.textOfFile($0) }
            ?? members["authorization_env"].flatMap { reader.textOfVariable($0) } ?? ""
        let value = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }),
            (1...authorizationBytesMax).contains(value.utf8.count)
        else {
            reader.complain(
                node, "“\(reader.text(node) ?? "…")” contains no value for Authorization.",
                "Name a file or a variable with the whole value, such as `Bearer …`.")
            return nil
        }
        return value
    }
}
