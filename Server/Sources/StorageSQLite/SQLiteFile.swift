import CSQLite
import Dispatch
import Foundation
import Storage

/// Operations on a whole database file: copy, check and close. The operations do not change rows.
/// If the task is cancelled, copies and reads end soon, with an error.
package struct SQLiteFile: Sendable {
    package let path: String

    /// The maximum number of problems reported for one file.
    private static let problemsMax = 5
    private static let settings = ["busy_timeout = \(SQLiteDriver.busyMilliseconds)"]

    /// The suffix of a marker file. If this file exists, a server ships the changes of the
    /// database. Then only that server may move the frames of the write-ahead log into the database
    /// file.
    package static let shippedSuffix = ".shipped"

    package init(_ path: String) { self.path = path }

    /// Whether a server ships the changes of this database.
    package var isShipped: Bool {
        guard let real = realpath(path, nil) else { return false }
        defer { free(real) }
        return access(String(cString: real) + Self.shippedSuffix, F_OK) == 0
    }

    /// Copies all pages of one snapshot into another file, unchanged and with the same numbers, so
    /// that later changes of pages can be applied to the copy. Writers can continue in the
    /// meantime, but the write-ahead log grows until the copy is complete.
    ///
    /// - Parameter target: an existing empty file, or a path that does not exist.
    /// - Throws: ``StorageFailure``; the target may then contain an incomplete copy.
    package func copyPages(into target: String) async throws {
        let path = path
        try await onDedicatedThread { cancellation in
            let session = try SQLiteConnection(
                path: path, settings: Self.settings, mayCreate: false, cancellation: cancellation)
            try session.transaction(for: .reading) { _ in
                // The first read begins the snapshot.
                _ = try session.rows("SELECT count(*) FROM sqlite_master", [])
                try session.copyPages(into: target, cancellation: cancellation)
            }
        }
        try await SQLiteFile(target).close()
    }

    /// Writes a consistent snapshot of all rows into another file, with SQLite's `VACUUM INTO`.
    /// Writers can continue in the meantime, and never force the copy to start again. But the
    /// write-ahead log grows until the copy is complete. The copy contains no deleted data.
    ///
    /// - Parameter target: an existing empty file, or a path that does not exist.
    /// - Throws: ``StorageFailure``; the target may then contain an incomplete copy.
    package func copy(into target: String) async throws {
        let path = path
        try await onDedicatedThread { cancellation in
            let session = try SQLiteConnection(
                path: path, settings: Self.settings, mayCreate: false, cancellation: cancellation)
            _ = try session.rows("VACUUM INTO $1", [.text(target)])
        }
    }

    /// Runs a closure that reads from one consistent snapshot.
    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        let path = path
        return try await onDedicatedThread { cancellation in
            let session = try SQLiteConnection(
                path: path, settings: Self.settings + ["query_only = ON"], mayCreate: false,
                cancellation: cancellation)
            return try session.transaction(for: .reading, body)
        }
    }

    /// The problems that SQLite finds in the file. Empty if the file is intact.
    package func damage() async throws -> [String] {
        try await read { connection in
            try connection.texts("PRAGMA quick_check(\(Self.problemsMax))").filter { $0 != "ok" }
        }
    }

    /// Moves the contents of the write-ahead log into the database file. The log is then deleted,
    /// unless another process has the database open.
    package func checkpoint() async throws {
        let path = path
        try await onDedicatedThread { _ in
            let session = try SQLiteConnection(
                path: path, settings: Self.settings, mayCreate: false)
            // A read makes SQLite recover from an interrupted write.
            _ = try session.rows("SELECT count(*) FROM sqlite_master", [])
            _ = try session.rows("PRAGMA wal_checkpoint(TRUNCATE)", [])
        }
    }

    /// Makes the database a single file without a write-ahead log, until a server opens it.
    package func close() async throws {
        let path = path
        try await onDedicatedThread { _ in
            let session = try SQLiteConnection(
                path: path, settings: Self.settings, mayCreate: false)
            let mode = try session.firstText("PRAGMA journal_mode = DELETE", [])
            guard mode == "delete" else {
                throw StorageFailure(
                    "SQLite: \(path): the file is open in another process", kind: .busy)
            }
        }
    }

    /// Runs a closure on a separate thread, because the work may take minutes and must not block
    /// the threads of Swift concurrency.
    private func onDedicatedThread<Value: Sendable>(
        _ body: @escaping @Sendable (Cancellation) throws -> Value
    ) async throws -> Value {
        let cancellation = Cancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                DispatchQueue(label: "perennial.file").async {
                    continuation.resume(with: Result { try body(cancellation) })
                }
            }
        } onCancel: {
            cancellation.request()
        }
    }
}
