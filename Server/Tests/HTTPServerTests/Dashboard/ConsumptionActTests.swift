import Engine
import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

@Suite struct ConsumptionActTests {
    /// Runs a server that Apple has asked about two purchases of anna. Her app's server has
    /// reported one of them.
    private func run(_ body: @escaping @Sendable (DashboardServer) async throws -> Void)
        async throws
    {
        let asking: (inout AppSettings) -> Void = {
            $0.consumption = ConsumptionRules(policy: .withConsent)
        }
        try await DashboardServer.run(with: asking) { server in
            for transaction in ["7001", "7002"] {
                try await server.buy("anna", transaction: transaction)
                try await server.notify(.consumptionRequest, of: transaction)
            }
            _ = try await server.engine.consumption.record(
                ConsumptionReport(
                    isConsentGiven: false, hadSample: true,
                    uses: [
                        PurchaseUsage(transaction: "7002", delivery: .qualityIssue, used: 30_000)
                    ]), of: "anna", app: "birds", environment: .production)
            try await body(server)
        }
    }

    private func known(_ server: DashboardServer) async throws -> ConsumptionOverview {
        try await server.api("/v1/customers/anna/consumption")
    }

    private let path = "/customers/anna/consumption"

    @Test func `the dialog names every purchase that Apple asks about, and the reported values`()
        async throws
    {
        try await run { server in
            let page = try await server.get("/customers/anna").text
            for words in [
                "Answer Apple about 2 purchases", "and then for all of them at once",
                "name=\"transaction_id\" value=\"7001\"",
                "name=\"transaction_id_2\" value=\"7002\"", "quality issue, as reported",
                "(empty: 30, as reported)", "later questions are answered, too",
            ] { #expect(page.contains(words), "\(words)") }
        }
    }

    @Test func `a form changes only the reported values that the operator has edited`()
        async throws
    {
        try await run { server in
            var form = [
                "consented": "yes", "transaction_id": "7001", "delivery": "server_outage",
                "used_percent": "", "transaction_id_2": "7002", "delivery_2": "",
                "used_percent_2": "",
            ]
            let act = try await server.post(path, form)
            #expect(act.status == 303, "\(act.text)")
            var now = try await known(server)
            #expect(now.consented == true && now.sampleContentProvided == true)
            let first = PurchaseUse(
                transactionID: "7001", delivery: "server_outage", usedPercent: nil)
            #expect(
                now.purchases == [
                    first,
                    .init(transactionID: "7002", delivery: "quality_issue", usedPercent: 30),
                ])
            form["delivery"] = ""
            form["used_percent_2"] = "80"
            _ = try await server.post(path, form)
            now = try await known(server)
            #expect(
                now.purchases == [
                    first,
                    .init(transactionID: "7002", delivery: "quality_issue", usedPercent: 80),
                ])
        }
    }

    @Test
    func `a response sent twice has one audit entry, and no response is sent without consent`()
        async throws
    {
        try await run { server in
            let rows = [
                ("yes", "answered", 1), ("yes", "answered", 1), ("no", "consent_refused", 2),
            ]
            for (consented, notice, count) in rows {
                let act = try await server.post(
                    path,
                    ["consented": consented, "transaction_id": "7001", "delivery": "other"])
                #expect(act.headers[.setCookie]?.hasPrefix("notice=\(notice); ") == true)
                let audit: AuditList = try await server.api(Paths.audit)
                #expect(audit.items.count == count, "\(consented)")
            }
            let page = try await server.get(
                "/customers/anna", headers: [.cookie: "notice=consent_refused"])
            #expect(page.text.contains("Without consent nothing is sent to Apple."))
            #expect(!page.text.contains("is answered now"))
        }
    }
}
