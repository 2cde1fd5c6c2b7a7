import HTTPTypes

/// Whether a request comes from a page of our own on this machine, or from a program here.
///
/// The page acts without a password, so no other site may use it: neither by a form or a script
/// that posts to this machine, nor by a host name of its own that leads here (DNS rebinding).
/// Browsers say where a request comes from in `Origin` and `Sec-Fetch-Site` (Fetch Metadata
/// Request Headers); a program that is no browser sends neither, and may post.
package struct LoopbackOrigin {
    private static let hosts: Set<Substring> = ["localhost", "127.0.0.1", "[::1]"]
    private static let formType = "application/x-www-form-urlencoded"

    let request: HTTPRequest

    package init(_ request: HTTPRequest) { self.request = request }

    /// Why the request is refused, as a sentence. Nil if it is not.
    package var refusal: String? {
        guard let authority = request.authority, Self.isLoopback(authority) else {
            return "The page is only at localhost."
        }
        guard request.method == .post else { return nil }
        let origin = request.headerFields[.origin]
        guard origin == nil || origin?.lowercased() == "http://\(authority.lowercased())" else {
            return "Another site has sent this."
        }
        guard [nil, "same-origin"].contains(request.headerFields[.fetchSite]) else {
            return "Another site has sent this."
        }
        let type = request.headerFields[.contentType]?.prefix { $0 != ";" }
        guard type?.lowercased().filter({ $0 != " " }) == Self.formType else {
            return "The body is no form."
        }
        return nil
    }

    /// Whether a host with or without a port is this machine by a name that nobody else can use.
    private static func isLoopback(_ authority: String) -> Bool {
        let isBracketed = authority.hasPrefix("[")
        guard !isBracketed || authority.contains("]") else { return false }
        let host: Substring =
            isBracketed
            ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
        let rest = authority.dropFirst(host.count)
        let isPort = rest.isEmpty || rest.first == ":" && rest.dropFirst().allSatisfy(\.isNumber)
        return isPort && hosts.contains(Substring(host.lowercased()))
    }
}

extension HTTPField.Name {
    fileprivate static let fetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .origin
}
