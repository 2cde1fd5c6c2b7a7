import CLibPQ
import Storage

/// Writes rows into PostgreSQL with COPY, its fastest method, with the same durability as
/// Perennial.
final class PostgresBatch {
    private let connection: OpaquePointer

    init(url: String) throws {
        guard let connection = PQconnectdb(url) else { throw BenchFailure("out of memory") }
        self.connection = connection
        guard PQstatus(connection) == CONNECTION_OK else { throw failure("connect") }
    }

    deinit { PQfinish(connection) }

    /// Writes the given number of rows in each transaction, table by table.
    func write(_ rows: [WrittenRow], each size: Int) throws {
        let rows = Self.withoutUpdates(rows)
        for first in stride(from: 0, to: rows.count, by: size) {
            let batch = rows[first..<min(first + size, rows.count)]
            try execute("BEGIN")
            for (_, rows) in Self.byTable(batch) { try copy(rows) }
            try execute("COMMIT")
        }
    }

    /// The rows without the updates of an earlier row, because COPY only inserts. Perennial updates
    /// the row of `logs` with each group of events.
    private static func withoutUpdates(_ rows: [WrittenRow]) -> [WrittenRow] {
        let first = rows.firstIndex { $0.table == "logs" }
        return rows.enumerated().filter { $1.table != "logs" || $0 == first }.map(\.element)
    }

    /// Groups rows by table, in the order in which the tables first occur, so that a row comes
    /// after the rows that it refers to.
    private static func byTable(
        _ rows: ArraySlice<WrittenRow>
    ) -> [(table: Substring, rows: [WrittenRow])] {
        var tables: [(table: Substring, rows: [WrittenRow])] = []
        for row in rows {
            if let index = tables.firstIndex(where: { $0.table == row.table }) {
                tables[index].rows.append(row)
            } else {
                tables.append((row.table, [row]))
            }
        }
        return tables
    }

    private func copy(_ rows: [WrittenRow]) throws {
        guard let first = rows.first,
            let columns = first.sql.firstMatch(of: /INSERT INTO (\w+ \([^)]*\))/)
        else { throw BenchFailure("rows without columns") }
        let answer = PQexec(connection, "COPY \(columns.1) FROM STDIN (FORMAT binary)")
        defer { PQclear(answer) }
        guard PQresultStatus(answer) == PGRES_COPY_IN else { throw failure("COPY") }
        let bytes = CopyFormat.bytes(of: rows, columns: columns.1.count { $0 == "," } + 1)
        let sent = bytes.withUnsafeBytes {
            PQputCopyData(
                connection, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
        }
        guard sent == 1, PQputCopyEnd(connection, nil) == 1 else { throw failure("COPY") }
        while let answer = PQgetResult(connection) {
            defer { PQclear(answer) }
            guard PQresultStatus(answer) == PGRES_COMMAND_OK else { throw failure("COPY") }
        }
    }

    private func execute(_ sql: String) throws {
        let answer = PQexec(connection, sql)
        defer { PQclear(answer) }
        guard PQresultStatus(answer) == PGRES_COMMAND_OK else { throw failure(sql) }
    }

    private func failure(_ what: String) -> BenchFailure {
        BenchFailure("\(what): \(PQerrorMessage(connection).map { String(cString: $0) } ?? "")")
    }
}

/// The binary format of COPY, as in PostgreSQL's manual.
private enum CopyFormat {
    private static let signature = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00]

    /// The last columns are those for which the statement has a literal zero and no parameter.
    static func bytes(of rows: [WrittenRow], columns: Int) -> [UInt8] {
        var out = signature + [UInt8](repeating: 0, count: 8)
        for row in rows {
            out += big(Int16(columns))
            let zeros = Array(repeating: Value.integer(0), count: columns - row.values.count)
            for value in row.values + zeros { append(value, to: &out) }
        }
        return out + big(Int16(-1))
    }

    private static func append(_ value: Value, to out: inout [UInt8]) {
        switch value {
        case .null: out += big(Int32(-1))
        case .integer(let number): out += big(Int32(8)) + big(number)
        case .text(let text): out += big(Int32(text.utf8.count)) + Array(text.utf8)
        case .bytes(let bytes): out += big(Int32(bytes.count)) + bytes
        }
    }

    private static func big(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
}
