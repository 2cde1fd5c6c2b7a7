import AppStoreFormats
import AppStoreTrust
import Crypto
import Engine
import Ledger
import Logging
import Storage
import StorageSQLite
import Synchronization
import Testing

/// Engines on one database, with a clock that the test moves.
private final class TokenStage: Sendable {
    static let start = Instant(milliseconds: 1_700_000_000_000)
    static let life = Duration.seconds(600)

    private let moment = Mutex(TokenStage.start)
    private let database: SQLiteDriver
    private let tokens: TokenRules?

    init(tokens: TokenRules? = TokenRules(life: TokenStage.life)) throws {
        database = try SQLiteDriver.inMemory()
        self.tokens = tokens
    }

    func engine() async throws -> Engine {
        let app = AppSettings(
            id: "birds", bundleID: "com.example.birds", entitlements: ["pro": ["pro.monthly"]],
            tokens: tokens)
        let engine = Engine(
            database: database, apps: [app],
            verifiers: ["birds": Verifier(roots: .apple)],
            now: { self.moment.withLock { $0 } },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await engine.prepare()
        return engine
    }

    func delete(key: String) async throws {
        try await database.write { connection in
            try connection.run("DELETE FROM token_keys WHERE key_id = $1", [.text(key)])
            return
        }
    }

    func pass(_ duration: Duration) { moment.withLock { $0 = $0 + duration } }
}

extension Engine {
    fileprivate func token(
        of id: CustomerID = "anna", in environment: Environment = .production
    ) async throws -> String? {
        let state = try await customers.find(id, app: "birds", environment: environment)
        return try await tokens.issue(for: state, app: "birds")
    }

