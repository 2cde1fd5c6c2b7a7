import NIOCore

/// An IP address in canonical form (RFC 5952), so that addresses can be compared. An IPv4 address
/// within IPv6 becomes IPv4.
package struct CanonicalAddress: Hashable, Sendable, CustomStringConvertible {
    /// The number of bytes of an IPv6 network. A client that has one address usually has all
    /// addresses with the same first 64 bits (RFC 6177).
    private static let networkBytes = 8
    /// The prefix with which IPv6 writes an IPv4 address (RFC 4291).
    private static let mapped = Array(repeating: UInt8(0), count: 10) + [0xFF, 0xFF]

    package let description: String
    /// Identifies a client when its connections are counted: an IPv4 address, or the network of an
    /// IPv6 address.
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

    /// The address of a socket. Nil if the socket is a file.
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

    /// Whether this is a loopback address, which no other machine can use.
    var isLoopback: Bool { description == "::1" || description.hasPrefix("127.") }

    /// Removes the port. A text with several colons and no bracket is an IPv6 address without a
    /// port.
    private static func withoutPort(_ text: String) -> String {
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") { return String(text[...end]) }
        guard let colon = text.firstIndex(of: ":"), colon == text.lastIndex(of: ":") else {
            return text
        }
        return String(text[..<colon])
    }
}
