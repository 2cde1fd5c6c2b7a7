import ArgumentParser
import Engine
import Ledger

/// What a customer may use, why, and the documents behind it.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Say what a customer may use, why, and by what evidence.")

    @Argument(help: "The customer's id.") var customer: String
    @Option(help: "The app, where there are several.") var app: String?
    @Option(help: "production or sandbox.") var environment = Ledger.Environment.production
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reported {
            let assembly = try await options.assembly(for: .looking)
            defer { assembly.database.close() }
            let app = try assembly.app(named: app)
            do {
                print(
                    try await assembly.engine.explain(
                        CustomerID(rawValue: customer), app: app, environment: environment))
            } catch let failure as EngineFailure {
                throw StartFailure(
                    "Customer \(customer) cannot be explained: \(failure).",
                    remedy: "Name a customer by an id that the app uses.")
            }
        }
    }
}

extension Ledger.Environment: ExpressibleByArgument {}

/// Makes all derived rows again from the documents, or compares.
struct RebuildCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild", abstract: "Make all derived rows again from the documents.")

    @Flag(help: "Only compare, and report differences.") var verify = false
    @Flag(help: "Take away what documents gave that cannot be verified any more.")
    var withoutUnusable = false
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reported {
            let assembly = try await options.assembly(for: verify ? .looking : .changing)
            defer { assembly.database.close() }
            let report = try await report(of: assembly.engine)
            for line in Self.lines(of: report, verify: verify) { print(line) }
            if !report.isClean { throw ExitCode(1) }
        }
    }

    private func report(of engine: Engine) async throws(StartFailure) -> RebuildReport {
        do throws(EngineFailure) {
            return try await engine.rebuild(
                verifyOnly: verify, withoutUnusable: withoutUnusable
            ) { done, total in
                Outcome.toStandardError("\(done) of \(total) documents")
            }
        } catch {
            guard error != .busy else {
                throw StartFailure(
                    "Nothing was rebuilt: somebody else holds the tables all the time.",
                    remedy: "Let it end, such as a VACUUM or a change of tables (pg_stat_activity "
                        + "shows it), or another writer of the file. Then run this again.")
            }
            throw StartFailure(
                "Nothing was rebuilt: \(error).",
                remedy: "Compare the configuration with the one that the documents came in by; "
                    + "--verify lists what cannot be used, and --without-unusable takes it away. "
                    + "Let another rebuild end before you begin one.")
        }
    }

    static func lines(of report: RebuildReport, verify: Bool) -> [String] {
        let verb = verify ? "compared" : "rebuilt"
        return ["\(verb) from \(report.documents) documents, \(report.differences) differences"]
            + report.firstDifferences.map { "  \($0)" }
            + report.unusable.map { "  unusable: \($0)" }
    }
}

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Keys that let apps and servers in.",
        subcommands: [
            KeysCreateCommand.self, KeysListCommand.self, KeysRevokeCommand.self,
            KeysRotateCommand.self,
        ])
}

/// Makes a key, and shows it this once.
struct KeysCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Make a key. It is shown once; only its hash is kept.")

    @Option(help: "The app that it is for, where there are several.") var app: String?
    @Option(help: "app (pk_…, within apps) or secret (sk_…, on servers).") var kind: KeyKind
    @Option(help: "What it is for, in your words.") var name = ""
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reported {
            let assembly = try await options.assembly(for: .serving)
            defer { assembly.database.close() }
            let app = try assembly.app(named: app)
            print(try await assembly.engine.createKey(app: app, kind: kind, name: name))
        }
    }
}

/// Makes a new key for the tokens of customers.
struct KeysRotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Sign tokens of customers with a new key. The old one stays published for a day.")

    @Option(help: "The app that it is for, where there are several.") var app: String?
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reported {
            let assembly = try await options.assembly(for: .changing)
            defer { assembly.database.close() }
            let app = try assembly.app(named: app)
            print(try await assembly.engine.rotateTokenKey(of: app))
        }
    }
}

extension KeyKind: ExpressibleByArgument {}
