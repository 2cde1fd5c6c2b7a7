import Engine
import HTTPTypes
import Hummingbird
import Ledger
import PerennialContract
import RevenueCatWebhooks
import RevenueCatWire
import Storage

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension HTTPField.Name {
    fileprivate static let isSandbox = wellFormed("X-Is-Sandbox")
}

/// The common parts of all routes for RevenueCat's SDK: the key, the environment, the response
/// about a customer, and the form of errors.
struct RevenueCatGate: RouteGroup {
    let server: PerennialServer

    /// Who may call a route.
    enum Callers {
        /// RevenueCat's SDK, with one of the app's public keys of RevenueCat. It has the rights of
        /// an app key.
        case devices
        /// Backends, with a secret key of ours that has a scope.
        case servers(KeyScope)
        case both(KeyScope)

        var scope: KeyScope? {
            switch self {
            case .devices: nil
            case .servers(let scope), .both(let scope): scope
            }
        }

        fileprivate var keys: String {
            switch self {
            case .devices: "RevenueCat's public key"
            case .servers: "a secret key (sk_…)"
            case .both: "RevenueCat's public key or a secret key (sk_…)"
            }
        }
    }

    /// Which failures are final answers, after which the SDK does not send the request again.
    enum Finality {
        /// Every 4xx but 429.
        case usual
        /// Only a verdict about the document, because the SDK would finish the transaction.
        case receipt
        /// As usual, except for a missing or expired token: after the next log-in, the SDK can
        /// prove whose attributes these are.
        case attributes
    }

    /// A route that requires a key.
    ///
    /// - Parameters:
    ///   - signed: which answers to devices are signed.
    ///   - finality: which failures are final answers.
    func keyed(
        _ method: HTTPRequest.Method, _ path: String, _ id: String,
        from callers: Callers = .devices, signed: RevenueCatSigned = .never,
        finality: Finality = .usual, _ answer: @escaping Route.KeyedHandler
    ) -> Route {
        route(method, path, id, finality) { request, context in
            let holder = try await holder(
                of: request, among: callers, isReceipt: finality == .receipt)
            try server.meter.count(with: holder)
            let request = Self.proven(request)
            let isServer = holder.kind == .secret
            let author = context.author.record(holder, actor: isServer ? try request.actor() : nil)
            context.bodyShare?.use(.withKey)
            return try await EventAuthor.$current.withValue(author) {
                guard isServer else {
                    let key = BearerKey(request.headers)?.text ?? ""
                    return try await signing.respond(
                        to: request, signed, for: holder.app, key: key
                    ) { try await answer($0, context, holder) }
                }
                do { return try await answer(request, context, holder) } catch {
                    throw Self.problem(error, .usual, context)
                }
            }
        }
    }

    /// A route without a key. If the SDK verifies responses and only one app is configured for the
    /// SDK, responses are signed for this app. With several apps, the request does not say which
    /// app it comes from, so responses are not signed.
    func open(
        _ method: HTTPRequest.Method, _ path: String, _ id: String,
        _ answer: @escaping Route.Handler
    ) -> Route {
        route(method, path, id, .usual) { request, context in
            let apps = engine.context.appsOfRevenueCat
            guard apps.count == 1, let app = apps.first else {
                return try await answer(request, context)
            }
            return try await signing.respond(to: request, .withNonce, for: app, key: "") {
                try await answer($0, context)
            }
        }
    }

    private var signing: RevenueCatAnswerSigner { RevenueCatAnswerSigner(server: server) }

    private func route(
        _ method: HTTPRequest.Method, _ path: String, _ id: String, _ finality: Finality,
        _ answer: @escaping Route.Handler
    ) -> Route {
        var operation = OpenAPIOperation(
            method, path, id, "For RevenueCat's SDK", output: .object("RevenueCat's."))
        operation.isIndentable = false
        operation.isLimited = false
        return Route(operation: operation) { request, context in
            var response: Response
            do {
                try server.authorization.countAddress(of: request, context)
                response = try await answer(request, context)
            } catch {
                response = try Self.problem(error, finality, context).response()
            }
            if response.headers[.requestTime] == nil {
                response.headers[.requestTime] = String(engine.context.serverTime.milliseconds)
            }
            return response
        }
    }

    private static func problem(
        _ error: any Error, _ finality: Finality, _ context: ServerContext
    ) -> RevenueCatProblem {
        if let problem = error as? RevenueCatProblem { return problem }
        let failure = error as? EngineFailure
        let problem =
            failure.map { ProblemError($0, subject: .customer) } ?? ProblemError(anything: error)
        problem.log(requestID: context.requestID, to: context.logger)
        let isFinal =
            switch finality {
            case .usual: Self.isFinal(problem)
            // If a receipt is posted in a defective request, the failure is not final: the bytes
            // may have been damaged on their way, or a later version of the SDK may use another
            // form.
            case .receipt: failure?.isFinalForDocument ?? false
            case .attributes: Self.isFinal(problem) && problem.problem.status != 401
            }
        return RevenueCatProblem(problem, isFinal: isFinal)
    }

