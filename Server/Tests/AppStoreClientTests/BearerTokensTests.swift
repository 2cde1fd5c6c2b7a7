import AppStoreFormats
import Crypto
import Testing

@testable import AppStoreClient

@Suite struct BearerTokensTests {
    private func claims(_ authorization: String, _ key: P256.Signing.PrivateKey) throws -> JSON {
        #expect(authorization.hasPrefix("Bearer "))
        let jws = try #require(CompactJWS(String(authorization.dropFirst(7))))
        let header = try JSON(parsing: try #require(jws.header))
        #expect(header == ["alg": "ES256", "kid": "KEY1", "typ": "JWT"])
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: try #require(jws.signature))
        #expect(key.publicKey.isValidSignature(signature, for: jws.signedBytes))
        return try JSON(parsing: try #require(jws.payload))
    }

    @Test func `a bearer token names its issuer and app and is valid for less than an hour`()
        async throws
    {
        let bench = try Bench(.transaction)
        _ = try await bench.client.transaction("1", in: .production)
        let request = try #require(bench.script.requests.first)
        let claims = try claims(try #require(request.authorization), bench.key)
        let now = bench.clock.now().milliseconds / 1000
        #expect(claims["iss"] == "57246542-96fe-1a63-e053-0824d011072a")
        #expect(claims["aud"] == "appstoreconnect-v1" && claims["bid"] == "com.example.birds")
        let (begins, ends) = (claims["iat"]?.integer ?? 0, claims["exp"]?.integer ?? 0)
        #expect(begins < now && now < ends && ends - begins <= 3600)
    }

    /// Each row: the seconds between two calls, and whether both calls send the same token.
    @Test(arguments: [(0, true), (1400, true), (1500, false), (86_400, false), (-300, false)])
    func `a bearer token is reused until shortly before it expires`(
        seconds: Int64, isSame: Bool
    ) async throws {
        let bench = try Bench(.transaction, .transaction)
        _ = try await bench.client.transaction("1", in: .production)
        bench.clock.advance(seconds: seconds)
        _ = try await bench.client.transaction("1", in: .sandbox)
        let tokens = bench.script.requests.map(\.authorization)
        #expect((tokens[0] == tokens[1]) == isSame)
        let claims = try claims(try #require(tokens[1]), bench.key)
        let now = bench.clock.now().milliseconds / 1000
        #expect((claims["exp"]?.integer ?? 0) >= now + BearerTokens.remainingSecondsMin)
    }

    /// Each row: the seconds between the creation of a token and its refusal, and whether later
    /// calls still send that token.
    @Test(arguments: [(0, true), (59, true), (60, false), (600, false)])
    func `a refused token is replaced if it was made at least 60 seconds ago`(
        seconds: Int64, isKept: Bool
    ) async throws {
        let bench = try Bench(.transaction, AppStoreResponse(status: 401), .transaction)
        _ = try await bench.client.transaction("1", in: .production)
        bench.clock.advance(seconds: seconds)
        _ = try? await bench.client.transaction("1", in: .production)
        bench.clock.advance(seconds: 1)
        _ = try await bench.client.transaction("1", in: .production)
        let tokens = bench.script.requests.map(\.authorization)
        #expect(tokens[0] == tokens[1])
        #expect((tokens[1] == tokens[2]) == isKept)
    }

    /// Each row: how many seconds each call takes to arrive, the responses, and the expected
    /// number of calls.
    @Test(arguments: [
        (0, [AppStoreResponse(status: 401)], 1, false),
        (1800, [AppStoreResponse(status: 401), .transaction], 2, true),
        (1800, [AppStoreResponse(status: 401), AppStoreResponse(status: 401)], 2, false),
    ])
    func `a call whose token expired in transit is repeated once with a new token`(
        asleep: Int64, answers: [AppStoreResponse], calls: Int, isAnswered: Bool
    ) async throws {
        let bench = try Bench(Script(answers))
        let client = AppStoreClient(bench.client.credentials, now: bench.clock.now) { request in
            bench.clock.advance(seconds: asleep)
            return try await bench.script.send(request)
        }
        let answer = try? await client.transaction("1", in: .production)
        #expect((answer != nil) == isAnswered)
        let tokens = bench.script.requests.map(\.authorization)
        #expect(tokens.count == calls && Set(tokens).count == calls)
    }

    @Test func `a late refusal of an old token does not discard the newer token`() async throws {
        let bench = try Bench(.transaction)
        let tokens = BearerTokens(bench.client.credentials)
        let old = try tokens.authorization(at: bench.clock.now())
        bench.clock.advance(seconds: 1800)
        let new = try tokens.authorization(at: bench.clock.now())
        bench.clock.advance(seconds: 120)
        tokens.discard(old, at: bench.clock.now())
        #expect(try tokens.authorization(at: bench.clock.now()) == new)
        tokens.discard(new, at: bench.clock.now())
        #expect(try tokens.authorization(at: bench.clock.now()) != new)
    }

    @Test func `the description of credentials never contains their key`() throws {
        let pem = P256.Signing.PrivateKey().pemRepresentation
        let credentials = try AppStoreCredentials(
            keyID: "KEY1", issuerID: "I", bundleID: "B", privateKey: pem)
        var dumped = ""
        dump(credentials, to: &dumped)
        #expect("\(credentials)" == "key KEY1 for B")
        #expect(dumped.contains("KEY1") && !dumped.contains("key:"))
    }

    @Test(arguments: ["", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"])
    func `a text that is not a private key is refused as credentials`(pem: String) {
        #expect(throws: AppStoreCredentials.UnusableKey.self) {
            try AppStoreCredentials(keyID: "K", issuerID: "I", bundleID: "B", privateKey: pem)
        }
    }
}
