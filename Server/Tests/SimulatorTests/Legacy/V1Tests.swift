import AppStoreFormats
import Testing

@testable import Simulator

/// Version 1 notifications: which events cause them, and what they contain.
@Suite struct V1Tests {
    private func stage(
        _ era: V1Era = .year2021, shop: StoreKitFile? = nil, now: String = Stage.noon
    ) throws -> Stage {
        try Stage(now: now, shop: shop) { settings in
            settings.notificationURL = nil
            settings.v1NotificationURL = "box"
            settings.v1Era = era
        }
    }

    private func posted(_ stage: Stage) throws -> [V1Notification] {
        try stage.letterBox.bodies.map { try V1Notification(parsing: $0) }
    }

    private func types(_ stage: Stage) throws -> [String] {
        try posted(stage).map { $0.notificationType?.rawValue ?? "?" }
    }

    /// A life, and the notifications that it causes in each year.
    struct Life: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var graceDays = 16
        var environment = SimulatedEnvironment.production
        let steps: [Step]
        let told: [V1Era: [String]]
    }

    enum Step: Sendable {
        case buy(String)
        case does(SubscriptionAct)
        case waits(String)
    }

    private static let buys = ["INITIAL_BUY"]
    private static let changed = "DID_CHANGE_RENEWAL_STATUS"

    static let lives = [
        Life(
            testDescription: "1, 6: a purchase is renewed",
            steps: [.buy("pro.monthly"), .waits("P2M")],
            told: [
                .year2018: buys, .year2020: buys + ["DID_RENEW", "DID_RENEW"],
                .year2021: buys + ["DID_RENEW", "DID_RENEW"],
            ]),
        Life(
            testDescription: "2, 5: a trial converts", steps: [.buy("pro.yearly"), .waits("P1W")],
            told: [.year2018: buys, .year2021: buys + ["DID_RENEW"]]),
        Life(
            testDescription:
                "7, 8, 9: renewal is switched off, on and off; no notification reports the end",
            steps: [
                .buy("pro.monthly"), .does(.cancel), .does(.resume), .does(.cancel), .waits("P2M"),
            ],
            told: [.year2018: buys, .year2021: buys + [changed, changed, changed]]),
        Life(
            testDescription: "11, 12: a failed payment recovers in grace",
            steps: [
                .buy("pro.monthly"), .does(.failBilling), .waits("P36D"), .does(.recoverBilling),
            ],
            told: [
                .year2018: buys + ["RENEWAL"],
                .year2020: buys + ["DID_FAIL_TO_RENEW", "DID_RECOVER", "RENEWAL"],
                .year2021: buys + ["DID_FAIL_TO_RENEW", "DID_RECOVER"],
            ]),
        Life(
            testDescription: "10, 13, 15: a failed payment never recovers", graceDays: 3,
            steps: [.buy("pro.monthly"), .does(.failBilling), .waits("P6M")],
            told: [.year2018: buys, .year2021: buys + ["DID_FAIL_TO_RENEW", changed]]),
        Life(
            testDescription: "16: a customer cancels in billing retry",
            steps: [.buy("pro.monthly"), .does(.failBilling), .waits("P60D"), .does(.cancel)],
            told: [.year2021: buys + ["DID_FAIL_TO_RENEW", changed]]),
        Life(
            testDescription: "17: an upgrade",
            steps: [.buy("pro.monthly"), .does(.changeProduct("premium.monthly"))],
            told: [
                .year2018: buys + ["CANCEL", "INTERACTIVE_RENEWAL"],
                .year2021: buys + [changed, "INTERACTIVE_RENEWAL"],
            ]),
        Life(
            testDescription:
                "18, 19, 20: a downgrade is chosen, undone, chosen again, and takes effect",
            steps: [
                .buy("pro.monthly"), .does(.changeProduct("plus.monthly")),
                .does(.changeProduct("pro.monthly")), .does(.changeProduct("plus.monthly")),
                .waits("P1M"),
            ],
            told: [
                .year2018: buys + Array(repeating: "DID_CHANGE_RENEWAL_PREF", count: 3),
                .year2021: buys + Array(repeating: "DID_CHANGE_RENEWAL_PREF", count: 3)
                    + ["DID_RENEW"],
            ]),
        Life(
            testDescription: "23: a refund of the current period",
            steps: [.buy("pro.monthly"), .does(.refund())],
            told: [.year2018: buys + ["CANCEL"], .year2021: buys + ["CANCEL", changed]]),
        Life(
            testDescription: "23 after 7: a refund after renewal was switched off",
            steps: [.buy("pro.monthly"), .does(.cancel), .does(.refund())],
            told: [.year2021: buys + [changed, "CANCEL"]]),
        Life(
            testDescription: "27: a refund is reversed",
            steps: [.buy("pro.monthly"), .does(.refund()), .does(.reverseRefund())],
            told: [.year2021: buys + ["CANCEL", changed]]),
        Life(
            testDescription: "41: a former customer buys the same product",
            steps: [.buy("pro.monthly"), .does(.cancel), .waits("P2M"), .buy("pro.monthly")],
            told: [
                .year2018: buys + ["INTERACTIVE_RENEWAL"], .year2021: buys + [changed, changed],
            ]),
        Life(
            testDescription: "42: a former customer buys another product",
            steps: [.buy("pro.monthly"), .does(.cancel), .waits("P2M"), .buy("plus.monthly")],
            told: [
                .year2018: buys + ["INTERACTIVE_RENEWAL"],
                .year2021: buys + [changed, "INTERACTIVE_RENEWAL", changed],
            ]),
        Life(
            testDescription: "46: Apple ends a subscription",
            steps: [.buy("pro.monthly"), .does(.expire)],
            told: [.year2021: buys]),
        Life(
            testDescription: "the sandbox sends nothing about failing payments",
            environment: .sandbox,
            steps: [.buy("pro.monthly"), .does(.failBilling), .waits("PT6M")],
            told: [.year2021: buys]),
    ]

    @Test(arguments: lives)
    func `in each era, an event causes the version 1 notifications of that era`(life: Life)
        async throws
    {
        for (era, told) in life.told {
            let stage = try Stage { settings in
                settings.notificationURL = nil
                settings.v1NotificationURL = "box"
                settings.v1Era = era
                settings.graceDays = life.graceDays
            }
            try await stage.simulator.addDevice(account: "anna", environment: life.environment)
            var id = ""
            for step in life.steps {
                switch step {
                case .buy(let product): id = try await stage.buy(product).originalTransactionID
                case .does(let act): try await stage.simulator.change(id, act)
                case .waits(let duration): try await stage.advance(duration)
                }
            }
            #expect(try types(stage) == told, "\(era)")
        }
    }

    @Test func `the refund of a one-time purchase causes a version 1 notification`() async throws {
        let gems = StoreKitProduct(id: "gems", referenceName: "", type: .consumable, price: 990)
        for era in [V1Era.year2020, .year2021] {
            let stage = try stage(era, shop: StoreKitFile(oneTimeProducts: [gems]))
            let id = try await stage.buy("gems").transactionID
            try await stage.simulator.change(transaction: id, .refund())
            #expect(try types(stage) == ["REFUND"])
            let refund = try require(try posted(stage).first, "nothing posted")
            #expect(refund.autoRenewStatus == nil && refund.cancelled == nil)
            #expect(refund.unifiedReceipt?.renewals == nil)
            #expect(refund.unifiedReceipt?.latestRows?.first?.cancelled != nil)
        }
    }

    @Test
    func `a version 1 notification has the secret, the app and both spellings of the environment`()
        async throws
    {
        let stage = try stage()
        try await stage.buy("pro.monthly")
        let told = try require(try posted(stage).first, "nothing posted")
        #expect(told.password == SimulatorSettings.wellKnownSecret)
        #expect(told.environment == .production && told.unifiedReceipt?.environment == .production)
        #expect(told.environment?.rawValue == "PROD")
        #expect(told.bundleID == ExampleShop.bundleID && told.autoRenewStatus == true)
        #expect(told.latest == nil && told.latestReceipt == nil)
        let json = try JSON(parsing: require(stage.letterBox.bodies.first, "nothing posted"))
        #expect(json["original_transaction_id"]?.integer != nil)
        #expect(json["deprecation"]?.string != nil)
    }

    @Test
    func `a refund sends a cancellation with its time, and then the change of renewal status`()
        async throws
    {
        let stage = try stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.advance("P3D")
        try await stage.simulator.change(id, .refund())
        let told = try posted(stage)
        try #require(told.count == 3)
        let now = try moment("2026-01-13T20:00:00Z")
        #expect(told[1].cancelled == now && told[1].webOrderLineItemID != nil)
        #expect(told[1].autoRenewStatusChanged == nil)
        #expect(told[2].autoRenewStatusChanged == now && told[2].autoRenewStatus == false)
        #expect(told[2].cancelled == nil)
    }

    @Test func `before 2021, separate keys at the top level contain the latest transaction`()
        async throws
    {
        let stage = try stage(.year2020)
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.simulator.change(id, .refund())
        let told = try posted(stage)
        try #require(told.count == 3)
        let (first, second) = (told[0], told[1])
        #expect(first.latest?.transactionID == id && first.latestExpired == nil)
        #expect(second.latest == nil && second.latestExpired?.cancelled != nil)
        let text = try require(first.latestReceipt, "no receipt")
        let file = try require(Base64.standard.decode(Array(text.utf8)), "no Base64")
        let inside = try stage.simulator.authority.receipts.transaction(in: file).receipt
        #expect(inside.transactionID == id)
    }

    @Test func `the unified receipt holds the hundred newest transactions, newest first`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        try await stage.advance("P9Y")
        let last = try require(await stage.simulator.notifications.last, "nothing was sent")
        var desk = V1Composer()
        let letters = try desk.messages(
            for: last.draft, in: await stage.simulator.world,
            by: stage.simulator.authority.receipts)
        let unified = try require(letters.first?.notification.unifiedReceipt, "no receipt")
        let dates = (unified.latestRows ?? []).compactMap(\.purchased)
        #expect(dates.count == V1UnifiedReceipt.rowsMax && dates == dates.sorted(by: >))
        #expect(try dates.first == moment("2035-01-10T20:00:00Z"))
    }

    @Test
    func `production retries version 1 after 6, 24 and 48 hours, each time with a new receipt`()
        async throws
    {
        let stage = try stage()
        stage.letterBox.answer(otherwise: PostResult(status: 500))
        try await stage.buy("pro.yearly")
        try await stage.advance("P6D")
        let sent = try require(await stage.simulator.v1Notifications.first, "nothing was sent")
        #expect(
            sent.attempts.map { RFC3339.text($0.at) } == [
                "2026-01-10T20:00:00.000Z", "2026-01-11T02:00:00.000Z",
                "2026-01-12T02:00:00.000Z", "2026-01-14T02:00:00.000Z",
            ])
        let receipts = try posted(stage).compactMap(\.unifiedReceipt?.latestReceipt)
        #expect(Set(receipts).count == 4)
    }

    @Test func `a burst repeats a version 1 notification, each time with a different receipt`()
        async throws
    {
        let stage = try stage()
        try await stage.simulator.setFaults { try $0.notifications.order([.burst]) }
        try await stage.buy("pro.monthly")
        let receipts = try posted(stage).compactMap(\.unifiedReceipt?.latestReceipt)
        #expect(receipts.count == DeliveryQueue.burst && Set(receipts).count == receipts.count)
        #expect(try types(stage) == Array(repeating: "INITIAL_BUY", count: DeliveryQueue.burst))
    }

    @Test func `both versions of a notification can be posted side by side`() async throws {
        let stage = try Stage { $0.v1NotificationURL = "old box" }
        try await stage.buy("pro.monthly")
        #expect(stage.letterBox.count == 2)
        #expect(await stage.simulator.notifications.count == 1)
        #expect(await stage.simulator.v1Notifications.count == 1)
    }

    /// The keys of an object, without those of nested objects.
    private func keys(_ json: JSON?) -> Set<String> { Set((json?.members ?? []).map(\.key)) }

    @Test(.enabled(if: LegacyVectors.arePresent))
    func `our version 1 notifications have the same keys as published examples`() async throws {
        let samples: [(V1Era, String, [Step])] = [
            (.year2018, "01-initial_buy-2018", [.buy("pro.monthly")]),
            (.year2020, "07-initial-buy-prod-2020", [.buy("pro.monthly")]),
            (.year2021, "13-did-renew-2025", [.buy("pro.monthly"), .waits("P1M")]),
        ]
        for (era, name, steps) in samples {
            let stage = try stage(era)
            for case .buy(let product) in steps { try await stage.buy(product) }
            for case .waits(let duration) in steps { try await stage.advance(duration) }
            let body = try require(stage.letterBox.bodies.last, "nothing posted")
            let ours = try JSON(parsing: body)
            let theirs = try LegacyVectors.json("v1-notification-samples/\(name).json")
            #expect(keys(ours) == keys(theirs), "\(name)")
            let (mine, other) = (ours["unified_receipt"], theirs["unified_receipt"])
            #expect(keys(mine) == keys(other), "\(name)")
            let row = keys(mine?["latest_receipt_info"]?.array?.first)
            // Apple has written this field since the end of 2020.
            #expect(
                row.subtracting(["in_app_ownership_type"])
                    == keys(other?["latest_receipt_info"]?.array?.first)
                    .subtracting(["in_app_ownership_type"]), "\(name)")
            let latest = keys(ours["latest_receipt_info"])
            let missing = keys(theirs["latest_receipt_info"]).subtracting(latest)
            #expect(missing == [], "\(name)")
        }
    }
}
