import AppStoreFormats
import Testing

@testable import Simulator

@Suite struct StatusTests {
    /// Groups and statuses of an answer, in order.
    private func found(_ json: JSON) -> [String] {
        (json["data"]?.array ?? []).flatMap { group -> [String] in
            let name = group["subscriptionGroupIdentifier"]?.string ?? "?"
            return (group["lastTransactions"]?.array ?? []).map {
                "\(name) \($0["status"]?.integer ?? 0)"
            }
        }
    }

    @Test func `each group tells where it stands, by any id of the customer`() async throws {
        let stage = try Stage(shop: TableShop.file())
        let pro = try await stage.buy("pro")
        let trial = try await stage.buy("trial")
        try await stage.simulator.change(trial.originalTransactionID, .cancel)
        try await stage.advance("P10D")
        let app = try require(
            await stage.simulator.world.accounts.values.first?.appTransactionID, "no account")
        for id in [pro.transactionID, trial.transactionID, app] {
            let json = try await stage.json(Ask("GET v1/subscriptions/\(id)"))
            #expect(found(json) == ["intros 2", "tiers 1"])
        }
    }

    @Test(arguments: [([1], ["tiers 1"]), ([2, 5], ["intros 2"]), ([3, 4], [])])
    func `a filter takes any of its statuses`(statuses: [Int], expected: [String]) async throws {
        let stage = try Stage(shop: TableShop.file())
        let pro = try await stage.buy("pro")
        let trial = try await stage.buy("trial")
        try await stage.simulator.change(trial.originalTransactionID, .expire)
        let query = statuses.map { ("status", String($0)) }
        let json = try await stage.json(
            Ask("GET v1/subscriptions/\(pro.transactionID)", query))
        #expect(found(json) == expected)
    }

    @Test func `documents of a status are of one subscription`() async throws {
        let stage = try Stage()
        let bought = try await stage.buy("pro.monthly")
        try await stage.advance("P1M")
        let json = try await stage.json(Ask("GET v1/subscriptions/\(bought.transactionID)"))
        let entry = json["data"]?.array?.first?["lastTransactions"]?.array?.first
        let transaction = try decode(
            TransactionPayload.self, require(entry?["signedTransactionInfo"]?.string, "none"))
        let renewal = try decode(
            RenewalPayload.self, require(entry?["signedRenewalInfo"]?.string, "none"))
        #expect(transaction.transactionReason == .renewal)
        #expect(renewal.renewalDate == transaction.expiresDate)
        #expect(entry?["originalTransactionId"]?.string == bought.originalTransactionID)
    }

    @Test func `an app account token stays, also on renewals`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").transactionID
        let body: JSON = ["appAccountToken": "0CBE3F1B-7A5C-4B5E-8E54-D7C1F2A3B4C5"]
        _ = try await stage.json(Ask("PUT v1/transactions/\(id)/appAccountToken", body: body))
        try await stage.advance("P1M")
        let latest = try await stage.simulator.world.subscription(id).latest
        for id in [id, latest.id] {
            let json = try await stage.json(Ask("GET v1/transactions/\(id)"))
            let payload = try decode(
                TransactionPayload.self, require(json["signedTransactionInfo"]?.string, "none"))
            #expect(payload.appAccountToken == "0cbe3f1b-7a5c-4b5e-8e54-d7c1f2a3b4c5")
        }
    }

    @Test func `consumption is taken, and Apple decides as the app prefers`() async throws {
        let stage = try Stage(shop: TableShop.file())
        let gem = try await stage.buy("gem").transactionID
        try await stage.simulator.change(transaction: gem, .requestRefund())
        let body: JSON = [
            "customerConsented": true, "sampleContentProvided": true,
            "deliveryStatus": "DELIVERED", "consumptionPercentage": 25_000,
            "refundPreference": "GRANT_PRORATED",
        ]
        let answer = try await stage.answer(
            Ask("PUT v2/transactions/consumption/\(gem)", body: body))
        #expect(answer == APIAnswer(202))
        try await stage.advance("P3D")
        let transaction = try require(
            await stage.simulator.world.oneTimePurchases[gem], "no transaction")
        #expect(transaction.revocation?.percentage == 75_000)
    }

    @Test func `an extension is told as Apple tells it, and at most twice a year`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").transactionID
        let body: JSON = [
            "extendByDays": 10, "extendReasonCode": 1, "requestIdentifier": "outage",
        ]
        let ask = Ask("PUT v1/subscriptions/extend/\(id)", body: body)
        let json = try await stage.json(ask)
        let latest = try await stage.simulator.world.subscription(id).latest
        #expect(
            json == [
                "originalTransactionId": .string(id),
                "webOrderLineItemId": .string(latest.webOrderLineItemID ?? ""), "success": true,
                "effectiveDate": try moment("2026-02-20T20:00:00Z").json,
            ])
        #expect(try await stage.answer(ask).status == 200)
        #expect(try await stage.refusal(ask) == Refused(403, 4_030_005))
        try await stage.advance("P366D")
        #expect(try await stage.answer(ask).status == 200)
    }

    @Test func `an extension for all is done some time later`() async throws {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        let request = "758883e8-151b-47b7-abd0-60c4d804c2f5"
        let body: JSON = [
            "extendByDays": 7, "extendReasonCode": 0, "requestIdentifier": .string(request),
            "productId": "pro.monthly", "storefrontCountryCodes": ["USA"],
        ]
        let order = Ask("POST v1/subscriptions/extend/mass", body: body)
        let status = Ask("GET v1/subscriptions/extend/mass/pro.monthly/\(request)")
        #expect(try await stage.json(order) == ["requestIdentifier": .string(request)])
        #expect(try await stage.json(order) == ["requestIdentifier": .string(request)])
        #expect(
            try await stage.json(status)
                == ["requestIdentifier": .string(request), "complete": false])
        try await stage.advance("P1D")
        let json = try await stage.json(status)
        #expect(json["complete"] == true && json["completeDate"]?.integer != nil)
        #expect(json["succeededCount"] == 1 && json["failedCount"] == 0)
        #expect(try await stage.refusal(Ask(status.line, in: .sandbox)) == Refused(404, 4_040_009))
    }
}
