import ArgumentParser
import AsyncHTTPClient
import Engine
import Foundation
import Ledger
import OutgoingHTTP
import RevenueCatClient
import Synchronization

/// Imports from RevenueCat's API what its exports do not contain: ids and balances.
struct RevenueCatImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import-revenuecat",
        abstract: "Import all ids of each customer, and balances, from RevenueCat's API.",
        discussion: """
            Only reads at RevenueCat. Import the export first. With --balances, run it when your \
            backend and apps stop spending there. What is left out is in the report. \
            docs/exports.md describes the rules.
            """)

    @OptionGroup var revenueCat: RevenueCatOptions
    @Flag(help: "Import balances of virtual currencies, too.") var balances = false
    @Option(help: "The name here of one of RevenueCat's currencies, as GEM=gems.")
    var currency: [String] = []
    @Flag(help: "Change nothing, and only report.") var dryRun = false
    @Flag(help: "Import balances even if an earlier run has imported all.") var anew = false
    @Option(help: "The file for the report.") var report = "import-revenuecat.report.csv"
    @Option(help: "The app, if there are several.") var app: String?
    @Option(help: "production, or sandbox without balances.")
    var environment = Ledger.Environment.production
    @OptionGroup var options: DatabaseOptions

    func validate() throws { _ = try Self.currencies(currency) }

    /// - Throws: a validation error if a text is not `CODE=name`.
    static func currencies(_ texts: [String]) throws -> [String: CurrencyID] {
        var names: [String: CurrencyID] = [:]
        for text in texts {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, names[parts[0]] == nil else {
                throw ValidationError(
                    "--currency must be RevenueCat's code and the name here, as GEM=gems, once for "
                        + "each code.")
            }
            let name = CurrencyID(rawValue: parts[1])
            guard !names.values.contains(name) else {
                throw ValidationError(
                    "Two codes of --currency lead to \(name). Each balance needs a currency here.")
            }
            names[parts[0]] = name
        }
        return names
    }

    func run() async throws {
        try await Outcome.reportingFailures {
            let access = try revenueCat.access()
            let ids = try revenueCat.moreIDs()
            let assembly = try await options.assembly(for: dryRun ? .inspecting : .modifying)
            defer { assembly.database.close() }
            let app = try assembly.app(named: app)
            let currencies = try currencies(of: app, in: assembly.engine)
            try await HTTPClient.withHTTPClient(configuration: .withoutRedirects) { http in
                var written = try ImportReport(url: URL(fileURLWithPath: report), keeping: 0)
                var pass = RevenueCatCustomerImport(
                    engine: assembly.engine, app: app, client: access.client(over: http),
                    project: access.project
                ) { number, customer, reason in
                    try written.add([(number, customer.rawValue, reason)])
                }
                pass.environment = environment
                pass.withBalances = balances
                pass.currencies = currencies
                pass.isTrial = dryRun
                pass.isAnew = anew
                pass.moreIDs = ids
                pass.progress = RevenueCatImportProgress().report
                let result = try await Self.result(of: &pass)
                try written.close()
                print(line(about: result))
            }
        }
    }

    private static func result(
        of pass: inout RevenueCatCustomerImport
    ) async throws -> RevenueCatImportResult {
        do { return try await pass.run() } catch let failure as RevenueCatClientFailure {
            throw StartFailure("\(failure)", remedy: failure.remedy)
        } catch let failure as EngineFailure {
            throw StartFailure(
                "The import stopped: \(failure).",
                remedy: "Run the same command again. Nothing is imported twice.")
        }
    }

    /// - Throws: ``StartFailure`` if a name of `--currency` is no wallet of the app.
    private func currencies(of app: AppID, in engine: Engine) throws -> [String: CurrencyID] {
        let names = try Self.currencies(currency)
        let known = try engine.context.settings(of: app).wallets.allCurrencies
        for name in names.values.sorted() where !known.contains(name) {
            throw StartFailure(
                "perennial.yaml has no currency \(name), which --currency names.",
                remedy: "Add it below `credits`, or correct the name.")
        }
        return names
    }

    private func line(about result: RevenueCatImportResult) -> String {
        let verb = dryRun ? "would be " : ""
        let booked =
            balances ? ", \(result.balances.counted("balance")) \(verb)booked" : ""
        return "\(result.customers.counted("customer")), \(result.aliases.counted("id")) \(verb)"
            + "added\(booked), \(result.problems) left out: \(report)"
    }
}

/// Prints the progress to standard error, at most once in five seconds.
private final class RevenueCatImportProgress: Sendable {
    private static let pause = Duration.seconds(5)
    private let last = Mutex<ContinuousClock.Instant?>(nil)

    @Sendable func report(_ customers: Int64) {
        let now = ContinuousClock.now
        let isDue = last.withLock { last in
            if let known = last, now - known < Self.pause { return false }
            last = now
            return true
        }
        guard isDue else { return }
        Outcome.printError("imported so far: \(customers.counted("customer"))")
    }
}
