import AppStoreFormats
import Ledger
import OutgoingHTTP

/// A request to a provider.
package struct OpenIDRequest: Hashable, Sendable {
    package var url: ProviderURL
    /// The body, in the form `application/x-www-form-urlencoded`. Nil for a request by `GET`.
    package var form: String?
    package var authorization: String?
    /// The maximum size of the answer's body, in bytes.
    package var answerBytesMax: Int
}

/// The answer of a provider.
package struct OpenIDResponse: Hashable, Sendable {
    package var status: Int
    package var body: [UInt8]

    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}

/// The client of one provider: signs operators in by the authorization code flow with PKCE (OpenID
/// Connect Core 1.0, 3.1; RFC 7636), and caches what the provider says about itself.
package actor OpenIDClient {
    /// How long the provider's configuration and keys are used before they are read again.
    package static let cacheLife = Duration.hours(1)
    /// The minimum time between two reads of the keys because of a key that they do not contain.
    package static let keysPause = Duration.seconds(60)
    /// After a failed read of the configuration, no other read begins for this time.
    package static let failurePause = Duration.seconds(5)
    /// The maximum time by which a request that began earlier may end later than another one.
    private static let requestSecondsMax = Duration.seconds(30)
    /// The maximum number of requests to the provider at one time.
    static let requestsMax = 8
    /// The maximum size of the answer with the tokens, in bytes.
    static let tokensBytesMax = 262_144
    /// The maximum length of a code, in bytes.
    static let codeBytesMax = 4_096

    package typealias Sender = @Sendable (OpenIDRequest) async throws -> OpenIDResponse

    package nonisolated let settings: OpenIDSettings
    private let send: Sender
    private var metadata: Cached<ProviderMetadata>?
    private var keys: Cached<ProviderKeys>?
    private var keysSearchedAt: Instant?
    private var failure: Cached<OpenIDFailure>?
    private var requests = 0

    private struct Cached<Value: Sendable> {
        var value: Value
        var readAt: Instant

        /// The value if it was read within a time. It may have been read after `now`, by a request
        /// that began at the same time; a clock that was set back further makes it too old.
        func value(within life: Duration, at now: Instant) -> Value? {
            readAt <= now + OpenIDClient.requestSecondsMax && now < readAt + life ? value : nil
        }
    }

    /// - Parameter send: sends a request; see ``sender(_:timeout:)``.
    package init(_ settings: OpenIDSettings, send: @escaping Sender) {
        self.settings = settings
        self.send = send
    }

    // MARK: - The two steps of a sign-in

    /// The address at the provider to which the browser is sent.
    package func authorizationURL(
        for ticket: SignInTicket, at now: Instant
    ) async throws(OpenIDFailure) -> String {
        try await metadata(at: now).authorizationEndpoint.appending(query: [
            ("response_type", "code"), ("client_id", settings.clientID),
            ("redirect_uri", settings.redirectURL),
            ("scope", settings.scopes.joined(separator: " ")), ("state", ticket.state),
            ("nonce", ticket.nonce), ("code_challenge", ticket.challenge),
            ("code_challenge_method", "S256"),
        ])
    }

    /// Exchanges the code that the browser brought for an ID token, and verifies the token.
    ///
    /// - Parameter issuer: the parameter `iss` of the answer to the browser; nil if it has none.
    package func identity(
        code: String, issuer: String?, for ticket: SignInTicket, at now: Instant
    ) async throws(OpenIDFailure) -> VerifiedIdentity {
        let metadata = try await metadata(at: now)
        // Otherwise a code of another provider could be sent to this one, or the reverse (RFC
        // 9207, 2.4).
        guard issuer == settings.issuer.text || issuer == nil && !metadata.namesIssuerInAnswer
        else { throw .rejected(.issuer) }
        guard (1...Self.codeBytesMax).contains(code.utf8.count) else {
            throw .refused(code: "invalid_request")
        }
        let answer = try await tokens(for: code, ticket, at: metadata)
        guard let token = answer["id_token"]?.string else {
            throw .unreadable("the answer with the tokens has no id_token")
        }
        let verifier = IDTokenVerifier(settings: settings)
        let unverified = try verifier.unverified(token)
        let key = try await key(
            id: unverified.keyID, for: unverified.algorithm, metadata, at: now)
        return try verifier.identity(
            unverified, signedBy: key, for: ticket, beside: answer["access_token"]?.string,
            at: now)
    }

    private func tokens(
        for code: String, _ ticket: SignInTicket, at metadata: ProviderMetadata
    ) async throws(OpenIDFailure) -> JSON {
        var form = [
            ("grant_type", "authorization_code"), ("code", code),
            ("redirect_uri", settings.redirectURL), ("code_verifier", ticket.verifier),
        ]
        var authorization: String?
        if metadata.takesSecretInBody {
            form += [
                ("client_id", settings.clientID), ("client_secret", settings.clientSecret.text),
            ]
        } else {
            // The id and the secret are encoded before they are joined (RFC 6749, 2.3.1).
            let pair =
                PercentEncoder.text(settings.clientID) + ":"
                + PercentEncoder.text(settings.clientSecret.text)
            let text = Base64.standard.encode(Array(pair.utf8))
            authorization = "Basic " + String(decoding: text, as: UTF8.self)
        }
        let answer = try await response(
            to: OpenIDRequest(
                url: metadata.tokenEndpoint, form: PercentEncoder.query(form),
                authorization: authorization, answerBytesMax: Self.tokensBytesMax))
        let json = try? JSON(parsing: answer.body)
        guard answer.status == 200 else {
            if (400..<500).contains(answer.status), let code = json?["error"]?.string {
                throw .refusal(code)
            }
            throw .unavailable("its token endpoint responded with the status \(answer.status)")
        }
        guard let json else { throw .unreadable("the answer with the tokens is not JSON") }
        return json
    }

    // MARK: - What the provider says about itself

    /// The provider's configuration. After a failure, the same failure is thrown for a short time,
    /// so that visitors cannot make this server send many requests to a provider that is away.
    package func metadata(at now: Instant) async throws(OpenIDFailure) -> ProviderMetadata {
        if let fresh = metadata?.value(within: Self.cacheLife, at: now) { return fresh }
        if let failed = failure?.value(within: Self.failurePause, at: now) { throw failed }
        let start = ContinuousClock.now
        do {
            let url = settings.issuer.appending(path: ProviderMetadata.path)
            let read = try ProviderMetadata(
                parsing: try await document(url, max: ProviderMetadata.bytesMax),
                of: settings.issuer)
            metadata = Cached(value: read, readAt: now)
            failure = nil
            return read
        } catch {
            // The pause begins after the request, which may have lasted longer than the pause.
            if error != .busy {
                failure = Cached(value: error, readAt: now + (ContinuousClock.now - start))
            }
            throw error
        }
    }

    /// The key with an id. Providers replace their keys, so an unknown id causes another read of
    /// the keys, but only once within ``keysPause``: anybody can make up ids.
    private func key(
        id: String?, for algorithm: SigningAlgorithm, _ metadata: ProviderMetadata, at now: Instant
    ) async throws(OpenIDFailure) -> ProviderKeys.Key? {
        if let known = keys?.value(within: Self.cacheLife, at: now) {
            if let key = known.key(id: id, for: algorithm) { return key }
            if let last = keysSearchedAt, last <= now, now < last + Self.keysPause { return nil }
        }
        let read = try ProviderKeys(
            parsing: try await document(metadata.keysURL.text, max: ProviderKeys.bytesMax))
        keysSearchedAt = now
        keys = Cached(value: read, readAt: now)
        return read.key(id: id, for: algorithm)
    }

    private func document(_ url: String, max bytes: Int) async throws(OpenIDFailure) -> [UInt8] {
        guard let url = ProviderURL(url) else {
            throw .unreadable("the address of its configuration is not valid")
        }
        let answer = try await response(to: OpenIDRequest(url: url, answerBytesMax: bytes))
        guard answer.status == 200 else {
            throw .unavailable("\(url.host) responded with the status \(answer.status)")
        }
        return answer.body
    }

    private func response(to request: OpenIDRequest) async throws(OpenIDFailure) -> OpenIDResponse {
        guard requests < Self.requestsMax else { throw .busy }
        requests += 1
        defer { requests -= 1 }
        let answer: OpenIDResponse
        do { answer = try await send(request) } catch let failure as OpenIDFailure {
            throw failure
        } catch {
            // The error of a connection names a host, but no body and no header.
            throw .unavailable("\(request.url.host) could not be reached")
        }
        guard answer.body.count <= request.answerBytesMax else {
            throw .unreadable("it has more than \(request.answerBytesMax) bytes")
        }
        return answer
    }
}
