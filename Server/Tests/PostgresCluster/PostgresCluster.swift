import Storage
import StoragePostgres

/// The only server of a test process, and its databases. Each test has its own database, copied
/// from a template that has the tables.
package actor PostgresCluster {
    package static let shared = PostgresCluster()

    /// The moment around which the template's months lie: 2023-11-14.
    package static let templateMilliseconds: Int64 = 1_700_000_000_000
    private static let template = "template_perennial"
    /// The first version of PostgreSQL in which one can choose how a database is copied.
    private static let strategyVersion = 150_000
    /// Sorts as people do, not by bytes: code that relies on byte order must say so itself.
    private static let sorting = "LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'"

    /// Callers that come while the server starts wait for the same start.
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
        // Copies the files whole, as all earlier versions did. Only one copy at a time: a template
        // may have no other user while it is copied.
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
