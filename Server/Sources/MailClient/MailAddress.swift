/// A mail address that is safe in every command and header: ASCII, without quotes, white space or
/// control characters.
package struct MailAddress: Hashable, Sendable, CustomStringConvertible {
    /// The maximum length of an address, in bytes (RFC 5321 §4.5.3.1.3).
    package static let bytesMax = 254
    /// The maximum length of the part before the `@`, in bytes (RFC 5321 §4.5.3.1.1).
    static let localBytesMax = 64
    /// The maximum length of a part of a domain, in bytes (RFC 1035 §2.3.4).
    static let labelBytesMax = 63

    /// The address, such as `ops@birds.example`.
    package let text: String
    package let domain: String

    /// Returns nil unless the text is a dot-atom, `@`, and a domain of letters, digits, hyphens and
    /// dots (RFC 5322 §3.4.1, without its quoted and commented forms).
    package init?(_ text: String) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.bytesMax, parts.count == 2,
            parts[0].utf8.count <= Self.localBytesMax, Self.isDotAtom(parts[0]),
            Self.isDomain(parts[1])
        else { return nil }
        self.text = text
        domain = String(parts[1])
    }

    package var description: String { text }

    private static func isDotAtom(_ text: Substring) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { atom in
            !atom.isEmpty && atom.allSatisfy { isPlain($0) || "!#$%&'*+/=?^_`{|}~-".contains($0) }
        }
    }

    private static func isDomain(_ text: Substring) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            !label.isEmpty && label.utf8.count <= labelBytesMax && label.first != "-"
                && label.last != "-" && label.allSatisfy { isPlain($0) || $0 == "-" }
        }
    }

    private static func isPlain(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber)
    }
}
