import Foundation

/// Decides which hosts may be connected to, and at which address.
///
/// A name is resolved once. Each of its addresses must be permitted, and the connection goes to one
/// of the checked addresses. So an attacker gains nothing from a name that resolves to another
/// address a moment later.
package struct HostRules: Hashable, Sendable {
    /// Names of hosts, in lower case, whose addresses need not be public.
    package var privateHosts: Set<String>
    /// Names and addresses of hosts, in lower case, that may be used without TLS.
    package var plainHosts: Set<String>
    /// Whether addresses of this machine are permitted under any name.
    package var allowsLoopback: Bool

    package init(
        privateHosts: Set<String> = [], plainHosts: Set<String> = [], allowsLoopback: Bool = false
    ) {
        self.privateHosts = Set(privateHosts.map { $0.lowercased() })
        self.plainHosts = Set(plainHosts.map { $0.lowercased() })
        self.allowsLoopback = allowsLoopback
    }

    /// Why no message is sent to a host.
    package struct Refusal: Error, Hashable, CustomStringConvertible {
        package var description: String
    }

    /// Returns the address to connect to.
    ///
    /// - Parameter found: all addresses of the host.
    package func address(of host: String, among found: [IPAddress]) throws(Refusal) -> IPAddress {
        guard let first = found.first else {
            throw Refusal(description: "the host has no address")
        }
        if privateHosts.contains(host.lowercased()) { return first }
        for address in found where !address.isPublic {
            if allowsLoopback, address.isLoopback { continue }
            throw Refusal(description: "the host has the address \(address), which is not public")
        }
        return first
    }

    /// Whether a host may be used without TLS.
    package func permitsPlainHTTP(to host: String) -> Bool {
        plainHosts.contains(host.lowercased())
    }

    /// The maximum number of a name's addresses that are checked.
    private static let addressesMax = 32

    /// All addresses of a host, from the system's resolver, which also reads forms such as
    /// `2130706433` and `0x7f.1`. Blocks the thread while it waits for the network.
    package static func resolve(_ host: String) throws(Refusal) -> [IPAddress] {
        var hints = addrinfo()
        #if canImport(Darwin)
            hints.ai_socktype = SOCK_STREAM
        #else
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else {
            throw Refusal(description: "the host's name cannot be resolved")
        }
        defer { freeaddrinfo(list) }
        var found: [IPAddress] = []
        var next = list
        while let entry = next, found.count < addressesMax {
            if let address = address(in: entry.pointee) { found.append(address) }
            next = entry.pointee.ai_next
        }
        return found
    }

    private static func address(in entry: addrinfo) -> IPAddress? {
        guard let pointer = entry.ai_addr else { return nil }
        switch entry.ai_family {
        case AF_INET:
            return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                withUnsafeBytes(of: address.pointee.sin_addr) { IPAddress(bytes: Array($0)) }
            }
        case AF_INET6:
            return pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                withUnsafeBytes(of: address.pointee.sin6_addr) { IPAddress(bytes: Array($0)) }
            }
        default: return nil
        }
    }
}
