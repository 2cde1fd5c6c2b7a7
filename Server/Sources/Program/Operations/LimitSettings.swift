import HTTPServer
import Yams

/// The limits of a server's callers, from the section `limits` of the configuration.
package struct LimitSettings: Hashable, Sendable {
    package var requests = RequestLimits()
    package var waits = WaitLimits()
    package var streams = EventStreamLimits()
    package var connections = ConnectionLimits()

    /// The maximum value of a limit of requests per minute. This is more than one server can
    /// answer.
    private static let requestsMax = 10_000_000
    private static let usual = Self()

    static let keys: [Key<LimitSettings>] = [
        requests("requests_of_address", \.requests.ofAddress),
        requests("requests_without_key_of_address", \.requests.withoutKeyOfAddress),
        requests("requests_of_app_key", \.requests.ofAppKey),
        requests("requests_of_secret_key", \.requests.ofSecretKey),
        Key("waits_of_key", \.waits.waitsOfKeyMax, in: 1...usual.waits.waitsMax) { $0 },
        Key("streams_of_key", \.streams.streamsOfKeyMax, in: 1...usual.streams.streamsMax) { $0 },
        Key(
            "connections_of_address", \.connections.connectionsOfAddressMax,
            in: 1...PerennialServer.connectionsMax
        ) { $0 },
        upTo(
            PerennialServer.connectionsMax, "half_sent_requests_of_address",
            \.connections.halfSentRequestsOfAddressMax),
    ]

    /// The limits of requests, as a text for people.
    var text: String {
        let limits = [
            ("address", requests.ofAddress),
            ("address without a key", requests.withoutKeyOfAddress),
            ("app key", requests.ofAppKey), ("secret key", requests.ofSecretKey),
        ]
        let texts = limits.map { caller, max in
            "\(max == 0 ? "any number" : "\(max)") for each \(caller)"
        }
        return "requests a minute: " + texts.joined(separator: ", ")
    }

    private static func requests(
        _ name: String, _ property: WritableKeyPath<LimitSettings, Int> & Sendable
    ) -> Key<LimitSettings> {
        upTo(requestsMax, name, property)
    }

    /// Reads a limit. The value `off` means that there is no limit, and is stored as 0.
    private static func upTo(
        _ max: Int, _ name: String, _ property: WritableKeyPath<LimitSettings, Int> & Sendable
    ) -> Key<LimitSettings> {
        Key(name, property) { reader, node in
            if reader.text(node) == "off" { return 0 }
            if let count = reader.text(node).flatMap({ Int($0) }), (1...max).contains(count) {
                return count
            }
            reader.complain(
                node, "“\(reader.text(node) ?? "…")” is not a valid \(name).",
                "Use a number from 1 to \(max), or off for no limit.")
            return nil
        }
    }
}
