import OutgoingHTTP

/// An address of a provider of OpenID Connect, to which passwords, codes or tokens may be sent: by
/// https, or by http within this machine.
package struct ProviderURL: Hashable, Sendable, CustomStringConvertible {
    package static let charactersMax = 2_048
    private static let loopbackNames: Set = ["localhost", "127.0.0.1", "[::1]"]

    /// The address as it was written. Issuers are compared character by character.
    package let text: String
    /// The host without the port, in lower case.
    package let host: String
    package let isSecure: Bool

    package var description: String { text }

    /// Whether the host is a loopback name of this machine.
    package var isLoopback: Bool { Self.loopbackNames.contains(host) }

    /// Parses an address. Returns nil unless it is an absolute address of printable ASCII without a
    /// user, a fragment or a backslash, by https, or by http if its host is a loopback name.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.charactersMax,
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !#"\"<>^`{|}#"#.utf8.contains($0) }
            )
        else { return nil }
        let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "https" || parts[0] == "http" else { return nil }
        let authority = parts[1].prefix { $0 != "/" && $0 != "?" }
        guard let host = Self.host(of: authority) else { return nil }
        self.text = text
        self.host = host
        isSecure = parts[0] == "https"
        guard isSecure || isLoopback else { return nil }
    }

    /// The host of an authority, in lower case. Returns nil if the authority contains a user, or
    /// anything but a host and a port.
    private static func host(of authority: Substring) -> String? {
        let isBracketed = authority.hasPrefix("[")
        let host: Substring
        if isBracketed {
            guard let end = authority.lastIndex(of: "]") else { return nil }
            host = authority[...end]
        } else {
            host = authority.prefix { $0 != ":" }
        }
        let rest = authority.dropFirst(host.count)
        let name = isBracketed ? host.dropFirst().dropLast() : host
        guard isPort(rest), !name.isEmpty,
            name.allSatisfy(isBracketed ? isAddressCharacter : isNameCharacter)
        else { return nil }
        return host.lowercased()
    }

    /// Whether a text is empty, or `:` and a port. Connecting to an invalid port would end the
    /// program.
    private static func isPort(_ text: Substring) -> Bool {
        guard text.first == ":" else { return text.isEmpty }
        let digits = text.dropFirst()
        return digits.allSatisfy { ("0"..."9").contains($0) }
            && Int(digits).map { (1...65_535).contains($0) } ?? false
    }

    private static func isAddressCharacter(_ character: Character) -> Bool {
        character.isHexDigit && character.isASCII || ".:".contains(character)
    }

    private static func isNameCharacter(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || ".-_".contains(character))
    }

    /// The address with a path added to it. A slash at the end of the address is left out (OpenID
    /// Connect Discovery 1.0, 4.1).
    func appending(path: String) -> String {
        (text.hasSuffix("/") ? String(text.dropLast()) : text) + path
    }

    /// The address with parameters added to its query.
    func appending(query parameters: [(String, String)]) -> String {
        text + (text.contains("?") ? "&" : "?") + PercentEncoder.query(parameters)
    }
}
