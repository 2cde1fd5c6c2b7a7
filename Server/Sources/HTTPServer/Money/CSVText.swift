/// Comma-separated text (RFC 4180), with line feeds.
package enum CSVText {
    /// The program that will read the text.
    package enum Reader: Sendable {
        /// A spreadsheet. A text that a spreadsheet would run as a formula gets an apostrophe in
        /// front, because ids and product names come from outside. A number with more digits than a
        /// spreadsheet keeps, such as a transaction id, also gets an apostrophe.
        case spreadsheet
        /// A program. Every text is written unchanged.
        case program
    }

    package static func text(_ lines: [[String]], for reader: Reader = .spreadsheet) -> String {
        lines.map { line in
            line.map { field($0, for: reader) }.joined(separator: ",") + "\n"
        }.joined()
    }

    private static func field(_ text: String, for reader: Reader) -> String {
        let field = reader == .spreadsheet ? forSpreadsheet(text) : text
        guard field.utf8.contains(where: quotedBytes.contains) else { return field }
        var quoted = String.UnicodeScalarView("\"".unicodeScalars)
        for scalar in field.unicodeScalars {
            quoted.append(scalar)
            if scalar == "\"" { quoted.append(scalar) }
        }
        quoted.append("\"")
        return String(quoted)
    }

    private static func forSpreadsheet(_ text: String) -> String {
        isLongNumber(text) ? "'" + text : withoutFormulas(text)
    }

    /// Returns the text with an apostrophe wherever a spreadsheet could find a formula: at the
    /// beginning, and after each character at which a spreadsheet may split the text instead of at
    /// commas. In many countries that character is the semicolon; quotation marks after a comma
    /// then have no meaning.
    private static func withoutFormulas(_ text: String) -> String {
        // Nearly all texts contain no such character.
        guard let first = text.utf8.first,
            !isHarmless(first) || text.utf8.contains(where: isDivider)
        else { return text }
        guard !isNumber(text) else { return text }
        let scalars = Array(text.unicodeScalars)
        var safe = String.UnicodeScalarView()
        for (index, scalar) in scalars.enumerated() {
            let isStart = index == 0 || dividers.contains(scalars[index - 1])
            let isControl = index == 0 && controls.contains(scalar)
            if isControl || isStart && beginsFormula(scalars[index...]) { safe.append("'") }
            safe.append(scalar)
        }
        return String(safe)
    }

    /// The number of digits to which spreadsheets round numbers.
    private static let digitsMax = 15

    private static func isLongNumber(_ text: String) -> Bool {
        text.utf8.count > digitsMax
            && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// Whether a text that begins with this byte is certainly not a formula.
    private static func isHarmless(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }

    /// Spreadsheets skip spaces and quotation marks before a formula.
    private static func beginsFormula(_ scalars: ArraySlice<Unicode.Scalar>) -> Bool {
        let first = scalars.first { !skipped.contains($0) && !$0.properties.isWhitespace }
        return first.map(formulaStarts.contains) ?? false
    }

    /// Whether a text is a number as we write it: digits, optionally with a sign and a decimal
    /// point.
    private static func isNumber(_ text: String) -> Bool {
        var rest = text.utf8[...]
        if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            rest = rest.dropFirst()
        }
        let parts = rest.split(
            separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        return parts.allSatisfy { part in
            !part.isEmpty && part.allSatisfy { (0x30...0x39).contains($0) }
        }
    }

    private static func isDivider(_ byte: UInt8) -> Bool { dividerBytes.contains(byte) }

    // These are Unicode scalars, because a character may be one of them with a combining mark. The
    // last four are the full-width forms, which some East Asian spreadsheets treat like the others.
    private static let formulaStarts = Set("=+-@\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}".unicodeScalars)
    private static let controls = Set("\t\r\n".unicodeScalars)
    private static let skipped = Set("\"\u{FEFF}".unicodeScalars)
    private static let dividers = Set(";\t\r\n".unicodeScalars)
    private static let dividerBytes = Set(";\t\r\n".utf8)
    private static let quotedBytes = Set("\",;\t\r\n".utf8)
}
