import Storage
import StoragePostgres

/// The one PostgreSQL server of a test process, with a database for each test. Each database is
/// copied from a template that has the tables.
package actor PostgresCluster {
    package static let shared = PostgresCluster()

    /// The moment for which the template's tables are created: 2023-11-14.
    package static let templateMilliseconds: Int64 = 1_700_000_000_000
    private static let template = "template_perennial"
    /// The first version of PostgreSQL in which one can choose how a database is copied.
    private static let strategyVersion = 150_000
    /// This locale sorts as people do, not by bytes. A query that needs byte order but does not
    /// say so therefore fails its test.
    private static let sorting = "LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'"

    /// The start of the server. Callers that arrive during the start wait for it, too.
    private var starting: Task<PostgresServer, any Error>?
    private var databases = 0

    package static var isInstalled: Bool { PostgresServer.isInstalled }

    /// The address of a new database with all tables.
    package func preparedDatabase() async throws -> String {
        try await database(from: Self.template)
    }

    /// The address of a new database without any tables.
    package func emptyDatabase() async throws -> String {
        try await database(from: "template1")
    }

    private func database(from template: String) async throws -> String {
        let server = try await server()
        databases += 1
        let name = "test_\(databases)"
        let version = try Administration.run(
            "SHOW server_version_num", at: server.url(of: "postgres"))
        // Copies whole files, as versions before 15 always did. Only one copy runs at a time,
        // because a template may have no other user while it is copied.
        let isChoice = version.flatMap { Int($0) } ?? 0 >= Self.strategyVersion
        try Administration.run(
            "CREATE DATABASE \(name) TEMPLATE \(template)"
                + (isChoice ? " STRATEGY FILE_COPY" : ""), at: server.url(of: "postgres"))
        return server.url(of: name)
    }

    /// Removes a database, even if it is in use.
    package func drop(_ url: String) async throws {
        let name = url.split(separator: "?")[0].split(separator: "/").last ?? ""
        try Administration.run(
            "DROP DATABASE \(name) WITH (FORCE)", at: try await server().url(of: "postgres"))
    }

    private func server() async throws -> PostgresServer {
        if let starting { return try await starting.value }
        let task = Task { try await Self.startedServer() }
        starting = task
        return try await task.value
    }

    private static func startedServer() async throws -> PostgresServer {
        let server = try await PostgresServer()
        try await server.start()
        try Administration.run(
            "CREATE DATABASE \(template) TEMPLATE template0 \(sorting)",
            at: server.url(of: "postgres"))
        let database = try PostgresDriver(url: server.url(of: template))
        try await Database(database).migrate(at: templateMilliseconds)
        database.close()
        return server
    }
}
