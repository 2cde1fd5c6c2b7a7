import ArgumentParser
import Engine

/// Creates a key and prints it once.
struct KeysCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Create a key. It is shown once; only its hash is stored.")

    @Option(help: "The app the key is for, if there are several.") var app: String?
    @Option(help: "app (pk_…, within apps) or secret (sk_…, on servers).") var kind: KeyKind
    @Option(help: "A name of your choice.") var name = ""
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            let assembly = try await options.assembly(for: .serving)
            defer { assembly.database.close() }
            let app = try assembly.app(named: app)
            print(try await assembly.engine.createKey(app: app, kind: kind, name: name))
        }
    }
}

extension KeyKind: ExpressibleByArgument {}
