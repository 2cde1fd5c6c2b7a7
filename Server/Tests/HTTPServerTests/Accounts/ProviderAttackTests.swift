import AppStoreFormats
import Engine
import Ledger
import OpenIDConnect
import OpenIDProvider
import PerennialContract
import Storage
import Testing

@testable import HTTPServer

/// Sign-ins by somebody who breaks the rules: another browser, another site, or the provider.
@Suite struct ProviderAttackTests {
    private static func expectRefusal(
        _ answer: TestServer.Answer, _ status: Int, of shop: ProviderServer,
        _ comment: Comment
    ) async throws {
        #expect(answer.status == status && answer.session == nil, comment)
        #expect(answer.text.contains("Sign in again"), comment)
        #expect(answer.headers[.referrerPolicy] == "no-referrer", comment)
        #expect(!answer.text.contains("code-"), comment)
        #expect(try await shop.server.engine.operators.all().isEmpty, comment)
    }

    @Test func `a provider's answer needs the cookie and the state of the same sign-in`()
        async throws
    {
        try await ProviderServer.run { shop in
            let (mine, other) = (try await shop.begin(), try await shop.begin())
            let path = try shop.answerPath(to: mine)
            let state = String(path.split(separator: "=").last ?? "")
            let rows: [(Comment, String, String?)] = [
                ("no cookie", path, nil),
                ("the cookie of another browser", path, other.ticket),
                ("a made-up cookie", path, "a.1.b.c"),
                ("a changed cookie", path, String(mine.ticket.dropLast()) + "-"),
                ("no state", path.replacing("&state=\(state)", with: ""), mine.ticket),
                ("another state", path.replacing(state, with: "x"), mine.ticket),
                ("an empty state", path.replacing(state, with: ""), mine.ticket),
                ("two states", path + "&state=x", mine.ticket),
            ]
            for (comment, path, ticket) in rows {
                let answer = try await shop.complete(path, ticket: ticket)
                try await Self.expectRefusal(answer, 400, of: shop, comment)
            }
            #expect(shop.provider.requests(to: "/token") == 0)
            // The sign-in itself was not disturbed.
            #expect(try await shop.complete(path, ticket: mine.ticket).status == 303)
        }
    }

    @Test func `a provider's answer is accepted once, within ten minutes`() async throws {
        try await ProviderServer.run { shop in
            let late = try await shop.begin()
            let path = try shop.answerPath(to: late)
            shop.server.pass(SignInTicket.life)
            let answer = try await shop.complete(path, ticket: late.ticket)
            try await Self.expectRefusal(answer, 400, of: shop, "late")
            // Even a provider that accepts a code twice cannot begin a second session.
            shop.provider.change { $0.takesUsedCodes = true }
            let began = try await shop.begin()
            let second = try shop.answerPath(to: began)
            #expect(try await shop.complete(second, ticket: began.ticket).session != nil)
            let replayed = try await shop.complete(second, ticket: began.ticket)
            #expect(replayed.status == 400 && replayed.session == nil)
            let another = try shop.answerPath(to: began)
            let anew = try await shop.complete(another, ticket: began.ticket)
            #expect(anew.status == 400 && anew.session == nil)
            #expect(try await shop.server.engine.sessions.all(of: "anna").count == 1)
        }
    }

    @Test func `one sign-in causes at most one token request, even if its code is wrong`()
        async throws
    {
        try await ProviderServer.run { shop in
            let began = try await shop.begin()
            let state = try shop.answerPath(to: began).split(separator: "&")[1]
            for _ in 1...3 {
                _ = try await shop.complete(
                    "/login/openid/answer?code=wrong&\(state)", ticket: began.ticket)
            }
            #expect(shop.provider.requests(to: "/token") == 1)
        }
    }

    @Test func `after too many failures from one network, no request is sent to the provider`()
        async throws
    {
        try await ProviderServer.run { shop in
            for number in 1...ProviderMeter.failuresMax + 2 {
                let began = try await shop.begin()
                let state = try shop.answerPath(to: began).split(separator: "&")[1]
                let answer = try await shop.complete(
                    "/login/openid/answer?code=wrong&\(state)", ticket: began.ticket)
                #expect(answer.status == (number <= ProviderMeter.failuresMax ? 403 : 503))
            }
            #expect(shop.provider.requests(to: "/token") == ProviderMeter.failuresMax)
        }
    }

