import Dashboard
import Engine
import HTTPTypes
import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

@Suite struct DashboardActTests {
    private static let grant = ["entitlement": "pro", "until": "2027-01-01", "reason": "sorry"]
    /// Every act on the dashboard, with the lowest role that may do the act.
    private static let acts: [(path: String, role: String)] = [
        ("/customers/anna/grants", "support"),
        ("/customers/anna/grants/grt_1/withdraw", "support"),
        ("/customers/anna/transfers", "support"),
        ("/customers/anna/transfers/trf_1/undo", "support"),
        ("/customers/anna/blocks", "support"), ("/customers/anna/blocks/7001/end", "support"),
        ("/customers/anna/consumption", "support"),
        ("/customers/anna/wallets/seeds/debits", "support"),
        ("/customers/anna/groups/7001/invitations", "support"),
        ("/customers/anna/groups/7001/invitations/i1/renew", "support"),
        ("/customers/anna/groups/7001/invitations/i1/withdraw", "support"),
        ("/customers/anna/seats/c1/release", "support"),
        ("/customers/anna/wallets/seeds/credits", "support"), ("/customers/anna/erase", "admin"),
        ("/notifications/test", "admin"),
        ("/forwards/00/retry", "admin"), ("/webhooks", "admin"),
        ("/webhooks/wh_1/pause", "admin"), ("/webhooks/wh_1/resume", "admin"),
        ("/webhooks/wh_1/test", "admin"), ("/webhooks/wh_1/secret", "admin"),
        ("/webhooks/wh_1/delete", "admin"), ("/webhooks/wh_1/replay", "admin"),
    ]

    // MARK: - Roles

    @Test func `a viewer is refused all actions, and support is refused the actions of admins`()
        async throws
    {
        var access = DashboardServer.developer
        access.developer?.role = .viewer
        try await DashboardServer.run(as: access) { server in
            for act in Self.acts {
                let page = try await server.post(act.path)
                #expect(page.status == 403, "\(act.path)")
                #expect(page.text.contains("role_not_enough"))
            }
            #expect(try await server.get("/customers/anna").status == 200)
        }
        access.developer?.role = .support
        try await DashboardServer.run(as: access) { server in
            for act in Self.acts {
                let status = try await server.post(act.path).status
                #expect((status == 403) == (act.role == "admin"), "\(act.path): \(status)")
            }
        }
    }

    @Test func `an operator with the role support sees charts and reports only if also a viewer`()
        async throws
    {
        let pages = ["/charts", "/charts/mrr", "/charts/mrr/purchases", "/reports"]
        var access = DashboardServer.developer
        access.developer?.role = .support
        try await DashboardServer.run(as: access) { server in
            for path in pages {
                let page = try await server.get(path)
                #expect(page.status == 403, "\(path)")
                #expect(page.text.contains("role_not_enough"), "\(path)")
            }
            let overview = try await server.get("/")
            #expect(!overview.text.contains("/charts"))
        }
        for (role, isAlsoViewer) in [
            (Viewer.Role.viewer, false), (.admin, false), (.support, true),
        ] {
            access.developer?.role = role
            access.developer?.isAlsoViewer = isAlsoViewer
            try await DashboardServer.run(as: access) { server in
                for path in pages {
                    let page = try await server.get(path)
                    #expect(page.status != 403, "\(role): \(path)")
                }
                let overview = try await server.get("/")
                #expect(overview.text.contains("/charts"), "\(role)")
            }
        }
    }

    @Test func `a form without a form token, or from another site, is refused`() async throws {
        let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
        let origins: [HTTPFields] = [
            [.origin: "http://evil.example"], [.origin: "null"], [site: "cross-site"],
            [site: "same-site"],
        ]
        try await DashboardServer.run { server in
            for act in Self.acts.map(\.path) + ["/theme", "/logout"] {
                for token in [nil, "", "other"] {
                    let page = try await server.post(act, Self.grant, token: token)
                    #expect(page.status == 403, "\(act) with \(token ?? "no token")")
                    #expect(page.text.contains("form_outdated"))
                }
                for headers in origins {
                    let page = try await server.post(act, Self.grant, headers: headers)
                    #expect(page.status == 403, "\(act) with \(headers)")
                }
            }
            #expect(try await server.api(Paths.grants(of: "anna"), GrantList.self).items.isEmpty)
        }
    }

