import AsyncHTTPClient
import HTTPServer
import Ledger
import Logging
import OutgoingHTTP
import Traces

/// Sends spans to an OpenTelemetry collector, as OTLP over HTTP.
struct TraceSender: Sendable {
    /// The maximum number of spans in one request.
    static let spansMax = 512
    /// The maximum number of attempts for one request.
    static let attemptsMax = 3
    /// The time from connecting to the last byte of a response.
    static let timeout = Duration.seconds(10)
    private static let pauses = ExponentialBackoff(first: .seconds(1), longest: .seconds(4))
    /// The maximum size of a response, in bytes.
    private static let responseBytesMax = 65_536

    private let settings: TraceSettings
    private let http: HTTPClient
    private let timeout: Duration

    init(_ settings: TraceSettings, _ http: HTTPClient, timeout: Duration = Self.timeout) {
        self.settings = settings
        self.http = http
        self.timeout = timeout
    }

    /// Sends a request once, and returns the status of the response.
    func send(_ request: HTTPClientRequest) async throws -> Int {
        try await request.wholeResponse(
            by: http, within: timeout, bodyBytesMax: Self.responseBytesMax
        ).status
    }

    /// The collector has refused spans.
    struct Refusal: Error, CustomStringConvertible {
        let status: Int
        var description: String { "the collector answers \(status)" }
    }

    /// Sends the oldest spans that wait. Returns how many were sent. If no attempt succeeds, these
    /// spans are dropped and counted, so that a collector that is away costs no memory.
    func sendNext(of traces: TraceRecorder) async throws -> Int {
        let spans = traces.drain(max: Self.spansMax)
        guard !spans.isEmpty else { return 0 }
        let request = request(spans)
        var attempts = 0
        while true {
            attempts += 1
            do {
                let status = try await send(request)
                guard (200..<300).contains(status) else { throw Refusal(status: status) }
                return spans.count
            } catch {
                guard attempts < Self.attemptsMax, Self.maySucceedLater(error),
                    (try? await Task.sleep(for: Self.pauses.delay(after: attempts))) != nil
                else {
                    traces.drop(spans.count)
                    throw error
                }
            }
        }
    }

    /// OTLP: only these statuses, and failures of the network, are worth another attempt.
    private static func maySucceedLater(_ error: any Error) -> Bool {
        guard let refusal = error as? Refusal else { return !(error is CancellationError) }
        return [429, 502, 503, 504].contains(refusal.status)
    }

    private func request(_ spans: [FinishedSpan]) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: settings.endpoint + OTLPRequest.path)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: OTLPRequest.mediaType)
        if let authorization = settings.authorization {
            request.headers.add(name: "Authorization", value: authorization)
        }
        request.body = .bytes(
            OTLPRequest.body(
                spans,
                resource: [
                    .init("service.name", .text("perennial")),
                    .init("service.version", .text(PerennialServer.version)),
                ],
                scope: ("perennial", PerennialServer.version)))
        return request
    }
}

extension Worker {
    /// The time between two requests to the collector.
    static let tracePause = Duration.seconds(5)

    /// Sends the spans of traces.
    static func traces(
        from traces: TraceRecorder, by sender: TraceSender, logger: Logger,
        states: WorkerStates = WorkerStates()
    ) -> Worker {
        Worker(
            .traces, "sending traces failed", every: tracePause, logger: logger, states: states
        ) {
            try await sender.sendNext(of: traces)
        }
    }
}
