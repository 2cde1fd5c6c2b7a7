import Hummingbird
import Logging
import NIOCore
import PerennialContract

/// A request that failed: the problem for the client, and details for the operator only.
struct ProblemError: Error {
    var problem: Problem
    /// Logged, never sent to the client.
    var operatorDetail: String?
    var headers: HTTPFields = [:]

    init(
        _ code: ProblemCode, _ title: String, detail: String? = nil, remedy: String,
        operatorDetail: String? = nil
    ) {
        let status = ProblemStatus.status(of: code)
        problem = Problem(
            code: code, status: status.code, title: title, detail: detail, remedy: remedy)
        self.operatorDetail = operatorDetail
        if status == .serviceUnavailable {
            headers[.retryAfter] = String(ProblemStatus.retryAfterSeconds)
        }
    }

    /// Wraps any error: one of ours, one of Hummingbird's, or an unexpected one.
    init(anything error: any Error) {
        switch error {
        case let refused as ProblemError: self = refused
        case let error as HTTPError where error.status == .notFound: self = .routeUnknown
        case let error as HTTPError:
            self.init(
                .requestNotUnderstood, "The request could not be understood.", detail: error.body,
                remedy: "Compare it with /openapi.json.", operatorDetail: "\(error)")
        default:
            self.init(
                .serverFailed, "The server failed.",
                remedy: "Try again. If it fails again, send this request_id to the operator.",
                operatorDetail: "\(type(of: error)): \(error)")
        }
    }

    func response(to context: ServerContext, isIndented: Bool) -> Response {
        log(requestID: context.requestID, to: context.logger)
        var response = Response(status: .init(code: problem.status), headers: headers)
        response.headers[.contentType] = Problem.mediaType
        response.body = ResponseBody(
            byteBuffer: body(
                requestID: context.requestID, context.logger, isIndented: isIndented))
        return response
    }

    /// Returns the problem as JSON.
    func body(requestID: String, _ logger: Logger, isIndented: Bool = false) -> ByteBuffer {
        var problem = problem
        problem.requestID = requestID
        do { return try JSONResponse.json(problem, isIndented: isIndented) } catch {
            // Cannot happen with strings and one number. The status alone says enough.
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
        logger.log(
            level: problem.status >= 500 ? .error : .notice, "request refused", metadata: metadata)
    }
}

// MARK: - Problems of requests in general

extension ProblemError {
    static var keyMissing: ProblemError {
        var refused = ProblemError(
            .keyMissing, "The request has no key.",
            remedy: "Send the header Authorization: Bearer KEY. `perennial keys create` makes one.")
        refused.headers[.wwwAuthenticate] = "Bearer"
        return refused
    }

    static var keyUnknown: ProblemError {
        var refused = ProblemError(
            .keyUnknown, "The key is not known to this server.",
            remedy: "Check that it belongs to this server. `perennial keys create` makes a key.")
        refused.headers[.wwwAuthenticate] = "Bearer error=\"invalid_token\""
        return refused
    }

    static var keyNotSecret: ProblemError {
        ProblemError(
            .keyNotSecret, "This needs a secret key, and the request has an app key.",
            remedy: "Use a secret key (sk_…) on your server. Never put one into an app.")
    }

    static var routeUnknown: ProblemError {
        ProblemError(
            .routeUnknown, "There is nothing at this path.",
            remedy: "Look for the path in /openapi.json.")
    }

    static func method(_ method: HTTPRequest.Method, allowed: [HTTPRequest.Method]) -> ProblemError
    {
        let names = allowed.map(\.rawValue).sorted().joined(separator: ", ")
        var refused = ProblemError(
            .methodNotAllowed, "This path does not support \(method.rawValue).",
            remedy: "Use \(names).")
        refused.headers[.allow] = names
        return refused
    }

    /// Closes the connection, because otherwise the server would wait for the rest of the body.
    static func bodyTooSlow(seconds: Int64) -> ProblemError {
        var refused = ProblemError(
            .bodyTooSlow, "The body arrived too slowly.",
            detail: "It must arrive within \(seconds) seconds.", remedy: "Send it again.")
        refused.headers[.connection] = "close"
        return refused
    }

    static func bodyTooLarge(bytesMax: Int) -> ProblemError {
        ProblemError(
            .bodyTooLarge, "The body is too large.", detail: "At most \(bytesMax) bytes are read.",
            remedy: "Send a smaller body.")
    }

    /// The body is valid JSON but not what the route expects.
    static func bodyNotUnderstood(
        _ detail: String, remedy: String = "Compare it with /openapi.json."
    ) -> ProblemError {
        ProblemError(
            .bodyNotUnderstood, "The body does not have the expected form.", detail: detail,
            remedy: remedy)
    }

    /// Throws if a reason is too long to be stored.
    static func requireLength(for reason: String, bytesMax: Int) throws {
        guard reason.utf8.count <= bytesMax else {
            throw bodyNotUnderstood(
                "reason must have at most \(bytesMax) bytes of UTF-8.", remedy: "Shorten it.")
        }
    }
}
