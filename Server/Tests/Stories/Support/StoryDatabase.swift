import PostgresCluster
import Storage
import StoragePostgres
import StorageSQLite

/// The kind of database that a story's server uses. The stories run on each kind.
enum StoryDatabase: String, CaseIterable, Sendable {
    case sqlite
    case postgres

    /// Makes an empty database, and deletes it after the body.
    func withAddress(_ body: (String) async throws -> Void) async throws {
        switch self {
        case .sqlite:
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            try await body(folder.path + "/story.sqlite")
        case .postgres:
            let url = try await PostgresCluster.shared.preparedDatabase()
            try await body(url)
            try await PostgresCluster.shared.drop(url)
        }
    }

    /// Opens the database a second time, beside the server.
    func open(_ address: String) throws -> any DatabaseDriver {
        switch self {
        case .sqlite: try SQLiteDriver(path: address)
        case .postgres: try PostgresDriver(url: address)
        }
    }
}
