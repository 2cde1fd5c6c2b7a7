import ArgumentParser
import Hummingbird
import Logging

/// The baseline for routes: the same library, the same log line per request, response bodies of the
/// same size, and no work.
struct ConstantServer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "constant-server", abstract: "Respond to every request with the same JSON.")

    @Option(help: "The port to listen on.") var port: Int
    @Option(help: "The size of the response, in bytes.") var bytes: Int

    func run() async throws {
        LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
        let logger = Logger(label: "constant")
        let frame = (open: "{\"constant\":\"", shut: "\"}\n")
        let filling = max(0, bytes - frame.open.utf8.count - frame.shut.utf8.count)
        let answer = ByteBuffer(
            string: frame.open + String(repeating: "x", count: filling) + frame.shut)
        let router = Router()
        router.add(middleware: LogRequestsMiddleware(.info))
        router.get("/ready") { _, _ in "ready" }
        router.get("/v1/customers/{id}") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: answer))
        }
        try await Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)),
            logger: logger
        ).runService()
    }
}
