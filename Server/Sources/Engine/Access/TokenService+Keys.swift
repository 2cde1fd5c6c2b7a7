import AppStoreFormats
import Crypto
import Ledger
import Storage

/// A public key for verifying tokens.
package struct PublishedKey: Hashable, Sendable {
    package var id: String
    /// The coordinates of the point: base64url of 32 bytes each.
    package var x: String
    package var y: String
}

/// The keys for verifying tokens, and the chain of introductions. With the chain, a device that
/// trusts an old key can verify the present key.
package struct PublishedKeySet: Hashable, Sendable {
    package var keys: [PublishedKey] = []
    /// The introductions as compact JWS, the oldest first. In each introduction, a key introduces
    /// the key that followed it.
    package var chain: [String] = []
}

extension TokenService {
    /// How long a retired key stays published: until the latest `offline_until` of its tokens, plus
    /// a margin, because other servers may sign with the key for another minute.
    fileprivate static let publishedAfterRetiring =
        Duration.days(TokenRules.offlineDaysMax) + .hours(1)
    /// The maximum number of introductions in the chain of an app. The oldest introductions are
    /// left out.
    package static let chainLinksMax = 100

    /// The public keys that verify the tokens that are still valid, online or offline. Also returns
    /// the prepared keys, and the chains of all apps.
    package func publishedKeySet() async throws(EngineFailure) -> PublishedKeySet {
        let now = context.now()
        var published = PublishedKeySet()
        for app in context.apps.keys.sorted() where context.apps[app]?.tokens != nil {
            _ = try await signingKey(of: app)
            let stored = try await context.read { tx in try tx.tokenKeys.all(of: app) }
            for key in stored where !key.isOver(at: now) {
                published.keys.append(PublishedKey(try key.signing()))
            }
            published.chain += try chain(of: stored)
        }
        return published
    }

    /// The introductions of an app's keys. Each key is introduced by the key before it. If a key's
    /// row was deleted, the key before it introduces the key after it.
    private func chain(of keys: [StoredTokenKey]) throws(EngineFailure) -> [String] {
        var links: [String] = []
        for (former, next) in zip(keys, keys.dropFirst()).suffix(Self.chainLinksMax) {
            do {
                links.append(
                    try mint.link(from: former.id, to: next.id) {
                        try former.signing().introduction(of: next)
                    })
            } catch let failure as EngineFailure {
                throw failure
            } catch { throw .storage("Signing an introduction of a key failed: \(error)") }
        }
        return links
    }

    /// Rotates the key of an app: from now on, the service signs with the prepared key. If there is
    /// no prepared key, it signs with a new key. Other servers may use the old key for another
    /// minute. Returns the new key's id.
    package func rotateKey(of appID: AppID) async throws(EngineFailure) -> String {
        _ = try context.app(appID)
        let now = context.now()
        let fresh = StoredTokenKey.fresh(of: appID, at: now)
        let id = try await context.transaction { tx in
            let keys = try tx.tokenKeys.all(of: appID)
            let next = keys.first(where: \.isPrepared) ?? fresh.following(keys.last)
            try tx.tokenKeys.rotate(to: next, at: now)
            return next.id
        }
        mint.forgetKey(of: appID)
        return id
    }

    /// Disables the cache of keys: the key is read again for each token, so a new key of another
    /// process takes effect at once. For development.
    package func rememberNoKeys() { mint.rememberNoKeys() }

    /// Publishes the next key, with which the service signs only after the next rotation. Returns
    /// the key's id. Idempotent: if a key is prepared already, it stays the next key.
    package func prepareKey(of appID: AppID) async throws(EngineFailure) -> String {
        _ = try context.app(appID)
        // No key can introduce the first key, so the first key cannot be a prepared key.
        _ = try await signingKey(of: appID)
        var fresh = StoredTokenKey.fresh(of: appID, at: context.now())
        fresh.isPrepared = true
        let next = fresh
        return try await context.transaction { tx in
            let keys = try tx.tokenKeys.all(of: appID)
            if let prepared = keys.first(where: \.isPrepared) { return prepared.id }
            try tx.tokenKeys.insert(next.following(keys.last))
            return next.id
        }
    }

    /// Signs a statement of the server, such as the result of a rehearsal, with the app's present
    /// key. Never creates a key: returns nil if the app has none. So a caller that must not write
    /// can use this function.
    ///
    /// - Parameter type: the `typ` of the header, so that no verifier mistakes the statement for a
    ///   token.
    package func statement(
        _ claims: JSON, type: String, of appID: AppID
    ) async throws(EngineFailure) -> String? {
        _ = try context.app(appID)
        let stored = try await context.read { tx in try tx.tokenKeys.all(of: appID) }
        guard let key = stored.last(where: \.isSigning) else { return nil }
        do { return try key.signing().sign(claims, type: type) } catch let failure as EngineFailure
        {
            throw failure
        } catch { throw .storage("Signing a statement failed: \(error)") }
    }

