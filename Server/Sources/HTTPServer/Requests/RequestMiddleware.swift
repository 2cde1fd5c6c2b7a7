import Engine
import HTTPTypes
import Hummingbird
import Ledger
import Logging
import PerennialContract
import Synchronization
import Traces
import Tracing

/// Surrounds every request: assigns its id, turns errors into problems, adds headers, counts, and
/// writes one log line.
///
/// The log line names the route's pattern and not the path, because a path can contain a customer's
/// id. The only header in the log line is the name of the actor.
struct RequestMiddleware: RouterMiddleware {
    static let requestIDCharactersMax = 64

    let counts: RequestCounts
    let bodies: BodyBudget
    let logger: Logger
    let now: @Sendable () -> Instant
    /// Records spans. Nil if no traces are sent.
    var traces: TraceRecorder?

    @concurrent func handle(
        _ request: Request, context: ServerContext,
        next: @concurrent (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        let traceStart = traces.map { _ in DefaultTracerClock.now }
        var (request, context) = (request, context)
        context.bodyShare = request.meterBody(by: bodies, from: context.channel)
        defer { context.bodyShare?.release() }
        context.requestID = Self.requestID(asked: request.headers[.requestID])
        // Omits the framework's own number of the request, so that the log has only one id for a
        // request.
        context.logger = logger
        var response: Response
        do {
            try Self.check(path: request.head.path ?? "")
            response = try await next(request, context)
        } catch {
            response = ProblemError(anything: error).response(
                to: context, at: Timestamp(now()), isIndented: request.asksForIndentation)
        }
        addCommonHeaders(&response.headers, requestID: context.requestID)
        let route = context.endpointPath.flatMap { $0.hasPrefix("/") ? $0 : nil }
        if let traces, let traceStart {
            context.trace.record(
                request, route: route, response.status, since: traceStart,
                requestID: context.requestID, isTrusted: context.author.hasSecretKey, by: traces)
        }
        finish(
            request.method, route: route, response.status, requestID: context.requestID,
            began: start,
            isWait: Self.asksToWait(request.head.path ?? ""), author: context.author.logMetadata)
        return response
    }

    /// Sets the header fields that every response has.
    func addCommonHeaders(_ headers: inout HTTPFields, requestID: String) {
        headers[.requestID] = requestID
        headers[.serverTime] = Timestamp(now()).description
        headers[.xContentTypeOptions] = "nosniff"
        if headers[.cacheControl] == nil { headers[.cacheControl] = "no-store" }
    }

    private static func check(path: String) throws {
        guard !NULCharacter.isPercentEncoded(in: path) else {
            throw ProblemError(.pathWithNUL)
        }
        // The router skips empty segments and would take the next segment for a customer's id.
        guard !hasEmptySegment(path) else {
            throw ProblemError(.pathSegmentEmpty)
        }
    }

    private static func hasEmptySegment(_ path: String) -> Bool {
        var last: UInt8 = 0
        for byte in path.utf8 {
            if byte == UInt8(ascii: "?") { return false }
            if byte == UInt8(ascii: "/"), last == byte { return true }
            last = byte
        }
        return false
    }

    /// Whether a request asks to wait for a change (`?wait=25`), so that its duration does not show
    /// how fast the server is.
    static func asksToWait(_ path: String) -> Bool {
        guard let query = path.utf8.firstIndex(of: UInt8(ascii: "?")) else { return false }
        return path[query...].split(separator: "&").contains { part in
            part.hasPrefix("wait=") || part.hasPrefix("?wait=")
        }
    }

    /// Counts a finished request and writes its log line.
    ///
    /// - Parameter method: nil if the request could not be parsed.
    /// - Parameter route: the pattern of its path; nil if no route has the path.
    /// - Parameter isWait: whether the request asked to wait for a change.
    /// - Parameter author: the key that sent the request, and the person for whom it was sent.
    func finish(
        _ method: HTTPRequest.Method?, route: String?, _ status: HTTPResponse.Status,
        requestID: String, began start: ContinuousClock.Instant, isWait: Bool = false,
        author: Logger.Metadata = [:]
    ) {
        let route = route ?? "unmatched"
        let known = method.flatMap { Self.knownMethods.contains($0) ? $0.rawValue : nil }
        let method = known ?? "OTHER"
        let duration = ContinuousClock.now - start
        counts.add(
            method: method, route: route, status: status.code, after: duration, isWait: isWait)
        logger.info(
            "request finished",
            metadata: [
                "method": .string(method), "route": .string(route),
                "status": .stringConvertible(status.code),
                "ms": .stringConvertible(duration.wholeMilliseconds),
                "request_id": .string(requestID),
            ].merging(author) { own, _ in own })
    }

    // A client can send any word as the method. Only known methods become labels, so that the
    // number of counters stays limited.
    static let knownMethods: Set<HTTPRequest.Method> = [
        .get, .head, .post, .put, .patch, .delete, .options,
    ]

    /// Returns the client's own request id if it is short and plain enough for logs, otherwise a
    /// new id.
    static func requestID(asked: String?) -> String {
        if let asked, !asked.isEmpty, asked.utf8.count <= requestIDCharactersMax,
            asked.utf8.allSatisfy(isPlain)
        {
            return asked
        }
        return withUnsafeBytes(of: nextNumber()) { Hexadecimal.text($0) }
    }

    /// Returns a number that is different for each request. The number is an id and not a secret.
    /// Only the first number comes from the random number generator, because each call of the
    /// generator enters the kernel.
    private static func nextNumber() -> UInt64 {
        var mixed = lastNumber.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        // The output function of SplitMix64, which maps different inputs to different outputs.
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    private static let lastNumber = Atomic(UInt64.random(in: .min ... .max))

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }
}

extension HTTPRequest.Method {
    /// Stands for each method that no route has, such as TRACE.
    static let other = wellFormed("OTHER")

    /// The method by which a route is looked up: this method if it is known, otherwise `OTHER`.
    var routed: Self { RequestMiddleware.knownMethods.contains(self) ? self : .other }

    private static func wellFormed(_ name: String) -> Self {
        guard let method = Self(name) else { preconditionFailure("\(name) is not a method.") }
        return method
    }
}

extension HTTPField.Name {
    static let requestID = wellFormed("x-request-id")
    /// The server's time in the answer, in RFC 3339. `Date` only has whole seconds, and does not
    /// show a simulator's clock.
    static let serverTime = wellFormed("perennial-server-time")

    /// Makes a name from a literal that is known to be well formed.
    static func wellFormed(_ name: String) -> Self {
        guard let field = Self(name) else { preconditionFailure("\(name) is not a header name.") }
        return field
    }
}
