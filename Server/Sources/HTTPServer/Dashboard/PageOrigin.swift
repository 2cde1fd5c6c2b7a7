import HTTPTypes

/// The address of the pages, and whether a request comes from one of them.
///
/// A cookie is enough to carry out an act. So other sites must not be able to cause an act. They
/// could try it with a form or script that posts to this server, or with their own host name that
/// leads to this server (DNS rebinding). Browsers report the origin of a request in `Origin` and
/// `Sec-Fetch-Site` (Fetch Metadata Request Headers). A program that is not a browser sends neither
/// field, and may post.
package struct PageOrigin: Hashable, Sendable {
    private static let loopbackHosts: Set<Substring> = ["localhost", "127.0.0.1", "[::1]"]
    private static let formType = "application/x-www-form-urlencoded"

    /// `http` or `https`.
    package let scheme: String
    /// The host and port, as browsers write them in `Host`. A nil authority stands for this
    /// machine, under any of its loopback names, with any port.
    package let authority: String?

    /// The origin of pages that only browsers on this machine can open.
    package static let loopback = Self(scheme: "http", authority: nil)

    /// The origin of a URL, such as `https://store.example.com`. Returns nil unless the URL
    /// consists of a scheme, a host and optionally a port. The scheme's default port is left out.
    package init?(url: String) {
        let parts = url.lowercased().split(separator: "://", omittingEmptySubsequences: false)
        guard parts.count == 2, ["http", "https"].contains(parts[0]) else { return nil }
        var authority = parts[1].hasSuffix("/") ? parts[1].dropLast() : parts[1]
        guard !authority.isEmpty, authority.allSatisfy(Self.isOfAuthority) else { return nil }
        let usualPort = parts[0] == "https" ? ":443" : ":80"
        if authority.hasSuffix(usualPort) { authority = authority.dropLast(usualPort.count) }
        self.init(scheme: String(parts[0]), authority: String(authority))
    }

    private init(scheme: String, authority: String?) {
        self.scheme = scheme
        self.authority = authority
    }

    private static func isOfAuthority(_ character: Character) -> Bool {
        character.isASCII
            && (character.isLetter || character.isNumber || ".-:[]".contains(character))
    }

    /// Whether browsers reach the pages only by an encrypted connection.
    package var isSecure: Bool { scheme == "https" }

    /// Whether the address is a loopback name, so that requests cross no network.
    package var isOnThisMachine: Bool { authority.map(Self.isLoopback) ?? true }

    /// The URL of a path on this server. Returns nil for this machine, whose port is not known.
    package func url(_ path: String) -> String? {
        authority.map { "\(scheme)://\($0)\(path)" }
    }

    /// Returns a sentence that says why a request is refused, or nil if the request is accepted.
    package func refusal(of request: HTTPRequest) -> String? {
        guard let own = request.authority?.lowercased(), answers(own) else {
            return "The page is only at \(authority ?? "localhost")."
        }
        guard request.method == .post else { return nil }
        let origin = request.headerFields[.origin]
        guard origin == nil || origin?.lowercased() == "\(scheme)://\(authority ?? own)" else {
            return "The form was sent by another site."
        }
        guard [nil, "same-origin"].contains(request.headerFields[.fetchSite]) else {
            return "The form was sent by another site."
        }
        let type = request.headerFields[.contentType]?.prefix { $0 != ";" }
        guard type?.lowercased().filter({ $0 != " " }) == Self.formType else {
            return "The body is not a form."
        }
        return nil
    }

    /// Whether the pages are at a host.
    ///
    /// - Parameter own: the host that a request names, in lower case.
    private func answers(_ own: String) -> Bool {
        guard let authority else { return Self.isLoopback(own) }
        return own == authority || own == authority + (isSecure ? ":443" : ":80")
    }

    /// Whether a host, with or without a port, is a loopback name of this machine.
    private static func isLoopback(_ authority: String) -> Bool {
        let isBracketed = authority.hasPrefix("[")
        guard !isBracketed || authority.contains("]") else { return false }
        let host: Substring =
            isBracketed
            ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
        let rest = authority.dropFirst(host.count)
        let isPort = rest.isEmpty || rest.first == ":" && rest.dropFirst().allSatisfy(\.isNumber)
        return isPort && loopbackHosts.contains(Substring(host.lowercased()))
    }
}

extension HTTPField.Name {
    fileprivate static let fetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .origin
}
