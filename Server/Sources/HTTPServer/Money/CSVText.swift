/// Comma-separated text (RFC 4180), with line feeds.
package enum CSVText {
    /// Who reads the text.
    package enum Reader: Sendable {
        /// A text that a spreadsheet would run as a formula is quoted by an apostrophe: ids and
        /// product names come from outside. So is a number with more digits than a spreadsheet
        /// keeps, such as a transaction id.
        case spreadsheet
        /// Every text is written as it is.
        case program
    }

    package static func text(_ lines: [[String]], for reader: Reader = .spreadsheet) -> String {
        lines.map { line in
            line.map { field($0, for: reader) }.joined(separator: ",") + "\n"
        }.joined()
    }

    private static func field(_ text: String, for reader: Reader) -> String {
        var field = text
        if reader == .spreadsheet, isFormula(field) || isLongNumber(field) {
            field = "'" + field
        }
        guard field.utf8.contains(where: quotedBytes.contains) else { return field }
        var quoted = String.UnicodeScalarView("\"".unicodeScalars)
        for scalar in field.unicodeScalars {
            quoted.append(scalar)
            if scalar == "\"" { quoted.append(scalar) }
        }
        quoted.append("\"")
        return String(quoted)
    }

    // Bytes, because a character may be one of these with a combining mark.
    private static let formulaStarts = Set("=+-@\t\r\n".utf8)
    private static let quotedBytes = Set("\",\r\n".utf8)

    private static func isFormula(_ text: String) -> Bool {
        text.utf8.first.map(formulaStarts.contains) == true && !isNumber(text)
    }

    private static func isNumber(_ text: String) -> Bool { Double(text) != nil }

    /// Spreadsheets round numbers to so many digits.
    private static let digitsMax = 15

    private static func isLongNumber(_ text: String) -> Bool {
        text.utf8.count > digitsMax
            && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
