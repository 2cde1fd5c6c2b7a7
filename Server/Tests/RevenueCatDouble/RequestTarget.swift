/// The path and the query of a request, percent-decoded.
struct RequestTarget: Sendable {
    /// The path as it was sent, without the query.
    let rawPath: String
    let segments: [String]
    let query: [String: String]

    /// Returns nil if a percent-encoding is not valid, or the path does not begin with a slash.
    init?(_ text: String) {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let path = parts.first, path.first == "/" else { return nil }
        rawPath = String(path)
        var segments: [String] = []
        for part in path.split(separator: "/") {
            guard let segment = Self.decoded(part) else { return nil }
            segments.append(segment)
        }
        self.segments = segments
        var query: [String: String] = [:]
        for pair in parts.count > 1 ? parts[1].split(separator: "&") : [] {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(sides[0]),
                let value = Self.decoded(sides.count > 1 ? sides[1] : "")
            else { return nil }
            query[name] = value
        }
        self.query = query
    }

    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = Substring(rest.prefix(2))
            guard digits.utf8.count == 2, let value = UInt8(digits, radix: 16) else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// A text for the query: everything but unreserved characters is encoded (RFC 3986 §2.3).
    static func encoded(_ text: String) -> String {
        text.utf8.reduce(into: "") { encoded, byte in
            let scalar = Unicode.Scalar(byte)
            let isLetter = byte < 128 && scalar.properties.isAlphabetic
            if isLetter || (48...57).contains(byte) || "-._~".utf8.contains(byte) {
                encoded.unicodeScalars.append(scalar)
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
    }
}
