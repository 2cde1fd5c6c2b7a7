import HTTPTypes
import Hummingbird

/// The version of a response, with which a client asks whether the response has changed (RFC 9110
/// §8.8.3).
package struct EntityTag: Hashable, Sendable {
    private let opaque: String
    private let isStrong: Bool

    /// - Parameter isStrong: whether responses with this version have the same bytes. False if only
    ///   their content is the same: a signature in them may differ.
    package init(_ version: String, isStrong: Bool = false) {
        opaque = "\"\(version)\""
        self.isStrong = isStrong
    }

    /// Suffixes that proxies add to the tag of an answer that they compress, as Apache's
    /// `mod_deflate` does. These proxies pass on the client's tag unchanged.
    private static let codings = ["-gzip", "-br", "-zstd", "-deflate"]

    /// Whether an `If-None-Match` names this version (RFC 9110 §13.1.2). Strong and weak tags are
    /// compared alike, because a proxy that compresses a response makes its tag a weak one.
    package func matches(_ header: String?) -> Bool {
        guard let header else { return false }
        return header.split(separator: ",").contains { part in
            let tag = part.trimmingPrefix { $0 == " " || $0 == "\t" }
                .prefix { $0 != " " && $0 != "\t" }
            return tag == "*" || Self.sent(tag) == opaque
        }
    }

    /// The tag as the server sent it: without the mark of a weak tag, and without a proxy's suffix.
    private static func sent(_ tag: Substring) -> String {
        let strong = String(tag.hasPrefix("W/") ? tag.dropFirst(2) : tag)
        for coding in codings where strong.hasSuffix(coding + "\"") {
            return strong.dropLast(coding.count + 1) + "\""
        }
        // Some proxies append the suffix after the quotation mark.
        for coding in codings where strong.hasSuffix("\"" + coding) {
            return String(strong.dropLast(coding.count))
        }
        return strong
    }

    /// The tag in the form of the header, for example `W/"0f4c…"`.
    package var text: String { (isStrong ? "" : "W/") + opaque }

    /// The `Cache-Control` of a response that a cache may send only after the server has confirmed
    /// it.
    package static let askEachTime = "private, no-cache"

    /// Returns the response with this version, or 304 without a body if the client already has it.
    ///
    /// - Parameter cacheControl: the header `Cache-Control` of either response.
    package func respond(
        to request: Request, cacheControl: String = Self.askEachTime,
        with response: () throws -> Response
    ) rethrows -> Response {
        var answer =
            matches(request.headers[.ifNoneMatch])
            ? Response(status: .notModified) : try response()
        answer.headers[.eTag] = text
        answer.headers[.cacheControl] = cacheControl
        return answer
    }
}
