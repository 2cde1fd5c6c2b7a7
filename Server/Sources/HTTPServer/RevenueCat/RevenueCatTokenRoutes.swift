import Engine
import Hummingbird
import Ledger
import RevenueCatWebhooks
import RevenueCatWire
import Storage

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The routes by which RevenueCat's SDK logs in and out in token mode. The SDK then names the
/// customer by a token on all other routes.
struct RevenueCatTokenRoutes: RouteGroup {
    /// The validity of a token of an id without log-in, in seconds: ten years. It does not end in
    /// fact, because such an id does not, but the SDK requires a number.
    private static let anonymousSeconds: Int64 = 315_360_000

    let server: PerennialServer

    private var gate: RevenueCatGate { RevenueCatGate(server: server) }

    var all: [Route] {
        [
            gate.keyed(.post, "/auth/login", "revenueCatTokenLogIn", logIn),
            gate.keyed(.post, "/auth/token", "revenueCatTokenRefresh", refresh),
            gate.keyed(.post, "/auth/revoke", "revenueCatTokenRevoke", revoke),
        ]
    }

    private struct LogIn: Decodable {
        /// How the person logs in: `anonymous`, `oidc`, or a name of a provider.
        var method: String
        /// What proves who the person is.
        var idToken: String?
        /// The `id_token` of the customer whom the device was before.
        var linkToId: String?
    }

    @Sendable func logIn(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let asked = try await RevenueCatGate.value(LogIn.self, of: request, max: BodyLimit.order)
        switch asked.method {
        case "anonymous":
            return try respond(
                Self.newDevice(), nil, endingAfter: Self.anonymousSeconds, to: request)
        case "oidc": return try await logIn(asked, request, holder)
        default:
            throw RevenueCatProblem(
                .badRequest, .invalidToken,
                "This server cannot check tokens of \(EngineFailure.shortened(asked.method)). "
                    + "Let your own server sign a token, and log in with the identity oidc.")
        }
    }

    /// Logs a person in with a JWT that the app's own server has signed: the proof of identity of
    /// our own routes. Every later request carries it, so the log-in ends when the proof ends.
    private func logIn(
        _ asked: LogIn, _ request: Request, _ holder: StoredKey
    ) async throws -> Response {
        guard let proof = asked.idToken else {
            throw RevenueCatProblem(.badRequest, .invalidToken, "id_token is missing.")
        }
        guard let identity = try engine.customers.identity(provenBy: proof, app: holder.app) else {
            throw RevenueCatProblem(
                .badRequest, .invalidToken,
                "Log-in with a token needs `proof: jwt` below identity in perennial.yaml.")
        }
        // The device's request for the two ids, with the proof of the second one.
        let proven = RevenueCatGate.proven(request, by: proof)
        let device = asked.linkToId.flatMap { RevenueCatToken($0) }?.id ?? identity.id
        _ = try await RevenueCatRoutes(server: server).join(
            device, to: identity.id, proven, holder)
        return try respond(
            identity.id, proof,
            endingAfter: identity.until.seconds(after: engine.context.serverTime), to: request)
    }

    /// The id of a device on which nobody has logged in, in the SDK's own form.
    private static func newDevice() -> CustomerID {
        CustomerID(
            rawValue: CustomerID.revenueCatAnonymousPrefix
                + UUID().uuidString.replacing("-", with: "").lowercased())
    }

    private func respond(
        _ id: CustomerID, _ proof: String?, endingAfter seconds: Int64, to request: Request
    ) throws -> Response {
        let token = RevenueCatToken(
            key: BearerKey(request.headers)?.text ?? "", id: id, proof: proof)
        return try JSONResponse.ok(
            RevenueCatValue.object([
                .init("access_token", .string(try token.text)),
                .init("id_token", .string(try token.withoutProof.text)),
                .init("token_type", .string("Bearer")), .init("scope", .string("openid")),
                .init("expires_in", .integer(seconds)),
            ]))
    }

    /// There are no refresh tokens: a token of a device does not end, and one of a person ends with
    /// the proof. The SDK then reports that its credentials are not valid.
    @Sendable func refresh(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        _ = try await request.bytes(max: BodyLimit.order)
        throw RevenueCatProblem(
            .badRequest, .invalidToken, "This server issues no refresh tokens. Log in again.")
    }

    /// Tokens are not stored, so the device deletes its copy, and nothing else happens. An error
    /// would keep the person logged in.
    @Sendable func revoke(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        _ = try await request.bytes(max: BodyLimit.order)
        return try JSONResponse.ok(RevenueCatValue.object([]))
    }
}

extension Instant {
    /// The whole seconds from another moment to this one, at least 0.
    fileprivate func seconds(after other: Instant) -> Int64 {
        max(0, (milliseconds - other.milliseconds) / 1000)
    }
}
