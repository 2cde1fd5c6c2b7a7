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

    @Test func `what a form takes out of a wallet twice is taken out once`() async throws {
        try await DashboardServer.run(with: fill) { server in
            try await server.buy("anna", transaction: "7001", seeds: true)
            let page = try await server.get("/customers/anna")
            #expect(page.text.contains("It cannot be undone"))
            let key = try #require(page.text.firstMatch(of: /name="key" value="([^"]+)"/)).1
            for _ in 0..<2 {
                let act = try await server.post(
                    "/customers/anna/wallets/seeds/debits",
                    ["amount": "30", "reason": "ticket 7", "key": String(key)])
                #expect(act.status == 303, "\(act.text)")
            }
            #expect(try await balance(in: server) == 70)
            let after = try await server.get("/customers/anna")
            #expect(after.text.contains("ticket 7"))
            #expect(!after.text.contains("value=\"\(key)\""))
        }
    }

    @Test func `what cannot be taken out is refused, and nothing has changed`() async throws {
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
}
