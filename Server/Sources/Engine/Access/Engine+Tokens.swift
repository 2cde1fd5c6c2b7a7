import AppStoreFormats
import Crypto
import Ledger
import Storage
import Synchronization

/// The settings of the tokens that an app's customers carry.
package struct TokenRules: Hashable, Sendable {
    /// The time from `iat` to `exp`.
    package var life: Duration
    /// The `iss` of production tokens.
    package var issuer: String
    /// How many days an app without a network may rely on a token.
    package var offlineDays: Int

    package static let lifeDefault = Duration.seconds(3600)
    package static let lifeMax = Duration.hours(24)
    package static let issuerDefault = "perennial"
    package static let offlineDaysDefault = 30
    /// Appended to the issuer and the app's name in sandbox tokens, so that a verifier that forgets
    /// to check the environment rejects them. No app's name contains a slash.
    package static let sandboxSuffix = "/sandbox"

    package init(
        life: Duration = Self.lifeDefault, issuer: String = Self.issuerDefault,
        offlineDays: Int = Self.offlineDaysDefault
    ) {
        self.life = life
        self.issuer = issuer
        self.offlineDays = offlineDays
    }
}

/// A public key for verifying tokens.
package struct PublishedKey: Hashable, Sendable {
    package var id: String
    /// The coordinates of the point: base64url of 32 bytes each.
    package var x: String
    package var y: String
}

/// Signs tokens and caches them: a signature costs more than the rest of a response.
final class TokenMint: Sendable {
    /// When the cache exceeds this number, it is cleared.
    static let tokensMax = 10_000
    /// The time after which a key created by another server is used here, at most.
    static let keyLifeSeconds = 60

    struct SigningKey: Sendable {
        var id: String
        var key: P256.Signing.PrivateKey
    }

    private struct Remembered {
        var key: SigningKey
        var until: ContinuousClock.Instant
    }

    private struct Minted {
        var token: String
        var issuedAt: Instant
    }

    private struct Memory {
        var keys: [AppID: Remembered] = [:]
        var tokens: [[UInt8]: Minted] = [:]
    }

    private let memory = Mutex(Memory())

    /// Uses the machine's clock, not the engine's: virtual time may stand still or jump.
    func key(of app: AppID) -> SigningKey? {
        let now = ContinuousClock.now
        return memory.withLock { memory in
            memory.keys[app].flatMap { now < $0.until ? $0.key : nil }
        }
    }

    func remember(_ key: SigningKey, of app: AppID) {
        let until = ContinuousClock.now + .seconds(Self.keyLifeSeconds)
        memory.withLock { $0.keys[app] = Remembered(key: key, until: until) }
    }

    func forgetKey(of app: AppID) {
        _ = memory.withLock { $0.keys.removeValue(forKey: app) }
    }

    /// A token with these claims. It is signed again after half its life.
    func token(
        _ claims: [JSON.Member], by key: SigningKey, at now: Instant, life: Duration
    ) throws -> String {
        let name = Array(key.id.utf8) + JSON.object(claims).bytes
        let found = memory.withLock { memory in memory.tokens[name] }
        if let found, found.issuedAt <= now, now < found.issuedAt + life / 2 { return found.token }
        let token = try Self.sign(claims, by: key, at: now, life: life)
        memory.withLock { memory in
            if memory.tokens.count >= Self.tokensMax { memory.tokens.removeAll() }
            memory.tokens[name] = Minted(token: token, issuedAt: now)
        }
        return token
    }

    private static func sign(
        _ claims: [JSON.Member], by key: SigningKey, at now: Instant, life: Duration
    ) throws -> String {
        let issued = now.milliseconds / 1000
        let expiry = (now + life).milliseconds / 1000
        let payload = JSON.object(
            [.init("iat", .integer(issued)), .init("exp", .integer(expiry))] + claims)
        return try CompactJWS.text(payload, by: key.id) { bytes in
            [UInt8](try key.key.signature(for: bytes).rawRepresentation)
        }
    }
}

extension Engine {
    /// A retired key stays published until everything it signed has expired, plus a margin.
    private static let publishedAfterRetiring = TokenRules.lifeMax + .hours(1)

    /// The customer's entitlements, signed, so that others can check them without calling us.
    /// Returns nil if the app issues no tokens.
    package func token(for state: CustomerState, app appID: AppID) async throws(EngineFailure)
        -> String?
    {
        let (app, _) = try app(appID)
        guard app.tokens != nil else { return nil }
        return try token(for: state, of: app, by: try await signingKey(of: appID))
    }

