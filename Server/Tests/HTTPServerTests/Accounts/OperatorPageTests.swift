import Engine
import HTTPTypes
import Ledger
import PerennialContract
import Storage
import Testing

@testable import HTTPServer

@Suite struct OperatorPageTests {
    private static let grant = ["entitlement": "pro", "reason": "ticket 7"]

    @Test func `the server checks an operator's role separately for each app`() async throws {
        try await OperatorServer.run { server in
            _ = try await server.browser(of: "mira")
            let roles = OperatorRoles(everywhere: .viewer, byApp: ["birds": .support])
            var ben = try await server.browser(of: "ben", roles)
            #expect(try await ben.post("/customers/anna/grants", Self.grant).status == 303)
            #expect(try await ben.post("/webhooks", ["url": "https://a.example"]).status == 403)
            ben.app = "bees"
            let refused = try await ben.post("/customers/anna/grants", Self.grant)
            #expect(refused.status == 403 && refused.text.contains("role_not_enough"))
            let page = try await ben.get("/customers/anna")
            #expect(page.status == 200 && !page.text.contains("/customers/anna/grants"))
            for path in ["/operators", "/audit"] {
                #expect(try await ben.get(path).status == 403, "\(path)")
            }
            let grants: GrantList = try await server.api(Paths.grants(of: "anna"), of: "bees")
            #expect(grants.items.isEmpty)
        }
    }

    @Test func `a viewer sees no action forms and no secrets`() async throws {
        try await OperatorServer.run { server in
            let mira = try await server.browser(of: "mira")
            let added = try await mira.post(
                "/webhooks", ["url": "https://example.com/x?key=s3cr3t", "format": "perennial"])
            let once = "The secret is shown once."
            #expect(added.text.contains(once))
            let webhooks: WebhookList = try await server.api(Paths.webhooks)
            let webhook = "/webhooks/" + (try #require(webhooks.items.first)).webhookID
            let ben = try await server.browser(of: "ben", OperatorRoles(everywhere: .viewer))
            for path in ["/", "/customers/anna", "/webhooks", webhook, "/events", "/products"] {
                let page = try await ben.get(path)
                #expect(page.status == 200, "\(path)")
                #expect(!page.text.contains(once), "\(path)")
                let forms = page.text.components(after: "method=\"post\" action=\"")
                #expect(
                    forms.allSatisfy { ["/theme", "/logout"].contains($0) }, "\(path): \(forms)")
            }
            for act in ["pause", "resume", "test", "secret", "delete", "replay"] {
                #expect(try await ben.post("\(webhook)/\(act)").status == 403, "\(act)")
            }
        }
    }

    @Test func `an operator of one app sees only that app; an operator of several apps can switch`()
        async throws
    {
        try await OperatorServer.run { server in
            _ = try await server.browser(of: "mira")
            var ben = try await server.browser(of: "ben", OperatorRoles(byApp: ["birds": .viewer]))
            ben.app = nil
            let moved = try await ben.get("/customers")
            #expect(moved.status == 303 && moved.headers[.location] == "/customers")
            #expect(moved.headers[.setCookie]?.hasPrefix("app=birds; ") == true)
            ben.app = "bees"
            #expect(try await ben.get("/?app=bees").status == 303)
            let act = try await ben.post("/customers/anna/grants", Self.grant)
            #expect(act.status == 303 && act.headers[.location] == "/", "the act was not done")
            let grants: GrantList = try await server.api(Paths.grants(of: "anna"), of: "bees")
            #expect(grants.items.isEmpty)
            let cleo = try await server.browser(of: "cleo", OperatorRoles(everywhere: .viewer))
            let page = try await cleo.get("/?app=bees")
            #expect(page.status == 200 && page.text.contains("app=birds"))
            #expect(page.headers[values: .setCookie].contains { $0.hasPrefix("app=bees; ") })
            #expect(try await cleo.get("/?app=cats").text.contains("birds"))
        }
    }

    @Test func `only an admin of every app manages operators`() async throws {
        try await OperatorServer.run { server in
            let mira = try await server.browser(of: "mira")
            let ben = try await server.browser(of: "ben", OperatorRoles(byApp: ["birds": .admin]))
            let invited = ["name": "cleo", "role": "admin", "for": "*"]
            for (path, values) in [
                ("/operators", invited), ("/operators/mira/block", [:]),
                ("/operators/mira/link", [:]),
                ("/operators/ben/roles", ["role": "admin"]), ("/operators/mira/sign-out", [:]),
            ] {
                #expect(try await ben.post(path, values).status == 403, "\(path)")
            }
            let vague = try await mira.post("/operators", ["name": "cleo", "role": "admin"])
            #expect(vague.status == 400 && vague.text.contains("* for every app"))
            let made = try await mira.post("/operators", invited)
            #expect(made.status == 200)
            let link = try #require(
                made.text.firstMatch(of: #/https://localhost(/links/[0-9a-f]+)/#)?.1)
            #expect(
                try await mira.get("/operators").text.contains(link) == false,
                "the page shows the link once")
            let accepted = try await server.browser.post(
                String(link),
                ["password": OperatorServer.password, "repeated": OperatorServer.password])
            let cleo = OperatorBrowser(server: server, session: accepted.session)
            #expect(try await cleo.get("/operators").status == 200)
            let demoted = try await mira.post(
                "/operators/cleo/roles", ["role": "viewer", "for": "birds"])
            #expect(demoted.status == 303)
            #expect(try await cleo.get("/operators").status == 403)
            #expect(try await mira.post("/operators/cleo/block").status == 303)
            #expect(try await cleo.get("/").status == 303, "the operator is signed out")
            let last = try await mira.post("/operators/mira/block")
            #expect(last.status == 400 && last.text.contains("is the only admin of every app"))
        }
    }

