import Foundation

/// Writes any text in the ASCII that every mail server accepts.
enum MailText {
    /// The maximum length of a line of a body, without CRLF (RFC 2045 §6.7).
    static let lineBytesMax = 76
    /// The maximum number of bytes of text in one encoded word, so that a line stays short
    /// (RFC 2047 §2).
    private static let wordBytesMax = 39
    /// The longest header that is written as it is.
    private static let plainHeaderBytesMax = 60

    /// The value of a header. Control characters become spaces. If the text is not short ASCII, it
    /// becomes encoded words (RFC 2047).
    static func header(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { isControl($0) ? " " : $0 }
        let isPlain = scalars.allSatisfy(\.isASCII) && scalars.count <= plainHeaderBytesMax
        let clean = String(String.UnicodeScalarView(scalars))
        guard !isPlain || clean.contains("=?") else { return clean }
        var words: [[UInt8]] = [[]]
        for scalar in scalars {
            let bytes = Array(String(scalar).utf8)
            if words[words.count - 1].count + bytes.count > wordBytesMax { words.append([]) }
            words[words.count - 1] += bytes
        }
        return words.map { "=?utf-8?B?\(Data($0).base64EncodedString())?=" }
            .joined(separator: "\r\n ")
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
            || [0x2028, 0x2029].contains(scalar.value)
    }

    /// The body in quoted-printable (RFC 2045 §6.7), in lines that end with CRLF.
    static func quotedPrintable(_ text: String) -> String {
        let unified = text.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
        return unified.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line($0) }.joined(separator: "\r\n")
    }

    private static func line(_ text: Substring) -> String {
        let bytes = Array(text.utf8)
        var (result, length) = ("", 0)
        for (index, byte) in bytes.enumerated() {
            let isSpace = byte == 0x20 || byte == 0x09
            let isPlain =
                (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "=")
                || isSpace && index < bytes.count - 1
            let unit = isPlain ? String(UnicodeScalar(byte)) : "=\(hexadecimal(byte))"
            // The last place of a line is for the `=` of a soft line break.
            if length + unit.utf8.count > lineBytesMax - 1 {
                result += "=\r\n"
                length = 0
            }
            result += unit
            length += unit.utf8.count
        }
        return result
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16, uppercase: true)
        return digits.utf8.count == 1 ? "0" + digits : digits
    }

    /// Doubles each point at the beginning of a line, because a line with one point ends a mail
    /// (RFC 5321 §4.5.2), and adds that line without its line break.
    static func transmitted(_ text: String) -> String {
        let lines = text.components(separatedBy: "\r\n").map { $0.hasPrefix(".") ? "." + $0 : $0 }
        let body = lines.joined(separator: "\r\n")
        return body + (body.hasSuffix("\r\n") ? "." : "\r\n.")
    }
}
