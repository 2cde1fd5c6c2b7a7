/// Why a report file cannot be used, and where the problem is. No part of such a file is used.
package struct SalesReportFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, for programs. Codes are never reused.
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// The bytes are not UTF-8, or are compressed.
        case encoding
        /// The file ends before its content is complete.
        case incomplete
        /// The first line is not the header of a supported report.
        case header
        /// The columns match no known version.
        case version
        /// A line has more or fewer cells than the header.
        case cellCount = "cell_count"
        /// A cell does not contain a valid value of its column.
        case cell
        /// The rows do not add up to the totals at the end of the file.
        case totals
        /// The file is larger than the named limits allow.
        case limit
        /// A value cannot be written into a report.
        case unwritable
    }

    package var code: Code
    /// The number of the line, from 1; the header is line 1. Nil if the failure is about the whole
    /// file.
    package var line: Int?
    /// The number of the column, from 1. Nil if the failure is about the whole line.
    package var column: Int?
    /// The name of the column in the file's spelling. Nil if the failure is about the whole line.
    package var columnName: String?
    package var found: String
    package var expected: String
    /// What to do with the file.
    package var remedy: String

    /// The maximum number of characters of a cell that a message repeats.
    private static let quotedCharactersMax = 60

    init(
        _ code: Code, found: String, expected: String, remedy: String = Self.downloadAgain,
        line: Int? = nil, column: Int? = nil, columnName: String? = nil
    ) {
        self.code = code
        self.found = found
        self.expected = expected
        self.remedy = remedy
        self.line = line
        self.column = column
        self.columnName = columnName
    }

    package var description: String {
        "\(place): found \(found), expected \(expected). \(remedy)"
    }

    private var place: String {
        guard let line else { return "The file" }
        guard let column else { return "Line \(line)" }
        let name = columnName.map { " (\($0))" } ?? ""
        return "Line \(line), column \(column)\(name)"
    }

    /// The content of a cell for a message: in quotation marks, and shortened. Bytes that are not
    /// UTF-8 are replaced.
    static func quoted(_ cell: some Collection<UInt8>) -> String {
        let text = String(decoding: cell.prefix(4 * quotedCharactersMax), as: UTF8.self)
        guard !text.isEmpty else { return "an empty cell" }
        let isCut = text.count > quotedCharactersMax || cell.count > 4 * quotedCharactersMax
        return "\"\(text.prefix(quotedCharactersMax))\(isCut ? "…" : "")\""
    }

    static let downloadAgain =
        "The file was cut, damaged or edited: download it again, and do not open it in a "
        + "spreadsheet before."
    static let downloadUncompressed =
        "Decompress the file (gunzip) and use the text that comes out, unchanged."
    static let saveAsUTF8 =
        "The file was saved in another encoding: use the file as it was downloaded."
    static let missingColumn =
        "The file lacks a column that Apple's files of every known year have. If it was edited, "
        + "use it as it was downloaded; if not, its layout is not known, and it cannot be "
        + "imported. Report the first line of the file, so that the layout can be added."
    static let newerVersion =
        "If Apple has a new version of this report, upgrade Perennial; if not, download the file "
        + "again."
    static let otherCountries =
        "The rows and the sums of the file are not about the same countries, so rows or sums were "
        + "removed or added. Use the file as it was downloaded, or download it again."
}
