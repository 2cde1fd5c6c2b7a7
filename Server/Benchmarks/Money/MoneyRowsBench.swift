import Foundation
import Ledger
import PostgresCluster
import Storage
import StoragePostgres
import StorageSQLite

/// Measures the processor time that the rows about money add to recording a notification, including
/// the time to add up these rows. The same notifications are recorded with and without these rows,
/// alternately.
struct MoneyRowsBench {
    private static let app = SyntheticSales.app
    /// The number of concurrent writers: as many as a busy server has connections.
    private static let writers = 32
    private static let subscriptions = 4000

    let bench: BenchFolder
    private let maker: DocumentMaker

    init(_ bench: BenchFolder) {
        self.bench = bench
        maker = DocumentMaker(authority: bench.authority)
    }

    func measureOnSQLite() async throws -> String {
        let drivers = try ["with.sqlite", "without.sqlite"].map {
            try SQLiteDriver(path: try bench.freshDatabase($0))
        }
        let found = try await measure(drivers[0], drivers[1], "SQLite")
        for driver in drivers { driver.close() }
        for name in ["with.sqlite", "without.sqlite"] { _ = try bench.freshDatabase(name) }
        return found
    }

    func measureOnPostgres() async throws -> String {
        let server = try await PostgresServer(surviving: .power)
        try await server.start()
        let outcome: Result<String, any Error>
        do {
            let drivers = try ["with_rows", "without_rows"].map { name in
                try Administration.run("CREATE DATABASE \(name)", at: server.url(of: "postgres"))
                return try PostgresDriver(url: server.url(of: name))
            }
            outcome = .success(try await measure(drivers[0], drivers[1], "PostgreSQL"))
            for driver in drivers { driver.close() }
        } catch { outcome = .failure(error) }
        try await server.remove()
        return try outcome.get()
    }

    private func measure(
        _ one: any DatabaseDriver, _ other: any DatabaseDriver, _ name: String
    ) async throws -> String {
        var rules = DatabaseRules()
        rules.writesMoney = false
        let stores = [Database(one), Database(other, rules: rules)]
        for store in stores { try await store.migrate(at: DocumentMaker.now.milliseconds) }
        while try await stores[0].addUpMoney(of: Self.app) > 0 {}
        var (with, without, added): ([Double], [Double], [Double]) = ([], [], [])
        for period in 0..<DocumentMaker.periods {
            let posts = try (0..<Self.subscriptions).map {
                try PostedNotification($0, period: period, maker, app: Self.app)
            }
            let first = try await effort(of: posts, on: stores[0])
            let second = try await effort(of: posts, on: stores[1])
            with.append(first)
            without.append(second)
            added.append(first - second)
        }
        return "\(name): the rows about money add \(added.median.microseconds) of our processor "
            + "time to a notification: \(with.median.microseconds) with them, "
            + "\(without.median.microseconds) without"
    }

    /// Returns this process's processor time for each post, in seconds.
    private func effort(of posts: [PostedNotification], on store: Database) async throws -> Double {
        let before = try Effort.of(process: getpid())
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for first in 0..<Self.writers {
                tasks.addTask {
                    for index in stride(from: first, to: posts.count, by: Self.writers) {
                        try await posts[index].write(to: store)
                    }
                }
            }
            try await tasks.waitForAll()
        }
        if store.rules.writesMoney {
            while try await store.addUpMoney(of: Self.app) > 0 {}
        }
        return (try Effort.of(process: getpid()) - before) / Double(posts.count)
    }
}