    /// The claims of a statement. Returns nil if the text is not a statement, if no present or
    /// retired key of the app has signed it, or if it was changed.
    package func verifiedStatement(
        _ text: String, type: String, of appID: AppID
    ) async throws(EngineFailure) -> JSON? {
        _ = try context.app(appID)
        let stored = try await context.read { tx in try tx.tokenKeys.all(of: appID) }
        guard let jws = CompactJWS(text),
            let header = jws.header.flatMap({ try? JSON(parsing: $0) }),
            header["typ"]?.string == type, header["alg"]?.string == "ES256",
            let key = stored.first(where: { $0.id == header["kid"]?.string }),
            let bytes = jws.signature,
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes)
        else { return nil }
        guard try key.signing().key.publicKey.isValidSignature(signature, for: jws.signedBytes)
        else { return nil }
        return jws.payload.flatMap { try? JSON(parsing: $0) }
    }

    /// The present signing key. Creates the first key of an app.
    func signingKey(of app: AppID) async throws(EngineFailure) -> TokenMint.SigningKey {
        if let key = mint.key(of: app) { return key }
        var stored = try await context.read { tx in try tx.tokenKeys.all(of: app) }
        if !stored.contains(where: \.isSigning) {
            let now = context.now()
            let fresh = StoredTokenKey.fresh(of: app, at: now)
            stored = try await context.transaction { tx in
                let present = try tx.tokenKeys.all(of: app)
                // Another server may have created a key in the meantime.
                guard !present.contains(where: \.isSigning) else { return present }
                let first = fresh.following(present.last)
                try tx.tokenKeys.rotate(to: first, at: now)
                return [first]
            }
        }
        guard let newest = stored.last(where: \.isSigning) else {
            throw .storage("No key for signing tokens exists.")
        }
        let key = try newest.signing()
        mint.remember(key, of: app)
        return key
    }

    fileprivate static func base64URL(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: Base64.url.encode(bytes), as: UTF8.self)
    }
}

extension PublishedKey {
    fileprivate init(_ key: TokenMint.SigningKey) {
        let point = [UInt8](key.key.publicKey.rawRepresentation)
        self.init(
            id: key.id, x: TokenService.base64URL(point.prefix(32)),
            y: TokenService.base64URL(point.suffix(32))
        )
    }
}

extension TokenMint.SigningKey {
    /// The `typ` of an introduction, so that no verifier mistakes an introduction for a token.
    private static let introductionType = "key-introduction+jwt"
    /// The suffix that is appended to the app's name in introductions. No app's name contains a
    /// slash.
    private static let introductionSuffix = "/keys"

    /// The introduction of the next key: the next key, in the form of the key set, signed by this
    /// key.
    fileprivate func introduction(of next: StoredTokenKey) throws -> String {
        let key = PublishedKey(try next.signing())
        let claims: JSON = [
            "aud": .string(next.app.rawValue + Self.introductionSuffix),
            "iat": .integer(next.createdAt.milliseconds / 1000),
            "key": [
                "kid": .string(key.id), "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig",
                "x": .string(key.x), "y": .string(key.y),
            ],
        ]
        return try sign(claims, type: Self.introductionType)
    }
}

extension StoredTokenKey {
    /// The number of characters of a key's id.
    private static let idCharacters = 16

    fileprivate static func fresh(of app: AppID, at now: Instant) -> StoredTokenKey {
        let key = P256.Signing.PrivateKey()
        let digest = SHA256.hash(data: key.publicKey.rawRepresentation)
        let id = Hexadecimal.text(Array(digest)).prefix(idCharacters)
        return StoredTokenKey(
            id: String(id), app: app, privateKey: [UInt8](key.rawRepresentation), createdAt: now)
    }

    /// A copy of this key whose creation time is later than that of `former`, whatever the clock
    /// says, because the chain is ordered by creation times. Returns the key itself if `former` is
    /// nil.
    fileprivate func following(_ former: StoredTokenKey?) -> StoredTokenKey {
        guard let former else { return self }
        var key = self
        key.createdAt = max(createdAt, former.createdAt + .milliseconds(1))
        return key
    }

    fileprivate var isSigning: Bool { retiredAt == nil && !isPrepared }

    /// Whether everything that the key signed has expired, also for offline devices.
    fileprivate func isOver(at now: Instant) -> Bool {
        retiredAt.map { now >= $0 + TokenService.publishedAfterRetiring } ?? false
    }

    fileprivate func signing() throws(EngineFailure) -> TokenMint.SigningKey {
        do {
            return TokenMint.SigningKey(
                id: id, key: try P256.Signing.PrivateKey(rawRepresentation: privateKey))
        } catch { throw .storage("The token key \(id) is damaged. Rotate it.") }
    }
}