    @Test func `a form from a page of the dashboard is accepted`() async throws {
        let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
        try await DashboardServer.run { server in
            let page = try await server.post(
                "/customers/anna/grants", Self.grant,
                headers: [.origin: "http://localhost", site: "same-origin"])
            #expect(page.status == 303, "\(page.text)")
        }
    }

    @Test func `a form that is too large is refused`() async throws {
        try await DashboardServer.run { server in
            let long = String(repeating: "x", count: DashboardRoutes.formBytesMax)
            let page = try await server.post("/customers/anna/grants", ["reason": long])
            #expect(page.status == 413)
        }
    }

    // MARK: - What acts do

    @Test func `an action on a page has the same effect as one through the HTTP API`() async throws
    {
        try await DashboardServer.run { server in
            let given = try await server.post("/customers/anna/grants", Self.grant)
            #expect(given.status == 303 && given.headers[.location] == "/customers/anna")
            let grants: GrantList = try await server.api(Paths.grants(of: "anna"))
            let grant = try #require(grants.items.first)
            #expect(grant.until?.description == "2027-01-01T23:59:59.999Z")
            #expect(grant.reason == "sorry")
            let events: EventList = try await server.api(Paths.events)
            #expect(events.items.first?.cause.author?.actor == "developer")
            let back = try await server.post(
                "/customers/anna/grants/\(grant.grantID)/withdraw")
            #expect(back.status == 303)
            let customer: Customer = try await server.api(Paths.customer("anna"))
            #expect(customer.entitlements["pro"]?.active == false)
        }
    }

    @Test func `a notice is shown once and never contains text from the request`() async throws {
        try await DashboardServer.run { server in
            let given = try await server.post("/customers/anna/grants", Self.grant)
            let set = try #require(given.headers[.setCookie])
            #expect(set.hasPrefix("notice=granted; ") && set.contains("HttpOnly"))
            let page = try await server.get("/customers/anna", headers: [.cookie: "notice=granted"])
            #expect(page.text.contains("Access was given."))
            #expect(page.headers[.setCookie]?.hasPrefix("notice=; Path=/; Max-Age=0") == true)
            let other = try await server.get("/customers/anna", headers: [.cookie: "notice=pwned"])
            #expect(!other.text.contains("pwned"))
        }
    }

    @Test
    func `if the form of a withdrawn grant is sent again, the page says that the grant has ended`()
        async throws
    {
        try await DashboardServer.run { server in
            var form = Self.grant
            form["key"] = "k"
            for _ in 0..<2 {
                let given = try await server.post("/customers/anna/grants", form)
                #expect(given.headers[.setCookie]?.hasPrefix("notice=granted; ") == true)
            }
            let grants: GrantList = try await server.api(Paths.grants(of: "anna"))
            let id = try #require(grants.items.first?.grantID)
            _ = try await server.post("/customers/anna/grants/\(id)/withdraw")
            let again = try await server.post("/customers/anna/grants", form)
            #expect(again.headers[.setCookie]?.hasPrefix("notice=granted_before; ") == true)
            let page = try await server.get(
                "/customers/anna", headers: [.cookie: "notice=granted_before"])
            #expect(page.text.contains("This access was given before, and has ended since."))
            #expect(!page.text.contains("It is open now."))
        }
    }

