import Engine

/// Splits the bytes of a file into rows as they arrive: CSV by RFC 4180, or one JSON object on each
/// line. Never has more than one row in memory.
///
/// In CSV, fields are separated by commas, semicolons or tabs. The first line shows which separator
/// the file uses. A quoted field may contain line ends, and quotes written twice. A row longer than
/// ``rowBytesMax`` is reported and skipped up to the next line end.
struct RowReader {
    /// The maximum size of a row: enough for the largest app receipt in Base64 and the other
    /// fields.
    static let rowBytesMax = PurchaseEvidence.bytesMax
    static let fieldsMax = 500

    struct Row: Hashable, Sendable {
        /// The line of the row's first byte, counted from 1.
        var line: Int64
        /// The bytes of the file up to the end of this row.
        var bytesRead: Int64
        var linesRead: Int64
        var content: Content
    }

    enum Content: Hashable, Sendable {
        case fields([String])
        /// A line that should be a JSON object.
        case json([UInt8])
        case tooLong
        /// A row with invalid UTF-8. The row is not decoded: all invalid bytes would become the
        /// same replacement character, and different customers could get the same id.
        case notUTF8
        /// A quoted field that continues to the end of the file, so the rows within it are not
        /// read.
        case unclosedQuote(inLine: Int64)
    }

    enum Shape: Hashable, Sendable {
        case separated(by: UInt8)
        case json
    }

    let shape: Shape
    private var bytesRead: Int64
    private var linesRead: Int64
    /// The line where the current row begins.
    private var line: Int64
    /// The line of the last quote that opened a field.
    private var quoteLine: Int64 = 0
    private var fields: [[UInt8]] = []
    private var field: [UInt8] = []
    private var rowBytes = 0
    private var state = State.fieldStart

    private enum State {
        case fieldStart
        case plain
        case quoted
        /// A quote was read within a quoted field. This quote either ends the field or is the first
        /// of two.
        case quoteSeen
        /// The row is too long and is being skipped.
        case skipping
    }

    /// - Parameters:
    ///   - bytesRead: the position of the first byte that will be added, counted from the file's
    ///     beginning. A row must start there.
    ///   - linesRead: the number of lines before that position.
    init(_ shape: Shape, bytesRead: Int64 = 0, linesRead: Int64 = 0) {
        self.shape = shape
        self.bytesRead = bytesRead
        self.linesRead = linesRead
        line = linesRead + 1
    }

    /// Adds the next bytes and returns the rows that end within them.
    mutating func add(_ bytes: some Sequence<UInt8>) -> [Row] {
        var rows: [Row] = []
        for byte in bytes {
            bytesRead += 1
            if byte == UInt8(ascii: "\n") { linesRead += 1 }
            if let row = process(byte) { rows.append(row) }
        }
        return rows
    }

    /// Returns the row that ends with the file; nil if no row remains.
    mutating func finish() -> Row? {
        guard rowBytes > 0 else { return nil }
        // A line end within quotes was already counted.
        if state != .quoted || field.last != UInt8(ascii: "\n") { linesRead += 1 }
        return row()
    }

    private mutating func process(_ byte: UInt8) -> Row? {
        if isByteOrderMark(byte) { return nil }
        if byte == UInt8(ascii: "\n"), state != .quoted { return isEmptyLine ? skip() : row() }
        rowBytes += 1
        if rowBytes > Self.rowBytesMax {
            state = .skipping
            fields = []
            field = []
        }
        guard case .separated(let separator) = shape else {
            if state != .skipping { field.append(byte) }
            return nil
        }
        processSeparated(byte, separator)
        return nil
    }

    private mutating func processSeparated(_ byte: UInt8, _ separator: UInt8) {
        let quote = UInt8(ascii: "\"")
        switch state {
        case .skipping: return
        case .quoted where byte == quote: state = .quoteSeen
        case .quoted: field.append(byte)
        case .fieldStart where byte == quote:
            state = .quoted
            quoteLine = linesRead + 1
        case .quoteSeen where byte == quote:
            field.append(byte)
            state = .quoted
        case .fieldStart, .plain, .quoteSeen:
            guard byte == separator else {
                field.append(byte)
                state = .plain
                return
            }
            finishField()
        }
    }

    private mutating func finishField() {
        if fields.count < Self.fieldsMax { fields.append(field) }
        field = []
        state = .fieldStart
    }

    /// Whether a byte belongs to the byte order mark of UTF-8, with which some programs begin a
    /// file.
    private func isByteOrderMark(_ byte: UInt8) -> Bool {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        return bytesRead <= mark.count && rowBytes == 0 && byte == mark[Int(bytesRead) - 1]
    }

    private var isEmptyLine: Bool {
        rowBytes == 0 || field == [UInt8(ascii: "\r")] && rowBytes == 1
    }

    private mutating func skip() -> Row? {
        begin()
        return nil
    }

    private mutating func begin() {
        line = linesRead + 1
        (fields, field, rowBytes, state) = ([], [], 0, .fieldStart)
    }

    private mutating func row() -> Row? {
        let line = line
        defer { begin() }
        let content: Content
        switch (shape, state) {
        case (_, .skipping): content = .tooLong
        case (.json, _): content = .json(field)
        case (.separated, .quoted): content = .unclosedQuote(inLine: quoteLine)
        case (.separated, _):
            if field.last == UInt8(ascii: "\r") { field.removeLast() }
            finishField()
            let texts = fields.compactMap { String(validating: $0, as: UTF8.self) }
            content = texts.count == fields.count ? .fields(texts) : .notUTF8
        }
        return Row(line: line, bytesRead: bytesRead, linesRead: linesRead, content: content)
    }
}

extension RowReader.Shape {
    /// Detects the shape of a file from its first bytes.
    init(firstBytes bytes: some Collection<UInt8>) {
        let text = bytes.drop { $0 <= 0x20 || [0xEF, 0xBB, 0xBF].contains($0) }
        if text.first == UInt8(ascii: "{") {
            self = .json
            return
        }
        let line = text.prefix { $0 != UInt8(ascii: "\n") }
        let candidates = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")]
        let counts = candidates.map { candidate in line.count { $0 == candidate } }
        let most = counts.indices.max { counts[$0] < counts[$1] } ?? 0
        self = .separated(by: counts[most] == 0 ? candidates[0] : candidates[most])
    }
}
