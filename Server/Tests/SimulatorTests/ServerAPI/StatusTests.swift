import AppStoreFormats
import Eventually
import Synchronization
import Testing

@testable import Simulator

@Suite struct StatusTests {
    /// The groups and statuses of a response, in order.
    private func found(_ json: JSON) -> [String] {
        (json["data"]?.array ?? []).flatMap { group -> [String] in
            let name = group["subscriptionGroupIdentifier"]?.string ?? "?"
            return (group["lastTransactions"]?.array ?? []).map {
                "\(name) \($0["status"]?.integer ?? 0)"
            }
        }
    }

    @Test func `a transaction id or app transaction id returns the statuses of all groups`()
        async throws
    {
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
    func `a filter may name several statuses`(statuses: [Int], expected: [String]) async throws {
        let stage = try Stage(shop: TableShop.file())
        let pro = try await stage.buy("pro")
        let trial = try await stage.buy("trial")
        try await stage.simulator.change(trial.originalTransactionID, .expire)
        let query = statuses.map { ("status", String($0)) }
        let json = try await stage.json(
            Ask("GET v1/subscriptions/\(pro.transactionID)", query))
        #expect(found(json) == expected)
    }

    @Test func `the documents of a status belong to one subscription`() async throws {
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

    @Test func `an app account token stays the same on renewals`() async throws {
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

    /// A backend that sets an account token while it receives the notification of a purchase.
    private final class Backend: Sendable {
        private struct State {
            var simulator: AppStoreSimulator?
            /// The status of the API's response to the call.
            var status: Int?
        }

        private let state = Mutex(State())

        func serve(_ simulator: AppStoreSimulator) {
            state.withLock { $0.simulator = simulator }
        }

        /// Responds with the status that the API returned, or with 500 if the API did not respond.
        func take(_ body: [UInt8]) async -> PostResult {
            // Runs in its own task, so that a call that waits for its turn does not block the test.
            Task { await self.setToken(of: body) }
            try? await eventually("a status", within: 5) { state.withLock(\.status) != nil }
            return PostResult(status: state.withLock(\.status) ?? 500)
        }

        private func setToken(of body: [UInt8]) async {
            guard let simulator = state.withLock(\.simulator),
                let call = try? request(about: body)
            else { return }
            let status = await simulator.process(call).status
            state.withLock { $0.status = status }
        }

        private func request(about body: [UInt8]) throws -> APIRequest {
            let signed = try NotificationBody(parsing: body).signedPayload
            let letter = try Letter(require(signed, "no signedPayload"))
            let id = try require(letter.transaction.transactionId, "no id")
            let token: JSON = ["appAccountToken": "0cbe3f1b-7a5c-4b5e-8e54-d7c1f2a3b4c5"]
            return try Ask("PUT v1/transactions/\(id)/appAccountToken", body: token).request()
        }
    }

    @Test func `an app account token can be set while a notification is posted`() async throws {
        let backend = Backend()
        let settings = SimulatorSettings(
            now: try moment(Stage.noon), shop: try ExampleShop.file(), notificationURL: "box")
        let simulator = AppStoreSimulator(
            settings, authority: try Stage.authority.get(),
            post: { _, body in await backend.take(body) })
        backend.serve(simulator)
        try await simulator.addDevice(account: "anna")
        try await simulator.purchase(PurchaseOrder("pro.monthly"), on: "anna-1")
        let attempts = await simulator.notifications.flatMap(\.attempts)
        #expect(attempts.map(\.result.status) == [200])
    }

    @Test func `consumption data is accepted, and Apple follows the app's refund preference`()
        async throws
    {
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
        #expect(answer == APIResponse(202))
        try await stage.advance("P3D")
        let transaction = try require(
            await stage.simulator.world.oneTimePurchases[gem], "no transaction")
        #expect(transaction.revocation?.percentage == 75_000)
    }

    @Test(arguments: ["v1", "v2"])
    func `the app gets no consumption request about a purchase of another family member`(
        version: String
    ) async throws {
        let stage = try Stage(shop: try CatShop.file())
        for name in ["anna", "ben"] {
            try await stage.simulator.addDevice(account: name, family: "cats")
        }
        let own = try await stage.buy("pro.monthly").transactionID
        let shared = try decode(
            TransactionPayload.self, await stage.simulator.transactions(on: "ben-1")[0])
        #expect(shared.inAppOwnershipType == .familyShared)
        let body: JSON = [
            "customerConsented": true, "sampleContentProvided": true,
            "deliveryStatus": version == "v1" ? 0 : "DELIVERED",
        ]
        let path = "PUT \(version)/transactions/consumption/"
        let id = try require(shared.transactionId, "no id")
        #expect(try await stage.refusal(Ask(path + id, body: body)) == Refused(400, 4_000_185))
        #expect(try await stage.answer(Ask(path + own, body: body)) == APIResponse(202))
    }

    /// Anna pays for a year and is refunded, comes back for a month and leaves again; then the
    /// first refund is reversed.
    @Test func `a reversed refund reopens its period, even if a later period has ended since`()
        async throws
    {
        let stage = try Stage()
        let year = try await stage.buy("pro.yearly", offer: "none").transactionID
        try await stage.advance("P1M")
        try await stage.simulator.change(transaction: year, .refund())
        try await stage.advance("P1M")
        try await stage.buy("pro.monthly")
        try await stage.simulator.change(year, .cancel)
        try await stage.advance("P2M")
        #expect(try await stage.truth().state == .expired)
        try await stage.simulator.change(transaction: year, .reverseRefund)
        let truth = try await stage.truth()
        #expect(truth.isOpen && truth.state == .paid && !truth.willRenew)
        #expect(truth.productID == "pro.yearly")
        #expect(try truth.until == moment("2027-01-10T20:00:00Z"))
        let json = try await stage.json(Ask("GET v1/subscriptions/\(year)"))
        let entry = json["data"]?.array?.first?["lastTransactions"]?.array?.first
        #expect(entry?["status"] == 1)
        let latest = try decode(
            TransactionPayload.self, require(entry?["signedTransactionInfo"]?.string, "none"))
        #expect(latest.transactionId == year && latest.revocationDate == nil)
        let told = try require(try await stage.letters().last, "nothing was told")
        #expect(told.line == "REFUND_REVERSED 1 pro.yearly")
        #expect(told.renewal?.autoRenewStatus == .off && told.renewal?.expirationIntent == nil)
        try await stage.advance("P9M")
        #expect(try await stage.story().last == "EXPIRED/VOLUNTARY 2 pro.yearly")
        #expect(try await stage.truth().isOpen == false)
    }

    @Test func `if a customer came back, the reversal of an old refund does not stop the renewals`()
        async throws
    {
        let stage = try Stage()
        let year = try await stage.buy("pro.yearly", offer: "none").transactionID
        try await stage.simulator.change(transaction: year, .refund())
        let month = try await stage.buy("pro.monthly")
        try await stage.simulator.change(transaction: year, .reverseRefund)
        #expect(try await stage.letters().last?.line == "REFUND_REVERSED 1 pro.yearly")
        try await stage.advance("P1M")
        #expect(try await stage.story().last == "DID_RENEW 1 pro.monthly")
        #expect(month.originalTransactionID == year)
    }

    @Test func `an extension causes Apple's notification, and is allowed twice a year`()
        async throws
    {
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

    @Test func `an extension for all subscribers completes some time later`() async throws {
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
