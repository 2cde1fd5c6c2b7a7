/// Decodes receipts from the Base64 text that programs send.
package enum ReceiptText {
    /// Decodes a text. Line breaks are ignored, and spaces are turned back into the plus signs that
    /// form decoding replaced. Returns nil if the text is empty or not Base64.
    package static func bytes(of text: String) -> [UInt8]? {
        var text = text
        let bytes = text.withUTF8 { Base64.standard.decode($0) } ?? repairedBytes(of: text)
        return bytes.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Corrects a text that is not valid Base64, and decodes it.
    private static func repairedBytes(of text: String) -> [UInt8]? {
        let whole = text.utf8.filter { byte in
            byte != UInt8(ascii: "\n") && byte != UInt8(ascii: "\r") && byte != UInt8(ascii: "\t")
        }
        let plain = whole.filter { $0 != UInt8(ascii: " ") }
        if let bytes = Base64.standard.decode(plain) { return bytes }
        return Base64.standard.decode(
            whole.map { $0 == UInt8(ascii: " ") ? UInt8(ascii: "+") : $0 })
    }

    /// Whether a text is an app receipt, which is a DER structure. A receipt of one transaction is
    /// a property list, and begins with a brace.
    package static func isAppReceipt(_ text: String) -> Bool {
        bytes(of: String(text.prefix(4)))?.first == derSequence
    }

    /// The first byte of a DER structure.
    private static let derSequence: UInt8 = 0x30

    package static func text(of bytes: [UInt8]) -> String {
        String(decoding: Base64.standard.encode(bytes), as: UTF8.self)
    }
}
