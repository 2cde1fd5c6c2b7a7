import HTTPTypes
import Ledger
import PerennialContract
import Storage
import Testing

@testable import Engine
@testable import HTTPServer

@Suite struct SignInTests {
    private static func sign(_ name: String, _ password: String) -> [String: String] {
        ["name": name, "password": password, "next": "/customers/anna"]
    }

    @Test func `without signing in, nobody can see a page or send a form`() async throws {
        try await OperatorServer.run { server in
            _ = try await server.browser(of: "mira")
            let pages = [
                "/", "/customers/anna", "/charts/mrr", "/operators", "/account", "/audit",
                "/webhooks",
            ]
            for browser in [
                server.browser, OperatorBrowser(server: server, session: "0"),
                OperatorBrowser(server: server, session: ""),
            ] {
                for path in pages {
                    let page = try await browser.get(path)
                    #expect(page.status == 303, "\(path)")
                    let next = Paths.percentEncoded(path)
                    #expect(page.headers[.location] == "/login?next=\(next)")
                }
                for path in ["/customers/anna/grants", "/operators", "/account/password", "/theme"]
                {
                    let act = try await browser.post(path, ["entitlement": "pro"], token: "x")
                    #expect(act.status == 303 && act.headers[.location] == "/login", "\(path)")
                }
            }
            #expect(try await server.api(Paths.grants(of: "anna"), GrantList.self).items.isEmpty)
        }
    }

    @Test func `the first link creates an admin and signs the admin in`() async throws {
        try await OperatorServer.run { server in
            let login = try await server.browser.get("/login")
            #expect(login.status == 200 && login.text.contains("There is no account yet"))
            let link = "/links/" + (try #require(try await server.engine.operators.firstLink()))
            #expect(try await server.browser.get(link).text.contains("The first account"))
            let rows = [
                ["name": "mira", "password": "short", "repeated": "short"],
                ["name": "mira", "password": OperatorServer.password, "repeated": "other"],
                [
                    "name": "mi ra", "password": OperatorServer.password,
                    "repeated": OperatorServer.password,
                ],
            ]
            for row in rows {
                let page = try await server.browser.post(link, row)
                #expect(page.status == 400 && page.session == nil, "\(row)")
            }
            let right = [
                "name": "mira", "password": OperatorServer.password,
                "repeated": OperatorServer.password,
            ]
            let made = try await server.browser.post(link, right)
            #expect(made.status == 303 && made.headers[.location] == "/")
            let mira = OperatorBrowser(server: server, session: made.session)
            #expect(try await mira.get("/operators").text.contains("mira"))
            for answer in [
                try await server.browser.get(link), try await server.browser.post(link, right),
            ] {
                #expect(answer.status == 404 && answer.text.contains("This link does not work"))
            }
        }
    }

    @Test func `signing in leads to the requested page and sets a cookie for this site only`()
        async throws
    {
        try await OperatorServer.run { server in
            _ = try await server.browser(of: "mira")
            let answer = try await server.browser.post(
                "/login", Self.sign("Mira", OperatorServer.password))
            #expect(answer.status == 303 && answer.headers[.location] == "/customers/anna")
            let cookie = try #require(answer.headers[.setCookie])
            #expect(cookie.hasSuffix("; Path=/; Secure; HttpOnly; SameSite=Lax"), "\(cookie)")
            #expect(cookie.hasPrefix("__Host-perennial=") && !cookie.contains("Domain"))
            let browser = OperatorBrowser(server: server, session: answer.session)
            #expect(try await browser.get("/customers/anna").status == 200)
            #expect(try await browser.get("/login").headers[.location] == "/")
            for next in ["//evil.example", "https://evil.example", "/\\evil.example"] {
                let answer = try await server.browser.post(
                    "/login",
                    ["name": "mira", "password": OperatorServer.password, "next": next])
                #expect(answer.headers[.location] == "/", "\(next)")
            }
        }
        try await OperatorServer.run(at: "http://localhost") { server in
            _ = try await server.browser(of: "mira")
            let answer = try await server.browser.post(
                "/login", Self.sign("mira", OperatorServer.password))
            let cookie = try #require(answer.headers[.setCookie])
            #expect(cookie.hasPrefix("perennial=") && !cookie.contains("Secure"))
        }
    }

    @Test func `after five wrong passwords, signing in is blocked for a minute under any name`()
        async throws
    {
        try await OperatorServer.run { server in
            _ = try await server.browser(of: "mira")
            for name in ["mira", "nobody"] {
                var texts: [String] = []
                for left in [4, 3, 2, 1] {
                    let page = try await server.browser.post("/login", Self.sign(name, "wrong"))
                    #expect(page.status == 403 && page.session == nil)
                    #expect(page.text.contains(left == 1 ? "1 try is" : "\(left) tries are"))
                    texts.append(page.text)
                }
                for _ in 1...2 {
                    let page = try await server.browser.post("/login", Self.sign(name, "wrong"))
                    #expect(page.status == 429)
                    #expect(
                        page.text.contains("with this name from your address is blocked until"))
                }
            }
            let right = Self.sign("mira", OperatorServer.password)
            #expect(try await server.browser.post("/login", right).status == 429)
            server.pass(.seconds(60))
            #expect(try await server.browser.post("/login", right).status == 303)
        }
    }