    @Test func `an authorization code of another sign-in is refused`() async throws {
        try await ProviderServer.run { shop in
            let (mine, evil) = (try await shop.begin(), try await shop.begin())
            let stolen = try shop.answerPath(to: evil).split(separator: "&")[0]
            let state = try shop.answerPath(to: mine).split(separator: "&")[1]
            let answer = try await shop.complete("\(stolen)&\(state)", ticket: mine.ticket)
            try await Self.expectRefusal(answer, 403, of: shop, "the code of another browser")
            #expect(answer.text.contains("no longer accepts this sign-in"))
        }
    }

    @Test func `an answer that names another issuer is refused`() async throws {
        try await ProviderServer.run { shop in
            let began = try await shop.begin()
            let path = try shop.answerPath(to: began) + "&iss=https%3A%2F%2Fevil.example.com"
            let answer = try await shop.complete(path, ticket: began.ticket)
            try await Self.expectRefusal(answer, 403, of: shop, "mixed up")
            #expect(shop.provider.requests(to: "/token") == 0)
        }
    }

    /// What the provider's token says, and the reason on the page.
    static let tokens: [(String, [String: JSON], [String: JSON])] = [
        ("nonce is not the one", [:], ["nonce": "x"]),
        ("aud does not contain", [:], ["aud": "other"]),
        ("iss is not the issuer", [:], ["iss": "https://evil.example.com"]),
        ("exp has passed", [:], ["exp": 1_795_240_000]),
        ("algorithm other than", ["alg": "none"], [:]),
        ("algorithm other than", ["alg": "HS256"], [:]),
        ("do not contain the key", ["kid": "x"], [:]),
        ("azp is not", [:], ["azp": "other"]),
        ("at_hash is not", [:], ["at_hash": "x"]),
    ]

    @Test func `an invalid ID token signs nobody in, and the page names the reason`() async throws {
        try await ProviderServer.run { shop in
            for (reason, header, claims) in Self.tokens {
                shop.provider.change {
                    $0.header = header
                    $0.claims = claims
                }
                let answer = try await shop.signIn()
                try await Self.expectRefusal(answer, 403, of: shop, "\(reason)")
                #expect(answer.text.contains(reason), "\(answer.text)")
            }
            #expect(try await shop.acts().isEmpty)
        }
    }

    @Test func `the page of a refusal shows a known error code, and no text from the request`()
        async throws
    {
        try await ProviderServer.run { shop in
            let rows = [
                ("access_denied", "did not permit the sign-in"),
                ("invalid_client", "<code><bdi>invalid_client</bdi></code>"),
                ("%3Cscript%3Ealert(1)%3C/script%3E", "<code><bdi>unknown_error</bdi></code>"),
            ]
            for (code, sentence) in rows {
                let began = try await shop.begin()
                let state = try shop.answerPath(to: began).split(separator: "&")[1]
                let path = "/login/openid/answer?error=\(code)&error_description=Call+0900&\(state)"
                let answer = try await shop.complete(path, ticket: began.ticket)
                try await Self.expectRefusal(answer, 403, of: shop, "\(code)")
                #expect(answer.text.contains(sentence), "\(answer.text)")
                #expect(!answer.text.contains("0900") && !answer.text.contains("<script>alert"))
                #expect(ProviderServer.cookie(of: answer) == "")
            }
        }
    }

    @Test(arguments: [
        "//evil.example", "https://evil.example", #"/\evil.example"#, "/%0d%0aSet-Cookie: a=b",
        "javascript:alert(1)", "evil.example", "/ x",
    ])
    func `a sign-in never redirects to another site`(next: String) async throws {
        try await ProviderServer.run { shop in
            let location = try await shop.signIn(next: next).headers[.location] ?? ""
            #expect(location == "/" || location == "/%0d%0aSet-Cookie:%20a=b", "\(location)")
        }
    }

    @Test func `a forged host in a request does not change the provider's redirect address`()
        async throws
    {
        try await ProviderServer.run { shop in
            var browser = shop.server.browser
            browser.headers[.init("X-Forwarded-Host")!] = "evil.example"
            let answer = try await browser.get("/login/openid")
            #expect(answer.headers[.location]?.contains("evil.example") == false)
        }
    }
}
