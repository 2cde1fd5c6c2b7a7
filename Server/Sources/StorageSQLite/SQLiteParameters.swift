import CSQLite
import Storage

/// The text and binary parameters of the running statement, in one contiguous buffer that SQLite
/// reads in place. Without the buffer, SQLite would allocate memory for a copy of each parameter.
///
/// Only one statement may use the buffer at a time.
final class SQLiteParameters {
    /// The buffer, which grows to the size of the largest statement.
    private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 1)

    deinit { buffer.deallocate() }

    /// Binds all parameters of a statement, which must be reset before the next call.
    ///
    /// - Returns: SQLite's result code: `SQLITE_OK`, or the code of the first parameter that it
    ///   rejected.
    func bind(_ values: [Value], to statement: OpaquePointer) -> Int32 {
        reserve(values.reduce(0) { $0 + $1.byteCount })
        var used = 0
        for index in values.indices {
            let code = bind(values[index], to: statement, at: Int32(index + 1), &used)
            guard code == SQLITE_OK else { return code }
        }
        return SQLITE_OK
    }

    private func reserve(_ count: Int) {
        guard count > buffer.count else { return }
        buffer.deallocate()
        buffer = .allocate(byteCount: count, alignment: 1)
    }

    private func bind(
        _ value: Value, to statement: OpaquePointer, at place: Int32, _ used: inout Int
    ) -> Int32 {
        switch value {
        case .null: return sqlite3_bind_null(statement, place)
        case .integer(let number): return sqlite3_bind_int64(statement, place, number)
        case .text(let text):
            let copy = copyToBuffer(text.utf8, &used)
            return sqlite3_bind_text(
                statement, place, copy.baseAddress?.assumingMemoryBound(to: CChar.self),
                Int32(copy.count), nil)
        case .bytes(let bytes):
            let copy = copyToBuffer(bytes, &used)
            return sqlite3_bind_blob(statement, place, copy.baseAddress, Int32(copy.count), nil)
        }
    }

    /// Copies bytes into the buffer. The result has an address even if it is empty, because SQLite
    /// reads a null pointer as the value null.
    private func copyToBuffer(
        _ bytes: some Collection<UInt8>, _ used: inout Int
    ) -> UnsafeRawBufferPointer {
        let room = UnsafeMutableRawBufferPointer(rebasing: buffer[used...])
        room.copyBytes(from: bytes)
        let start = used
        used += bytes.count
        return UnsafeRawBufferPointer(rebasing: buffer[start..<used])
    }
}

extension Value {
    fileprivate var byteCount: Int {
        switch self {
        case .null, .integer: 0
        case .text(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        }
    }
}
