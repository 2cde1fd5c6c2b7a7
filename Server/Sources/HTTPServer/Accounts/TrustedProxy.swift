import HTTPTypes
import Hummingbird

/// A proxy in front of the dashboard. Certain header fields are trusted if they come from the
/// proxy, and ignored if they come from any other client.
package struct TrustedProxy: Hashable, Sendable {
    private static let nameBytesMax = 200

    /// The IP addresses from which the proxy connects, in canonical form.
    package let addresses: Set<String>
    /// The field with the name of the operator whom the proxy has signed in; nil if operators sign
    /// in here.
    package var userField: HTTPField.Name?

    package init(addresses: Set<String>, userField: HTTPField.Name? = nil) {
        self.addresses = Set(addresses.map { CanonicalAddress($0)?.description ?? $0 })
        self.userField = userField
    }

    /// The name of the operator whom the proxy has signed in. Returns nil if the request is not
    /// from the proxy, or contains no name.
    func user(of request: Request, _ context: ServerContext) -> String? {
        guard let userField, addresses.contains(context.peerAddress),
            let name = request.headers[userField], (1...Self.nameBytesMax).contains(name.utf8.count)
        else { return nil }
        return name
    }

    /// The address of the client for whom the proxy sends a request. Returns nil if the request is
    /// not from the proxy, or if the proxy names no address.
    ///
    /// - Parameter peer: the address that connects, in canonical form.
    func client(of request: Request, from peer: String) -> String? {
        guard addresses.contains(peer) else { return nil }
        let chain = (request.headers[.forwardedFor] ?? "").split(separator: ",")
            .map { CanonicalAddress(forwarded: $0.filter { $0 != " " })?.description }
        let last = chain.last { address in address.map { !addresses.contains($0) } ?? true }
        return last ?? nil
    }
}

extension DashboardAccess {
    /// The address of the browser. Without a trusted proxy, this is the address that connects.
    /// Behind a trusted proxy, it is the last address in `X-Forwarded-For`, because the proxy has
    /// added this address. The browser may have made up the earlier addresses. If the last entry is
    /// not an address, returns the proxy's own address.
    func address(of request: Request, _ context: ServerContext) -> String {
        let peer = context.peerAddress
        return proxy?.client(of: request, from: peer) ?? peer
    }
}

extension ServerContext {
    /// The IP address from which a request comes; empty if the address is unknown.
    var peerAddress: String {
        let address = channel.remoteAddress?.ipAddress ?? ""
        return CanonicalAddress(address)?.description ?? address
    }
}

extension HTTPField.Name {
    fileprivate static let forwardedFor = wellFormed("X-Forwarded-For")
}