    /// The claims of a token, or nil if none of the published keys has signed it.
    fileprivate func claims(of token: String) async throws -> JSON? {
        let jws = try #require(CompactJWS(token))
        let header = try JSON(parsing: try #require(jws.header))
        for key in try await tokens.publishedKeySet().keys where key.id == header["kid"]?.string {
            let point = try [key.x, key.y].flatMap {
                try #require(Base64.url.decode(Array($0.utf8)))
            }
            let publicKey = try P256.Signing.PublicKey(rawRepresentation: point)
            let signature = try P256.Signing.ECDSASignature(
                rawRepresentation: try #require(jws.signature))
            guard publicKey.isValidSignature(signature, for: Array(jws.signedBytes)) else {
                return nil
            }
            return try JSON(parsing: try #require(jws.payload))
        }
        return nil
    }
}

extension Engine {
    fileprivate func keyID(ofToken id: CustomerID) async throws -> String {
        let token = try #require(try await token(of: id))
        let header = try JSON(parsing: try #require(CompactJWS(token)?.header))
        return try #require(header["kid"]?.string)
    }
}

extension PublishedKeySet {
    /// For each link, the introducing key and the introduced key.
    fileprivate func introductions() throws -> [[String]] {
        try chain.map { link in
            let jws = try #require(CompactJWS(link))
            let header = try JSON(parsing: try #require(jws.header))
            let claims = try JSON(parsing: try #require(jws.payload))
            #expect(header["typ"] == "key-introduction+jwt" && claims["aud"] == "birds/keys")
            return [
                try #require(header["kid"]?.string), try #require(claims["key"]?["kid"]?.string),
            ]
        }
    }
}

@Suite struct TokenTests {
    @Test func `a token names the app, the customer, the open entitlements and their ends`()
        async throws
    {
        let stage = try TokenStage()
        let engine = try await stage.engine()
        let until = TokenStage.start + .days(1)
        _ = try await engine.grants.add(
            NewGrant(entitlement: "pro", until: until, reason: "x"), to: "anna", app: "birds",
            environment: .production)
        let token = try #require(try await engine.token())
        let claims = try #require(try await engine.claims(of: token))
        #expect(claims["sub"] == "anna" && claims["aud"] == "birds")
        #expect(claims["iss"] == "perennial" && claims["environment"] == "production")
        #expect(claims["iat"] == 1_700_000_000 && claims["exp"] == 1_700_000_600)
        #expect(
            claims["entitlements"]?["pro"]
                == ["state": "granted", "until": .integer(until.milliseconds / 1000)])
        stage.pass(.days(1))
        let later = try #require(try await engine.token())
        let none = try await engine.claims(of: later)
        #expect(none?["entitlements"]?.members?.isEmpty == true)
    }

    @Test
    func `a sandbox token and a production token differ in issuer, audience and environment`()
        async throws
    {
        let engine = try await TokenStage().engine()
        let token = try #require(try await engine.token(in: .sandbox))
        let claims = try #require(try await engine.claims(of: token))
        #expect(claims["environment"] == "sandbox")
        #expect(claims["iss"] == "perennial/sandbox" && claims["aud"] == "birds/sandbox")
    }

    @Test func `a token is reissued unchanged for half its life, unless access changes`()
        async throws
    {
        let stage = try TokenStage()
        let engine = try await stage.engine()
        let first = try await engine.token()
        stage.pass(.seconds(299))
        #expect(try await engine.token() == first)
        #expect(try await engine.token(of: "ben") != first)
        stage.pass(.seconds(1))
        let second = try await engine.token()
        #expect(second != first)
        _ = try await engine.grants.add(
            NewGrant(entitlement: "pro", reason: "x"), to: "anna", app: "birds",
            environment: .production)
        #expect(try await engine.token() != second)
    }

    @Test
    func `a token is valid offline for the configured days, or until its expiry if that is later`()
        async throws
    {
        for (days, seconds) in [(30, 30 * 86_400), (1, 86_400), (0, 600)] as [(Int, Int64)] {
            let stage = try TokenStage(
                tokens: TokenRules(life: TokenStage.life, offlineDays: days))
            let engine = try await stage.engine()
            let token = try #require(try await engine.token())
            let claims = try await engine.claims(of: token)
            #expect(claims?["exp"] == 1_700_000_600)
            #expect(claims?["offline_until"] == .integer(1_700_000_000 + seconds))
        }
    }

    @Test func `later tokens have higher numbers even if the clock stands still`() async throws {
        let engine = try await TokenStage().engine()
        var numbers: [Int64] = []
        for _ in 0..<3 {
            let token = try #require(try await engine.token())
            #expect(try await engine.token() == token)
            numbers.append(try #require(try await engine.claims(of: token)?["seq"]?.integer))
            _ = try await engine.grants.add(
                NewGrant(entitlement: "pro", reason: "x"), to: "anna", app: "birds",
                environment: .production)
            let other = try #require(try await engine.token())
            numbers.append(try #require(try await engine.claims(of: other)?["seq"]?.integer))
            for grant in try await engine.customers.find(
                "anna", app: "birds", environment: .production
            ).grants {
                _ = try await engine.grants.withdraw(grant.id, of: "anna", app: "birds")
            }
        }
        #expect(numbers.first == 1_700_000_000_000)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, "\(numbers)")
    }

    @Test func `a retired key stays published while tokens it signed may be valid offline`()
        async throws
    {
        let stage = try TokenStage()
        let engine = try await stage.engine()
        let old = try #require(try await engine.token())
        let fresh = try await engine.tokens.rotateKey(of: "birds")
        let new = try #require(try await engine.token())
        let header = try JSON(parsing: try #require(CompactJWS(new)?.header))
        #expect(header["kid"]?.string == fresh)
        #expect(try await engine.claims(of: old) != nil)
        #expect(try await engine.tokens.publishedKeySet().keys.count == 2)
        stage.pass(.days(TokenRules.offlineDaysMax))
        #expect(try await engine.tokens.publishedKeySet().keys.count == 2)
        stage.pass(.hours(1))
        #expect(try await engine.tokens.publishedKeySet().keys.map(\.id) == [fresh])
        #expect(try await engine.tokens.publishedKeySet().chain.count == 1)
        #expect(try await engine.claims(of: old) == nil)
    }

    @Test func `a prepared key is published at once, and signs only after the next rotation`()
        async throws
    {
        let stage = try TokenStage()
        let engine = try await stage.engine()
        let before = try await engine.token()
        let next = try await engine.tokens.prepareKey(of: "birds")
        #expect(try await engine.tokens.prepareKey(of: "birds") == next)
        let published = try await engine.tokens.publishedKeySet()
        #expect(published.keys.count == 2 && published.keys.last?.id == next)
        #expect(published.chain.count == 1)
        #expect(try await engine.token() == before)
        // A server that has just started does not sign with the prepared key either.
        #expect(try await stage.engine().keyID(ofToken: "ben") == published.keys[0].id)
        #expect(try await engine.tokens.rotateKey(of: "birds") == next)
        #expect(try await engine.keyID(ofToken: "anna") == next)
        #expect(try await engine.tokens.publishedKeySet() == published)
    }

    @Test func `each signing key introduces the next key, even if keys between them were deleted`()
        async throws
    {
        let stage = try TokenStage()
        let engine = try await stage.engine()
        var ids = [try await engine.keyID(ofToken: "anna")]
        for _ in 0..<3 { ids.append(try await engine.tokens.rotateKey(of: "birds")) }
        #expect(
            try await engine.tokens.publishedKeySet().introductions()
                == [ids[0...1], ids[1...2], ids[2...3]].map(Array.init))
        try await stage.delete(key: ids[1])
        #expect(
            try await engine.tokens.publishedKeySet().introductions()
                == [[ids[0], ids[2]], [ids[2], ids[3]]])
    }

    @Test func `two servers create only one signing key, and sign their tokens with this key`()
        async throws
    {
        let stage = try TokenStage()
        let engines = [try await stage.engine(), try await stage.engine()]
        for engine in engines { _ = try await engine.token() }
        #expect(try await engines[0].tokens.publishedKeySet().keys.count == 1)
        let token = try #require(try await engines[1].token())
        #expect(try await engines[0].claims(of: token) != nil)
    }

    @Test func `an app without token rules issues no tokens and creates no key`() async throws {
        let engine = try await TokenStage(tokens: nil).engine()
        #expect(try await engine.token() == nil)
        #expect(try await engine.tokens.publishedKeySet().keys.isEmpty)
    }
}
