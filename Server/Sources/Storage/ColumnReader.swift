import Ledger

/// Reads the columns of a row, in the order of the query, so that no code contains a column's
/// position:
///
/// ```swift
/// try connection.rows("SELECT grant_id, reason, from_ms FROM grants WHERE app = $1", key) {
///     row throws(StorageFailure) in
///     StoredThing(id: try row.text(), reason: try row.optionalText(), from: try row.instant())
/// }
/// ```
///
/// Swift evaluates arguments from left to right. If a type needs its members in another order,
/// change the order of the `SELECT`, or read into constants first.
package struct ColumnReader {
    private let values: [Value]
    private var next = 0

    package init(_ row: Row) { values = row.values }

    /// How many columns are not read yet.
    package var left: Int { values.count - next }

    package mutating func value() throws(StorageFailure) -> Value {
        guard next < values.count else {
            throw StorageFailure("column \(next) is read, but the row has \(values.count) columns")
        }
        defer { next += 1 }
        return values[next]
    }

    package mutating func integer() throws(StorageFailure) -> Int64 {
        guard case .integer(let value) = try value() else { throw unexpected("a number") }
        return value
    }

    package mutating func text() throws(StorageFailure) -> String {
        guard case .text(let value) = try value() else { throw unexpected("text") }
        return value
    }

    package mutating func bytes() throws(StorageFailure) -> [UInt8] {
        guard case .bytes(let value) = try value() else { throw unexpected("bytes") }
        return value
    }

    /// Reads the next column as an integer. Returns nil if the column is null.
    package mutating func optionalInteger() throws(StorageFailure) -> Int64? {
        switch try value() {
        case .null: return nil
        case .integer(let value): return value
        case .text, .bytes: throw unexpected("a number")
        }
    }

    /// Reads the next column as text. Returns nil if the column is null.
    package mutating func optionalText() throws(StorageFailure) -> String? {
        switch try value() {
        case .null: return nil
        case .text(let value): return value
        case .integer, .bytes: throw unexpected("text")
        }
    }

    /// Reads the next column as bytes. Returns nil if the column is null.
    package mutating func optionalBytes() throws(StorageFailure) -> [UInt8]? {
        switch try value() {
        case .null: return nil
        case .bytes(let value): return value
        case .integer, .text: throw unexpected("bytes")
        }
    }

    /// Skips columns that the caller does not need. Used if several readers share one query.
    package mutating func skip(_ count: Int = 1) throws(StorageFailure) {
        for _ in 0..<count { _ = try value() }
    }

    /// All columns that are not read yet.
    package mutating func rest() -> [Value] {
        defer { next = values.count }
        return Array(values[next...])
    }

    /// Throws if a column was not read, because then the query and its reader differ.
    package func expectEnd() throws(StorageFailure) {
        guard next == values.count else {
            throw StorageFailure("\(next) columns were read, but the row has \(values.count)")
        }
    }

    private func unexpected(_ expected: String) -> StorageFailure {
        StorageFailure("column \(next - 1) holds \(values[next - 1]), expected \(expected)")
    }
}

// MARK: - Types that many tables have

extension ColumnReader {
    package mutating func count() throws(StorageFailure) -> Int { Int(try integer()) }

    package mutating func flag() throws(StorageFailure) -> Bool { try integer() != 0 }

    package mutating func instant() throws(StorageFailure) -> Instant {
        Instant(milliseconds: try integer())
    }

    package mutating func optionalInstant() throws(StorageFailure) -> Instant? {
        try optionalInteger().map(Instant.init(milliseconds:))
    }

    package mutating func app() throws(StorageFailure) -> AppID { AppID(rawValue: try text()) }

    package mutating func customer() throws(StorageFailure) -> CustomerID {
        CustomerID(rawValue: try text())
    }

    package mutating func optionalCustomer() throws(StorageFailure) -> CustomerID? {
        try optionalText().map(CustomerID.init(rawValue:))
    }

    package mutating func environment() throws(StorageFailure) -> Environment {
        try Environment.stored(try text())
    }

    package mutating func transaction() throws(StorageFailure) -> TransactionID {
        TransactionID(rawValue: try text())
    }

    package mutating func product() throws(StorageFailure) -> ProductID {
        ProductID(rawValue: try text())
    }

    /// Reads the columns `environment` and `purchase`.
    package mutating func purchase() throws(StorageFailure) -> PurchaseID {
        let environment = try environment()
        return PurchaseID(try transaction(), in: environment)
    }
}

// MARK: - Rows

extension Row {
    /// Reads all columns of the row. Throws if the closure does not read every column.
    package func read<Read>(
        _ body: (inout ColumnReader) throws(StorageFailure) -> Read
    ) throws(StorageFailure) -> Read {
        var reader = ColumnReader(self)
        let read = try body(&reader)
        try reader.expectEnd()
        return read
    }
}

extension Sequence<Row> {
    /// Reads all columns of each row. Throws if the closure does not read every column.
    package func read<Read>(
        _ body: (inout ColumnReader) throws(StorageFailure) -> Read
    ) throws(StorageFailure) -> [Read] {
        var read: [Read] = []
        read.reserveCapacity(underestimatedCount)
        for row in self { read.append(try row.read(body)) }
        return read
    }
}

extension Connection {
    /// Runs a query, and reads all columns of each row.
    package func rows<Read>(
        _ sql: String, _ values: [Value],
        _ body: (inout ColumnReader) throws(StorageFailure) -> Read
    ) throws(StorageFailure) -> [Read] { try rows(sql, values).read(body) }

    /// Runs a query, and reads the first row. Returns nil if there is no row.
    package func firstRow<Read>(
        _ sql: String, _ values: [Value],
        _ body: (inout ColumnReader) throws(StorageFailure) -> Read
    ) throws(StorageFailure) -> Read? {
        guard let row = try rows(sql, values).first else { return nil }
        return try row.read(body)
    }

    /// Runs a query, and calls a closure for each row.
    package func eachRow(
        _ sql: String, _ values: [Value],
        _ body: (inout ColumnReader) throws(StorageFailure) -> Void
    ) throws(StorageFailure) { for row in try rows(sql, values) { try row.read(body) } }

    /// Runs a query of one row with one number, such as `count(*)`.
    package func number(_ sql: String, _ values: [Value] = []) throws(StorageFailure) -> Int64 {
        guard let row = try rows(sql, values).first else {
            throw StorageFailure("a query for a number has no row")
        }
        return try row.read { row throws(StorageFailure) in try row.integer() }
    }

    /// The number in the one column of the first row. Returns nil if the column is null or there is
    /// no row.
    package func firstNumber(
        _ sql: String, _ values: [Value]
    ) throws(StorageFailure) -> Int64? {
        try rows(sql, values).first?.read { row throws(StorageFailure) in
            try row.optionalInteger()
        } ?? nil
    }

    /// The text in the one column of the first row. Returns nil if the column is null or there is
    /// no row.
    package func firstText(_ sql: String, _ values: [Value]) throws(StorageFailure) -> String? {
        try rows(sql, values).first?.read { row throws(StorageFailure) in
            try row.optionalText()
        } ?? nil
    }

    /// Runs a query of one column, and returns its texts.
    package func texts(_ sql: String, _ values: [Value] = []) throws(StorageFailure) -> [String] {
        try rows(sql, values) { row throws(StorageFailure) in try row.text() }
    }
}
