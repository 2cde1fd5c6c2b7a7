import AppStoreFormats
import Engine
import Ledger
import OpenIDConnect
import OpenIDProvider
import PerennialContract
import Storage
import Testing

@testable import HTTPServer

/// Sign-ins by a provider that follows the rules.
@Suite struct ProviderSignInTests {
    @Test func `the first sign-in of a person who has a role creates an account`() async throws {
        try await ProviderServer.run { shop in
            #expect(
                try await shop.server.browser.get("/login?next=/customers/anna").text.contains(
                    #""/login/openid?next=%2Fcustomers%2Fanna">Sign in with <bdi>Birds &amp; Co"#
                ))
            let answer = try await shop.signIn(next: "/customers/anna")
            #expect(answer.status == 303 && answer.headers[.location] == "/customers/anna")
            let cookies = answer.headers[values: .setCookie]
            #expect(
                cookies.contains {
                    $0.hasPrefix("__Host-perennial=")
                        && $0.hasSuffix("; Path=/; Secure; HttpOnly; SameSite=Lax")
                })
            #expect(
                cookies.contains(
                    "__Host-perennial-sign-in=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax"))
            let account = try await shop.server.engine.operators.named("anna")
            #expect(account.roles == OperatorRoles(byApp: ["birds": .support]))
            #expect(account.signedInAt == TestServer.now)
            // Both were recorded at one moment, so their order says nothing.
            let acts = try await shop.acts().map { "\($0.act) \($0.author) \($0.after ?? "")" }
                .sorted()
            #expect(
                acts == [
                    "operators.join anna {\"provider\":\"https://login.example.com\","
                        + "\"roles\":\"birds=support\"}",
                    "session.sign_in anna {\"address\":\"\","
                        + "\"provider\":\"https://login.example.com\"}",
                ])
        }
    }

    @Test
    func `a sign-in cookie is bound to the host, hidden from scripts, and ends in ten minutes`()
        async throws
    {
        try await ProviderServer.run { shop in
            let answer = try await shop.server.browser.get("/login/openid")
            let cookie = answer.headers[values: .setCookie].first ?? ""
            #expect(cookie.hasPrefix("__Host-perennial-sign-in="))
            #expect(cookie.hasSuffix("; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Lax"))
            let query = OpenIDProvider.fields(
                String((answer.headers[.location] ?? "").drop { $0 != "?" }.dropFirst()))
            let ticket = try #require(ProviderServer.cookie(of: answer))
            // The address at the provider reveals nothing of the cookie.
            for value in query.values { #expect(!ticket.contains(value)) }
            #expect(query["redirect_uri"] == "https://localhost/login/openid/answer")
            #expect(query["scope"] == "openid profile")
        }
    }

    @Test func `a person is identified by issuer and subject, not by name`() async throws {
        try await ProviderServer.run { shop in
            _ = try await shop.browser()
            let renamed = ProviderServer.anna.with(["preferred_username": "cleo", "name": "Cleo"])
            _ = try await shop.browser(as: renamed)
            let names = try await shop.server.engine.operators.all().map(\.name)
            #expect(names == ["anna"])
            let identity = try await shop.server.engine.operators.identities()["anna"]
            #expect(identity?.subject == "a1" && identity?.fullName == "Cleo")
            // Another person with the same name and address.
            let other = ProviderServer.anna.with(["sub": "b2"])
            _ = try await shop.browser(as: other)
            #expect(
                try await shop.server.engine.operators.all().map(\.name) == ["anna", "anna-2"])
        }
    }

    @Test func `a new account never gets a name that is used, invited or reserved`()
        async throws
    {
        try await ProviderServer.run { shop in
            let mira = try await shop.server.browser(of: "mira")
            _ = try await shop.server.engine.operators.invite(
                "ben", as: OperatorRoles(everywhere: .admin), by: "mira")
            let rows: [(JSON, String)] = [
                ("mira", "mira-2"), ("MIRA", "mira-3"), ("ben", "ben-2"), ("server", "server-2"),
                ("perennial operators", "perennial-operators"), ("<b>", "b-"), ("", "operator"),
                ("", "operator-2"), ("mira@birds.example", "mira@birds.example"),
                ("..", "operator-3"),
                (.string(String(repeating: "x", count: 99)), String(repeating: "x", count: 60)),
            ]
            for (number, row) in rows.enumerated() {
                let person = ProviderServer.anna.with([
                    "sub": .string("p\(number)"), "preferred_username": row.0,
                ])
                let browser = try await shop.browser(as: person)
                #expect(try await browser.get("/account").text.contains(row.1), "\(row)")
                #expect(
                    try await shop.server.engine.operators.named(row.1).roles
                        == OperatorRoles(byApp: ["birds": .support]))
            }
            #expect(
                try await shop.server.engine.operators.named("mira").roles.everywhere == .admin)
            let page = try await mira.get("/operators").text
            #expect(page.contains("Anna &lt;b&gt;Bird&lt;/b&gt;") && !page.contains("<b>Bird"))
        }
    }

    @Test func `a person without a role is refused, and the page names the claim to check`()
        async throws
    {
        try await ProviderServer.run { shop in
            for groups: JSON in [["staff"], [], .null, "Admins", ["admins "]] {
                let answer = try await shop.signIn(
                    as: ProviderServer.anna.with(["groups": groups]))
                #expect(answer.status == 403 && answer.session == nil)
                #expect(answer.text.contains("<code><bdi>groups</bdi></code>"))
                #expect(answer.text.contains("dashboard.sign_in.openid.roles"))
            }
            #expect(try await shop.server.engine.operators.all().isEmpty)
            #expect(try await shop.acts().isEmpty)
        }
    }

    @Test func `at each sign-in, an operator gets the roles of the present groups`() async throws {
        try await ProviderServer.run { shop in
            let first = try await shop.browser(as: ProviderServer.anna.with(["groups": "admins"]))
            let link = try await shop.server.engine.operators.invite(
                "ben", as: OperatorRoles(everywhere: .admin), by: "anna")
            #expect(try await first.get("/operators").status == 200)
            let second = try await shop.browser(
                as: ProviderServer.anna.with(["groups": ["helpers", "readers"]]))
            let roles = try await shop.server.engine.operators.named("anna").roles
            #expect(roles == OperatorRoles(everywhere: .viewer, byApp: ["birds": .support]))
            for browser in [first, second] {
                #expect(try await browser.get("/operators").status == 403)
            }
            // A link that she made as an admin could give the role back.
            #expect(try await shop.server.engine.operators.link(token: link) == nil)
            let answer = try await shop.signIn(as: ProviderServer.anna.with(["groups": []]))
            #expect(answer.status == 403)
            for browser in [first, second] { #expect(try await browser.get("/").status == 303) }
            #expect(try await shop.server.engine.operators.named("anna").roles.isEmpty)
            let changes = try await shop.acts().filter { $0.act == "operators.roles" }
            #expect(changes.map(\.author) == ["OpenID Connect", "OpenID Connect"])
            #expect(changes.contains { $0.stateAfter == ["roles": ""] })
        }
    }

    @Test func `a session of a provider ends after session_hours, even while it is used`()
        async throws
    {
        try await ProviderServer.run(sessionLife: .hours(2)) { shop in
            let browser = try await shop.browser()
            shop.server.pass(.seconds(7_199))
            #expect(try await browser.get("/").status == 200)
            shop.server.pass(.seconds(1))
            #expect(try await browser.get("/").status == 303)
        }
    }

    @Test func `no group at the provider unblocks a blocked operator`() async throws {
        try await ProviderServer.run { shop in
            let mira = try await shop.server.browser(of: "mira")
            let anna = try await shop.browser()
            #expect(try await mira.post("/operators/anna/block").status == 303)
            #expect(try await anna.get("/").status == 303)
            for groups: JSON in [["helpers"], ["admins"], []] {
                let answer = try await shop.signIn(
                    as: ProviderServer.anna.with(["groups": groups]))
                #expect(answer.status == 403 && answer.session == nil)
                #expect(answer.text.contains("Your account is blocked"))
            }
            let anew = try await shop.server.engine.operators.named("anna")
            #expect(anew.roles == OperatorRoles(byApp: ["birds": .support]))
            #expect(try await mira.post("/operators/anna/unblock").status == 303)
            #expect(try await shop.signIn().status == 303)
        }
    }

    @Test
    func `without passwords, people sign in only by the provider or by a link from a command`()
        async throws
    {
        try await ProviderServer.run(takesPasswords: false) { shop in
            let admin = ProviderServer.anna.with(["groups": "admins"])
            let anna = try await shop.browser(as: admin)
            _ = try await shop.server.browser(of: "mira")
            let login = try await shop.server.browser.get("/login").text
            #expect(login.contains("/login/openid") && !login.contains(#"type="password""#))
            let form = ["name": "mira", "password": OperatorServer.password]
            let refused = try await shop.server.browser.post("/login", form)
            #expect(refused.status == 403 && refused.session == nil)
            #expect(try await anna.post("/operators/mira/link").status == 400)
            let invitation = ["name": "ben", "role": "admin", "for": "*"]
            #expect(try await anna.post("/operators", invitation).status == 400)
            let page = try await anna.get("/operators").text
            #expect(!page.contains("Invite somebody") && !page.contains("Lost password"))
            #expect(!(try await anna.get("/account").text.contains("Change your password")))
            // Links of the dashboard from before, and of the command.
            let engine = shop.server.engine
            let ways = [("anna", 404), (OperatorService.commandAuthor, 303)]
            for (author, status) in ways {
                let link = try await engine.operators.resetLink(for: "mira", by: author)
                let values = [
                    "password": OperatorServer.password, "repeated": OperatorServer.password,
                ]
                let answer = try await shop.server.browser.post("/links/\(link)", values)
                #expect(answer.status == status, "\(author)")
                #expect((answer.session != nil) == (status == 303))
            }
        }
    }

    @Test func `if the provider does not respond, operators can sign in with passwords`()
        async throws
    {
        try await ProviderServer.run { shop in
            _ = try await shop.server.browser(of: "mira")
            shop.provider.change { $0.failure = .unavailable("a test wants it so") }
            let answer = try await shop.server.browser.get("/login/openid")
            #expect(answer.status == 502 && answer.text.contains("does not respond"))
            #expect(
                answer.text.contains("sign in with it") && ProviderServer.cookie(of: answer) == nil)
            let form = ["name": "mira", "password": OperatorServer.password]
            #expect(try await shop.server.browser.post("/login", form).session != nil)
        }
    }
}
