import AppStoreFormats
import Eventually
import Ledger
import OpenIDProvider
import Testing

@testable import OpenIDConnect

@Suite struct OpenIDClientTests {
    // MARK: - The provider's configuration

    /// Configurations of a provider with which nobody can sign in.
    static let wrong: [(String, [String: JSON])] = [
        ("another issuer", ["issuer": "https://other.example.com"]),
        ("an issuer with a slash more", ["issuer": "https://login.example.com/"]),
        ("no issuer", ["issuer": .null]),
        ("no token endpoint", ["token_endpoint": .null]),
        ("a token endpoint without TLS", ["token_endpoint": "http://login.example.com/token"]),
        ("keys within this machine", ["jwks_uri": "https://localhost/keys"]),
        ("keys within this machine, without TLS", ["jwks_uri": "http://127.0.0.1:80/keys"]),
        ("a script", ["authorization_endpoint": "javascript:alert(1)"]),
        ("no codes", ["response_types_supported": ["id_token"]]),
        ("PKCE in plain text only", ["code_challenge_methods_supported": ["plain"]]),
        ("other algorithms only", ["id_token_signing_alg_values_supported": ["HS256", "none"]]),
        (
            "other ways to prove who the client is",
            ["token_endpoint_auth_methods_supported": ["private_key_jwt"]]
        ),
    ]

