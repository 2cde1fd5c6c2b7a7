import Engine
import HTTPServer
import HTTPTypes
import Ledger
import OpenIDConnect
import Yams

/// The configuration of the dashboard of `perennial serve`.
package struct DashboardConfiguration: Hashable, Sendable {
    /// The address at which browsers reach the dashboard.
    package var origin: PageOrigin
    package var operators = OperatorSettings()
    package var proxy: TrustedProxy?
    /// The provider at which operators may sign in; nil if there is none.
    package var provider: ProviderConfiguration?
    /// Whether operators may sign in with a name and a password.
    package var takesPasswords = true
    package var passkeyUse = PasskeyUse.optional

    package init(origin: PageOrigin) { self.origin = origin }

    /// - Parameter send: sends requests to the provider at which operators sign in.
    package func access(sending send: @escaping OpenIDClient.Sender) -> DashboardAccess {
        var access = DashboardAccess(for: origin, behind: proxy)
        access.provider = provider?.access(sending: send)
        access.takesPasswords = takesPasswords
        access.offersPasskeys = passkeyUse != .off
        return access
    }

    /// The URL of a link that works once.
    func url(ofLink token: String) -> String {
        let path = "/links/\(token)"
        return origin.url(path) ?? path
    }
}

extension ConfigurationReader {
    static let dashboardKeys: [Key<DashboardConfiguration>] = [
        Key("url"),
        Key("idle_hours", \.operators.idle, in: 1...720) { .hours($0) },
        Key("session_days", \.operators.lifetime, in: 1...365) { .days($0) },
        Key("trusted_proxy") { $0.read(proxy: $1, into: &$2) },
        Key("sign_in") { $0.read(signIn: $1, into: &$2) },
    ]
    static let proxyKeys = ["addresses", "user_header"]
    private static let proxiesMax = 50

    /// Reads the configuration of the dashboard. Returns nil if its URL is missing or invalid.
    ///
    /// - Parameter hasTLS: whether browsers can reach the server by https without a proxy.
    mutating func dashboard(_ node: Node, hasTLS: Bool) -> DashboardConfiguration? {
        let found = members(of: node, known: Self.dashboardKeys.map(\.name), in: "dashboard")
        guard let url = found["url"], let origin = origin(url) else {
            if found["url"] == nil {
                complain(
                    node, "The dashboard has no url.",
                    "Add the address for browsers, such as `url: https://store.example.com`.")
            }
            return nil
        }
        var dashboard = DashboardConfiguration(origin: origin)
        read(node, Self.dashboardKeys, into: &dashboard, in: "dashboard")
        if dashboard.proxy?.userField != nil, dashboard.provider != nil {
            complain(
                found["sign_in"],
                "Two systems would name operators: user_header of the proxy, and openid. A name of "
                    + "one is not the same person's name of the other.",
                "Leave out user_header, or openid.")
        }
        if found["trusted_proxy"] == nil, origin.isSecure, !hasTLS {
            warn(
                node,
                "The dashboard has no trusted_proxy, so all browsers seem to have one address.",
                "Name the addresses of the proxy with TLS. Otherwise a stranger who tries wrong "
                    + "passwords keeps everybody from signing in.")
        }
        setPasskeys(of: &dashboard, at: found["sign_in"] ?? node)
        return dashboard
    }

    private mutating func origin(_ node: Node) -> PageOrigin? {
        guard let origin = text(node).flatMap({ PageOrigin(url: $0) }) else {
            complain(
                node, "“\(text(node) ?? "…")” is not an address of a dashboard.",
                "Write scheme and host only, such as https://store.example.com.")
            return nil
        }
        guard origin.isSecure || origin.isOnThisMachine else {
            complain(
                node, "Passwords must not cross a network unencrypted.",
                "Use https, or a host of this machine: http://localhost:8080.")
            return nil
        }
        return origin
    }

    fileprivate mutating func read(proxy node: Node, into dashboard: inout DashboardConfiguration) {
        let found = members(of: node, known: Self.proxyKeys, in: "trusted_proxy")
        let addresses = found["addresses"].map { names($0, of: "addresses") } ?? []
        guard (1...Self.proxiesMax).contains(addresses.count) else {
            complain(
                node, "trusted_proxy needs 1 to \(Self.proxiesMax) addresses.",
                "Write the proxy's own IP addresses: `addresses: [10.0.0.2]`.")
            return
        }
        for address in addresses where CanonicalAddress(address) == nil {
            complain(
                found["addresses"], "“\(address)” is not an IP address.",
                "Write each address from which the proxy connects, such as 10.0.0.2 or ::1; no "
                    + "name, port or network.")
        }
        var proxy = TrustedProxy(addresses: Set(addresses))
        if let field = found["user_header"] {
            guard let name = text(field).flatMap({ HTTPField.Name($0) }) else {
                complain(
                    field, "“\(text(field) ?? "…")” is not a header name.",
                    "Write one such as X-Forwarded-User.")
                return
            }
            proxy.userField = name
        }
        dashboard.proxy = proxy
    }
}
