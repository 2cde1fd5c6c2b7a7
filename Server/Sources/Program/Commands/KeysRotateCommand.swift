import ArgumentParser
import Engine

/// Creates a new key for signing customers' tokens.
struct KeysRotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Sign customers' tokens with a new key. The old one stays published for a day.")

    @Option(help: "The app the key is for, if there are several.") var app: String?
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            let assembly = try await options.assembly(for: .modifying)
            defer { assembly.database.close() }
            let app = try assembly.app(named: app)
            print(try await assembly.engine.rotateTokenKey(of: app))
        }
    }
}
