import CSQLite
import Dispatch
import Storage

/// A database's file as a whole: copied, looked at and closed. The rows in it stay as they are.
package struct SQLiteFile: Sendable {
    package let path: String

    /// Complaints about one file that are read.
    private static let complaintsMax = 5
    private static let settings = ["busy_timeout = \(SQLiteDatabase.busyMilliseconds)"]

    package init(_ path: String) { self.path = path }

    /// Writes all rows, as they are at one moment, into another file: one statement of SQLite's,
    /// which reads one state however long it takes. Writers go on meanwhile, and never make it
    /// begin again; their log grows until it is done. What was deleted is not in the copy.
    ///
    /// - Parameter target: a file that is there and is empty, or that is not there.
    /// - Throws: ``StorageFailure``; the target may then hold a part.
    package func copy(into target: String) async throws {
        let path = path
        try await onThreadOfItsOwn {
            let session = try SQLiteSession(path: path, settings: Self.settings, mayCreate: false)
            _ = try session.rows("VACUUM INTO $1", [.text(target)])
        }
    }

    /// Reads from one state of all rows.
    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        let path = path
        return try await onThreadOfItsOwn {
            let session = try SQLiteSession(
                path: path, settings: Self.settings + ["query_only = ON"], mayCreate: false)
            return try session.transaction(for: .reading, body)
        }
    }

    /// What SQLite finds wrong with the file: nothing where it is whole.
    package func damage() async throws -> [String] {
        try await read { connection in
            let rows = try connection.rows("PRAGMA quick_check(\(Self.complaintsMax))", [])
            return try rows.map { try $0.text(0) }.filter { $0 != "ok" }
        }
    }

    /// Puts what stands in the write-ahead log into the file itself. The log is gone afterwards,
    /// unless somebody else has the database open.
    package func settle() async throws {
        let path = path
        try await onThreadOfItsOwn {
            let session = try SQLiteSession(path: path, settings: Self.settings, mayCreate: false)
            // Reading is what brings an interrupted write to its end.
            _ = try session.rows("SELECT count(*) FROM sqlite_master", [])
            _ = try session.rows("PRAGMA wal_checkpoint(TRUNCATE)", [])
        }
    }

    /// Makes it a database in one file, without a write-ahead log beside it, until it is served.
    package func close() async throws {
        let path = path
        try await onThreadOfItsOwn {
            let session = try SQLiteSession(path: path, settings: Self.settings, mayCreate: false)
            let mode = try session.rows("PRAGMA journal_mode = DELETE", [])
            guard try mode.first?.text(0) == "delete" else {
                throw StorageFailure("SQLite: \(path): somebody else has it open", kind: .busy)
            }
        }
    }

    /// It may take minutes, and so blocks none of the threads that everything else runs on.
    private func onThreadOfItsOwn<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "perennial.file").async {
                continuation.resume(with: Result { try body() })
            }
        }
    }
}