    @Test(arguments: wrong.indices)
    func `a provider whose configuration is wrong is refused`(index: Int) async throws {
        let (name, metadata) = Self.wrong[index]
        let flow = try ProviderFlow()
        flow.provider.change { $0.metadata = metadata }
        let failure = await #expect(throws: OpenIDFailure.self, "\(name)") {
            try await flow.client.authorizationURL(for: flow.ticket(), at: flow.now)
        }
        guard case .unreadable = failure else {
            Issue.record("\(name): \(failure as Any)")
            return
        }
    }

    @Test func `the provider's configuration is cached, and is read again after a failed request`()
        async throws
    {
        let flow = try ProviderFlow()
        flow.provider.change { $0.failure = .unavailable("a test wants it so") }
        let path = ProviderMetadata.path
        for _ in 0..<3 {
            await #expect(throws: OpenIDFailure.unavailable("a test wants it so")) {
                try await flow.client.metadata(at: flow.now)
            }
        }
        #expect(flow.provider.requests(to: path) == 1)
        flow.provider.change { $0.failure = nil }
        flow.pass(OpenIDClient.failurePause)
        for _ in 0..<3 { _ = try await flow.client.metadata(at: flow.now) }
        #expect(flow.provider.requests(to: path) == 2)
        flow.pass(OpenIDClient.cacheLife)
        _ = try await flow.client.metadata(at: flow.now)
        #expect(flow.provider.requests(to: path) == 3)
    }

    @Test func `the client secret is sent in the body if the provider requires this`()
        async throws
    {
        let flow = try ProviderFlow()
        flow.provider.change {
            $0.metadata = ["token_endpoint_auth_methods_supported": ["client_secret_post"]]
        }
        #expect(try await flow.identity().subject == "a1")
    }

    // MARK: - Keys

    @Test func `after the provider replaces its key, the next sign-in succeeds`() async throws {
        let flow = try ProviderFlow()
        flow.provider.change { $0.published = [.elliptic] }
        flow.provider.change { $0.signer = .elliptic }
        _ = try await flow.identity()
        flow.pass(OpenIDClient.keysPause)
        flow.provider.change {
            $0.published = [.rsa]
            $0.signer = .rsa
        }
        _ = try await flow.identity()
        #expect(flow.provider.requests(to: "/keys") == 2)
    }

    @Test func `many tokens with unknown keys cause only one request for the keys per minute`()
        async throws
    {
        let flow = try ProviderFlow()
        for number in 0..<50 {
            flow.provider.change { $0.header = ["kid": .string("unknown-\(number)")] }
            await #expect(throws: OpenIDFailure.rejected(.unknownKey)) {
                try await flow.identity()
            }
        }
        #expect(flow.provider.requests(to: "/keys") == 1)
        flow.pass(OpenIDClient.keysPause)
        flow.provider.change { $0.header = [:] }
        _ = try await flow.identity()
        #expect(flow.provider.requests(to: "/keys") == 1)
    }

    @Test func `a key document that is too large or malformed is refused`() async throws {
        let many = String(repeating: #"{"kty":"RSA"},"#, count: ProviderKeys.keysMax)
        let bodies = [
            String(repeating: " ", count: ProviderKeys.bytesMax) + #"{"keys":[]}"#,
            #"{"keys":["# + many + "{}]}", #"{"keys":{}}"#, "[]", "", "{",
        ]
        for body in bodies {
            let flow = try ProviderFlow()
            flow.provider.change {
                $0.answers["/keys"] = OpenIDResponse(status: 200, body: Array(body.utf8))
            }
            let failure = await #expect(throws: OpenIDFailure.self) { try await flow.identity() }
            guard case .unreadable = failure else {
                Issue.record("\(body.prefix(40)): \(failure as Any)")
                continue
            }
        }
    }

    /// Keys that sign nothing here: other types, other purposes, other sizes.
    @Test(arguments: [
        #"{"kty":"oct","kid":"rsa","k":"c2VjcmV0"}"#,
        #"{"kty":"RSA","kid":"rsa","use":"enc","n":"AQAB","e":"AQAB"}"#,
        #"{"kty":"RSA","kid":"rsa","n":"AQAB","e":"AQAB"}"#,
        #"{"kty":"RSA","kid":"rsa","alg":"RS512","n":"AQAB","e":"AQAB"}"#,
        #"{"kty":"EC","kid":"rsa","crv":"P-256","x":"AQAB","y":"AQAB"}"#, "7", "null",
    ])
    func `a key of an unsupported kind is ignored`(key: String) async throws {
        let keys = try ProviderKeys(parsing: Array(#"{"keys":[\#(key)]}"#.utf8))
        #expect(keys.keys.isEmpty)
    }

    @Test func `a key with an invalid point or a modulus of zeros verifies no signature`() {
        let point = ProviderKeys.Key(
            id: nil, algorithm: .es256,
            numbers: [Array(repeating: 1, count: 32), Array(repeating: 2, count: 32)])
        #expect(!point.isValid(Array(repeating: 1, count: 64), for: [1]))
        let zeros = ProviderKeys.Key(
            id: nil, algorithm: .rs256, numbers: [Array(repeating: 0, count: 256), [1]])
        #expect(!zeros.isValid(Array(repeating: 0, count: 256), for: [1]))
    }

    // MARK: - Codes

    @Test func `an authorization code works once, and only with the verifier of its own sign-in`()
        async throws
    {
        let flow = try ProviderFlow()
        let (mine, other) = (flow.ticket(1), flow.ticket(2))
        let answer = try await flow.answer(to: mine)
        let code = answer["code"] ?? ""
        // PKCE: the provider refuses the code of another browser.
        await #expect(throws: OpenIDFailure.refused(code: "invalid_grant")) {
            try await flow.client.identity(code: code, issuer: nil, for: other, at: flow.now)
        }
        let again = try await flow.answer(to: mine)["code"] ?? ""
        _ = try await flow.client.identity(code: again, issuer: nil, for: mine, at: flow.now)
        await #expect(throws: OpenIDFailure.refused(code: "invalid_grant")) {
            try await flow.client.identity(code: again, issuer: nil, for: mine, at: flow.now)
        }
    }

    @Test func `an answer that names another issuer is refused before the code is sent`()
        async throws
    {
        let flow = try ProviderFlow()
        let ticket = flow.ticket()
        let code = try await flow.answer(to: ticket)["code"] ?? ""
        let other = "https://evil.example.com"
        await #expect(throws: OpenIDFailure.rejected(.issuer)) {
            try await flow.client.identity(code: code, issuer: other, for: ticket, at: flow.now)
        }
        #expect(flow.provider.requests(to: "/token") == 0)
    }

    @Test func `if the provider announces the parameter iss, an answer without iss is refused`()
        async throws
    {
        let flow = try ProviderFlow()
        flow.provider.change {
            $0.metadata = ["authorization_response_iss_parameter_supported": true]
        }
        let ticket = flow.ticket()
        let code = try await flow.answer(to: ticket)["code"] ?? ""
        await #expect(throws: OpenIDFailure.rejected(.issuer)) {
            try await flow.client.identity(code: code, issuer: nil, for: ticket, at: flow.now)
        }
        let issuer = OpenIDProvider.issuer
        _ = try await flow.client.identity(code: code, issuer: issuer, for: ticket, at: flow.now)
    }

    @Test func `the reason of a failed token request never quotes the provider's response`()
        async throws
    {
        let rows: [(Int, String, OpenIDFailure)] = [
            (400, #"{"error":"invalid_client"}"#, .refused(code: "invalid_client")),
            (401, #"{"error":"<b>x"}"#, .refused(code: "unknown_error")),
            (
                500, #"{"error":"server_error"}"#,
                .unavailable("its token endpoint responded with the status 500")
            ),
            (
                302, "", .unavailable("its token endpoint responded with the status 302")
            ),
            (200, "{", .unreadable("the answer with the tokens is not JSON")),
            (
                200, #"{"access_token":"a"}"#,
                .unreadable("the answer with the tokens has no id_token")
            ),
            (200, #"{"id_token":"a.b.c"}"#, .rejected(.form)),
        ]
        for (status, body, expected) in rows {
            let flow = try ProviderFlow()
            flow.provider.change {
                $0.answers["/token"] = OpenIDResponse(status: status, body: Array(body.utf8))
            }
            await #expect(throws: expected, "\(body)") { try await flow.identity() }
        }
    }

    // MARK: - Limits

    @Test(.timeLimit(.minutes(1)))
    func `at most eight requests to a provider run at a time`() async throws {
        let flow = try ProviderFlow()
        let (gate, opening) = AsyncStream<Void>.makeStream()
        flow.provider.change { $0.pause = { for await _ in gate { break } } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<OpenIDClient.requestsMax {
                group.addTask { _ = try await flow.client.metadata(at: flow.now) }
            }
            try await eventually("eight requests") {
                flow.provider.requests(to: ProviderMetadata.path) == OpenIDClient.requestsMax
            }
            await #expect(throws: OpenIDFailure.busy) {
                try await flow.client.metadata(at: flow.now)
            }
            opening.finish()
            try await group.waitForAll()
        }
        _ = try await flow.client.metadata(at: flow.now)
    }
}
