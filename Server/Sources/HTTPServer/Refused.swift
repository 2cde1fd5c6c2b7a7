import Hummingbird
import Logging
import NIOCore
import PerennialContract

/// A request that was not done: the problem for whoever asked, and what only the operator is told.
struct Refused: Error {
    var problem: Problem
    /// Logged, never sent.
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

    /// What was thrown anywhere below: ours, Hummingbird's, or something that nobody foresaw.
    init(anything error: any Error) {
        switch error {
        case let refused as Refused: self = refused
        case let error as HTTPError where error.status == .notFound: self = .routeUnknown
        case let error as HTTPError:
            self.init(
                .requestNotUnderstood, "The request could not be understood.", detail: error.body,
                remedy: "Compare it with /openapi.json.", operatorDetail: "\(error)")
        default:
            self.init(
                .serverFailed, "The server failed.",
                remedy: "Try again; if it stays so, tell the operator this request_id.",
                operatorDetail: "\(type(of: error)): \(error)")
        }
    }

    func response(to context: ServerContext) -> Response {
        log(requestID: context.requestID, to: context.logger)
        var response = Response(status: .init(code: problem.status), headers: headers)
        response.headers[.contentType] = Problem.mediaType
        response.body = ResponseBody(
            byteBuffer: body(requestID: context.requestID, context.logger))
        return response
    }

    /// The problem as JSON.
    func body(requestID: String, _ logger: Logger) -> ByteBuffer {
        var problem = problem
        problem.requestID = requestID
        do { return try Answers.json(problem) } catch {
            // Text and one number: cannot happen. The status says enough.
            logger.error(
                "problem not encoded",
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

// MARK: - What concerns no verb

extension Refused {
    static var keyMissing: Refused {
        var refused = Refused(
            .keyMissing, "The request has no key.",
            remedy: "Send the header Authorization: Bearer KEY. `perennial keys create` makes one.")
        refused.headers[.wwwAuthenticate] = "Bearer"
        return refused
    }

    static var keyUnknown: Refused {
        var refused = Refused(
            .keyUnknown, "The key is not known here.",
            remedy: "Look for a key of another server; `perennial keys create` makes a new one.")
        refused.headers[.wwwAuthenticate] = "Bearer error=\"invalid_token\""
        return refused
    }

    static var keyNotSecret: Refused {
        Refused(
            .keyNotSecret, "This is for servers, and the key is an app's.",
            remedy: "Ask from your server with a secret key (sk_…); never put one into an app.")
    }

    static var routeUnknown: Refused {
        Refused(
            .routeUnknown, "There is nothing at this path.",
            remedy: "Look for the path in /openapi.json.")
    }

    static func method(_ method: HTTPRequest.Method, allowed: [HTTPRequest.Method]) -> Refused {
        let names = allowed.map(\.rawValue).sorted().joined(separator: ", ")
        var refused = Refused(
            .methodNotAllowed, "This path does not take \(method.rawValue).",
            remedy: "Use \(names).")
        refused.headers[.allow] = names
        return refused
    }

    /// The connection is closed: else the rest would be waited for.
    static func bodyTooSlow(seconds: Int) -> Refused {
        var refused = Refused(
            .requestNotUnderstood, "The body came too slowly.",
            detail: "At most \(seconds) seconds are waited for it.", remedy: "Send it again.")
        refused.headers[.connection] = "close"
        return refused
    }

    static func bodyTooLarge(bytesMax: Int) -> Refused {
        Refused(
            .bodyTooLarge, "The body is too large.", detail: "At most \(bytesMax) bytes are read.",
            remedy: "Send less at once.")
    }

    /// It is JSON, and not what the route takes.
    static func bodyNotUnderstood(
        _ detail: String, remedy: String = "Compare it with /openapi.json."
    ) -> Refused {
        Refused(
            .bodyNotUnderstood, "The body is not what is expected here.", detail: detail,
            remedy: remedy)
    }

    /// Refuses a reason that is too long to be kept.
    static func requireRoom(for reason: String, bytesMax: Int) throws {
        guard reason.utf8.count <= bytesMax else {
            throw bodyNotUnderstood(
                "reason is longer than \(bytesMax) bytes of UTF-8.", remedy: "Shorten it.")
        }
    }
}
