/// Encodes text as a part of an address.
package enum PercentEncoder {
    private static let unreserved = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)

    /// Encodes all bytes but the unreserved characters of RFC 3986 §2.3.
    package static func text(_ text: String) -> String {
        text.utf8.reduce(into: "") { encoded, byte in
            if unreserved.contains(byte) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
    }

    /// Parameters as a query, or as a body of `application/x-www-form-urlencoded`: in their order,
    /// with `=` also after a name without a value.
    package static func query(_ parameters: [(String, String)]) -> String {
        parameters.map { "\(text($0.0))=\(text($0.1))" }.joined(separator: "&")
    }
}
