import Foundation

/// An address that an operator names, and to which the server sends requests.
struct OutgoingAddress {
    /// Hosts on this machine. Nobody can read the traffic to them, so they need no TLS.
    private static let ownHosts: Set = ["localhost", "127.0.0.1", "::1", "[::1]"]

    private let text: String
    private let url: URLComponents

    /// Parses an address. Returns nil unless it has the scheme `http` or `https`, a host, printable
    /// ASCII only, and neither user, password nor fragment.
    init?(_ text: String) {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let url = URLComponents(string: text), ["http", "https"].contains(url.scheme),
            let host = url.host, !host.isEmpty, url.percentEncodedHost?.contains("%") == false,
            url.user == nil, url.password == nil, url.fragment == nil, Self.hasUsablePort(text)
        else { return nil }
        self.text = text
        self.url = url
    }

    /// Whether nobody can read requests on the way: they are encrypted, or stay on this machine.
    var isProtected: Bool {
        url.scheme == "https" || url.host.map(Self.ownHosts.contains) ?? false
    }

    var hasQuery: Bool { url.query != nil }

    /// Scheme, host and port, without a slash at the end. Nil if the address has a path or a query.
    var origin: String? {
        guard !hasQuery, ["", "/"].contains(url.path) else { return nil }
        return url.path.isEmpty ? text : String(text.dropLast())
    }

    /// Returns true if an address has no port or a valid one. Connecting to an invalid port would
    /// end the program.
    private static func hasUsablePort(_ text: String) -> Bool {
        guard let start = text.firstRange(of: "://")?.upperBound else { return false }
        let place = text[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let afterHost = place[(place.lastIndex(of: "]") ?? place.startIndex)...]
        guard let colon = afterHost.firstIndex(of: ":") else { return true }
        let port = Int(afterHost[afterHost.index(after: colon)...])
        return port.map { (1...65_535).contains($0) } ?? false
    }
}
