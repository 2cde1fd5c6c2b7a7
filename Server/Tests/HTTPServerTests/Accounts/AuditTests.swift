import Engine
import HTTPTypes
import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

/// An act and its entry in the audit are written together.
@Suite struct AuditTests {
    private func entries(_ server: DashboardServer) async throws -> [PerennialContract.AuditEntry] {
        try await server.api(Paths.audit, AuditList.self).items
    }

    @Test func `an act that is cut off after its transaction has its entry all the same`()
        async throws
    {
        try await DashboardServer.run { server in
            let act = server.engine.begin(
                "customers.grants", by: "mira", app: "birds", customer: "anna")
            // Nothing completes the entry, as if the process had ended.
            try await PendingAct.$current.withValue(act) {
                _ = try await server.engine.grant(
                    NewGrant(entitlement: "pro", reason: "sorry"), to: "anna", app: "birds",
                    environment: .production)
            }
            let cut = try #require(try await entries(server).first)
            #expect(cut.author == "mira" && cut.act == "customers.grants")
            #expect(cut.customerID == "anna" && cut.after == nil)

            try await server.engine.complete(act, subject: "grt_1", after: ["entitlement": "pro"])
            let completed = try await entries(server)
            #expect(completed.map(\.auditID) == [cut.auditID])
            #expect(completed.first?.subject == "grt_1")
            #expect(completed.first?.after == ["entitlement": "pro"])
        }
    }

    @Test func `an act that is refused has no entry, and one without a transaction has one`()
        async throws
    {
        let seeds: (inout AppSettings) -> Void = {
            $0.wallets = WalletRules(credits: ["seeds.100": ["seeds": 100]])
        }
        try await DashboardServer.run(with: seeds) { server in
            let refused = server.engine.begin("customers.grants", by: "mira", app: "birds")
            await #expect(throws: EngineFailure.self) {
                try await PendingAct.$current.withValue(refused) {
                    _ = try await server.engine.grant(
                        NewGrant(entitlement: "unknown", reason: "sorry"), to: "anna",
                        app: "birds", environment: .production)
                }
            }
            // The engine returns this refusal out of a transaction that is committed.
            let spent = server.engine.begin("customers.wallets.debits", by: "mira", app: "birds")
            await #expect(throws: EngineFailure.insufficientBalance("seeds", balance: 0)) {
                try await PendingAct.$current.withValue(spent) {
                    _ = try await server.engine.book(
                        NewBooking(
                            .debit, currency: "seeds", amount: 30, reason: "sorry", key: nil),
                        of: "anna", app: "birds", environment: .production)
                }
            }
            #expect(try await entries(server).isEmpty)
            let asked = server.engine.begin("notifications.test", by: "mira", app: "birds")
            try await server.engine.complete(asked)
            #expect(try await entries(server).map(\.act) == ["notifications.test"])
        }
    }

    @Test func `an act by a form has one entry, with what it changed`() async throws {
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
