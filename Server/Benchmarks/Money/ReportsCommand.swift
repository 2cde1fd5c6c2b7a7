import ArgumentParser

/// Measures reports about very many transactions.
struct ReportsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reports",
        abstract: "Measure reports over 36 months, and what their rows cost a notification.")

    @Option(help: "Transactions in the database.") var transactions = 10_000_000
    @Option(help: "How many times each report is made.") var rounds = 5
    @Flag(help: "Only on PostgreSQL.") var postgres = false
    @Flag(help: "Only on SQLite.") var sqlite = false
    @Flag(help: "Instead, measure what the rows cost a notification.") var rows = false

    func run() async throws {
        let bench = try BenchFolder(isQuick: false)
        if rows {
            let rows = MoneyRowsBench(bench)
            if !postgres { print(try await rows.measureOnSQLite()) }
            if !sqlite { print(try await rows.measureOnPostgres()) }
            return
        }
        let reports = ReportsBench(bench, transactions: transactions, rounds: rounds)
        if !postgres { print(try await reports.measureOnSQLite()) }
        if !sqlite { print(try await reports.measureOnPostgres()) }
    }
}
