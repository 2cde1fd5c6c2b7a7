import ArgumentParser
import Engine
import Ledger
import PerennialContract

/// Explains a customer's access and names the documents that it is based on.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Show a customer's access, why, and by what evidence.")

    @Argument(help: "The customer's id.") var customer: String
    @Option(help: "The app, if there are several.") var app: String?
    @Option(help: "production or sandbox.") var environment = Ledger.Environment.production
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            let assembly = try await options.assembly(for: .inspecting)
            defer { assembly.database.close() }
            let app = try assembly.app(named: app)
            do {
                let lines = try await assembly.engine.customers.explain(
                    CustomerID(rawValue: VisibleText.decoded(customer)), app: app,
                    environment: environment)
                print(
                    lines.split(separator: "\n", omittingEmptySubsequences: false)
                        .map { VisibleText.encoded(String($0), keepsSpaces: true) }
                        .joined(separator: "\n"))
            } catch let failure as EngineFailure {
                throw StartFailure(
                    "Customer \(customer) cannot be explained: \(failure).",
                    remedy: "Use a customer id of the app.")
            }
        }
    }
}

extension Ledger.Environment: ExpressibleByArgument {}