    @Test func `the sign-in page says which limit was reached, and whether the try was counted`()
        async throws
    {
        // In these tests, requests come from an empty address.
        let proxy = TrustedProxy(addresses: [""])
        try await OperatorServer.run(behind: proxy) { server in
            _ = try await server.browser(of: "mira")
            func sign(_ name: String, from address: String) async throws -> TestServer.Answer {
                var browser = server.browser
                browser.headers = [Self.forwardedFor: address]
                return try await browser.post("/login", Self.sign(name, "wrong"))
            }
            for number in 1...20 {
                let page = try await sign("name\(number)", from: "203.0.113.5")
                #expect(page.status == 403)
            }
            let address = try await sign("mira", from: "203.0.113.5")
            #expect(address.status == 429)
            #expect(address.text.contains("Signing in from your address is blocked until"))
            for number in 1...100 { _ = try await sign("mira", from: "203.0.113.\(number + 5)") }
            let name = try await sign("mira", from: "203.0.113.200")
            #expect(name.status == 429 && name.text.contains(", from many addresses. It is"))
            let places = try (0..<4).map { _ in
                try server.engine.context.passwords.reserve(for: "192.0.2.1")
            }
            let busy = try await sign("ben", from: "192.0.2.1")
            #expect(busy.status == 503 && busy.text.contains("This try was not counted"))
            for place in places { place.release() }
        }
    }

    private static let forwardedFor = HTTPField.Name.wellFormed("X-Forwarded-For")

    /// In each request, the test replaces # by another number.
    @Test(arguments: [
        "203.0.113.5", "203.0.113.6:4#", "[2001:db8::1]:4#", "2001:db8:1:1::#",
        "2001:DB8:1:2:#::7", "::ffff:203.0.113.7", "198.51.100.#, 203.0.113.8",
        "198.51.100.#, unknown", "198.51.100.#, [203.0.113.9",
    ])
    func `an IP address is counted as one address in every notation that a proxy may use`(
        text: String
    ) async throws {
        try await OperatorServer.run(behind: TrustedProxy(addresses: [""])) { server in
            _ = try await server.browser(of: "mira")
            var statuses: [Int] = []
            for number in 1...21 {
                var browser = server.browser
                let address = text.replacing("#", with: "\(number)")
                browser.headers = [Self.forwardedFor: address]
                let page = try await browser.post("/login", Self.sign("name\(number)", "wrong"))
                statuses.append(page.status)
            }
            #expect(statuses == Array(repeating: 403, count: 20) + [429], "\(text)")
        }
    }

