import AppStoreFormats
import AppStoreTrust
import Crypto
import Engine
import Ledger
import Logging
import StorageSQLite
import Synchronization
import Testing

/// Two engines on one database, at a moment that is moved by hand.
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

    func pass(_ duration: Duration) { moment.withLock { $0 = $0 + duration } }
}

extension Engine {
    fileprivate func token(
        of id: CustomerID = "anna", in environment: Environment = .production
    ) async throws -> String? {
        let state = try await customer(id, app: "birds", environment: environment)
        return try await token(for: state, app: "birds")
    }

    /// What a token says, where one of the published keys has signed it.
    fileprivate func claims(of token: String) async throws -> JSON? {
        let jws = try #require(CompactJWS(token))
        let header = try JSON(parsing: try #require(jws.header))
        for key in try await publishedKeys() where key.id == header["kid"]?.string {
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

@Suite struct TokenTests {
    @Test func `a token says what is open, to whom, of which app, and until when`() async throws {
        let stage = try TokenStage()
        let engine = try await stage.engine()
        let until = TokenStage.start + .days(1)
        _ = try await engine.grant(
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

    @Test func `a token of the sandbox is told apart by whoever checks one claim only`()
        async throws
    {
        let engine = try await TokenStage().engine()
        let token = try #require(try await engine.token(in: .sandbox))
        let claims = try #require(try await engine.claims(of: token))
        #expect(claims["environment"] == "sandbox")
        #expect(claims["iss"] == "perennial/sandbox" && claims["aud"] == "birds/sandbox")
    }

    @Test func `a token is given again for half its life, and as long as nothing changes`()
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
        _ = try await engine.grant(
            NewGrant(entitlement: "pro", reason: "x"), to: "anna", app: "birds",
            environment: .production)
        #expect(try await engine.token() != second)
    }

    @Test func `a retired key is published until what it signed has expired`() async throws {
        let stage = try TokenStage()
        let engine = try await stage.engine()
        let old = try #require(try await engine.token())
        let fresh = try await engine.rotateTokenKey(of: "birds")
        let new = try #require(try await engine.token())
        let header = try JSON(parsing: try #require(CompactJWS(new)?.header))
        #expect(header["kid"]?.string == fresh)
        #expect(try await engine.claims(of: old) != nil)
        #expect(try await engine.publishedKeys().count == 2)
        stage.pass(TokenRules.lifeMax)
        #expect(try await engine.publishedKeys().count == 2)
        stage.pass(.hours(1))
        #expect(try await engine.publishedKeys().map(\.id) == [fresh])
        #expect(try await engine.claims(of: old) == nil)
    }

    @Test func `two servers sign with one key, which is made once`() async throws {
        let stage = try TokenStage()
        let engines = [try await stage.engine(), try await stage.engine()]
        for engine in engines { _ = try await engine.token() }
        #expect(try await engines[0].publishedKeys().count == 1)
        let token = try #require(try await engines[1].token())
        #expect(try await engines[0].claims(of: token) != nil)
    }

    @Test func `an app that wants no tokens has none, and no key`() async throws {
        let engine = try await TokenStage(tokens: nil).engine()
        #expect(try await engine.token() == nil)
        #expect(try await engine.publishedKeys().isEmpty)
    }
}
