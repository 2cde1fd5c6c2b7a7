/// U+0000, which PostgreSQL does not keep as text: it is refused before anything is done.
enum NULCharacter {
    private static let escape = Array("u0000".utf8)
    private static let percentEncoded = Array("%00".utf8)

    /// Whether a JSON document writes it, by its escape. Unescaped it is no JSON.
    static func isEscaped(in json: some Collection<UInt8>) -> Bool {
        var rest = json[...]
        while let backslash = rest.firstIndex(of: UInt8(ascii: "\\")) {
            rest = rest[backslash...].dropFirst()
            if rest.starts(with: escape) { return true }
            // Whatever is escaped, a backslash too, begins no other escape.
            rest = rest.dropFirst()
        }
        return false
    }

    /// Whether a path, or its query, writes it.
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
