/// U+0000, which PostgreSQL cannot store in text. Requests that contain it are rejected up front.
enum NULCharacter {
    private static let escape = Array("u0000".utf8)
    private static let percentEncoded = Array("%00".utf8)

    /// Returns true if a JSON document contains the character as an escape. Unescaped it is not
    /// valid JSON.
    static func isEscaped(in json: some Collection<UInt8>) -> Bool {
        var rest = json[...]
        while let backslash = rest.firstIndex(of: UInt8(ascii: "\\")) {
            rest = rest[backslash...].dropFirst()
            if rest.starts(with: escape) { return true }
            // Whatever follows the backslash, even another backslash, does not begin an escape.
            rest = rest.dropFirst()
        }
        return false
    }

    /// Returns true if a path or its query contains the character.
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
