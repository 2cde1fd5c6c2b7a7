import ArgumentParser
import Engine
import HTTPServer
import Ledger
import PerennialContract
import Reports

/// Prints a report about money or subscriptions.
struct ReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report", abstract: "Show a report about money or subscriptions.",
        discussion: "Without a name, the reports are listed.")

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case table, csv, json
    }

    @Argument(help: "The report, such as revenue or mrr_movement.") var name: String?
    @Option(help: "The first day, such as 2026-01-01.") var from: String?
    @Option(help: "The last day.") var to: String?
    @Option(help: "day, week, month, quarter or year.") var by = ReportPeriod.Length.month
    @Option(help: "product, group, country, offer or price.") var segment: Division?
    @Option(help: "Convert amounts to this currency.") var currency: String?
    @Option(help: "Count as this vendor does: revenuecat or apphud. Adds Perennial's numbers.")
    var profile: ReportProfile?
    @Option(help: "Show what was known at this time, such as 2026-11-21T08:30:00Z.")
    var asKnownAt: String?
    @Flag(help: "Leave out refunds that were reversed, as if they had never been given.")
    var restated = false
    @Option(help: "table, csv or json.") var format = Format.table
    @Option(help: "The app, if there are several.") var app: String?
    @Option(help: "production or sandbox.") var environment = Ledger.Environment.production
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            guard let name else { return printNames() }
            let query = try query(named: name)
            let assembly = try await options.assembly(for: .inspecting)
            defer { assembly.database.close() }
            let app = try assembly.app(named: app)
            do throws(EngineFailure) {
                let result = try await assembly.engine.reporting.report(query, of: app)
                print(try text(of: result), terminator: "")
                if format == .csv {
                    for warning in Self.warnings(about: result) {
                        Outcome.printError("warning: \(warning)")
                    }
                }
            } catch {
                throw StartFailure(
                    "The report cannot be shown: \(error).",
                    remedy: "`perennial report` lists the reports, and docs/money.md explains them."
                )
            }
        }
    }

    private func printNames() {
        for definition in profile?.definitions ?? ReportCatalogue.all {
            print("\(definition.name)  \(definition.sentence)")
        }
    }

    /// Returns warnings about facts that JSON contains in members, and a CSV table cannot contain.
    static func warnings(about result: ReportResult) -> [String] {
        let currencies = result.report.unconverted.joined(separator: ", ")
        let filling = "rows of earlier purchases are still being derived: numbers will grow."
        let unconverted = "not converted, because the table of rates lacks a rate: \(currencies)."
        let completeUntil = result.completeUntil.map {
            Timestamp(milliseconds: $0.milliseconds)
        }
        return (result.isFilling ? [filling] : [])
            + (result.isBehind ? [behind(completeUntil)] : [])
            + (currencies.isEmpty ? [] : [unconverted])
    }

    /// The sentence about a report that was read from a standby that lacks changes.
    static func behind(_ completeUntil: Timestamp?) -> String {
        completeUntil.map { "Changes after \($0) may be missing: the database is a standby." }
            ?? "Changes may be missing: the database is a standby without an event of this app."
    }

    private func query(named name: String) throws(StartFailure) -> ReportQuery {
        var query = ReportQuery(
            name, in: environment, by: by, division: segment, currency: currency?.uppercased())
        query.profile = profile
        query.isRestated = restated
        if from != nil || to != nil {
            query.days = try DayRange.days(from: from, to: to)
        }
        if let asKnownAt {
            guard let time = Timestamp(asKnownAt) else {
                throw StartFailure(
                    "--as-known-at is not a time.", remedy: "Write it like 2026-11-21T08:30:00Z.")
            }
            query.asKnownAt = Instant(milliseconds: time.milliseconds)
        }
        return query
    }

    private func text(of result: ReportResult) throws(EngineFailure) -> String {
        let report = PerennialContract.Report(result)
        switch format {
        case .csv: return CSVText.text(report.csvLines)
        case .table: return ReportTable(report, isBehind: result.isBehind).text
        case .json:
            do {
                let bytes = try ContractEncoder(isIndented: true).encode(report)
                return String(decoding: bytes, as: UTF8.self) + "\n"
            } catch { throw .storage("\(error)") }
        }
    }
}

extension ReportPeriod.Length: ExpressibleByArgument {}
extension Division: ExpressibleByArgument {}
extension ReportProfile: ExpressibleByArgument {}
