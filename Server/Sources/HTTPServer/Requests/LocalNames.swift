import HTTPTypes
import Hummingbird
import NIOCore

/// The names by which a program for development may be reached. No other site can use these names.
///
/// A program for development requires no secret. So a page of another site must not reach the
/// program from a browser on the same machine. The page could try it with a request to the program,
/// or with a host name of its site that leads to the program (DNS rebinding). Browsers report the
/// origin of a request in `Origin` and `Sec-Fetch-Site` (Fetch Metadata Request Headers). Other
/// programs send neither field.
package struct LocalNames: Sendable {
    /// Names with these endings cannot be registered (RFC 6761, RFC 6762, RFC 8375, and ICANN's
    /// reservation of `internal`).
    private static let reservedEndings = [
        ".localhost", ".local", ".internal", ".test", ".home.arpa",
    ]

    /// Further names that are accepted, in lower case.
    private let others: Set<String>

    package init(others: [String] = []) { self.others = Set(others.map { $0.lowercased() }) }

    /// Returns a sentence that says why a request is refused, or nil if the request is accepted.
    package func refusal(of request: HTTPRequest) -> String? {
        let authority = request.authority?.lowercased() ?? ""
        if !authority.isEmpty, !isLocal(Self.host(of: authority)) {
            return "This program answers only to names of this machine, such as localhost."
        }
        // A proxy on this machine may add TLS.
        let own = ["http://", "https://"].map { $0 + authority }
        guard request.headerFields[.origin].map({ own.contains($0.lowercased()) }) ?? true else {
            return "A page of another site has sent this."
        }
        let isFromElsewhere = ["cross-site", "same-site"].contains(
            request.headerFields[.fetchSite])
        // A link on another site may lead here.
        let isVisit =
            request.method == .get && request.headerFields[.fetchMode] == "navigate"
        return isFromElsewhere && !isVisit ? "A page of another site has sent this." : nil
    }

    /// Whether no other site can use a name: an address, a name without a dot, or a name that
    /// cannot be registered.
    private func isLocal(_ host: String) -> Bool {
        CanonicalAddress(host) != nil || !host.contains(".") || others.contains(host)
            || Self.reservedEndings.contains(where: host.hasSuffix)
    }

    /// The host without the port.
    private static func host(of authority: String) -> String {
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            return String(authority[...end])
        }
        return String(authority.prefix { $0 != ":" })
    }
}

/// Refuses the requests that ``LocalNames`` refuses, before any other work.
package struct LocalResponder<Responder: HTTPResponder>: HTTPResponder {
    let names: LocalNames
    let responder: Responder

    package init(_ responder: Responder, for names: LocalNames) {
        (self.responder, self.names) = (responder, names)
    }

    @concurrent package func respond(
        to request: Request, context: Responder.Context
    ) async throws -> Response {
        if let refusal = names.refusal(of: request.head) {
            return Response(
                status: .forbidden, headers: [.contentType: "text/plain; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: refusal + "\n")))
        }
        return try await responder.respond(to: request, context: context)
    }
}

extension HTTPField.Name {
    fileprivate static let fetchSite = wellFormed("Sec-Fetch-Site")
    fileprivate static let fetchMode = wellFormed("Sec-Fetch-Mode")
}
