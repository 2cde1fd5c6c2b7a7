import Engine
import Hummingbird
import PerennialContract

/// One method at one path.
struct Route: Sendable {
    var method: HTTPRequest.Method
    /// The path, with parameters in braces as in OpenAPI.
    var path: String
    var answer: Handler
    /// Whether `?pretty` indents the answer, where that is JSON. Not what has a form of its own:
    /// Apple's, or that of a file.
    var isIndentable = true

    typealias Handler = @Sendable (Request, ServerContext) async throws -> Response
    typealias KeyedHandler = @Sendable (Request, ServerContext, KeyHolder) async throws -> Response
}

extension PerennialServer {
    var routes: [Route] {
        [
            open(.post, Paths.notifications, notification),
            keyed(.post, Paths.purchases, purchases),
            keyed(.post, Paths.preview, preview),
            secret(.get, Paths.customers, asking: ["query"], customers),
            keyed(.get, "/v1/customers/{id}", customer),
            secret(.delete, "/v1/customers/{id}", erase),
            keyed(.post, "/v1/customers/{id}/aliases", alias),
            secret(
                .delete, "/v1/customers/{id}/aliases/{alias}", asking: ["environment"],
                removeAlias),
            secret(.get, "/v1/customers/{id}/transfers", asking: ["environment"], transfers),
            secret(.post, "/v1/customers/{id}/transfers", asking: ["environment"], transfer),
            secret(.delete, "/v1/customers/{id}/transfers/{transfer_id}", undoTransfer),
            secret(.post, "/v1/customers/{id}/blocks", asking: ["environment"], block),
            secret(
                .delete, "/v1/customers/{id}/blocks/{original_transaction_id}",
                asking: ["environment"], unblock),
            secret(.get, "/v1/customers/{id}/grants", asking: ["environment"], grants),
            secret(.post, "/v1/customers/{id}/grants", asking: ["environment"], grant),
            secret(.delete, "/v1/customers/{id}/grants/{grant_id}", withdraw),
            secret(
                .get, "/v1/customers/{id}/history", asking: ["environment", "after", "limit"],
                history),
            secret(.get, "/v1/customers/{id}/consumption", asking: ["environment"], consumption),
            secret(
                .put, "/v1/customers/{id}/consumption", asking: ["environment"], updateConsumption),
            keyed(.get, "/v1/customers/{id}/offers", offers),
            keyed(.post, Paths.offerSignatures, signOffer),
            open(.get, Paths.publishedKeys, publishedKeys),
            secret(.get, Paths.events, asking: ["after", "limit", "customer_id"], events),
            secret(.get, Paths.forwards, asking: ["state", "after", "limit"], forwards),
            secret(.post, "/v1/forwards/{document_id}/retry", retryForwards),
            keyed(.get, "/v1/customers/{id}/wallets/{currency}", wallet),
            secret(
                .post, "/v1/customers/{id}/wallets/{currency}/debits", asking: ["environment"],
                debit),
            keyed(.get, "/v1/customers/{id}/content", content),
            // Requires a key if the request has no signed link.
            verbatim(.get, "/v1/content/{content_id}/file", file),
            open(.get, Paths.health, health),
            open(.get, Paths.ready, ready),
            open(.get, Paths.metrics, metrics),
            open(.get, Paths.openAPI, openAPI),
        ] + legacyRoutes
    }

    /// Empty if no app accepts receipts.
    private var legacyRoutes: [Route] {
        guard engine.acceptsLegacy else { return [] }
        return [
            verbatim(.post, Paths.verifyReceipt, verifyReceipt),
            verbatim(.post, Paths.sandboxVerifyReceipt, sandboxVerifyReceipt),
        ]
    }

    private func open(
        _ method: HTTPRequest.Method, _ path: String, _ answer: @escaping Route.Handler
    ) -> Route {
        Route(method: method, path: path, answer: answer)
    }

    /// An open route whose response is sent as it is, also with `?pretty`.
    private func verbatim(
        _ method: HTTPRequest.Method, _ path: String, _ answer: @escaping Route.Handler
    ) -> Route {
        Route(method: method, path: path, answer: answer, isIndentable: false)
    }

    /// A route that requires a key. The key is checked before anything of the request is read.
    /// Engine failures are reported as problems about a customer, unless the route itself maps
    /// them.
    private func keyed(
        _ method: HTTPRequest.Method, _ path: String, _ answer: @escaping Route.KeyedHandler
    ) -> Route {
        Route(method: method, path: path) { request, context in
            do {
                let holder = try await holder(of: request)
                context.bodyShare?.use(.withKey)
                return try await answer(request, context, holder)
            } catch let failure as EngineFailure {
                throw ProblemError(failure, subject: .customer)
            }
        }
    }

    /// A route for servers, which requires a secret key, because anybody could extract a key from
    /// an app. The query may contain only the parameters listed, and the body is a ``StrictBody``.
    private func secret(
        _ method: HTTPRequest.Method, _ path: String, asking query: [String] = [],
        _ answer: @escaping Route.KeyedHandler
    ) -> Route {
        keyed(method, path) { request, context, holder in
            guard holder.kind == .secret else { throw ProblemError.keyNotSecret }
            try request.requireQuery(among: query)
            return try await answer(request, context, holder)
        }
    }

    func holder(of request: Request) async throws -> KeyHolder {
        guard let key = BearerKey(request.headers)?.text else { throw ProblemError.keyMissing }
        guard let holder = try await keys.holder(of: key, in: engine) else {
            throw ProblemError.keyUnknown
        }
        return holder
    }
}

/// The key of a request, sent according to RFC 6750. The scheme's name is not case-sensitive (RFC
/// 9110, section 11.1).
struct BearerKey {
    private static let scheme = Array("bearer ".utf8)

    var text: String

    init?(_ headers: HTTPFields) {
        guard var value = headers[.authorization], let text = value.withUTF8(Self.text) else {
            return nil
        }
        self.text = text
    }

    private static func text(_ value: UnsafeBufferPointer<UInt8>) -> String? {
        let space = UInt8(ascii: " ")
        guard value.count > scheme.count else { return nil }
        // Upper-case and lower-case letters differ in one bit.
        for index in scheme.indices where value[index] | 0x20 != scheme[index] { return nil }
        let rest = value[scheme.count...].drop { $0 == space }
        guard !rest.isEmpty, !rest.contains(space) else { return nil }
        return String(decoding: UnsafeBufferPointer(rebasing: rest), as: UTF8.self)
    }
}
