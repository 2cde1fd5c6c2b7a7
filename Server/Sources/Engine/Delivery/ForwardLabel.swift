import Crypto

/// The visible form of an address: without the path and the query, which may contain a secret.
package enum ForwardLabel {
    /// The number of hexadecimal digits that distinguish two addresses of one host.
    private static let digits = 4

    /// Returns the scheme, host and port of an address. If another address has the same scheme,
    /// host and port, some digits of this address's SHA-256 follow. These digits never change:
    /// `https://old.example.com#1a2b`.
    ///
    /// - Parameter name: the address without its query.
    /// - Parameter names: all addresses that are shown together.
    package static func text(of name: String, among names: [String]) -> String {
        let origin = origin(of: name)
        let hasTwin = names.contains { $0 != name && self.origin(of: $0) == origin }
        return hasTwin ? distinct(name) : String(origin)
    }

    /// Returns the label with the digits, even if no other address has the same host.
    package static func distinct(_ name: String) -> String {
        "\(origin(of: name))#\(digest(of: name).prefix(digits))"
    }

    /// The number of hexadecimal digits of a digest.
    package static let digestDigits = 64

    /// The SHA-256 of an address in hexadecimal.
    package static func digest(of name: String) -> String {
        Hexadecimal.text(Array(SHA256.hash(data: Array(name.utf8))))
    }

    private static func origin(of name: String) -> Substring {
        let start = name.firstRange(of: "://")?.upperBound ?? name.startIndex
        return name[..<(name[start...].firstIndex { "/?#".contains($0) } ?? name.endIndex)]
    }
}
