import ArgumentParser
import AsyncHTTPClient
import Courier

/// The commands about webhooks.
struct WebhooksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks", abstract: "Try a receiver of webhooks.",
        subcommands: [WebhooksTortureCommand.self])
}

/// Sends valid and invalid deliveries to a receiver, and reports the deliveries that it answers
/// wrongly.
struct WebhooksTortureCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "torture",
        abstract: "Send valid and invalid deliveries to a receiver, and report wrong answers.",
        discussion: """
            The events are made up. Use a receiver that acts on a database for tests.
            """)

    @Argument(help: "The receiver's URL.") var url: String
    @Option(help: "The secret that the receiver knows: whsec_…") var secret: String

    func run() async throws {
        try await Outcome.reportingFailures {
            guard let known = WebhookSecret(secret) else {
                throw StartFailure(
                    "The secret is not whsec_ and the base64 of "
                        + "\(WebhookSecret.bytesRange.lowerBound) to "
                        + "\(WebhookSecret.bytesRange.upperBound) bytes.",
                    remedy: "Copy it from where the webhook was configured.")
            }
            guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
                throw StartFailure(
                    "“\(url)” is no URL.", remedy: "Begin it with https:// or http://.")
            }
            var random = SystemRandomNumberGenerator()
            let torture = WebhookTorture(
                secret: known, at: .machine, run: UInt32.random(in: .min ... .max, using: &random))
            let findings = try await HTTPClient.withHTTPClient(configuration: .notifications) {
                http in
                try await torture.findings(of: WebhookReceiverClient(url: url, http: http))
            }
            for finding in findings { print(finding.text) }
            let wrong = findings.count { !$0.isRight }
            print("\(findings.count - wrong) of \(findings.count) cases are right")
            if wrong > 0 { throw ExitCode(1) }
        }
    }
}
