/// Comma-separated text (RFC 4180), with line feeds.
package enum CSVText {
    package static func text(_ lines: [[String]]) -> String {
        lines.map { $0.map(field).joined(separator: ",") + "\n" }.joined()
    }

    /// A text that a spreadsheet would run as a formula is quoted by an apostrophe: ids and product
    /// names come from outside.
    private static func field(_ text: String) -> String {
        var field = text
        if let first = field.first, "=+-@\t\r".contains(first), !isNumber(field) {
            field = "'" + field
        }
        guard field.contains(where: { "\",\n\r\r\n".contains($0) }) else { return field }
        return "\"" + field.replacing("\"", with: "\"\"") + "\""
    }

    private static func isNumber(_ text: String) -> Bool { Double(text) != nil }
}
