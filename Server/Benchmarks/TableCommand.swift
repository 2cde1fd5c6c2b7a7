import ArgumentParser
import Foundation

/// Measures the lines asked for and prints the table.
struct TableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "table", abstract: "Measure, and print the table.")

    @Option(
        name: .customLong("only"),
        help: ArgumentHelp("Measure this line, and those measured with it.", valueName: "line"))
    var only: [Line] = []
    @Flag(help: "Smaller populations and fewer rounds: for a look, not for a record.")
    var quick = false

    func run() async throws {
        let started = ContinuousClock.now
        let bench = try BenchFolder(isQuick: quick)
        let wanted = only.isEmpty ? Set(Line.allCases) : Set(only)
        var results: [Measured] = []
        for part in Part.allCases where !part.lines.isDisjoint(with: wanted) {
            Progress.say("\(part.rawValue) …")
            results += try await part.measure(in: bench)
        }
        print(Table(results: results, isQuick: quick).text)
        Progress.say("done in \((ContinuousClock.now - started).components.seconds) s")
    }
}

extension Line: ExpressibleByArgument {}

/// Lines that one run of programs measures together.
enum Part: String, CaseIterable {
    case verification
    case notificationsOnSQLite = "notifications on SQLite"
    case notificationsOnPostgres = "notifications on PostgreSQL"
    case customers
    case commitsOnSQLite = "group commit on SQLite"
    case commitsOnPostgres = "group commit on PostgreSQL"
    case populations = "the simulator's populations"

    var lines: Set<Line> {
        switch self {
        case .verification: [.verifyKnown, .verifyNew]
        case .notificationsOnSQLite: [.notificationSQLite, .disk]
        case .notificationsOnPostgres: [.notificationPostgres]
        case .customers: [.customer, .memory, .start]
        case .commitsOnSQLite: [.commitSQLite]
        case .commitsOnPostgres: [.commitPostgres]
        case .populations: [.population, .populationSigned]
        }
    }

    func measure(in bench: BenchFolder) async throws -> [Measured] {
        switch self {
        case .verification: try await VerificationBench(bench).measure()
        case .notificationsOnSQLite: try await NotificationBench(bench).measureOnSQLite()
        case .notificationsOnPostgres: try await NotificationBench(bench).measureOnPostgres()
        case .customers: try await CustomerBench(bench).measure()
        case .commitsOnSQLite: try await CommitBench(bench).measureOnSQLite()
        case .commitsOnPostgres: try await CommitBench(bench).measureOnPostgres()
        case .populations: try PopulationBench(bench).measure()
        }
    }
}

/// What happens, on standard error: the table alone is the output.
enum Progress {
    static func say(_ line: String) {
        FileHandle.standardError.write(Data((line + "\n").utf8))
    }
}
