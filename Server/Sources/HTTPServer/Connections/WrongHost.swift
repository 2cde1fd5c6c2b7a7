import NIOHTTP1

/// Why the `Host` of a request is not valid (RFC 9112, section 3.2). A proxy and this server could
/// interpret a request with several `Host` fields differently.
struct WrongHost: Error {
    var detail: String

    /// Returns nil if the request has exactly one valid `Host`. Also returns nil for a request of
    /// HTTP/1.0 without a `Host`.
    init?(of head: HTTPRequestHead) {
        let hosts = head.headers["host"]
        switch hosts.count {
        case 0 where head.version != .http1_1: return nil
        case 0: detail = "The request has no Host field."
        case 1:
            guard let host = hosts.first, !host.utf8.allSatisfy(Self.isOfHost) else { return nil }
            detail = "The Host field contains a character that no host has."
        default: detail = "The request has \(hosts.count) Host fields."
        }
    }

    /// Whether a byte may be in a host with a port (RFC 3986, section 3.2.2).
    private static func isOfHost(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: marks.contains(byte)
        }
    }

    private static let marks = Set("-._~!$&'()*+,;=:[]%".utf8)
}
