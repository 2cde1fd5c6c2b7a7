import AppStoreFormats
import Testing

@testable import Simulator

/// The App Store's notifications with each habit on. The lifecycle table shows those without
/// habits.
@Suite struct HabitTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let habit: Quirk
        var set: @Sendable (inout SimulatorSettings) -> Void = { _ in }
        let steps: [LifecycleTableTests.Step]
        let told: [String]
        var says: [String: JSON] = [:]

        var testDescription: String { habit.rawValue }
    }

    private static let bought = LifecycleTableTests.bought
    private static let off = LifecycleTableTests.off
    private static let renewed = LifecycleTableTests.renewed
    private static let trial = "SUBSCRIBED/INITIAL_BUY 1 trial"
    private static let inGrace = LifecycleTableTests.inGrace

    static let cases = [
        Case(
            habit: .graceWithoutRetryFlag,
            steps: [.buy("pro"), .does(.failBilling), .waits("P1M")], told: [bought, inGrace],
            says: ["ri.isInBillingRetryPeriod": false]),
        Case(
            habit: .expiredNeverSent,
            steps: [.buy("pro"), .does(.cancel), .waits("P2M"), .buy("pro")],
            told: [bought, off + " 1 pro", "SUBSCRIBED/RESUBSCRIBE 1 pro"]),
        Case(
            habit: .productChangeNearTrialEndRenews,
            steps: [.buy("trial"), .waits("P6DT1H"), .does(.changeProduct("upfront"))],
            told: [trial, "DID_RENEW 1 upfront"],
            says: ["tx.purchaseDate": "2026-01-17T20:00:00.000Z"]),
        Case(
            habit: .lateTrialCancellationRenews,
            steps: [.buy("trial"), .waits("P6DT1H"), .does(.cancel), .waits("P2M")],
            told: [trial, off + " 1 trial", "DID_RENEW 1 trial", "EXPIRED/VOLUNTARY 2 trial"]),
        Case(
            habit: .renewalHasAnotherID, steps: [.buy("pro"), .waits("P1M")],
            told: [bought, renewed], says: ["tx.isNew": true]),
        Case(
            habit: .extensionMakesTransaction,
            steps: [.buy("pro"), .does(.extend(ExtensionOrder(days: 30)))],
            told: [bought, "RENEWAL_EXTENDED 1 pro"],
            says: [
                "tx.isNew": true, "tx.price": 0, "tx.purchaseDate": "2026-02-10T20:00:00.000Z",
                "tx.expiresDate": "2026-03-12T19:00:00.000Z",
            ]),
        Case(
            habit: .retryEndKeepsRenewalOn, set: LifecycleTableTests.noGrace,
            steps: [.buy("pro"), .does(.failBilling), .waits("P4M")],
            told: [bought, "DID_FAIL_TO_RENEW 3 pro", "EXPIRED/BILLING_RETRY 2 pro"],
            says: ["ri.autoRenewStatus": 1]),
        Case(
            habit: .cancellationInRetrySendsNoExpired,
            steps: [.buy("pro"), .does(.failBilling), .waits("P36D"), .does(.cancel)],
            told: [bought, inGrace, off + " 2 pro"]),
        Case(
            habit: .refundKeepsRenewalOn, steps: [.buy("pro"), .does(.refund()), .waits("P1M")],
            told: [bought, "REFUND 5 pro", renewed],
            says: ["tx.purchaseDate": "2026-02-10T20:00:00.000Z"]),
        Case(
            habit: .declinedRefundRestoresRenewal,
            steps: [.buy("pro"), .does(.requestRefund(.other, .declined))],
            told: [
                bought, "CONSUMPTION_REQUEST 1 pro", off + " 1 pro", "REFUND_DECLINED 1 pro",
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED 1 pro",
            ]),
        Case(
            habit: .consumptionRequestRepeated,
            steps: [.buy("gem"), .transaction(.requestRefund()), .waits("PT30H")],
            told: [
                "ONE_TIME_CHARGE gem", "CONSUMPTION_REQUEST gem", "CONSUMPTION_REQUEST gem",
                "CONSUMPTION_REQUEST gem",
            ]),
        Case(
            habit: .summaryBeforeExtensions,
            steps: [
                .buy("pro"),
                .massExtension(
                    MassExtension(ExtensionOrder(days: 7, requestID: "r"), productID: "pro")),
                .waits("P1D"),
            ],
            told: [bought, "RENEWAL_EXTENSION/SUMMARY", "RENEWAL_EXTENDED 1 pro"]),
        Case(
            habit: .commitmentCancellationIsSilent,
            steps: [.order(LifecycleTableTests.monthly), .does(.cancel), .waits("P1M")],
            told: ["SUBSCRIBED/INITIAL_BUY 1 yearly", "DID_RENEW 1 yearly"]),
        Case(
            habit: .oneTimeChargeInSandboxOnly, steps: [.buy("gem"), .transaction(.refund())],
            told: ["REFUND gem"]),
    ]

    @Test(arguments: cases)
    func `each habit changes the notifications only if it is on`(each: Case) async throws {
        for isOn in [true, false] {
            let stage = try Stage(shop: TableShop.file()) { settings in
                each.set(&settings)
                if isOn { settings.quirks = [each.habit] }
            }
            try await stage.play(each.steps)
            let letters = try await stage.letters()
            let last = try require(letters.last, "nothing was told")
            let isAsHabit =
                letters.map(\.line) == each.told
                && each.says.allSatisfy { path, expected in
                    LifecycleTableTests.member(path, of: last, after: letters.dropLast())
                        == expected
                }
            // Notifications alone do not show the other id of a renewal; only the books do.
            let isSeen = each.habit != .renewalHasAnotherID
            #expect(isAsHabit == (isOn || !isSeen), "on: \(isOn), \(letters.map(\.line))")
        }
    }

    @Test
    func `if a renewal's notification has another transaction id, its order id stays the same`()
        async throws
    {
        let stage = try Stage { $0.quirks = [.renewalHasAnotherID] }
        try await stage.buy("pro.monthly")
        try await stage.advance("P1M")
        let told = try require(try await stage.letters().last, "no letter").transaction
        let signed = try await stage.simulator.transactions(on: "anna-1")
        let held = try decode(TransactionPayload.self, require(signed.last, "no transaction"))
        #expect(told.transactionId != held.transactionId)
        #expect(told.webOrderLineItemId == held.webOrderLineItemId)
        #expect(told.expiresDate == held.expiresDate)
        try await checkIsKnown(try require(told.transactionId, "no id"), as: held, by: stage)
    }

    @Test
    func `if a fault gives a renewal's notification another id, the renewal has two valid ids`()
        async throws
    {
        let stage = try Stage()
        try await stage.simulator.setFaults { try $0.notifications.order([.otherTransactionID]) }
        try await stage.buy("pro.monthly")
        try await stage.advance("P1M")
        let sent = try require(await stage.simulator.notifications.last, "no notification")
        let told = try Letter(sent.signedPayload).transaction
        let signed = try await stage.simulator.transactions(on: "anna-1")
        let held = try decode(TransactionPayload.self, require(signed.last, "no transaction"))
        #expect(told.transactionId != held.transactionId)
        try await checkIsKnown(try require(told.transactionId, "no id"), as: held, by: stage)
    }

    /// Apple's API accepts the other id of a renewal, and so does the control plane.
    private func checkIsKnown(
        _ other: String, as held: TransactionPayload, by stage: Stage
    ) async throws {
        let answer = try await stage.json(Ask("GET v1/transactions/\(other)"))
        let text = try require(answer["signedTransactionInfo"]?.string, "no transaction")
        let known = try decode(TransactionPayload.self, text)
        #expect(known.transactionId == held.transactionId)
        #expect(known.webOrderLineItemId == held.webOrderLineItemId)
        let history = try await stage.json(Ask("GET v2/history/\(other)"))
        #expect(try stage.transactions(history).count == 2)
        let statuses = try await stage.json(Ask("GET v1/subscriptions/\(other)"))
        #expect(statuses["data"]?.array?.count == 1)
        try await stage.simulator.finish(other, on: "anna-1")
        #expect(try await stage.simulator.unfinished(on: "anna-1").count == 1)
        try await stage.simulator.change(transaction: other, .refund())
        let refunds = try await stage.json(Ask("GET v2/refund/lookup/\(other)"))
        let refunded = try stage.transactions(refunds)
        #expect(refunded.map(\.transactionId) == [held.transactionId])
    }

    @Test func `with a habit, sandbox receipts have a different original transaction id`()
        async throws
    {
        for (environment, shift) in [(SimulatedEnvironment.sandbox, Int64(1)), (.production, 0)] {
            let stage = try Stage { $0.quirks = [.sandboxReceiptsShiftOriginalID] }
            try await stage.simulator.addDevice(account: "anna", environment: environment)
            let id = try await stage.buy("pro.monthly").originalTransactionID
            let shifted = String(try require(Int64(id), "no number") + shift)
            var request = VerifyReceiptRequest()
            request.password = SimulatorSettings.wellKnownSecret
            request.receiptData = try await stage.simulator.receipt(on: "anna-1")
            let answer = try await stage.simulator.verifyReceipt(
                request.json.bytes, at: environment)
            let places = [
                answer["receipt"]?["in_app"], answer["latest_receipt_info"],
                answer["pending_renewal_info"],
            ]
            for place in places {
                let first = place?.array?.first
                #expect(first?["original_transaction_id"]?.string == shifted)
            }
            request.receiptData = try await stage.simulator.transactionReceipt(of: id)
            let old = try await stage.simulator.verifyReceipt(request.json.bytes, at: environment)
            #expect(old["receipt"]?["original_transaction_id"]?.string == shifted)
            #expect(old["auto_renew_status"] == 1)
            #expect(try await stage.letters()[0].transaction.originalTransactionId == id)
        }
    }

    @Test func `with the habit sandbox_has_six_periods, a sandbox subscription has six periods`()
        async throws
    {
        let stage = try Stage { $0.quirks = [.sandboxHasSixPeriods] }
        try await stage.simulator.addDevice(account: "anna", environment: .sandbox)
        try await stage.buy("pro.monthly")
        try await stage.advance("P1D")
        let told = try await stage.story()
        #expect(told.filter { $0.hasPrefix("DID_RENEW") }.count == 5)
        #expect(told.count == 7, "the first period, and the end")
    }
}
