import ArgumentParser
import Engine
import Ledger
import PerennialContract
import Storage

/// Creates a key and prints it. The key is never shown again.
struct KeysCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Create a key. It is shown once; only its hash is stored.")

    @Option(help: "The app the key is for, if there are several.") var app: String?
    @Option(help: "app (pk_…, within apps) or secret (sk_…, on servers; with --scope or --until).")
    var kind: KeyKind?
    @Option(help: "What a secret key may do: read, support, money, or admin (all). Repeatable.")
    var scope: [KeyScope] = []
    @Option(help: "The end of a secret key, such as 2027-01-01 (UTC) or 2027-01-01T06:00:00Z.")
    var until: String?
    @Option(help: "A name of your choice.") var name = ""
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            let kind = try Self.kind(kind, isLimited: !scope.isEmpty || until != nil)
            let scopes: Set<KeyScope> = scope.isEmpty ? [.admin] : Set(scope)
            let end = try until.map(Self.moment)
            let assembly = try await options.assembly(for: .serving)
            defer { assembly.database.close() }
            let app = try assembly.app(named: app)
            if let end, assembly.engine.keys.hasPassed(end) {
                throw StartFailure(
                    "The end of the key, \(end.minute), has passed.",
                    remedy: "Write a later date after --until.")
            }
            print(
                try await assembly.engine.keys.create(
                    app: app, kind: kind, name: name, scopes: scopes, until: end))
        }
    }

    /// Without `--kind`, a key with a scope or an end is a secret key, because only secret keys can
    /// have a scope or an end.
    static func kind(_ kind: KeyKind?, isLimited: Bool) throws(StartFailure) -> KeyKind {
        guard let kind = kind ?? (isLimited ? .secret : nil) else {
            throw StartFailure(
                "The kind of the key is missing.", remedy: "Add --kind app or --kind secret.")
        }
        guard kind == .secret || !isLimited else {
            throw StartFailure(
                "An app key has no scope and no end.",
                remedy: "Leave out --scope and --until, or use --kind secret.")
        }
        return kind
    }

    /// Reads the end of a key. A date means the first moment of that day in UTC.
    static func moment(_ text: String) throws(StartFailure) -> Instant {
        guard let moment = Timestamp(text) ?? Timestamp("\(text)T00:00:00Z") else {
            throw StartFailure(
                "“\(text)” is not a date.", remedy: "Write 2027-01-01, or 2027-01-01T06:00:00Z.")
        }
        return Instant(milliseconds: moment.milliseconds)
    }
}

extension KeyKind: ExpressibleByArgument {}
extension KeyScope: ExpressibleByArgument {}
