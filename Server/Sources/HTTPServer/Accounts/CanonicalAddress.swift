import NIOCore

/// An IP address in canonical form, so that addresses can be compared: the form of RFC 5952, and
/// IPv4 if it is an IPv4 address within IPv6.
package struct CanonicalAddress: Hashable, Sendable, CustomStringConvertible {
    /// The number of bytes of an IPv6 network: whoever has one address usually has all that share
    /// these first 64 bits (RFC 6177).
    private static let networkBytes = 8
    /// The prefix with which IPv6 writes an IPv4 address (RFC 4291).
    private static let mapped = Array(repeating: UInt8(0), count: 10) + [0xFF, 0xFF]

    package let description: String
    /// The network that counts as one address: the address itself, or the first half of an IPv6
    /// address.
    package let network: String

    /// Parses an address as proxies write it, possibly with a port. Returns nil for any other text.
    package init?(forwarded text: String) {
        self.init(Self.withoutPort(text))
    }

    /// Parses an address, possibly in brackets. Returns nil for any other text.
    package init?(_ text: String) {
        let bare =
            text.hasPrefix("[") && text.hasSuffix("]") ? text.dropFirst().dropLast() : text[...]
        guard let address = try? SocketAddress(ipAddress: String(bare), port: 0) else {
            return nil
        }
        self.init(address)
    }

    /// The address of a socket. Returns nil if it is a file.
    package init?(_ address: SocketAddress) {
        switch address {
        case .v6(let six):
            var bytes = withUnsafeBytes(of: six.address.sin6_addr) { Array($0) }
            if bytes.starts(with: Self.mapped) {
                description = bytes.suffix(4).map { "\($0)" }.joined(separator: ".")
                network = description
                return
            }
            description = address.ipAddress ?? ""
            bytes.replaceSubrange(
                Self.networkBytes..., with: repeatElement(0, count: Self.networkBytes))
            let start = try? SocketAddress(
                packedIPAddress: ByteBuffer(bytes: bytes), port: 0)
            network = "\(start?.ipAddress ?? description)/\(Self.networkBytes * 8)"
        case .v4:
            description = address.ipAddress ?? ""
            network = description
        case .unixDomainSocket: return nil
        }
    }

    /// Whether it is a loopback address, which no other machine can use.
    var isLoopback: Bool { description == "::1" || description.hasPrefix("127.") }

    /// A text with several colons and no bracket has no port: it is an address of IPv6.
    private static func withoutPort(_ text: String) -> String {
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") { return String(text[...end]) }
        guard let colon = text.firstIndex(of: ":"), colon == text.lastIndex(of: ":") else {
            return text
        }
        return String(text[..<colon])
    }
}