    private static func isFinal(_ problem: ProblemError) -> Bool {
        let later: Set<HTTPResponse.Status> = [.tooManyRequests, .requestTimeout]
        let status = HTTPResponse.Status(code: problem.problem.status)
        return status.code < 500 && !later.contains(status)
    }

    private func holder(
        of request: Request, among callers: Callers, isReceipt: Bool
    ) async throws -> StoredKey {
        guard let key = BearerKey(request.headers)?.text else { throw ProblemError(.keyMissing) }
        let publicKey = RevenueCatToken(key)?.key ?? key
        guard let app = engine.context.app(ofRevenueCatKey: publicKey) else {
            // Only the beginning of the key is checked, so the response does not reveal whether the
            // key exists.
            if key.hasPrefix("pk_"), !isReceipt {
                throw RevenueCatProblem(
                    .unauthorized, .keyUnknown,
                    "This route takes \(callers.keys), not an app key (pk_…).")
            }
            return try await server(of: request, with: callers.scope)
        }
        if case .servers = callers {
            throw RevenueCatProblem(
                .forbidden, .keyUnknown, "This call needs a secret key of Perennial (sk_…).")
        }
        return StoredKey(
            app: app, hash: [], kind: .app, name: "revenuecat",
            createdAt: Instant(milliseconds: 0))
    }

    /// The holder of a secret key.
    ///
    /// - Parameter scope: the scope that the key needs. Nil if the call is for devices only.
    private func server(of request: Request, with scope: KeyScope?) async throws -> StoredKey {
        let holder = try await server.authorization.holder(of: request, for: scope ?? .read)
        guard holder.kind == .secret else { throw ProblemError(.keyUnknown) }
        guard scope != nil else {
            throw RevenueCatProblem(
                .forbidden, .keyIsSecret, "This call needs the public key in the app.")
        }
        return holder
    }

    // MARK: - Requests

    /// Decodes a body that the SDK has sent. `app_user_id` becomes the property `appUserId`, and so
    /// on.
    static func value<Value: Decodable>(
        _ type: Value.Type, of request: Request, max bytesMax: Int
    ) async throws -> Value {
        try await request.lenientValue(type, max: bytesMax, names: .convertFromSnakeCase)
    }

    /// The environment that the app claims to run in. Sandbox purchases never open production
    /// access.
    static func environment(of request: Request) -> Ledger.Environment {
        request.headers[.isSandbox] == "true" ? .sandbox : .production
    }

    /// A customer's state, after the proof of identity that the app may require.
    func state(
        of id: CustomerID, _ request: Request, _ holder: StoredKey
    ) async throws -> CustomerState {
        try await server.authorization.requireProof(of: id, request.headers, holder)
        return try await engine.customers.find(
            id, app: holder.app, environment: Self.environment(of: request))
    }

    // MARK: - Responses

    /// Responds with a customer in the form that the SDK reads. A backend also gets the attributes.
    func respond(_ state: CustomerState, to holder: StoredKey) async throws -> Response {
        try JSONResponse.ok(try await subscriber(state, for: holder).value)
    }

    func subscriber(
        _ state: CustomerState, for holder: StoredKey
    ) async throws -> RevenueCatSubscriber {
        guard holder.kind == .secret else { return RevenueCatSubscriber(state) }
        return RevenueCatSubscriber(
            state, attributes: try await engine.attributes.all(of: state.id, app: holder.app))
    }

    /// Responds with a value, or with 304 if the SDK has it already. A tag covers the content and
    /// not the request; a request without a tag is never answered with 304.
    func respond(
        _ value: RevenueCatValue, taggedBy content: RevenueCatValue, to request: Request
    ) throws -> Response {
        let tag = ContentTag.text(of: try ContractEncoder().encode(content))
        var response =
            request.headers[.revenueCatTag] == tag
            ? Response(status: .notModified) : try JSONResponse.ok(value)
        response.headers[.revenueCatTag] = tag
        return response
    }

    /// Accepts a request whose content is not stored.
    @Sendable func accept(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        _ = try await request.bytes(max: BodyLimit.events)
        return try JSONResponse.ok(RevenueCatValue.object([]))
    }
}

extension RevenueCatSubscriber {
    init(_ state: CustomerState, attributes: [CustomerAttribute]? = nil) {
        self.init(
            of: state.id, in: state.environment, at: state.asOf,
            purchases: state.purchases.map { Purchase($0.timeline, $0.access) },
            grants: state.grants, entitlements: state.entitlements, attributes: attributes)
    }
}
