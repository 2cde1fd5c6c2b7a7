import Hummingbird
import Logging
import NIOCore
import PerennialContract

/// A request that failed: the problem for the client, and details for the operator only.
struct ProblemError: Error {
    var problem: Problem
    /// The operator's detail, which is logged and never sent to the client.
    var operatorDetail: String?
    var headers: HTTPFields

    /// - Parameter detail: what exactly is wrong with this request; nil to send the detail of the
    ///   catalogue's entry.
    init(
        _ entry: ProblemCatalogue.Entry, detail: String? = nil, operatorDetail: String? = nil
    ) {
        problem = Problem(
            code: entry.code, status: entry.status.code, title: entry.title,
            detail: detail ?? entry.detail, remedy: entry.remedy)
        self.operatorDetail = operatorDetail
        headers = entry.headers
    }

    /// One caller has reached a limit.
    ///
    /// - Parameter max: the limit.
    /// - Parameter retryAfter: how long to wait. A fraction of a second counts as a whole second.
    init(
        _ limit: CallerLimit, max: Int,
        retryAfter: Duration = .seconds(ProblemCatalogue.retryAfterSeconds)
    ) {
        self.init(.limitReached(limit, max: max))
        problem.limit = limit.rawValue
        let (seconds, fraction) = retryAfter.components
        headers[.retryAfter] = String(Swift.max(1, seconds + (fraction > 0 ? 1 : 0)))
    }

    init(_ code: ProblemCode, detail: String? = nil, operatorDetail: String? = nil) {
        self.init(ProblemCatalogue.Entry.of(code), detail: detail, operatorDetail: operatorDetail)
    }

    /// Wraps any error: an error of ours, an error of Hummingbird's, or an unexpected error.
    init(anything error: any Error) {
        switch error {
        case let refused as ProblemError: self = refused
        case let error as HTTPError where error.status == .notFound: self.init(.routeUnknown)
        case let error as HTTPError:
            self.init(.requestNotUnderstood, detail: error.body, operatorDetail: "\(error)")
        default: self.init(.serverFailed, operatorDetail: "\(type(of: error)): \(error)")
        }
    }

    /// Throws if a reason is too long to be stored.
    static func requireLength(for reason: String, bytesMax: Int) throws {
        guard reason.utf8.count <= bytesMax else {
            throw ProblemError(.reasonTooLong(bytesMax: bytesMax))
        }
    }

    /// Throws if a required reason is blank, or too long to be stored.
    static func requireReason(_ reason: String, bytesMax: Int) throws {
        guard reason.contains(where: { !$0.isWhitespace }) else {
            throw ProblemError(.reasonMissing)
        }
        try requireLength(for: reason, bytesMax: bytesMax)
    }

    func response(
        to context: ServerContext, at now: Timestamp, isIndented: Bool
    ) -> Response {
        log(requestID: context.requestID, to: context.logger)
        var response = Response(status: .init(code: problem.status), headers: headers)
        response.headers[.contentType] = Problem.mediaType
        response.body = ResponseBody(
            byteBuffer: body(
                requestID: context.requestID, at: now, context.logger, isIndented: isIndented))
        return response
    }

    /// Returns the problem as JSON.
    func body(
        requestID: String, at now: Timestamp, _ logger: Logger, isIndented: Bool = false
    ) -> ByteBuffer {
        var problem = problem
        problem.requestID = requestID
        problem.serverTime = now
        do { return try JSONResponse.json(problem, isIndented: isIndented) } catch {
            // Encoding strings and one number cannot fail. If the encoding failed, the status alone
            // would say enough.
            logger.error(
                "encoding a problem failed",
                metadata: ["error": "\(error)", "request_id": .string(requestID)])
            return ByteBuffer()
        }
    }

    func log(requestID: String, to logger: Logger) {
        var metadata: Logger.Metadata = [
            "code": .string(problem.code.rawValue), "request_id": .string(requestID),
        ]
        if let operatorDetail { metadata["detail"] = .string(operatorDetail) }
        if let detail = problem.detail { metadata["found"] = .string(detail) }
        logger.log(level: level, "request refused", metadata: metadata)
    }

    /// A caller beyond its limit may send many requests: ``LimitRefusals`` warns about it once a
    /// minute.
    private var level: Logger.Level {
        if problem.code == .limitReached { return .debug }
        return problem.status >= 500 ? .error : .notice
    }
}
