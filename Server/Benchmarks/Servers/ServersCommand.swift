import ArgumentParser
import Foundation

/// Measures several servers that write to one PostgreSQL.
struct ServersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "servers", abstract: "Measure 1, 2 and 3 servers on one PostgreSQL.")

    @Option(help: "How many times each number of servers is measured, in turn.")
    var rounds = 5
    @Option(help: "Purchases in the database. Each renews once while it is measured.")
    var purchases = 20_000
    @Flag(help: "Instead, kill three servers in turn while one consumer reads the log.")
    var kills = false
    @Flag(help: "With --kills: one server on SQLite.")
    var sqlite = false

    func run() async throws {
        let bench = try ServersBench(BenchFolder(isQuick: false), purchases: purchases)
        if kills {
            print(try await bench.readDuringKills(onSQLite: sqlite))
        } else {
            print(try await bench.measure(rounds: rounds))
        }
    }
}
