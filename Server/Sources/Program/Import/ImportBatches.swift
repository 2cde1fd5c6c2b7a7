import Engine
import Ledger
import Storage

/// The rows of an import file, in batches.
struct ImportBatches {
    /// The maximum number of rows in a batch.
    static let rowsMax = 200
    /// The maximum bytes of the rows in a batch.
    static let bytesMax = 8_388_608
    /// The number of bytes at the start of the text from which the shape is detected.
    private static let startBytesMax = 65_536

    let columns: ImportColumns
    private let source: ImportSource
    private var reader: RowReader
    private var ready: [RowReader.Row] = []
    private var isAtEnd = false
    /// The error that prevents reading any row after the rows that are ready.
    private var end: (any Error)?

    init(
        _ source: ImportSource, kind: ImportKind, environment: Ledger.Environment,
        from position: ImportPosition
    ) throws {
        self.source = source
        let shape = RowReader.Shape(firstBytes: try Self.start(of: source))
        let header = try Self.header(source, shape)
        do throws(UnusableRow) {
            columns = try ImportColumns(kind, first: header?.fields, in: environment)
        } catch {
            throw StartFailure(error.reason, remedy: "See docs/import.md for each kind.")
        }
        var (bytes, lines) = (position.bytesRead, position.linesRead)
        if bytes == 0, columns.hasHeader, let header {
            (bytes, lines) = (header.row.bytesRead, header.row.linesRead)
        }
        reader = RowReader(shape, bytesRead: bytes, linesRead: lines)
        try source.start(at: bytes)
    }

    private static func start(of source: ImportSource) throws -> [UInt8] {
        try source.start(at: 0)
        var bytes: [UInt8] = []
        while bytes.count < startBytesMax {
            let part: [UInt8]
            do { part = try source.read() } catch  where source.isTruncated { break }
            if part.isEmpty { break }
            bytes += part
        }
        return bytes
    }

    /// Returns the first row. Nil for JSON and for an empty file.
    private static func header(
        _ source: ImportSource, _ shape: RowReader.Shape
    ) throws -> (fields: [String], row: RowReader.Row)? {
        guard case .separated = shape else { return nil }
        var reader = RowReader(shape)
        try source.start(at: 0)
        while true {
            let chunk = try source.read()
            let row = chunk.isEmpty ? reader.finish() : reader.add(chunk).first
            if let row {
                return (try fields(ofFirst: row), row)
            }
            if chunk.isEmpty { return nil }
        }
    }

    private static func fields(ofFirst row: RowReader.Row) throws(StartFailure) -> [String] {
        switch row.content {
        case .fields(let fields): return fields
        case .json, .tooLong: return []
        case .notUTF8:
            throw StartFailure(
                "The first line is not UTF-8.", remedy: "Convert the file to UTF-8 first.")
        case .unclosedQuote(let line):
            throw StartFailure(
                "A quote opened in line \(line) is never closed.",
                remedy: "Close the quote, or remove it.")
        }
    }

    /// Returns the next batch, or nil at the end of the file. If the file is truncated, returns all
    /// complete rows before the error is thrown.
    mutating func next() throws -> [RowReader.Row]? {
        while !isAtEnd, ready.count < Self.rowsMax,
            ready.reduce(0, { $0 + $1.weight }) < Self.bytesMax
        {
            let chunk: [UInt8]
            do { chunk = try source.read() } catch  where source.isTruncated {
                (isAtEnd, end) = (true, error)
                break
            }
            if chunk.isEmpty {
                isAtEnd = true
                if let last = reader.finish() { ready.append(last) }
            } else {
                ready += reader.add(chunk)
            }
        }
        guard !ready.isEmpty else {
            if let end { throw end }
            return nil
        }
        let batch = Array(ready.prefix(Self.rowsMax))
        ready.removeFirst(batch.count)
        return batch
    }
}

extension RowReader.Row {
    /// The size of the row's contents, in bytes.
    fileprivate var weight: Int {
        switch content {
        case .fields(let fields): fields.reduce(0) { $0 + $1.utf8.count }
        case .json(let bytes): bytes.count
        case .tooLong, .notUTF8, .unclosedQuote: 0
        }
    }
}
