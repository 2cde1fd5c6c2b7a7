import Crypto
import Foundation
import Ledger
import PostgresCluster
import Storage
import StoragePostgres
import StorageSQLite
import Synchronization

/// Measures very many concurrent writers, whose transactions the server groups into durable
/// commits. Compares them with writing the same rows through the database's own interface, in
/// batches of the same size. For this comparison, the rows are known beforehand.
struct CommitBench {
    /// The number of concurrent writers. It is enough for two groups: while one group is written,
    /// the next one gathers.
    private static let writers = 512
    private static let app = AppID(rawValue: "birds")

    let bench: BenchFolder
    private let maker: DocumentMaker

    init(_ bench: BenchFolder) {
        self.bench = bench
        maker = DocumentMaker(authority: bench.authority)
    }

    func measureOnSQLite() async throws -> [Measured] {
        let paths = (
            ours: try bench.freshDatabase("group.sqlite"),
            limit: try bench.freshDatabase("batch.sqlite")
        )
        let database = try SQLiteDriver(path: paths.ours)
        try await Database(database).migrate(at: DocumentMaker.now.milliseconds)
        let other = try SQLiteDriver(path: paths.limit)
        try await Database(other).migrate(at: DocumentMaker.now.milliseconds)
        other.close()
        let batch = try SQLiteBatch(path: paths.limit)
        let measured = try await measure(database, .commitSQLite, batch.write)
        database.close()
        return [measured]
    }

    func measureOnPostgres() async throws -> [Measured] {
        let server = try await PostgresServer(surviving: .power)
        try await server.start()
        let outcome: Result<Measured, any Error>
        do { outcome = .success(try await measure(on: server)) } catch { outcome = .failure(error) }
        try await server.remove()
        return [try outcome.get()]
    }

    private func measure(on server: PostgresServer) async throws -> Measured {
        for name in ["ours", "batch"] {
            try Administration.run("CREATE DATABASE \(name)", at: server.url(of: "postgres"))
            let database = try PostgresDriver(url: server.url(of: name))
            try await Database(database).migrate(at: DocumentMaker.now.milliseconds)
            database.close()
        }
        let database = try PostgresDriver(url: server.url(of: "ours"))
        let batch = try PostgresBatch(url: server.url(of: "batch"))
        let measured = try await measure(database, .commitPostgres, batch.write)
        database.close()
        return measured
    }

    private func measure(
        _ database: any DatabaseDriver, _ line: Line, _ write: ([WrittenRow], Int) throws -> Void
    ) async throws -> Measured {
        let count = bench.count(16, quick: 4) * Self.writers
        var (ratios, ours, limits, sizes): ([Double], [Double], [Double], [Double]) =
            ([], [], [], [])
        let scratch = try await PostedNotification.scratch()
        for round in 0..<bench.count(7, quick: 3) {
            let posts = try (round * count..<(round + 1) * count).map {
                try PostedNotification($0, maker, app: Self.app)
            }
            let rows = try await PostedNotification.rows(of: posts, in: scratch)
            let counting = CountingDatabase(database)
            let seconds = try await time { try await Self.run(posts, on: Database(counting)) }
            let size = max(1, Double(count) / Double(counting.commits))
            let limit = try await time {
                try write(rows, Int(size.rounded()) * rows.count / count)
            }
            ratios.append(limit / seconds)
            ours.append(Double(rows.count) / seconds)
            limits.append(Double(rows.count) / limit)
            sizes.append(size)
            Progress.report(
                "  round \(round + 1): \(Int(ours[round])) ÷ \(Int(limits[round])) rows/s, "
                    + "\(Int(size)) writers a commit")
        }
        return Measured(
            line: line, value: ratios.median,
            behind: "\(Int(ours.median)) ÷ \(Int(limits.median)) rows/s, "
                + "\(Int(sizes.median)) notifications a commit")
    }

    private func time(_ body: () async throws -> Void) async throws -> Double {
        let start = ContinuousClock.now
        try await body()
        return (ContinuousClock.now - start) / .seconds(1)
    }

    private static func run(_ posts: [PostedNotification], on store: Database) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for first in 0..<writers {
                tasks.addTask {
                    for index in stride(from: first, to: posts.count, by: writers) {
                        try await posts[index].write(to: store)
                    }
                }
            }
            try await tasks.waitForAll()
        }
    }
}
