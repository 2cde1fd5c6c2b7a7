import ArgumentParser
import Foundation

/// Measures the requested lines and prints the table.
struct TableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "table", abstract: "Measure and print the table.")

    @Option(
        name: .customLong("only"),
        help: ArgumentHelp("Measure only this line and those measured with it.", valueName: "line"))
    var only: [Line] = []
    @Flag(help: "Use smaller populations and fewer rounds. For a quick look only.")
    var quick = false

    func run() async throws {
        let started = ContinuousClock.now
        let bench = try BenchFolder(isQuick: quick)
        let wanted = only.isEmpty ? Set(Line.allCases) : Set(only)
        var results: [Measured] = []
        for part in Part.allCases where !part.lines.isDisjoint(with: wanted) {
            Progress.report("\(part.rawValue) …")
            results += try await part.measure(in: bench)
        }
        print(Table(results: results, isQuick: quick).text)
        Progress.report("done in \((ContinuousClock.now - started).components.seconds) s")
    }
}

extension Line: ExpressibleByArgument {}

/// A group of lines that are measured together.
enum Part: String, CaseIterable {
    case verification
    case notificationsOnSQLite = "notifications on SQLite"
    case notificationsOnPostgres = "notifications on PostgreSQL"
    case customers
    case commitsOnSQLite = "group commit on SQLite"
    case commitsOnPostgres = "group commit on PostgreSQL"
    case servers = "several servers on one PostgreSQL"
    case populations = "the simulator's populations"

    var lines: Set<Line> {
        switch self {
        case .verification: [.verifyKnown, .verifyNew]
        case .notificationsOnSQLite: [.notificationSQLite, .disk]
        case .notificationsOnPostgres: [.notificationPostgres]
        case .customers: [.customer, .memory, .start]
        case .commitsOnSQLite: [.commitSQLite]
        case .commitsOnPostgres: [.commitPostgres]
        case .servers: [.servers]
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
        case .servers: try await ServersBench.measureLine(in: bench)
        case .populations: try PopulationBench(bench).measure()
        }
    }
}

/// Progress messages on standard error, so that standard output contains only the table.
enum Progress {
    static func report(_ line: String) {
        FileHandle.standardError.write(Data((line + "\n").utf8))
    }
}