    @Test func `a purchase is moved only after a confirmation, and can be moved back`()
        async throws
    {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            let asked = try await server.post(
                "/customers/ben/transfers", ["query": "7001", "reason": "ticket 7"])
            #expect(asked.status == 200 && asked.text.contains("Nothing has been moved yet."))
            #expect(asked.text.contains("anna") && asked.text.contains("pro.monthly"))
            let moved = try await server.post(
                "/customers/ben/transfers",
                ["original_transaction_id": "7001", "reason": "ticket 7"])
            #expect(moved.status == 303 && moved.headers[.location] == "/customers/ben")
            var ben: Customer = try await server.api(Paths.customer("ben"))
            #expect(ben.entitlements["pro"]?.active == true)
            let transfers: TransferList = try await server.api("/v1/customers/ben/transfers")
            let id = try #require(transfers.items.last?.transferID)
            let undone = try await server.post("/customers/ben/transfers/\(id)/undo")
            #expect(undone.status == 303)
            ben = try await server.api(Paths.customer("ben"))
            #expect(ben.entitlements["pro"]?.active != true)
        }
    }

    @Test func `a block keeps a purchase with its customer until support ends the block`()
        async throws
    {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            let kept = "This lasts until you end it, or move the purchase."
            #expect(try await server.get("/customers/anna").text.contains(kept))
            let block = try await server.post(
                "/customers/anna/blocks", ["original_transaction_id": "7001", "reason": "ticket 7"])
            #expect(block.status == 303)
            let page = try await server.get("/customers/anna")
            #expect(page.text.contains("/customers/anna/blocks/7001/end"))
            #expect(!page.text.contains(kept))
            let end = try await server.post("/customers/anna/blocks/7001/end")
            #expect(end.status == 303)
            #expect(try await server.get("/customers/anna").text.contains(kept))
        }
    }

    @Test func `a customer is erased only if the id was typed correctly`() async throws {
        try await DashboardServer.run { server in
            _ = try await server.post("/customers/anna/grants", Self.grant)
            let wrong = try await server.post("/customers/anna/erase", ["confirm": "ana"])
            #expect(wrong.status == 400 && wrong.text.contains("Nothing has changed."))
            #expect(try await server.api(Paths.grants(of: "anna"), GrantList.self).items.count == 1)
            let erased = try await server.post("/customers/anna/erase", ["confirm": "anna"])
            #expect(erased.status == 303 && erased.headers[.location] == "/customers")
            #expect(try await server.api(Paths.grants(of: "anna"), GrantList.self).items.isEmpty)
        }
    }

    @Test func `the dialog to erase covers production and the sandbox, and counts all purchases`()
        async throws
    {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            try await server.buy("anna", transaction: "7002")
            try await server.buy("anna", transaction: "7003", seeds: true)
            for path in ["/customers/anna", "/customers/anna?environment=sandbox"] {
                let page = try await server.get(path).text
                // The consumable stays linked to the customer, so the page does not count it.
                #expect(page.contains("Their 2 purchases are unlinked."), "\(path)")
                #expect(page.contains("one act for production and the sandbox"), "\(path)")
            }
            let erased = try await server.post(
                "/customers/anna/erase?environment=sandbox", ["confirm": "anna"])
            #expect(erased.status == 303)
            let audit: AuditList = try await server.api(Paths.audit)
            #expect(audit.items.map(\.act) == ["customers.erase"])
            #expect(audit.items.first?.environment == nil)
        }
    }

    @Test func `a webhook can be added, tested, paused and deleted on its page`() async throws {
        try await DashboardServer.run { server in
            let added = try await server.post(
                "/webhooks", ["url": "http://127.0.0.1:9/hook", "format": "perennial"])
            #expect(added.status == 200 && added.text.contains("The secret is shown once."))
            let list: WebhookList = try await server.api(Paths.webhooks)
            let path = "/webhooks/" + (try #require(list.items.first)).webhookID
            #expect(try await server.get(path).text.contains("whsec_") == false)
            for (act, isPaused) in [("pause", true), ("resume", false)] {
                #expect(try await server.post("\(path)/\(act)").status == 303)
                let webhook: Webhook = try await server.api("/v1" + path)
                #expect(webhook.isPaused == isPaused)
            }
            #expect(try await server.post("\(path)/test").status == 303)
            let sent: WebhookDeliveryList = try await server.api("/v1\(path)/deliveries")
            let delivery = try #require(sent.items.first?.deliveryID)
            let page = try await server.get("\(path)?delivery=\(delivery)")
            #expect(page.text.contains("webhook-id:"))
            let replayed = try await server.post(
                "\(path)/replay", ["from": "2026-01-01T00:00", "to": "2027-01-01T00:00"])
            #expect(replayed.status == 200)
            #expect(try await server.post("\(path)/delete", ["confirm": "no"]).status == 400)
            #expect(try await server.post("\(path)/delete", ["confirm": "delete"]).status == 303)
            #expect(try await server.api(Paths.webhooks, WebhookList.self).items.isEmpty)
        }
    }

    @Test func `a refused action gets a page with the reason and the status of its failure`()
        async throws
    {
        let rows: [(String, [String: String], Int, String)] = [
            ("/customers/anna/grants", ["entitlement": "por"], 404, "entitlement_unknown"),
            (
                "/customers/anna/grants", ["entitlement": "pro", "until": "2001-01-01"], 422,
                "grant_already_ended"
            ),
            ("/customers/anna/grants/grt_9/withdraw", [:], 404, "grant_unknown"),
            (
                "/customers/anna/transfers", ["original_transaction_id": "1", "reason": "x"], 404,
                "purchase_unknown"
            ),
            (
                "/customers/anna/blocks/7001/end", [:], 409,
                "purchase_belongs_to_another_customer"
            ),
            (
                "/customers/anna/wallets/seeds/debits", ["amount": "1", "reason": "x", "key": "k"],
                409, "wallet_balance_too_low"
            ),
            (
                "/customers/anna/consumption",
                ["consented": "no", "transaction_id": "1", "used_percent": "101"], 400,
                "body_not_understood"
            ),
            ("/webhooks/wh_9/test", [:], 404, "webhook_unknown"),
        ]
        let seeds: (inout AppSettings) -> Void = {
            $0.wallets = WalletRules(credits: ["seeds.100": ["seeds": 100]])
        }
        try await DashboardServer.run(with: seeds) { server in
            try await server.buy("ben", transaction: "7001")
            for (path, fields, status, code) in rows {
                let page = try await server.post(path, fields)
                #expect(page.status == status, "\(path): \(page.status)")
                #expect(page.text.contains(code), "\(path)")
                #expect(page.text.contains("Nothing has changed."), "\(path)")
                // These words from the HTTP API's remedies are for programs, so pages must not
                // contain them.
                for word in ["There is no such page", "/v1/", "`", "Send ", ".yaml"] {
                    #expect(!page.text.contains(word), "\(path): \(word)")
                }
            }
        }
    }

    @Test func `the page of a refused action links back to the environment of the form`()
        async throws
    {
        try await DashboardServer.run { server in
            let rows = [
                ("/customers/anna", "?environment=sandbox"), ("/customers/anna", ""),
                ("/webhooks/wh_9", "?environment=sandbox"),
            ]
            for (path, environment) in rows {
                let act = path.hasPrefix("/webhooks") ? "/test" : "/grants"
                let page = try await server.post(
                    path + act + environment, ["entitlement": "pro", "until": "2001-01-01"])
                #expect(
                    page.text.contains("href=\"\(path)\(environment)\">Back</a>"), "\(path)")
                #expect(
                    page.text.contains("You look at the sandbox.") == !environment.isEmpty)
            }
            let strange = try await server.get("/customers?environment=moon")
            #expect(strange.status == 400)
        }
    }

    @Test func `the chosen theme is remembered, and its form redirects to no other site`()
        async throws
    {
        let rows = [
            ("/customers/anna", "/customers/anna"), ("//evil.example", "/"),
            ("https://evil.example", "/"), ("/\\evil.example", "/"), ("/a\r\nx: y", "/"),
        ]
        try await DashboardServer.run { server in
            for (next, location) in rows {
                let page = try await server.post("/theme", ["theme": "dark", "next": next])
                #expect(page.status == 303 && page.headers[.location] == location, "\(next)")
                #expect(page.headers[.setCookie]?.hasPrefix("theme=dark; ") == true)
            }
            let page = try await server.get("/", headers: [.cookie: "a=b; theme=dark"])
            #expect(page.text.contains("data-theme=\"dark\""))
        }
    }
}
