import Engine
import Hummingbird
import PerennialContract
import Storage

/// An operation and the function that answers it.
struct Route: Sendable {
    var operation: OpenAPIOperation
    var answer: Handler

    var method: HTTPRequest.Method { operation.method }
    var path: String { operation.path }

    typealias Handler = @Sendable (Request, ServerContext) async throws -> Response
    typealias KeyedHandler = @Sendable (Request, ServerContext, StoredKey) async throws -> Response

    /// Returns the route without a limit of requests, because it must always answer.
    func withoutLimit() -> Self {
        var route = self
        route.operation.isLimited = false
        return route
    }
}

extension PerennialServer {
    /// All routes. The routes of a subject are declared beside the functions that answer them.
    var routes: [Route] {
        [
            notificationRoutes.receiving, purchaseRoutes.all, customerRoutes.all,
            ownershipRoutes.all, grantRoutes.all,
            historyRoutes.all, personalDataRoutes.all, explanationRoutes.all, pingRoutes.all,
            offerRoutes.all, offeringRoutes.all, tokenRoutes.all, eventRoutes.all,
            forwardRoutes.all, webhookRoutes.all,
            walletRoutes.all, attributeRoutes.all, seatRoutes.all, reportRoutes.all,
            auditRoutes.all, documentRoutes.all,
            notificationRoutes.listing,
            configurationRoutes.all,
            consumptionRoutes.all,
            contentRoutes.all, operatorRoutes.all, verifyReceiptRoutes.all,
        ].flatMap(\.self)
    }

    /// The routes that RevenueCat's SDK and clients of its REST API call. RevenueCat defines these
    /// routes, so `/openapi.json` does not describe them. If no app is configured for the SDK, only
    /// the route for receipts exists. It asks the SDK to post receipts again later, because after a
    /// 404 the SDK would finish the transaction.
    var routesOfRevenueCat: [Route] {
        guard engine.context.servesRevenueCat else { return [revenueCatReceiptRoutes.posting] }
        return revenueCatRoutes.all + revenueCatReceiptRoutes.all + revenueCatOfferRoutes.all
            + RevenueCatAttributeRoutes(server: self).all
            + RevenueCatTokenRoutes(server: self).all
            + RevenueCatServerRoutes(server: self).all
            + RevenueCatProjectRoutes(server: self).all
            + RevenueCatPersonRoutes(server: self).all
    }

    /// A route that needs no key.
    func open(_ operation: OpenAPIOperation, _ answer: @escaping Route.Handler) -> Route {
        Route(operation: operation, answer: answer)
    }

    /// A route that needs no key, and whose response is sent unchanged, even with `?pretty`.
    func verbatim(
        _ operation: OpenAPIOperation, access: OpenAPIOperation.Access = .everyone,
        scope: KeyScope? = nil, _ answer: @escaping Route.Handler
    ) -> Route {
        var operation = operation
        operation.access = access
        operation.scope = scope
        operation.isIndentable = false
        return Route(operation: operation, answer: answer)
    }

    /// A route that requires a key. The key is checked before anything else of the request is read.
    /// With a secret key, the query may contain only the operation's parameters. With an app key,
    /// the query may have further parameters, but no misspelt parameter of the operation. Engine
    /// failures are reported as problems about a customer, unless the route itself maps them.
    ///
    /// - Parameter scope: the scope that a secret key needs.
    func keyed(
        for scope: KeyScope, _ operation: OpenAPIOperation, _ answer: @escaping Route.KeyedHandler
    ) -> Route {
        var operation = operation
        operation.access = .key
        operation.scope = scope
        let query = operation.queryParameters
        return Route(operation: operation) { request, context in
            do {
                let holder = try await authorization.caller(of: request, for: scope)
                switch holder.kind {
                case .secret: try request.requireQuery(among: query)
                case .app: try request.refuseMisspelling(of: query)
                }
                let author = context.author.record(
                    holder, actor: holder.kind == .secret ? try request.actor() : nil)
                context.bodyShare?.use(.withKey)
                return try await EventAuthor.$current.withValue(author) {
                    try await answer(request, context, holder)
                }
            } catch let failure as EngineFailure {
                throw ProblemError(failure, subject: .customer)
            }
        }
    }

    /// A route for servers. A route for servers requires a secret key, because anybody could
    /// extract a key from an app. The body is ``Strict``.
    ///
    /// - Parameter scope: the scope that the key needs.
    func secret(
        for scope: KeyScope, _ operation: OpenAPIOperation, _ answer: @escaping Route.KeyedHandler
    ) -> Route {
        var route = keyed(for: scope, operation) { request, context, holder in
            guard holder.kind == .secret else { throw ProblemError(.keyNotSecret) }
            return try await answer(request, context, holder)
        }
        route.operation.access = .secretKey
        return route
    }

    /// A route for servers with a secret key. Also for an app that sends an app key, and a proof
    /// that the customer is its own: see ``RequestAuthorization/requireProvenIdentity(of:_:_:)``.
    ///
    /// - Parameter scope: the scope that a secret key needs.
    func proven(
        for scope: KeyScope, _ operation: OpenAPIOperation, _ answer: @escaping Route.KeyedHandler
    ) -> Route {
        var operation = operation
        operation.parameters.append(.proof)
        return keyed(for: scope, operation) { request, context, holder in
            if holder.kind == .app {
                let id = try RequestReader.customerID(in: context)
                try await authorization.requireProvenIdentity(of: id, request.headers, holder)
            }
            return try await answer(request, context, holder)
        }
    }
}

extension RequestAuthorization {
    /// Returns the holder of the key in a request.
    ///
    /// - Throws: ``ProblemError`` if there is no key, if the key is unknown or has expired, or if
    ///   it is a secret key without the scope.
    func holder(of request: Request, for scope: KeyScope) async throws -> StoredKey {
        guard let key = BearerKey(request.headers)?.text else { throw ProblemError(.keyMissing) }
        try requireAccepted(key)
        guard let holder = try await server.keys.holder(of: key, in: engine) else {
            throw ProblemError(.keyUnknown)
        }
        try requireAccepted(holder)
        if let until = holder.until, engine.keys.hasPassed(until) {
            throw ProblemError(.keyExpired(at: until))
        }
        guard holder.kind == .app || holder.scopes.permit(scope) else {
            throw ProblemError(.keyScopeMissing(scope, has: holder.scopes))
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
