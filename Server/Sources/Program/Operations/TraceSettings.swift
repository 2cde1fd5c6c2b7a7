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
        authorization = reader.authorization(in: members, bytesMax: Self.authorizationBytesMax)
    }

    /// Returns scheme, host and port. Returns nil if the address is not allowed.
    private static func endpoint(_ text: String) -> String? {
        guard let address = OutgoingAddress(text), address.isProtected else { return nil }
        return address.origin
    }
}
