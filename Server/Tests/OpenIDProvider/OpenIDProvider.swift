import AppStoreFormats
import Crypto
import Foundation
import Ledger
import OpenIDConnect
import Synchronization

/// A provider of OpenID Connect in this process. It follows the rules, except for those that a test
/// lets it break.
package final class OpenIDProvider: Sendable {
    package static let issuer = "https://login.example.com"
    package static let clientID = "perennial"
    package static let clientSecret = "a secret: of birds & bees"

    /// What the provider does differently. A member with the value `null` is left out.
    package struct Behaviour: Sendable {
        package var metadata: [String: JSON] = [:]
        package var header: [String: JSON] = [:]
        package var claims: [String: JSON] = [:]
        /// Members that are added to the claims, even if a claim has the same name.
        package var repeatedClaims: [JSON.Member] = []
        package var signer = TokenSigner.rsa
        /// The signers whose public keys the provider publishes.
        package var published: [TokenSigner] = [.rsa, .elliptic]
        /// The whole answers at some paths.
        package var answers: [String: OpenIDResponse] = [:]
        /// Thrown instead of an answer, for every request.
        package var failure: OpenIDFailure?
        /// Runs before each answer.
        package var pause: @Sendable () async -> Void = {}
        /// Whether a code works more than once.
        package var takesUsedCodes = false
    }

    private struct Code {
        var nonce: String?
        var challenge: String
        var redirectURL: String
        var claims: [String: JSON]
        var isUsed = false
    }

    private struct State {
        var behaviour = Behaviour()
        var codes: [String: Code] = [:]
        var requests: [String: Int] = [:]
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> Instant

    package init(now: @escaping @Sendable () -> Instant) { self.now = now }

    package static func settings(
        groupsClaim: String = "groups", redirectURL: String
    ) throws -> OpenIDSettings {
        guard let issuer = ProviderURL(issuer) else { throw CocoaError(.coderInvalidValue) }
        return OpenIDSettings(
            issuer: issuer, clientID: clientID, clientSecret: AppSecret(clientSecret),
            groupsClaim: groupsClaim, redirectURL: redirectURL)
    }

    package func change(_ body: @Sendable (inout Behaviour) -> Void) {
        state.withLock { body(&$0.behaviour) }
    }

    /// The number of requests to a path.
    package func requests(to path: String) -> Int { state.withLock { $0.requests[path] ?? 0 } }

    // MARK: - In the browser

    /// Signs a person in at the address to which this server sent the browser. Returns the address
    /// to which the provider sends the browser back. Returns nil if the address breaks a rule.
    package func signIn(at address: String, as person: [String: JSON]) -> String? {
        let query = Self.fields(address.split(separator: "?").last.map(String.init) ?? "")
        guard address.hasPrefix(Self.issuer + "/authorize?"), query["response_type"] == "code",
            query["client_id"] == Self.clientID, query["code_challenge_method"] == "S256",
            let challenge = query["code_challenge"], challenge.count == 43,
            let redirect = query["redirect_uri"], let sent = query["state"], sent.count >= 43,
            query["scope"]?.split(separator: " ").contains("openid") == true
        else { return nil }
        let code = "code-\(UUID().uuidString)"
        state.withLock {
            $0.codes[code] = Code(
                nonce: query["nonce"], challenge: challenge, redirectURL: redirect, claims: person)
        }
        return "\(redirect)?code=\(code)&state=\(sent)"
    }

    package static func fields(_ query: String) -> [String: String] {
        var fields: [String: String] = [:]
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { continue }
            fields[String(pair[0])] = pair[1].removingPercentEncoding
        }
        return fields
    }

    // MARK: - Requests of the server

    package var sender: OpenIDClient.Sender { { try await self.answer($0) } }

    private func answer(_ request: OpenIDRequest) async throws -> OpenIDResponse {
        let path = String(request.url.text.dropFirst(Self.issuer.count))
        let behaviour = state.withLock { state in
            state.requests[path, default: 0] += 1
            return state.behaviour
        }
        await behaviour.pause()
        if let failure = behaviour.failure { throw failure }
        if let answer = behaviour.answers[path] { return answer }
        switch path {
        case ProviderMetadata.path: return Self.json(metadata(behaviour))
        case "/keys":
            return Self.json(["keys": .array(behaviour.published.compactMap(\.publicKey))])
        case "/token": return tokens(request, behaviour)
        default: return OpenIDResponse(status: 404, body: [])
        }
    }

    private func metadata(_ behaviour: Behaviour) -> JSON {
        let own: [String: JSON] = [
            "issuer": .string(Self.issuer),
            "authorization_endpoint": .string(Self.issuer + "/authorize"),
            "token_endpoint": .string(Self.issuer + "/token"),
            "jwks_uri": .string(Self.issuer + "/keys"),
            "response_types_supported": ["code"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256"],
        ]
        return Self.object(own, behaviour.metadata)
    }

    private func tokens(_ request: OpenIDRequest, _ behaviour: Behaviour) -> OpenIDResponse {
        let form = Self.fields(request.form ?? "")
        guard isClient(request, form) else { return Self.refusal("invalid_client") }
        let code = state.withLock { state -> Code? in
            guard let id = form["code"], let code = state.codes[id] else { return nil }
            state.codes[id]?.isUsed = true
            return code.isUsed && !behaviour.takesUsedCodes ? nil : code
        }
        let verifier = Array((form["code_verifier"] ?? "").utf8)
        let challenge = Base64.url.encode(Array(SHA256.hash(data: verifier)))
        guard let code, form["grant_type"] == "authorization_code", verifier.count >= 43,
            form["redirect_uri"] == code.redirectURL,
            String(decoding: challenge, as: UTF8.self) == code.challenge
        else { return Self.refusal("invalid_grant") }
        let token = idToken(for: code, behaviour)
        return Self.json([
            "access_token": "access", "token_type": "Bearer", "id_token": .string(token),
        ])
    }

    /// Whether the request proves that it is from the client, in the header or in the body.
    private func isClient(_ request: OpenIDRequest, _ form: [String: String]) -> Bool {
        guard let authorization = request.authorization else {
            return form["client_id"] == Self.clientID && form["client_secret"] == Self.clientSecret
        }
        let text = Data(base64Encoded: String(authorization.dropFirst("Basic ".count)))
        let pair = String(decoding: text ?? Data(), as: UTF8.self).split(separator: ":")
            .map { $0.removingPercentEncoding }
        return form["client_secret"] == nil && pair == [Self.clientID, Self.clientSecret]
    }

    private func idToken(for code: Code, _ behaviour: Behaviour) -> String {
        let seconds = now().milliseconds / 1_000
        var claims: [String: JSON] = [
            "iss": .string(Self.issuer), "aud": .string(Self.clientID),
            "iat": .integer(seconds), "exp": .integer(seconds + 300),
            "nonce": code.nonce.map { .string($0) } ?? .null,
        ]
        claims.merge(code.claims) { $1 }
        guard case .object(var members) = Self.object(claims, behaviour.claims) else { return "" }
        members += behaviour.repeatedClaims
        return behaviour.signer.token(.object(members), header: behaviour.header)
    }

    static func object(_ own: [String: JSON], _ changes: [String: JSON]) -> JSON {
        let all = own.merging(changes) { $1 }
        return .object(
            all.filter { $0.value != .null }.sorted { $0.key < $1.key }
                .map { JSON.Member($0.key, $0.value) })
    }

    private static func refusal(_ code: String) -> OpenIDResponse {
        var answer = json(["error": .string(code), "error_description": "said by the provider"])
        answer.status = 400
        return answer
    }

    private static func json(_ json: JSON) -> OpenIDResponse {
        OpenIDResponse(status: 200, body: json.bytes)
    }
}
