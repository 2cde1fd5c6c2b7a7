/// Receipts as the Base64 text that programs send.
package enum ReceiptText {
    private static let blanks = Set("\r\n\t ".utf8)

    /// The bytes of a text. Line breaks are left out, and a plus sign that the encoding of a web
    /// form has made a blank is put back. Nil for what is no Base64, or nothing.
    package static func bytes(of text: String) -> [UInt8]? {
        let whole = text.utf8.filter { !blanks.contains($0) || $0 == UInt8(ascii: " ") }
        let repaired = whole.map { $0 == UInt8(ascii: " ") ? UInt8(ascii: "+") : $0 }
        let plain = whole.filter { $0 != UInt8(ascii: " ") }
        let bytes = Base64.standard.decode(plain) ?? Base64.standard.decode(repaired)
        return bytes.flatMap { $0.isEmpty ? nil : $0 }
    }

    package static func text(of bytes: [UInt8]) -> String {
        String(decoding: Base64.standard.encode(bytes), as: UTF8.self)
    }
}
