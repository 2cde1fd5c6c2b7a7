import Foundation

/// An address of a host, and whether it belongs to the public internet.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// 4 or 16 bytes, in network order.
    package let bytes: [UInt8]

    /// - Parameter bytes: 4 for IPv4, 16 for IPv6.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Parses dotted decimal IPv4 and RFC 4291's IPv6, nothing else.
    package init?(_ text: String) {
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = withUnsafeBytes(of: four) { Array($0.prefix(4)) }
            return
        }
        var six = in6_addr()
        guard inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        bytes = withUnsafeBytes(of: six) { Array($0.prefix(16)) }
    }

    package var description: String {
        if bytes.count == 4 { return bytes.map { "\($0)" }.joined(separator: ".") }
        return stride(from: 0, to: 16, by: 2).map {
            String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16)
        }.joined(separator: ":")
    }

    package var isLoopback: Bool {
        if let four = embedded { return four.bytes[0] == 127 }
        return bytes == Array(repeating: 0, count: 15) + [1]
    }

    /// Whether the address is reachable from everywhere, according to IANA's registries of
    /// special-purpose addresses. An IPv6 address that stands for an IPv4 address is judged by the
    /// IPv4 address.
    package var isPublic: Bool {
        if let four = embedded { return !Self.special4.contains { $0.contains(four.bytes) } }
        return Self.global6.contains(bytes) && !Self.special6.contains { $0.contains(bytes) }
    }

    /// This address if it is IPv4. Otherwise the IPv4 address that this IPv6 address contains:
    /// mapped (RFC 4291), translated (RFC 6052), or the address of a 6to4 router (RFC 3056). Nil if
    /// the address contains no IPv4 address.
    private var embedded: IPAddress? {
        if bytes.count == 4 { return self }
        if Self.mapped.contains(bytes) || Self.translated.contains(bytes) {
            return IPAddress(bytes: Array(bytes.suffix(4)))
        }
        return Self.sixToFour.contains(bytes) ? IPAddress(bytes: Array(bytes[2..<6])) : nil
    }

    private struct Block: Sendable {
        var start: [UInt8]
        var bits: Int

        func contains(_ bytes: [UInt8]) -> Bool {
            guard bytes.count == start.count else { return false }
            let whole = bits / 8
            guard bytes.prefix(whole).elementsEqual(start.prefix(whole)) else { return false }
            guard bits % 8 > 0 else { return true }
            let shift = 8 - bits % 8
            return bytes[whole] >> shift == start[whole] >> shift
        }
    }

    private static func block(_ text: String, _ bits: Int) -> Block {
        guard let address = IPAddress(text) else { preconditionFailure("\(text) is no address.") }
        return Block(start: address.bytes, bits: bits)
    }

    private static let mapped = block("::ffff:0:0", 96)
    private static let translated = block("64:ff9b::", 96)
    private static let sixToFour = block("2002::", 16)
    private static let global6 = block("2000::", 3)
    /// Ranges inside ``global6`` that are not public: protocol assignments, which include Teredo,
    /// and addresses for documentation.
    private static let special6 = [
        block("2001::", 23), block("2001:db8::", 32), block("3fff::", 20),
    ]
    private static let special4 = [
        block("0.0.0.0", 8), block("10.0.0.0", 8), block("100.64.0.0", 10), block("127.0.0.0", 8),
        block("169.254.0.0", 16), block("172.16.0.0", 12), block("192.0.0.0", 24),
        block("192.0.2.0", 24), block("192.88.99.0", 24), block("192.168.0.0", 16),
        block("198.18.0.0", 15), block("198.51.100.0", 24), block("203.0.113.0", 24),
        block("224.0.0.0", 4), block("240.0.0.0", 4),
    ]
}