    @Test func `addresses of different networks are counted separately`() throws {
        let networks = ["2001:db8:0:1::1", "2001:db8:0:2::1", "203.0.113.1", "203.0.113.2"]
            .map { CanonicalAddress($0)?.network }
        #expect(
            networks == ["2001:db8:0:1::/64", "2001:db8:0:2::/64", "203.0.113.1", "203.0.113.2"])
        #expect(CanonicalAddress("[2001:DB8::1]")?.description == "2001:db8::1")
        #expect(TrustedProxy(addresses: ["2001:DB8:0::1"]).addresses == ["2001:db8::1"])
        #expect(CanonicalAddress("::ffff:203.0.113.7")?.network == "203.0.113.7")
        for text in ["", "localhost", "10.0.0.0/24", "10.0.0.1:80", "::1%lo", "[::1", "1.2.3"] {
            #expect(CanonicalAddress(text) == nil, "\(text)")
        }
    }

    @Test func `another site cannot sign an operator in or out, or send forms as the operator`()
        async throws
    {
        let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
        let origins: [HTTPFields] = [
            [.origin: "https://evil.example"], [.origin: "http://localhost"], [.origin: "null"],
            [site: "cross-site"], [site: "same-site"],
        ]
        try await OperatorServer.run { server in
            let mira = try await server.browser(of: "mira")
            let acts = [
                "/login", "/logout", "/customers/anna/grants", "/operators", "/account/sign-out",
            ]
            for headers in origins {
                for act in acts {
                    let answer = try await mira.post(
                        act, Self.sign("mira", OperatorServer.password), headers: headers)
                    #expect(answer.status == 403, "\(act) with \(headers)")
                }
            }
            let own = try await mira.post(
                "/customers/anna/grants", ["entitlement": "pro"],
                headers: [.origin: "https://localhost", site: "same-origin"])
            #expect(own.status == 303, "\(own.text)")
            #expect(try await mira.get("/").status == 200, "mira is still signed in")
        }
        try await OperatorServer.run(at: "https://store.example.com") { server in
            let page = try await server.browser.get("/login")
            #expect(page.status == 403 && page.text.contains("store.example.com"))
        }
    }

    @Test func `a form with the token of another session or another app changes nothing`()
        async throws
    {
        try await OperatorServer.run { server in
            let mira = try await server.browser(of: "mira")
            let ben = try await server.browser(of: "ben")
            let again = try await server.browser.post(
                "/login", Self.sign("mira", OperatorServer.password))
            for other in [ben.session, again.session, nil] {
                let token =
                    other.map { SessionService.formToken(ofSession: $0, app: "birds") } ?? ""
                let answer = try await mira.post(
                    "/customers/anna/grants", ["entitlement": "pro"], token: token)
                #expect(answer.status == 403 && answer.text.contains("form_outdated"))
            }
            // The form has the token of another app, as if the operator had switched apps in
            // another tab.
            let token = SessionService.formToken(ofSession: try #require(mira.session), app: "bees")
            let answer = try await mira.post(
                "/customers/anna/erase", ["confirm": "anna"], token: token)
            #expect(answer.status == 403)
        }
    }

    @Test func `a session ends after its time, by signing out, and by signing out everywhere`()
        async throws
    {
        try await OperatorServer.run { server in
            var mira = try await server.browser(of: "mira")
            server.pass(.hours(12))
            #expect(try await mira.get("/").status == 303)
            func signIn() async throws -> String? {
                try await server.browser.post(
                    "/login", Self.sign("mira", OperatorServer.password)
                ).session
            }
            mira.session = try await signIn()
            let other = OperatorBrowser(server: server, session: try await signIn())
            let out = try await mira.post("/logout")
            #expect(out.headers[.location] == "/login")
            #expect(out.headers[.setCookie]?.hasPrefix("__Host-perennial=; Max-Age=0; ") == true)
            #expect(try await mira.get("/").status == 303)
            #expect(try await other.get("/").status == 200)
            mira.session = try await signIn()
            #expect(try await mira.post("/account/sign-out").status == 303)
            for browser in [mira, other] { #expect(try await browser.get("/").status == 303) }
        }
    }

    @Test func `pages of accounts and sign-in cannot be framed and are not cached`() async throws {
        try await OperatorServer.run { server in
            let mira = try await server.browser(of: "mira")
            let link =
                "/links/" + (try await server.engine.operators.resetLink(for: "mira", by: "x"))
            for page in [
                try await server.browser.get("/login"), try await server.browser.get(link),
                try await server.browser.get("/links/0"), try await mira.get("/account"),
                try await server.browser.post("/login", Self.sign("mira", "wrong")),
            ] {
                let policy = page.headers[.contentSecurityPolicy]
                #expect(policy?.contains("frame-ancestors 'none'") == true)
                #expect(policy?.contains("default-src 'none'") == true)
                #expect(page.headers[try #require(.init("X-Frame-Options"))] == "DENY")
                #expect(page.headers[.cacheControl] == "no-store")
                #expect(page.headers[try #require(.init("Referrer-Policy"))] == "same-origin")
                #expect(!page.text.contains(" style=") && !page.text.contains("onclick"))
            }
        }
    }

    // MARK: - Proxies

    @Test func `only a trusted proxy can sign operators in`() async throws {
        let field = try #require(HTTPField.Name("X-Forwarded-User"))
        // In these tests, requests come from an empty address.
        let proxy = TrustedProxy(addresses: [""], userField: field)
        try await OperatorServer.run(behind: proxy) { server in
            _ = try await server.browser(of: "mira")
            var browser = server.browser
            browser.headers = [field: "Mira"]
            let page = try await browser.get("/customers/anna")
            #expect(page.status == 200 && page.text.contains("mira"))
            let token = try await server.engine.sessions.formToken(ofProxied: "mira", app: "birds")
            let given = try await browser.post(
                "/customers/anna/grants", ["entitlement": "pro"], token: token)
            #expect(given.status == 303, "\(given.text)")
            let forged = try await browser.post(
                "/customers/anna/grants", ["entitlement": "pro"], token: "x")
            #expect(forged.status == 403)
            browser.headers = [field: "ben"]
            _ = try await server.engine.operators.invite(
                "ben", as: OperatorRoles(everywhere: .viewer), by: "mira")
            let invited = try await browser.get("/")
            #expect(invited.status == 200 && invited.text.contains("ben"))
            #expect(try await server.engine.operators.links().isEmpty)
            let password = try await server.engine.sessions.signIn(
                as: "ben", password: "", from: SignInPlace(address: "", agent: ""))
            #expect(password == .wrong(triesLeft: 4))
            browser.headers = [field: "eve"]
            let stranger = try await browser.get("/")
            #expect(stranger.status == 403 && stranger.text.contains("no account here"))
        }
        for other in [nil, TrustedProxy(addresses: ["192.0.2.1"], userField: field)] {
            try await OperatorServer.run(behind: other) { server in
                _ = try await server.browser(of: "mira")
                var browser = server.browser
                browser.headers = [field: "mira"]
                #expect(try await browser.get("/").status == 303)
            }
        }
    }
}
