/// One line of a report file, split into its cells.
struct SalesReportLine {
    /// The number of the line, counted from 1.
    var number: Int
    var cells: [ArraySlice<UInt8>]
}

/// Splits the bytes of a report file into lines and cells. Does not interpret the cells.
///
/// Every line must end in LF or CRLF, including the last one: otherwise a file that was truncated
/// within its last cell would look complete. Refuses invalid UTF-8, and control characters within a
/// cell, which result from another encoding or other line ends.
struct SalesReportLines {
    /// The maximum size of a decompressed file, in bytes.
    static let bytesMax = 268_435_456
    /// The maximum number of lines after the header.
    static let rowsMax = 2_000_000
    static let columnsMax = 200
    /// The maximum size of a cell in bytes. The longest cells in Apple's files are titles of 4,000
    /// characters.
    static let cellBytesMax = 32_768

    let form: SalesReportForm
    private let bytes: [UInt8]
    private var offset: Int
    /// The number of lines that were read so far.
    private var count = 0

    private static let newline = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")
    private static let quote = UInt8(ascii: "\"")
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    init(_ bytes: [UInt8]) throws(SalesReportFailure) {
        guard bytes.count <= Self.bytesMax else {
            throw SalesReportFailure(
                .limit, found: "\(bytes.count) bytes", expected: "at most \(Self.bytesMax)",
                remedy: "Use the reports of single days.")
        }
        try Self.refuseOtherEncodings(bytes)
        self.bytes = bytes
        offset = bytes.starts(with: Self.byteOrderMark) ? Self.byteOrderMark.count : 0
        let header = bytes[offset...].prefix { $0 != Self.newline }
        form = header.contains(SalesReportForm.tabs.separator) ? .tabs : .commas
    }

    private static func refuseOtherEncodings(_ bytes: [UInt8]) throws(SalesReportFailure) {
        let start = bytes.prefix(2)
        if start == [0x1F, 0x8B] || start == [0x50, 0x4B] {
            throw SalesReportFailure(
                .encoding, found: "compressed data", expected: "text in UTF-8",
                remedy: SalesReportFailure.downloadUncompressed)
        }
        if start == [0xFE, 0xFF] || start == [0xFF, 0xFE] || start.contains(0) {
            throw SalesReportFailure(
                .encoding, found: "text in UTF-16", expected: "text in UTF-8",
                remedy: SalesReportFailure.saveAsUTF8)
        }
    }

    /// The next line. Nil at the end of the file.
    mutating func next() throws(SalesReportFailure) -> SalesReportLine? {
        guard offset < bytes.count else { return nil }
        let number = count + 1
        guard number <= Self.rowsMax + 1 else {
            throw SalesReportFailure(
                .limit, found: "more rows", expected: "at most \(Self.rowsMax) rows",
                remedy: "Use the reports of single days.", line: number)
        }
        var line = SalesReportLine(number: number, cells: [])
        var isLast = false
        while !isLast {
            guard line.cells.count < Self.columnsMax else {
                throw SalesReportFailure(
                    .limit, found: "more cells", expected: "at most \(Self.columnsMax) columns",
                    line: number)
            }
            let cell: ArraySlice<UInt8>
            (cell, isLast) = try nextCell(line: number, column: line.cells.count + 1)
            line.cells.append(cell)
        }
        count += 1
        return line
    }

    private mutating func nextCell(
        line: Int, column: Int
    ) throws(SalesReportFailure) -> (cell: ArraySlice<UInt8>, isLast: Bool) {
        let isQuoted = form == .commas && offset < bytes.count && bytes[offset] == Self.quote
        let cell = isQuoted ? try quotedCell(line: line, column: column) : bareCell()
        try check(cell, isQuoted: isQuoted, line: line, column: column)
        if offset < bytes.count, bytes[offset] == form.separator {
            offset += 1
            return (cell, false)
        }
        if offset + 1 < bytes.count, bytes[offset] == Self.carriageReturn,
            bytes[offset + 1] == Self.newline
        {
            offset += 2
            return (cell, true)
        }
        if offset < bytes.count, bytes[offset] == Self.newline {
            offset += 1
            return (cell, true)
        }
        guard offset < bytes.count else {
            throw SalesReportFailure(
                .incomplete, found: "the end of the file", expected: "the end of the line",
                line: line, column: column)
        }
        throw SalesReportFailure(
            .cell, found: SalesReportFailure.quoted(bytes[offset...].prefix(1)),
            expected: "a comma after the closing quotation mark", line: line, column: column)
    }

    /// The content of an unquoted cell: up to the next separator or end of line, without a CR
    /// before LF.
    private mutating func bareCell() -> ArraySlice<UInt8> {
        let start = offset
        let separator = form.separator
        while offset < bytes.count, bytes[offset] != separator, bytes[offset] != Self.newline {
            offset += 1
        }
        let isBeforeNewline = offset < bytes.count && bytes[offset] == Self.newline
        if isBeforeNewline, offset > start, bytes[offset - 1] == Self.carriageReturn { offset -= 1 }
        return bytes[start..<offset]
    }

    /// The content of a quoted cell, in which two quotation marks mean one.
    private mutating func quotedCell(
        line: Int, column: Int
    ) throws(SalesReportFailure) -> ArraySlice<UInt8> {
        var content: [UInt8] = []
        offset += 1
        while offset < bytes.count {
            let byte = bytes[offset]
            offset += 1
            guard byte == Self.quote else {
                content.append(byte)
                continue
            }
            guard offset < bytes.count, bytes[offset] == Self.quote else { return content[...] }
            content.append(byte)
            offset += 1
        }
        throw SalesReportFailure(
            .incomplete, found: "the end of the file", expected: "a closing quotation mark",
            line: line, column: column)
    }

    private func check(
        _ cell: ArraySlice<UInt8>, isQuoted: Bool, line: Int, column: Int
    ) throws(SalesReportFailure) {
        guard cell.count <= Self.cellBytesMax else {
            throw SalesReportFailure(
                .limit, found: "a cell of \(cell.count) bytes",
                expected: "at most \(Self.cellBytesMax)", line: line, column: column)
        }
        var isASCII = true
        for byte in cell {
            if byte >= 0x80 { isASCII = false }
            guard byte >= 0x20 || isQuoted && [0x09, 0x0A, 0x0D].contains(byte) else {
                throw SalesReportFailure(
                    .encoding, found: "a control character (\(Self.hexadecimal(byte)))",
                    expected: "text in UTF-8, with lines that end in LF or CRLF",
                    remedy: SalesReportFailure.saveAsUTF8, line: line, column: column)
            }
        }
        if !isASCII, String(validating: cell, as: UTF8.self) == nil {
            throw SalesReportFailure(
                .encoding, found: "\(SalesReportFailure.quoted(cell)), which is not UTF-8",
                expected: "text in UTF-8", remedy: SalesReportFailure.saveAsUTF8,
                line: line, column: column)
        }
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        "0x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
}
