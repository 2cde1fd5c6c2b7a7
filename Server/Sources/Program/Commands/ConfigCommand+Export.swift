import ArgumentParser
import Engine
import Foundation
import HTTPServer
import Ledger
import PerennialContract
import Storage

extension ConfigCommand {
    /// Writes the response of `GET /v1/offerings` to a file for the app's bundle.
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write an app's offerings to put into its bundle, for a first launch "
                + "without a network.")

        @Option(help: "The app, if there are several.") var app: String?
        @Option(help: "production or sandbox.") var environment = Ledger.Environment.production
        @Option(help: "The file to write. Default: standard output.") var out: String?
        @OptionGroup var options: DatabaseOptions

        func run() async throws {
            try await Outcome.reportingFailures { try write(try await offerings()) }
        }

        /// The offerings, signed if there is a database with the key. Does not open a database of
        /// another schema version.
        private func offerings() async throws -> Offerings {
            guard options.data == nil else { return try await signed() }
            let file = try Outcome.configuration(at: options.process.configPath)
            let settings = try options.process.settings(file)
            guard try await DatabaseAddress.version(of: settings.database) >= Schema.version else {
                Outcome.printError(
                    "warning: The offerings are not signed: the database "
                        + "\(DatabaseAddress.withoutPassword(settings.database)) does not exist, "
                        + "or has another schema version. Export them where the server runs.")
                return try unsigned(file.apps.map(\.settings))
            }
            return try await signed()
        }

        private func unsigned(_ apps: [AppSettings]) throws -> Offerings {
            let id = try apps.map(\.id).app(named: app)
            guard let settings = apps.first(where: { $0.id == id }) else {
                preconditionFailure("An app found by its name is one of them.")
            }
            return Offerings(of: settings, in: environment)
        }

        private func signed() async throws -> Offerings {
            let assembly = try await options.assembly(for: .modifying)
            defer { assembly.database.close() }
            let id = try assembly.app(named: app)
            do {
                return try await Offerings.signed(by: assembly.engine, of: id, in: environment)
                    .offerings
            } catch let failure as EngineFailure {
                throw StartFailure(
                    "The offerings cannot be signed: \(failure).",
                    remedy: "Check that this user may write to the database.")
            }
        }

        private func write(_ offerings: Offerings) throws {
            let text = try ContractEncoder(isIndented: true).encode(offerings)
            guard let out else { return print(String(decoding: text, as: UTF8.self)) }
            do {
                try Data(text + [UInt8(ascii: "\n")]).write(
                    to: URL(fileURLWithPath: out), options: .atomic)
            } catch {
                throw StartFailure(
                    "\(out) cannot be written: \(error.localizedDescription)",
                    remedy: "Name a file in a folder that this user may write.")
            }
        }
    }
}
