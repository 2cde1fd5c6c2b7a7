import Engine
import HTTPTypes
import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

/// The server writes an act and its audit entry in one transaction.
@Suite struct AuditTests {
    private func entries(_ server: DashboardServer) async throws -> [PerennialContract.AuditEntry] {
        try await server.api(Paths.audit, AuditList.self).items
    }

    @Test func `if the server stops after an action's transaction, the action has an audit entry`()
        async throws
    {
        try await DashboardServer.run { server in
            let act = server.engine.audit.begin(
                "customers.grants", by: "mira", app: "birds", customer: "anna")
            // No later step completes the entry. So the test shows what a stopped process would
            // leave.
            try await PendingAct.$current.withValue(act) {
                _ = try await server.engine.grants.add(
                    NewGrant(entitlement: "pro", reason: "sorry"), to: "anna", app: "birds",
                    environment: .production)
            }
            let cut = try #require(try await entries(server).first)
            #expect(cut.author == "mira" && cut.act == "customers.grants")
            #expect(cut.customerID == "anna" && cut.after == nil)

            try await server.engine.audit.complete(
                act, subject: "grt_1", after: ["entitlement": "pro"])
            let completed = try await entries(server)
            #expect(completed.map(\.auditID) == [cut.auditID])
            #expect(completed.first?.subject == "grt_1")
            #expect(completed.first?.after == ["entitlement": "pro"])
        }
    }

    @Test func `a refused action has no audit entry, and an action without a transaction has one`()
        async throws
    {
        let seeds: (inout AppSettings) -> Void = {
            $0.wallets = WalletRules(credits: ["seeds.100": ["seeds": 100]])
        }
        try await DashboardServer.run(with: seeds) { server in
            let refused = server.engine.audit.begin("customers.grants", by: "mira", app: "birds")
            await #expect(throws: EngineFailure.self) {
                try await PendingAct.$current.withValue(refused) {
                    _ = try await server.engine.grants.add(
                        NewGrant(entitlement: "unknown", reason: "sorry"), to: "anna",
                        app: "birds", environment: .production)
                }
            }
            // The engine throws this refusal after it has committed the transaction.
            let spent = server.engine.audit.begin(
                "customers.wallets.debits", by: "mira", app: "birds")
            await #expect(throws: EngineFailure.insufficientBalance("seeds", balance: 0)) {
                try await PendingAct.$current.withValue(spent) {
                    _ = try await server.engine.wallets.book(
                        NewBooking(
                            .debit, currency: "seeds", amount: 30, reason: "sorry", key: nil),
                        of: "anna", app: "birds", environment: .production)
                }
            }
            #expect(try await entries(server).isEmpty)
            let asked = server.engine.audit.begin("notifications.test", by: "mira", app: "birds")
            try await server.engine.audit.complete(asked)
            #expect(try await entries(server).map(\.act) == ["notifications.test"])
        }
    }

    @Test func `a form that is sent twice has one audit entry`() async throws {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            let page = try await server.get("/customers/anna")
            let key = try #require(page.text.firstMatch(of: /name="key" value="([^"]+)"/)).1
            func post(_ path: String, _ form: [String: String] = [:]) async throws {
                for _ in 0..<2 {
                    let act = try await server.post("/customers/\(path)", form)
                    #expect(act.status == 303, "\(path): \(act.text)")
                }
            }
            try await post(
                "anna/grants", ["entitlement": "pro", "reason": "sorry", "key": String(key)])
            let grants: GrantList = try await server.api("/v1/customers/anna/grants")
            #expect(grants.items.count == 1)
            try await post("anna/grants/\(grants.items[0].grantID)/withdraw")
            let purchase = ["original_transaction_id": "7001", "reason": "ticket 7"]
            try await post("anna/blocks", purchase)
            try await post("anna/blocks/7001/end")
            try await post("ben/transfers", purchase)
            let transfers: TransferList = try await server.api("/v1/customers/ben/transfers")
            let transfer = try #require(transfers.items.first?.transferID)
            try await post("ben/transfers/\(transfer)/undo")
            let moves = try await entries(server).filter { $0.act.contains("transfers") }
            #expect(moves.allSatisfy { $0.subject == "7001" }, "\(moves)")
            #expect(Set(moves.map(\.before)) == [["owner": "anna"], ["owner": "ben"]])
            #expect(Set(moves.map(\.after)) == [["owner": "ben"], ["owner": "anna"]])
            try await post("anna/erase", ["confirm": "anna"])
            // All entries have the same time, so the test does not compare their order.
            #expect(
                try await entries(server).map(\.act).sorted() == [
                    "customers.blocks", "customers.blocks.end", "customers.erase",
                    "customers.grants", "customers.grants.withdraw", "customers.transfers",
                    "customers.transfers.undo",
                ])
        }
    }

    @Test func `a request id from a client does not become the idempotency key of a form`()
        async throws
    {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            var keys: Set<Substring> = []
            for path in ["/customers/anna", "/customers/anna", "/webhooks", "/webhooks"] {
                let page = try await server.get(path, headers: [.requestID: "lb-1"])
                keys.insert(
                    try #require(page.text.firstMatch(of: /name="key" value="([^"]+)"/)).1)
            }
            #expect(keys.count == 4 && !keys.contains("lb-1"), "\(keys)")
        }
    }

    @Test func `a second grant from the same page has a separate audit entry`() async throws {
        try await DashboardServer.run { server in
            for reason in ["sorry", "sorry again"] {
                let act = try await server.post(
                    "/customers/anna/grants",
                    ["entitlement": "pro", "reason": reason, "key": "k"])
                #expect(act.status == 303, "\(act.text)")
            }
            #expect(try await entries(server).count == 2)
        }
    }

    @Test func `a webhook that is paused twice has one audit entry`() async throws {
        try await DashboardServer.run { server in
            let added = try await server.post(
                "/webhooks", ["url": "http://127.0.0.1:9/hook", "format": "perennial"])
            #expect(added.status == 200, "\(added.text)")
            let list: WebhookList = try await server.api(Paths.webhooks)
            let id = try #require(list.items.first).webhookID
            for _ in 0..<2 {
                let act = try await server.post("/webhooks/\(id)/pause")
                #expect(act.status == 303, "\(act.text)")
            }
            #expect(
                try await entries(server).map(\.act).sorted() == ["webhooks", "webhooks.pause"])
        }
    }

    @Test func `an action sent by a form has one audit entry, which says what changed`()
        async throws
    {
        try await DashboardServer.run { server in
            let act = try await server.post(
                "/customers/anna/grants", ["entitlement": "pro", "reason": "sorry"])
            #expect(act.status == 303)
            let entries = try await entries(server)
            #expect(entries.map(\.act) == ["customers.grants"])
            #expect(entries.first?.subject?.hasPrefix("grt_") == true)
            #expect(entries.first?.after?["entitlement"] == "pro")
            let other = try await server.post(
                "/customers/anna/grants", ["entitlement": "nothing", "reason": "sorry"])
            #expect(other.status == 404)
            #expect(try await self.entries(server).count == 1)
        }
    }
}
