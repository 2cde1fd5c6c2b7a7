/// The character U+0000, which PostgreSQL cannot store in text. A request that contains it is
/// refused before it is processed.
enum NULCharacter {
    private static let escape = Array("u0000".utf8)
    private static let percentEncoded = Array("%00".utf8)

    /// Whether a JSON document contains the character as an escape. A document that contains it
    /// without an escape is not valid JSON.
    static func isEscaped(in json: some Collection<UInt8>) -> Bool {
        var rest = json[...]
        while let backslash = rest.firstIndex(of: UInt8(ascii: "\\")) {
            rest = rest[backslash...].dropFirst()
            if rest.starts(with: escape) { return true }
            // The byte after a backslash does not begin an escape, even if it is another backslash.
            rest = rest.dropFirst()
        }
        return false
    }

    /// Whether a path or its query contains the character.
    static func isPercentEncoded(in uri: String) -> Bool {
        var uri = uri
        return uri.withUTF8 { bytes in
            var rest = bytes[...]
            while let percent = rest.firstIndex(of: UInt8(ascii: "%")) {
                rest = rest[percent...]
                if rest.starts(with: percentEncoded) { return true }
                rest = rest.dropFirst()
            }
            return false
        }
    }
}
