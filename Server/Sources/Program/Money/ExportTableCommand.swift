import ArgumentParser
import Engine
import Foundation
import HTTPServer
import Ledger
import PerennialContract
import Storage

/// Writes a table of purchases to standard output.
struct ExportTableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "table",
        abstract: "Write a table as CSV or JSON lines. The word “table” may be left out.",
        discussion: "docs/sql.md describes the columns.")

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case csv
        case rawCSV = "raw-csv"
        case jsonl, revenuecat
    }

    @Argument(help: "\(ExportedTable.all.map(\.name).joined(separator: ", ")).")
    var table: String
    @Option(
        help: """
            csv: for spreadsheets; raw-csv: for programs, each value as it is; jsonl: one JSON \
            object in each line; or revenuecat: transactions in the columns of RevenueCat's \
            scheduled export.
            """) var format = Format.csv
    @Option(help: "Leave out rows before this time, such as 2026-11-21T00:00:00Z.")
    var since: String?
    @Option(help: "The app, if there are several.") var app: String?
    @Option(help: "production or sandbox.") var environment = Ledger.Environment.production
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            guard let table = ExportedTable.named(table) else {
                throw StartFailure(
                    "There is no table “\(self.table)”.",
                    remedy: "Use one of "
                        + ExportedTable.all.map(\.name).joined(separator: ", ") + ".")
            }
            let since = try since.map { text throws(StartFailure) in try Self.moment(text) }
            let assembly = try await options.assembly(for: .inspecting)
            defer { assembly.database.close() }
            let app = try assembly.app(named: app)
            if format == .revenuecat {
                try requireTransactions(table)
                try Self.write(CSVText.text([RevenueCatExport.columns]))
                try await assembly.engine.reporting.exportForRevenueCat(
                    of: app, in: environment, since: since
                ) { try Self.write(line($0, RevenueCatExport.columns)) }
                return
            }
            if format == .csv || format == .rawCSV {
                try Self.write(CSVText.text([table.columns]))
            }
            try await assembly.engine.reporting.export(
                table, of: app, in: environment, since: since
            ) { row in
                try Self.write(line(row, table.columns))
            }
        }
    }

    private func requireTransactions(_ table: ExportedTable) throws(StartFailure) {
        guard table.name != "transactions" else { return }
        throw StartFailure(
            "RevenueCat's export has only transactions.",
            remedy: "Use perennial export transactions --format revenuecat.")
    }

    private static func moment(_ text: String) throws(StartFailure) -> Instant {
        guard let time = Timestamp(text) else {
            throw StartFailure(
                "--since is not a time.", remedy: "Write it like 2026-11-21T00:00:00Z.")
        }
        return Instant(milliseconds: time.milliseconds)
    }

    private func line(_ row: [ExportedValue], _ columns: [String]) throws -> String {
        switch format {
        case .csv: return CSVText.text([row.map(\.text)])
        case .rawCSV, .revenuecat: return CSVText.text([row.map(\.text)], for: .program)
        case .jsonl:
            let members = try zip(columns, row).map { name, value in
                "\"\(name)\":\(try value.json)"
            }
            return "{" + members.joined(separator: ",") + "}\n"
        }
    }

    /// Writes a part of the table. The reader may close the pipe early, as `head` does, or the disk
    /// may be full.
    static func write(_ text: String) throws {
        do { try FileHandle.standardOutput.write(contentsOf: Data(text.utf8)) } catch {
            throw StartFailure(
                "The rows could not be written to the end.",
                remedy: "If you need all rows, free some space and export again.")
        }
    }
}

extension ExportedValue {
    fileprivate var text: String {
        switch self {
        case .none: ""
        case .number(let number): "\(number)"
        case .text(let text): text
        }
    }

    fileprivate var json: String {
        get throws {
            switch self {
            case .none: "null"
            case .number(let number): "\(number)"
            case .text(let text): String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
            }
        }
    }
}
