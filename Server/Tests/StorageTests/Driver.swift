import Foundation
import PostgresCluster
import Storage
import StoragePostgres
import StorageSQLite

/// Every database that the store supports. The tests of the store run on each of them.
enum Driver: CaseIterable {
    case sqliteFile
    case sqliteMemory
    case postgres

    /// Runs the body with a store whose tables exist, and then deletes the store.
    func withStore(
        rules: DatabaseRules = DatabaseRules(), _ body: (Database) async throws -> Void
    ) async throws {
        switch self {
        case .sqliteMemory: try await Self.prepared(SQLiteDriver.inMemory(), rules, body)
        case .sqliteFile:
            try await Self.withFile { path in
                try await Self.prepared(try SQLiteDriver(path: path), rules, body)
            }
        case .postgres:
            let url = try await PostgresCluster.shared.preparedDatabase()
            let database = try PostgresDriver(url: url)
            defer { database.close() }
            try await body(Database(database, rules: rules))
            try await PostgresCluster.shared.drop(url)
        }
    }

    /// Runs the body with the path of a new SQLite database, and then deletes the file.
    static func withFile(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "perennial-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.appending(path: "store.sqlite").path)
    }

    /// Runs the body with three servers on one PostgreSQL database.
    static func withServers(_ body: ([Database]) async throws -> Void) async throws {
        let url = try await PostgresCluster.shared.preparedDatabase()
        let databases = try (0..<3).map { _ in try PostgresDriver(url: url) }
        defer { for database in databases { database.close() } }
        try await body(databases.map { Database($0) })
        try await PostgresCluster.shared.drop(url)
    }

    private static func prepared(
        _ database: SQLiteDriver, _ rules: DatabaseRules, _ body: (Database) async throws -> Void
    ) async throws {
        let store = Database(database, rules: rules)
        try await store.migrate(at: 0)
        try await body(store)
        database.close()
    }
}
