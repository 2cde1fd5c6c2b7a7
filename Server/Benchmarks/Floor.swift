import CSQLite
import Ledger
import PostgresCluster
import Storage
import StorageSQLite

/// The minimum cost: the processor time of the chosen components, used in the fastest possible way,
/// for the minimum work that a response needs.
enum Floor {
    private static let posts = 2048
    private static let app = AppID(rawValue: "birds")

    /// Measures the cost of writing one notification's rows durably into SQLite, in batches. A
    /// batch has as many notifications as there are connections, because no more requests can wait
    /// at the same time.
    static func writing(onSQLite bench: BenchFolder, _ maker: DocumentMaker) async throws -> Double
    {
        let path = try bench.freshDatabase("floor.sqlite")
        let database = try SQLiteDriver(path: path)
        try await Database(database).migrate(at: DocumentMaker.now.milliseconds)
        database.close()
        let rows = try await rows(maker)
        let batch = try SQLiteBatch(path: path)
        return try seconds(rows, batch.write)
    }

    /// Measures the cost of writing one notification's rows into PostgreSQL, without the time of
    /// the PostgreSQL server itself.
    static func writing(onPostgres url: String, _ maker: DocumentMaker) async throws -> Double {
        let rows = try await rows(maker)
        let batch = try PostgresBatch(url: url)
        return try seconds(rows, batch.write)
    }

    private static func rows(_ maker: DocumentMaker) async throws -> [WrittenRow] {
        try await PostedNotification.rows(
            of: (0..<posts).map { try PostedNotification($0, maker, app: app) },
            in: PostedNotification.scratch())
    }

    private static func seconds(
        _ rows: [WrittenRow], _ write: ([WrittenRow], Int) throws -> Void
    ) throws -> Double {
        let start = Effort.ofThisThread
        try write(rows, NotificationBench.connections * rows.count / posts)
        return (Effort.ofThisThread - start) / Double(posts)
    }

    /// Measures the cost of reading one customer's rows from SQLite with the server's own
    /// statements. The rows are not used.
    static func reading(_ path: String, of customers: [String]) async throws -> Double {
        let log = ReadLog()
        let database = try SQLiteDriver(path: path)
        for customer in customers {
            try await database.read { try log.read(CustomerID(rawValue: customer), app, $0) }
        }
        database.close()
        let reads = try SQLiteReads(path: path)
        let all = log.queries
        // The first run loads the file's pages into the cache.
        try reads.run(all)
        let start = Effort.ofThisThread
        try reads.run(all)
        return (Effort.ofThisThread - start) / Double(customers.count)
    }
}
