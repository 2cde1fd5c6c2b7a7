import CLibPQ
import Storage

/// The server's result of one statement. Owns the memory that libpq allocated for the result.
final class PostgresResult {
    private let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { PQclear(pointer) }

    /// The number of rows that the statement changed.
    var changes: Int { Int(String(cString: PQcmdTuples(pointer))) ?? 0 }

    /// The command tag. For example, `COMMIT`, or `ROLLBACK` if the transaction was rolled back.
    var tag: String { String(cString: PQcmdStatus(pointer)) }

    func rows() throws(StorageFailure) -> [Row] {
        let columns = PQnfields(pointer)
        var rows: [Row] = []
        rows.reserveCapacity(Int(PQntuples(pointer)))
        for row in 0..<PQntuples(pointer) {
            var values: [Value] = []
            values.reserveCapacity(Int(columns))
            for column in 0..<columns { values.append(try value(row, column)) }
            rows.append(Row(values))
        }
        return rows
    }

    /// Decodes a value by its type in PostgreSQL's catalogue (`pg_type`). No query of this program
    /// returns other types.
    private func value(_ row: Int32, _ column: Int32) throws(StorageFailure) -> Value {
        guard PQgetisnull(pointer, row, column) == 0 else { return .null }
        let bytes = UnsafeRawBufferPointer(
            start: PQgetvalue(pointer, row, column), count: Int(PQgetlength(pointer, row, column)))
        switch PQftype(pointer, column) {
        case 20: return .integer(Int64(bigEndian: bytes.loadUnaligned(as: Int64.self)))
        case 23: return .integer(Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self))))
        case 21: return .integer(Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self))))
        case 16: return .integer(bytes[0] == 0 ? 0 : 1)
        case 25, 1043, 1042, 19: return .text(String(decoding: bytes, as: UTF8.self))
        case 17: return .bytes(Array(bytes))
        case let type:
            throw StorageFailure(
                "column \(column) has unsupported PostgreSQL type \(type): "
                    + "cast it to BIGINT, TEXT or BYTEA")
        }
    }
}