    @Test func `only an operator who knows the current password can change it`() async throws {
        try await OperatorServer.run { server in
            let mira = try await server.browser(of: "mira")
            func change(_ former: String, _ password: String) async throws -> TestServer.Answer {
                try await mira.post(
                    "/account/password",
                    ["former": former, "password": password, "repeated": password])
            }
            let wrong = try await change("wrong", "another password")
            #expect(wrong.text.contains("The current password is wrong."))
            let short = try await change(OperatorServer.password, "short")
            #expect(short.text.contains("at least 12 characters"))
            #expect(try await change(OperatorServer.password, "another password").status == 303)
            #expect(try await mira.get("/account").text.contains("this one"))
        }
    }

    @Test
    func `each action is recorded with the operator's name, and the app's server can read the log`()
        async throws
    {
        try await OperatorServer.run { server in
            let mira = try await server.browser(of: "mira")
            let ben = try await server.browser(of: "ben", OperatorRoles(byApp: ["birds": .support]))
            _ = try await ben.post("/customers/anna/grants", Self.grant)
            let grants: GrantList = try await server.api(Paths.grants(of: "anna"))
            let grant = try #require(grants.items.first?.grantID)
            server.pass(.seconds(1))
            _ = try await ben.post("/customers/anna/grants/\(grant)/withdraw")
            server.pass(.seconds(1))
            _ = try await mira.post(
                "/webhooks", ["url": "https://example.com/x?key=s3cr3t", "format": "perennial"])
            let webhooks: WebhookList = try await server.api(Paths.webhooks)
            let webhook = try #require(webhooks.items.first?.webhookID)
            server.pass(.seconds(1))
            _ = try await mira.post("/webhooks/\(webhook)/pause")
            // The server refused this act, so it did not record the act.
            _ = try await ben.post("/webhooks/\(webhook)/resume")
            let list: AuditList = try await server.api(Paths.audit)
            #expect(
                list.items.map(\.act) == [
                    "webhooks.pause", "webhooks", "customers.grants.withdraw", "customers.grants",
                ])
            #expect(list.items.map(\.author) == ["mira", "mira", "ben", "ben"])
            #expect(list.items.map(\.subject) == [webhook, webhook, grant, grant])
            #expect(list.items.map(\.customerID) == [nil, nil, "anna", "anna"])
            #expect(list.items[0].before == ["is_paused": "false"])
            #expect(list.items[0].after == ["is_paused": "true"])
            #expect(list.items[1].after?["url"] == "https://example.com")
            #expect(list.items[2].before == ["entitlement": "pro"])
            #expect(list.items[3].after == ["entitlement": "pro"])
            let events: EventList = try await server.api(Paths.events)
            #expect(events.items.first?.cause.author?.actor == "ben")
            #expect(try await server.api(Paths.audit, of: "bees", AuditList.self).items.isEmpty)
            let page = try await mira.get("/audit")
            #expect(page.text.contains("customers.grants.withdraw"))
            #expect(!page.text.contains("s3cr3t"))
            let accounts = try await mira.get("/audit?of=server")
            #expect(accounts.text.contains("operators.accept"))
        }
    }

    @Test func `the audit log can be read page by page`() async throws {
        try await OperatorServer.run { server in
            let mira = try await server.browser(of: "mira")
            for _ in 1...3 {
                _ = try await mira.post("/customers/anna/grants", Self.grant)
                server.pass(.seconds(1))
            }
            let first: AuditList = try await server.api("\(Paths.audit)?limit=2")
            let next = try #require(first.nextCursor)
            let rest: AuditList = try await server.api("\(Paths.audit)?limit=2&after=\(next)")
            #expect(first.items.count == 2 && rest.items.count == 1 && rest.nextCursor == nil)
            #expect(Set((first.items + rest.items).map(\.auditID)).count == 3)
            #expect(
                (first.items + rest.items).map(\.at)
                    == (first.items + rest.items).map(\.at)
                    .sorted(by: >))
        }
    }

    @Test func `the audit log keeps a pseudonym of an erased customer`() async throws {
        try await OperatorServer.run { server in
            let mira = try await server.browser(of: "mira")
            _ = try await mira.post("/customers/anna/grants", Self.grant)
            server.pass(.seconds(1))
            let erased = try await mira.post("/customers/anna/erase", ["confirm": "anna"])
            #expect(erased.status == 303)
            let list: AuditList = try await server.api(Paths.audit)
            #expect(list.items.map(\.act) == ["customers.erase", "customers.grants"])
            #expect(list.items.allSatisfy { $0.customerID != "anna" })
        }
    }
}

extension String {
    /// The text after each occurrence of `text`, up to the next quotation mark.
    fileprivate func components(after text: String) -> [String] {
        ranges(of: text).map { String(self[$0.upperBound...].prefix { $0 != "\"" }) }
    }
}
