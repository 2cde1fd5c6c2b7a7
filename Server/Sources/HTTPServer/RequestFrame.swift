import Engine
import HTTPTypes
import Hummingbird
import Ledger
import Logging
import PerennialContract
import Synchronization

/// What surrounds every request: its id, problems for what went wrong,
/// headers, counts, and one line in the log.
///
/// The line names the route's pattern and not the path, which can hold a customer's id; and no
/// header.
struct RequestFrame: RouterMiddleware {
    static let requestIDCharactersMax = 64

    let counts: RequestCounts
    let bodies: BodyBudget
    let logger: Logger

    @concurrent func handle(
        _ request: Request, context: ServerContext,
        next: @concurrent (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        var (request, context) = (request, context)
        context.bodyShare = request.meterBody(by: bodies, from: context.channel)
        defer { context.bodyShare?.release() }
        context.requestID = Self.requestID(asked: request.headers[.requestID])
        // Without the framework's number: a request has one name.
        context.logger = logger
        var response: Response
        do {
            try Self.check(path: request.head.path ?? "")
            response = try await next(request, context)
        } catch {
            response = Refused(anything: error).response(to: context)
        }
        Self.complete(&response.headers, requestID: context.requestID)
        finish(
            request.method, route: context.endpointPath.flatMap { $0.hasPrefix("/") ? $0 : nil },
            response.status, requestID: context.requestID, began: start)
        return response
    }

    /// What the header fields of every answer hold.
    static func complete(_ headers: inout HTTPFields, requestID: String) {
        headers[.requestID] = requestID
        headers[.xContentTypeOptions] = "nosniff"
        if headers[.cacheControl] == nil { headers[.cacheControl] = "no-store" }
    }

    private static func check(path: String) throws {
        guard !NULCharacter.isPercentEncoded(in: path) else {
            throw Refused(
                .requestNotUnderstood, "The path holds the character U+0000.",
                remedy: "Leave %00 out.")
        }
        // The router passes over empty segments: what follows would be taken for a customer's id.
        guard !hasEmptySegment(path) else {
            throw Refused(
                .requestNotUnderstood, "A segment of the path is empty.",
                remedy: "Put the customer id, or what else is missing, between the slashes.")
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

    /// Counts a request that is answered, and writes its line.
    ///
    /// - Parameter method: nil where the request could not be parsed.
    /// - Parameter route: the pattern of its path; nil where there is none.
    func finish(
        _ method: HTTPRequest.Method?, route: String?, _ status: HTTPResponse.Status,
        requestID: String, began start: ContinuousClock.Instant
    ) {
        let route = route ?? "unmatched"
        let known = method.flatMap { Self.knownMethods.contains($0) ? $0.rawValue : nil }
        let method = known ?? "OTHER"
        counts.add(method: method, route: route, status: status.code)
        logger.info(
            "request answered",
            metadata: [
                "method": .string(method), "route": .string(route),
                "status": .stringConvertible(status.code),
                "ms": .stringConvertible((ContinuousClock.now - start).wholeMilliseconds),
                "request_id": .string(requestID),
            ])
    }

    // A method can be any word: only those we know become labels, so that the counts stay few.
    private static let knownMethods: Set<HTTPRequest.Method> = [
        .get, .head, .post, .put, .patch, .delete, .options,
    ]

    /// The sender's own, if it is short and plain enough to be written into logs.
    static func requestID(asked: String?) -> String {
        if let asked, !asked.isEmpty, asked.utf8.count <= requestIDCharactersMax,
            asked.utf8.allSatisfy(isPlain)
        {
            return asked
        }
        return withUnsafeBytes(of: number()) { Hexadecimal.text($0) }
    }

    /// Another one for each request: a name and no secret. A random number is asked for once only,
    /// since each costs a call into the kernel.
    private static func number() -> UInt64 {
        var mixed = last.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        // The end of SplitMix64, which makes different numbers of different ones.
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    private static let last = Atomic(UInt64.random(in: .min ... .max))

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

extension HTTPField.Name {
    static let requestID = wellFormed("x-request-id")

    /// For names that we wrote ourselves and that are known to be well formed.
    static func wellFormed(_ name: String) -> Self {
        guard let field = Self(name) else { preconditionFailure("\(name) is no header name.") }
        return field
    }
}
