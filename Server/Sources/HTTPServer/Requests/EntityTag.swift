import HTTPTypes
import Hummingbird

/// The version of a response, by which a client asks whether it changed (RFC 9110 §8.8.3). Always
/// weak: a signature in the response may differ while the content is the same.
struct EntityTag {
    private let opaque: String

    init(_ version: String) { opaque = "\"\(version)\"" }

    /// Whether an `If-None-Match` names this version (RFC 9110 §13.1.2).
    func matches(_ header: String?) -> Bool {
        guard let header else { return false }
        return header.split(separator: ",").contains { part in
            let tag = part.trimmingPrefix { $0 == " " || $0 == "\t" }
                .prefix { $0 != " " && $0 != "\t" }
            return tag == "*" || tag == opaque || tag == "W/" + opaque
        }
    }

    /// The response with this version, or 304 without a body if the client has it already. A cache
    /// must ask each time.
    func respond(to request: Request, with response: () throws -> Response) rethrows -> Response {
        var answer =
            matches(request.headers[.ifNoneMatch])
            ? Response(status: .notModified) : try response()
        answer.headers[.eTag] = "W/" + opaque
        answer.headers[.cacheControl] = "private, no-cache"
        return answer
    }
}