    func token(
        for state: CustomerState, of app: AppSettings, by key: TokenMint.SigningKey
    ) throws(EngineFailure) -> String? {
        guard let rules = app.tokens else { return nil }
        do {
            return try mint.token(
                state.claims(of: app, rules), by: key, at: state.asOf, life: rules.life)
        } catch { throw .storage("Signing a token failed: \(error)") }
    }

    /// The public keys of all tokens that are valid now.
    package func publishedKeys() async throws(EngineFailure) -> [PublishedKey] {
        let now = now()
        var published: [PublishedKey] = []
        for app in apps.keys.sorted() where apps[app]?.tokens != nil {
            _ = try await signingKey(of: app)
            for stored in try await read({ tx in try tx.tokenKeys(of: app) }) {
                if let retired = stored.retiredAt, now >= retired + Self.publishedAfterRetiring {
                    continue
                }
                let point = [UInt8](try stored.signing().key.publicKey.rawRepresentation)
                published.append(
                    PublishedKey(
                        id: stored.id, x: Self.base64URL(point.prefix(32)),
                        y: Self.base64URL(point.suffix(32))))
            }
        }
        return published
    }

    private static func base64URL(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: Base64.url.encode(bytes), as: UTF8.self)
    }

    /// Creates a new key, which signs from now on; other servers may use the old one for another
    /// minute. Returns its id.
    package func rotateTokenKey(of appID: AppID) async throws(EngineFailure) -> String {
        _ = try app(appID)
        let fresh = StoredTokenKey.fresh(of: appID, at: now())
        try await transaction { tx in try tx.rotate(to: fresh) }
        mint.forgetKey(of: appID)
        return fresh.id
    }

    /// The current signing key. The first one is created here.
    func signingKey(of app: AppID) async throws(EngineFailure) -> TokenMint.SigningKey {
        if let key = mint.key(of: app) { return key }
        var stored = try await read { tx in try tx.tokenKeys(of: app) }
        if !stored.contains(where: { $0.retiredAt == nil }) {
            let fresh = StoredTokenKey.fresh(of: app, at: now())
            stored = try await transaction { tx in
                let present = try tx.tokenKeys(of: app)
                // Another server may have created one meanwhile.
                guard !present.contains(where: { $0.retiredAt == nil }) else { return present }
                try tx.rotate(to: fresh)
                return [fresh]
            }
        }
        guard let newest = stored.last(where: { $0.retiredAt == nil }) else {
            throw .storage("No key for signing tokens exists.")
        }
        let key = try newest.signing()
        mint.remember(key, of: app)
        return key
    }
}

extension TokenRules {
    /// The claims that say who signed, and for which app and environment.
    func audience(of app: AppID, in environment: Environment) -> [JSON.Member] {
        let suffix = environment == .sandbox ? Self.sandboxSuffix : ""
        return [
            .init("iss", .string(issuer + suffix)),
            .init("aud", .string(app.rawValue + suffix)),
        ]
    }
}

extension StoredTokenKey {
    /// The number of characters of an id.
    private static let idCharacters = 16

    fileprivate static func fresh(of app: AppID, at now: Instant) -> StoredTokenKey {
        let key = P256.Signing.PrivateKey()
        let digest = SHA256.hash(data: key.publicKey.rawRepresentation)
        let id = Hexadecimal.text(Array(digest)).prefix(idCharacters)
        return StoredTokenKey(
            id: String(id), app: app, privateKey: [UInt8](key.rawRepresentation), createdAt: now)
    }

    fileprivate func signing() throws(EngineFailure) -> TokenMint.SigningKey {
        do {
            return TokenMint.SigningKey(
                id: id, key: try P256.Signing.PrivateKey(rawRepresentation: privateKey))
        } catch { throw .storage("The token key \(id) is damaged. Rotate it.") }
    }
}

extension CustomerState {
    /// Only open entitlements. Verifiers must check `until` too: it may be earlier than `exp`.
    fileprivate func claims(of app: AppSettings, _ rules: TokenRules) -> [JSON.Member] {
        let open = entitlements.filter(\.value.isOpen).sorted { $0.key < $1.key }
        let rights = open.map { entitlement, right in
            JSON.Member(
                entitlement.rawValue,
                [
                    "state": .string(right.state.rawValue),
                    "until": right.until.map { .integer($0.milliseconds / 1000) } ?? .null,
                ])
        }
        return rules.audience(of: app.id, in: environment) + [
            .init("sub", .string(id.rawValue)),
            .init("environment", .string(environment.rawValue)),
            .init("entitlements", .object(rights)),
        ]
    }
}
