import ArgumentParser
import Engine

/// Makes a new key sign customers' tokens, or publishes the next key.
struct KeysRotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Sign customers' tokens with a new key, or publish the next one.",
        discussion: "The new key is the prepared one, if any. The old key stays published.")

    @Flag(help: "Publish the next key now. Tokens are signed with it only after the next rotation.")
    var prepare = false

    @Option(help: "The app the key is for, if there are several.") var app: String?
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            let assembly = try await options.assembly(for: .modifying)
            defer { assembly.database.close() }
            let app = try assembly.app(named: app)
            let engine = assembly.engine
            print(
                prepare
                    ? try await engine.tokens.prepareKey(of: app)
                    : try await engine.tokens.rotateKey(of: app))
        }
    }
}
