import Engine
import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

@Suite struct WalletActTests {
    private func fill(_ app: inout AppSettings) {
        app.wallets = WalletRules(credits: ["seeds.100": ["seeds": 100]])
    }

    private func balance(in server: DashboardServer) async throws -> Int64? {
        let customer: Customer = try await server.api("/v1/customers/anna")
        return customer.wallets["seeds"]?.balance
    }

    @Test func `if the form of a debit is sent twice, the debit is booked once`() async throws {
        try await DashboardServer.run(with: fill) { server in
            try await server.buy("anna", transaction: "7001", seeds: true)
            let page = try await server.get("/customers/anna")
            #expect(page.text.contains("You cannot undo this, but you can add"))
            let key = try #require(page.text.firstMatch(of: /name="key" value="([^"]+)"/)).1
            for _ in 0..<2 {
                let act = try await server.post(
                    "/customers/anna/wallets/seeds/debits",
                    ["amount": "30", "reason": "ticket 7", "key": String(key)])
                #expect(act.status == 303, "\(act.text)")
            }
            #expect(try await balance(in: server) == 70)
            let audit: AuditList = try await server.api(Paths.audit)
            #expect(audit.items.map(\.act) == ["customers.wallets.debits"])
            let after = try await server.get("/customers/anna")
            #expect(after.text.contains("ticket 7"))
            #expect(!after.text.contains("value=\"\(key)\""))
        }
    }

    @Test func `an invalid debit is refused, and nothing changes`() async throws {
        let rows: [([String: String], Int)] = [
            (["amount": "0", "reason": "x", "key": "a"], 400),
            (["amount": "-1", "reason": "x", "key": "a"], 400),
            (["amount": "", "reason": "x", "key": "a"], 400),
            (["amount": "1.5", "reason": "x", "key": "a"], 400),
            (["amount": "101", "reason": "x", "key": "a"], 409),
            (["amount": "1", "reason": "x"], 400),
        ]
        try await DashboardServer.run(with: fill) { server in
            try await server.buy("anna", transaction: "7001", seeds: true)
            for (form, status) in rows {
                let act = try await server.post("/customers/anna/wallets/seeds/debits", form)
                #expect(act.status == status, "\(form)")
                #expect(act.text.contains("Nothing has changed."), "\(form)")
            }
            #expect(try await balance(in: server) == 100)
        }
    }

    /// The values of the hidden fields in the forms of a page.
    private static func hidden(in page: String) -> [String: String] {
        let found = page.matches(of: /type="hidden" name="([a-z]+)" value="([^"]*)"/).map {
            (String($0.1), String($0.2))
        }
        return Dictionary(found) { first, _ in first }
    }

    @Test func `a credit is shown for confirmation, and then booked once`() async throws {
        try await DashboardServer.run(with: fill) { server in
            try await server.buy("anna", transaction: "7001", seeds: true)
            let page = try await server.get("/customers/anna")
            #expect(page.text.contains("/customers/anna/wallets/seeds/credits"))
            let key = try #require(page.text.firstMatch(of: /name="key" value="([^"]+)"/)).1
            let asked = try await server.post(
                "/customers/anna/wallets/seeds/credits",
                ["amount": "30", "reason": "ticket <7>", "key": String(key)])
            #expect(asked.status == 200)
            for part in [
                "Nothing has been added yet.", "<dt>Now</dt><dd>100 ", "<b>130 ",
                "ticket &lt;7&gt;",
            ] {
                #expect(asked.text.contains(part), "\(part)")
            }
            #expect(try await balance(in: server) == 100)
            var form = Self.hidden(in: asked.text)
            #expect(form["confirmed"] == "yes" && form["amount"] == "30")
            #expect(form["key"] == String(key))
            form["reason"] = "ticket <7>"
            for _ in 0..<2 {
                let act = try await server.post("/customers/anna/wallets/seeds/credits", form)
                #expect(act.status == 303, "\(act.text)")
                #expect(act.headers[.location] == "/customers/anna")
                #expect(act.headers[.setCookie]?.hasPrefix("notice=credited; ") == true)
            }
            #expect(try await balance(in: server) == 130)
            let after = try await server.get("/customers/anna")
            #expect(after.text.contains("added by hand"))
            let audit: AuditList = try await server.api("/v1/audit")
            let entry = try #require(
                audit.items.first { $0.act == "customers.wallets.credits" })
            #expect(entry.before == ["balance": "100"])
            #expect(entry.after == ["currency": "seeds", "amount": "30", "balance": "130"])
            #expect(audit.items.map(\.act) == ["customers.wallets.credits"])
            let events: EventList = try await server.api(Paths.events)
            let event = try #require(
                events.items.first { $0.type == .walletCreditedByHand })
            #expect(event.cause.author?.actor == "developer")
        }
    }

    @Test func `an operator can credit an empty wallet but cannot debit it`() async throws {
        try await DashboardServer.run(with: fill) { server in
            let page = try await server.get("/customers/anna")
            #expect(page.text.contains("No consumables."))
            #expect(page.text.contains("/customers/anna/wallets/seeds/credits"))
            #expect(!page.text.contains("/customers/anna/wallets/seeds/debits"))
            let form = ["amount": "5", "reason": "sorry", "key": "k", "confirmed": "yes"]
            let act = try await server.post("/customers/anna/wallets/seeds/credits", form)
            #expect(act.status == 303)
            #expect(try await balance(in: server) == 5)
        }
    }

    @Test func `a viewer sees no form that changes a wallet`() async throws {
        var access = DashboardServer.developer
        access.developer?.role = .viewer
        try await DashboardServer.run(as: access, with: fill) { server in
            try await server.buy("anna", transaction: "7001", seeds: true)
            let page = try await server.get("/customers/anna")
            #expect(!page.text.contains("/wallets/seeds/"))
        }
    }

    @Test func `an invalid credit is refused with or without confirmation, and nothing changes`()
        async throws
    {
        let rows: [[String: String]] = [
            ["amount": "0", "reason": "x", "key": "a"],
            ["amount": "-1", "reason": "x", "key": "a"],
            ["amount": "1000000000001", "reason": "x", "key": "a"],
            ["amount": "1.5", "reason": "x", "key": "a"], ["amount": "1", "key": "a"],
            ["amount": "1", "reason": " ", "key": "a"], ["amount": "1", "reason": "x"],
        ]
        try await DashboardServer.run(with: fill) { server in
            try await server.buy("anna", transaction: "7001", seeds: true)
            for row in rows {
                for confirmed in [[:], ["confirmed": "yes"]] {
                    let act = try await server.post(
                        "/customers/anna/wallets/seeds/credits",
                        row.merging(confirmed) { first, _ in first })
                    #expect(act.status == 400, "\(row)")
                    #expect(act.text.contains("Nothing has changed."), "\(row)")
                }
            }
            #expect(try await balance(in: server) == 100)
        }
    }
}
