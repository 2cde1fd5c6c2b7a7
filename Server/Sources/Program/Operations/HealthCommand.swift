import ArgumentParser
import AsyncHTTPClient
import Foundation
import OutgoingHTTP

/// Asks the server on this machine whether it is alive. This command exists because a container has
/// no other program for such a request.
struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Ask the server on this machine whether it is alive.",
        discussion: "Ends with exit code 1 if the server does not answer, or answers that it is "
            + "not alive. Does not read the configuration. If PERENNIAL_LISTEN_METRICS is set, "
            + "asks at that address: with `tls:`, only this address answers without TLS.")

    /// The time limit for the whole answer, in seconds.
    private static let timeout = Duration.seconds(5)
    /// The maximum size of an answer, in bytes.
    private static let answerBytesMax = 65_536

    @Flag(help: "Ask /ready instead of /health: also check that the database can be used.")
    var ready = false
    @Option(
        help:
            "The address that the server listens on. Variable: PERENNIAL_HOST. Default: 127.0.0.1.")
    var host: String?
    @Option(help: "The port of the server. Variable: PERENNIAL_PORT. Default: 8080.")
    var port: String?

    func run() async throws {
        try await Outcome.reportingFailures {
            let flags = ["host": host, "port": port].compactMapValues { $0 }
            let settings = try ProcessSettings(
                flags: flags, environment: ProcessInfo.processInfo.environment, file: [:])
            // The address of the metrics never has TLS.
            let address =
                settings.metricsAddress ?? ListenAddress(host: settings.host, port: settings.port)
            let url = address.localURL + (ready ? "/ready" : "/health")
            print(try await Self.healthyBody(at: url), terminator: "")
        }
    }

    /// Requests a URL.
    ///
    /// - Returns: the body of an answer with the status 200.
    /// - Throws: ``StartFailure`` if there is no answer, or one with another status.
    static func healthyBody(at url: String) async throws -> String {
        let (status, body): (Int, String)
        do {
            (status, body) = try await HTTPClient.withHTTPClient(
                configuration: .withoutRedirects
            ) { client in
                let answer = try await HTTPClientRequest(url: url).wholeResponse(
                    by: client, within: timeout, bodyBytesMax: answerBytesMax)
                return (answer.status, String(decoding: answer.body, as: UTF8.self))
            }
        } catch {
            throw StartFailure(
                "No server answers at \(url): \(NetworkTrouble.text(of: error)).",
                remedy: "Start it with `perennial serve`, or name its address with --host and "
                    + "--port. A server with `tls:` is asked at PERENNIAL_LISTEN_METRICS.")
        }
        guard status == 200 else {
            throw StartFailure(
                "\(url) answered with status \(status): \(body)",
                remedy: "Look into the server's log.")
        }
        return body
    }
}
