import AppStoreFormats

/// The place where a text stops being valid JSON.
package enum JSONFault: Hashable, Sendable {
    /// The text is wrong at this character. Lines and columns are counted from 1, and a column is
    /// counted in characters.
    case character(line: Int, column: Int)
    /// The text ends before its JSON value is complete.
    case end

    /// Finds the fault in a text. Returns nil if the text is valid JSON.
    package init?(in text: [UInt8]) {
        do {
            _ = try JSON(parsing: text)
            return nil
        } catch {
            guard error.offset < text.count else {
                self = .end
                return
            }
            let before = text.prefix(error.offset)
            let isNewLine = { (byte: UInt8) in byte == UInt8(ascii: "\n") }
            let start = before.lastIndex(where: isNewLine).map { $0 + 1 } ?? 0
            // In UTF-8, every byte of a character except its first byte begins with the bits 10.
            let column = 1 + before[start...].count { $0 & 0xC0 != 0x80 }
            self = .character(line: 1 + before.count(where: isNewLine), column: column)
        }
    }
}
