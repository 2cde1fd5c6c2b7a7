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
    @Option(
        help: """
            Instead, send a year of this many random customers to a new database, with a webhook, \
            while customers are read.
            """)
    var population: Int?
    @Flag(help: "Instead, kill three servers in turn while one consumer reads the log.")
    var kills = false
    @Flag(help: "With --kills: one server on SQLite.")
    var sqlite = false

    func run() async throws {
        let folder = try BenchFolder(isQuick: false)
        Progress.report("signing notifications …")
        let load: ServersLoad =
            try population.map { try .population($0, signedBy: folder.authority) }
            ?? .renewals(purchases, DocumentMaker(authority: folder.authority))
        let bench = try ServersBench(folder, load)
        if kills {
            print(try await bench.readDuringKills(onSQLite: sqlite))
        } else {
            print(ServersBench.text(of: try await bench.measure(rounds: rounds)))
        }
    }
}
