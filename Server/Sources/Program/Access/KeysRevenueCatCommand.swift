import ArgumentParser
import Engine
import Foundation

/// Prints the public key that a version of RevenueCat's SDK needs to verify answers.
struct KeysRevenueCatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revenuecat",
        abstract: "Print the public key that verifies answers to RevenueCat's SDK.",
        discussion: """
            The key is Ed25519, in Base64. Only a version of the SDK that contains it verifies \
            answers; docs/revenuecat-sdk.md says how. The key is created when it is first needed.
            """)

    @Option(help: "The app the key is for, if there are several.") var app: String?
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            let assembly = try await options.assembly(for: .modifying)
            defer { assembly.database.close() }
            let app = try assembly.app(named: app)
            let key = try await assembly.engine.answerSigning.publicKey(of: app)
            print(Data(key).base64EncodedString())
        }
    }
}
