import ArgumentParser
import AsyncHTTPClient
import Engine
import Ledger
import Logging
import OutgoingHTTP
import PerennialContract

/// Compares the recorded state with the App Store's.
struct ReconcileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reconcile", abstract: "Compare purchases, or money, with the App Store.",
        subcommands: [ReconcilePurchasesCommand.self, ReconcileMoneyCommand.self],
        defaultSubcommand: ReconcilePurchasesCommand.self)
}

/// Checks purchases with the App Store on request.
struct ReconcilePurchasesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purchases",
        abstract: "Check all due purchases, or those of one customer, with the App Store.")

    @Option(help: "Only this customer's purchases, whether due or not.") var customer: String?
    @Option(help: "The app, if there are several.") var app: String?
    @Option(help: "production or sandbox.") var environment = Ledger.Environment.production
    @OptionGroup var process: ProcessOptions
    @OptionGroup var simulator: SimulatorOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            let file = try Outcome.configuration(at: process.configPath)
            try Self.requireAppStore(try chosenApps(file.apps))
            let settings = try process.settings(file)
            let logger = Log.start(settings.logLevel)
            let time = try await simulator.time(for: file.apps, logger)
            try await HTTPClient.withHTTPClient(configuration: .withoutRedirects) { http in
                let stores = AppStores(file.apps, http: http, now: time.now)
                let assembly = try await Assembly(
                    apps: file.apps, databaseAddress: settings.database, for: .modifying,
                    simulatorRoot: time.root, receiptRoot: time.receiptRoot, now: time.now,
                    reconciliation: stores.reconciliation(), logger: logger)
                defer { assembly.database.close() }
                try await reconcile(assembly, logger)
            }
        }
    }

    /// The app of the customer. If no customer is named, returns all apps, whose due purchases are
    /// checked.
    private func chosenApps(
        _ apps: [AppConfiguration]
    ) throws(StartFailure) -> [AppConfiguration] {
        guard customer != nil else { return apps }
        let chosen = try apps.map(\.settings.id).app(named: app)
        return apps.filter { $0.settings.id == chosen }
    }

    /// Throws ``StartFailure`` unless at least one of the apps has a key for the App Store, or a
    /// shared secret for queries by receipts.
    private static func requireAppStore(_ apps: [AppConfiguration]) throws(StartFailure) {
        let canAsk = apps.contains { app in
            app.appStore != nil || (app.settings.sharedSecret != nil && app.receiptHosts != nil)
        }
        guard !canAsk else { return }
        let who =
            apps.count == 1
            ? apps.map { "App \($0.settings.id) has no" }.joined() : "No app has an"
        throw StartFailure(
            "\(who) app_store, so the App Store cannot be asked.",
            remedy: "Add `app_store:` with an In-App Purchase key to the app in the configuration.")
    }

    private func reconcile(_ assembly: Assembly, _ logger: Logger) async throws {
        guard let customer else {
            await ReconciliationWorker(engine: { assembly.engine }, logger: logger).processDue()
            for state in assembly.engine.reconciliation.states {
                print("\(state.app) \(state.environment.rawValue): \(state.due) due")
            }
            return
        }
        let app = try assembly.app(named: app)
        let outcomes = try await assembly.engine.customers.reconcile(
            CustomerID(rawValue: VisibleText.decoded(customer)), app: app, environment: environment)
        for (purchase, outcome) in outcomes {
            print("\(purchase.original)  \(Self.text(of: outcome))")
        }
        if outcomes.isEmpty { print("This customer has no known purchases.") }
    }

    static func text(of outcome: CheckOutcome) -> String {
        switch outcome {
        case .responded(let documents): "answered with \(documents.counted("document"))"
        case .noResponse(let reason): "no response: \(reason)"
        case .notConfigured: "not checked: the app has no app_store in the configuration"
        case .leasedElsewhereOrUnknown: "not checked: another server is checking it right now"
        }
    }
}
