import CLibPQ
import Storage

/// What the server answered to one statement. Owns libpq's memory of it.
final class PostgresAnswer {
    private let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { PQclear(pointer) }

    /// How many rows the statement changed.
    var changes: Int { Int(String(cString: PQcmdTuples(pointer))) ?? 0 }

    /// What the statement was, in the server's words: `COMMIT`, or `ROLLBACK` where it was undone.
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

    /// By the types of PostgreSQL's catalogue (`pg_type`). Others are not used by any query of
    /// ours.
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
                "column \(column) has PostgreSQL's type \(type): cast it to BIGINT, TEXT or BYTEA")
        }
    }
}
