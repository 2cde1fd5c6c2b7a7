import Foundation
import GRDB
import Storage

/// A database in one file: write-ahead log, every commit synced to the disk before it returns.
package final class SQLiteDatabase: Storage.Database {
    /// How long a writer waits for another process, in seconds, before it fails.
    package static let busySeconds = 10.0
    /// Readers beside the one writer.
    package static let readersMax = 4

    private let writer: any DatabaseWriter

    package let dialect = Dialect.sqlite

    /// Opens a file, or makes it.
    ///
    /// - Throws: ``StorageFailure`` where it cannot be opened or written.
    package init(path: String) throws(StorageFailure) {
        writer = try Self.mapping {
            let pool = try DatabasePool(path: path, configuration: Self.configuration)
            // GRDB's own setting for this journal is NORMAL, which may lose the last commits when
            // the power fails.
            try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
            return pool
        }
    }

    private init(_ writer: any DatabaseWriter) { self.writer = writer }

    /// A database that is gone when it is let go of, for tests.
    package static func inMemory() throws(StorageFailure) -> SQLiteDatabase {
        SQLiteDatabase(try mapping { try DatabaseQueue(configuration: configuration) })
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(busySeconds)
        configuration.maximumReaderCount = readersMax
        configuration.foreignKeysEnabled = true
        configuration.label = "perennial"
        return configuration
    }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await writer.write { try body(SQLiteConnection(database: $0)) }
    }

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await writer.read { try body(SQLiteConnection(database: $0)) }
    }

    package func close() throws(StorageFailure) {
        try Self.mapping { try writer.close() }
    }

    fileprivate static func mapping<Value>(
        _ body: () throws -> Value
    ) throws(StorageFailure) -> Value {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw StorageFailure("SQLite: \(error)", kind: kind(of: error))
        } catch {
            throw StorageFailure("SQLite: \(error)")
        }
    }

    private static func kind(of error: DatabaseError) -> StorageFailure.Kind {
        switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED: .busy
        case .SQLITE_CONSTRAINT: .constraint
        case .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_READONLY: .unavailable
        default: .other
        }
    }
}

private struct SQLiteConnection: Connection {
    let database: GRDB.Database

    func rows(_ sql: String, _ values: [Value]) throws(StorageFailure) -> [Storage.Row] {
        try SQLiteDatabase.mapping {
            let statement = try database.cachedStatement(sql: sql)
            let cursor = try GRDB.Row.fetchCursor(statement, arguments: Self.arguments(values))
            var rows: [Storage.Row] = []
            while let row = try cursor.next() {
                rows.append(Storage.Row((0..<row.count).map { Self.value(row[$0]) }))
            }
            return rows
        }
    }

    func run(_ sql: String, _ values: [Value]) throws(StorageFailure) -> Int {
        try SQLiteDatabase.mapping {
            try database.cachedStatement(sql: sql).execute(arguments: Self.arguments(values))
            return database.changesCount
        }
    }

    func runEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [Int] {
        var counts: [Int] = []
        for values in sets { counts.append(try run(sql, values)) }
        return counts
    }

    private static func arguments(_ values: [Value]) -> StatementArguments {
        StatementArguments(
            values.map { value -> (any DatabaseValueConvertible)? in
                switch value {
                case .null: nil
                case .integer(let number): number
                case .text(let text): text
                case .bytes(let bytes): Data(bytes)
                }
            })
    }

    private static func value(_ value: DatabaseValue) -> Value {
        switch value.storage {
        case .null: .null
        case .int64(let number): .integer(number)
        case .double(let number): .text(String(number))
        case .string(let text): .text(text)
        case .blob(let data): .bytes(Array(data))
        }
    }
}
