import AppStoreFormats
import Crypto
import Testing

@testable import Simulator

@Suite struct BearerTokenTests {
    private func answer(_ authorization: String?) async throws -> (APIResponse, log: String) {
        let stage = try Stage()
        let bought = try await stage.buy("pro.monthly")
        var request = try Ask("GET v1/transactions/\(bought.transactionID)").request()
        request.authorization = authorization
        let answer = await stage.simulator.process(request)
        let entry = await stage.simulator.log.last { $0["what"] == "refused_token" }
        return (answer, entry?["reason"]?.string ?? "")
    }

    private static let accepted: [(String, @Sendable (inout Token) -> Void)] = [
        ("as Apple's Swift client makes it", { _ in }),
        ("without iat, as Apple's Python client makes it", { $0.claims["iat"] = nil }),
        ("for an hour", { $0.claims["exp"] = .integer(Token.arrival + 3600) }),
        (
            "by the virtual clock",
            {
                let virtual: Int64 = 1_768_075_200
                $0.claims["iat"] = .integer(virtual)
                $0.claims["exp"] = .integer(virtual + 300)
            }
        ),
    ]

    @Test(arguments: accepted.map(\.0))
    func `a valid bearer token is accepted`(name: String) async throws {
        var token = Token()
        Self.accepted.first { $0.0 == name }?.1(&token)
        #expect(try await answer("Bearer " + token.signed()).0.status == 200)
    }

    private static let refused: [(String, @Sendable (inout Token) -> Void)] = [
        ("algorithm", { $0.header["alg"] = "none" }),
        ("No key has the id", { $0.header["kid"] = "OTHER" }),
        ("signature", { $0.pem = P256.Signing.PrivateKey().pemRepresentation }),
        ("iss", { $0.claims["iss"] = "somebody" }),
        ("aud", { $0.claims["aud"] = "appstoreconnect-v2" }),
        ("bid", { $0.claims["bid"] = "com.example.fish" }),
        ("exp is missing", { $0.claims["exp"] = nil }),
        ("expired", { $0 = Token(at: Token.arrival - 7200) }),
        ("expired", { $0 = Token(at: Token.arrival + 7200) }),
        ("over an hour", { $0.claims["exp"] = .integer(Token.arrival + 3601) }),
    ]

    @Test(arguments: refused.indices)
    func `an invalid bearer token is refused without a body, and the log says why`(
        index: Int
    ) async throws {
        var token = Token()
        let (reason, change) = Self.refused[index]
        change(&token)
        let (answer, log) = try await answer("Bearer " + token.signed())
        #expect(answer == APIResponse(401))
        #expect(log.contains(reason), "\(log)")
    }

    @Test(arguments: [nil, "", "Bearer", "Bearer x", "Basic YW5uYTpwdw=="])
    func `an authorization header without a token is refused`(authorization: String?) async throws {
        let (answer, log) = try await answer(authorization)
        #expect(answer == APIResponse(401))
        #expect(log.contains("no bearer token"))
    }

    @Test func `the App Store keys that a reset sets replace the default key`() async throws {
        let key = P256.Signing.PrivateKey()
        let body: JSON = [
            "api_keys": [
                [
                    "key_id": "MINE", "issuer_id": "me",
                    "public_key": .string(key.publicKey.pemRepresentation),
                ]
            ]
        ]
        var settings = SimulatorSettings(shop: try ExampleShop.file())
        try settings.readAPI(RequestBody(body, known: ["api_keys"], place: "The body"))
        let stage = try Stage { $0.apiKeys = settings.apiKeys }
        var request = try Ask("POST v1/notifications/test").request()
        #expect(await stage.simulator.process(request).status == 401)
        var token = Token()
        token.header["kid"] = "MINE"
        token.claims["iss"] = "me"
        token.pem = key.pemRepresentation
        request.authorization = "Bearer " + (try token.signed())
        #expect(await stage.simulator.process(request).status == 200)
    }

    @Test(arguments: [
        #"[{"key_id":"A","issuer_id":"B","public_key":"nonsense"}]"#,
        #"[{"key_id":"A","issuer_id":"B"}]"#, #"{}"#,
    ])
    func `an invalid key in a reset is refused with a problem`(list: String) throws {
        var settings = SimulatorSettings(shop: try ExampleShop.file())
        let json: JSON = ["api_keys": try JSON(parsing: list.utf8)]
        let body = try RequestBody(json, known: ["api_keys"], place: "The body")
        #expect(throws: SimulatorProblem.self) { try settings.readAPI(body) }
        #expect(settings.apiKeys == [.wellKnown])
    }
}
