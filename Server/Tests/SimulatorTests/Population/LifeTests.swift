import AppStoreFormats
import Testing

@testable import Simulator

/// Whole lives of subscriptions, as the notifications that they cause: type, subtype, status,
/// product.
@Suite struct LifeTests {
    /// One act on anna's subscription, or time that passes.
    enum Step: Sendable {
        case buy(String)
        case does(SubscriptionAct)
        case changes(String)
        case waits(String)
    }

    struct Life: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var graceDays = 16
        let steps: [Step]
        let story: [String]
    }

    private static let bought = "SUBSCRIBED/INITIAL_BUY 1 pro.monthly"
    private static let renewed = "DID_RENEW 1 pro.monthly"
    private static let renewalOff = "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"
    private static let inGrace = "DID_FAIL_TO_RENEW/GRACE_PERIOD 4 pro.monthly"

    static let lives = [
        Life(
            testDescription: "1, 6: a purchase is renewed",
            steps: [.buy("pro.monthly"), .waits("P2M")], story: [bought, renewed, renewed]),
        Life(
            testDescription: "2, 5: a trial converts", steps: [.buy("pro.yearly"), .waits("P1W")],
            story: ["SUBSCRIBED/INITIAL_BUY 1 pro.yearly", "DID_RENEW 1 pro.yearly"]),
        Life(
            testDescription: "7, 8: renewal is switched off and on again",
            steps: [.buy("pro.monthly"), .does(.cancel), .does(.resume), .waits("P1M")],
            story: [
                bought, renewalOff + " 1 pro.monthly",
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED 1 pro.monthly", renewed,
            ]),
        Life(
            testDescription: "9, 41: a cancelled subscription expires, and is bought again",
            steps: [.buy("pro.monthly"), .does(.cancel), .waits("P2M"), .buy("pro.monthly")],
            story: [
                bought, renewalOff + " 1 pro.monthly", "EXPIRED/VOLUNTARY 2 pro.monthly",
                "SUBSCRIBED/RESUBSCRIBE 1 pro.monthly",
            ]),
        Life(
            testDescription: "42: a former customer buys another product",
            steps: [.buy("pro.monthly"), .does(.cancel), .waits("P1M"), .buy("plus.monthly")],
            story: [
                bought, renewalOff + " 1 pro.monthly", "EXPIRED/VOLUNTARY 2 pro.monthly",
                "SUBSCRIBED/RESUBSCRIBE 1 plus.monthly",
            ]),
        Life(
            testDescription: "10, 14: billing fails without grace, and recovers", graceDays: 0,
            steps: [
                .buy("pro.monthly"), .does(.failBilling), .waits("P40D"), .does(.recoverBilling),
            ],
            story: [
                bought, "DID_FAIL_TO_RENEW 3 pro.monthly",
                "DID_RENEW/BILLING_RECOVERY 1 pro.monthly",
            ]),
        Life(
            testDescription: "11, 12: a failed payment recovers in grace",
            steps: [
                .buy("pro.monthly"), .does(.failBilling), .waits("P36D"), .does(.recoverBilling),
            ],
            story: [bought, inGrace, "DID_RENEW/BILLING_RECOVERY 1 pro.monthly"]),
        Life(
            testDescription: "13, 15: grace ends, and later billing retry ends",
            steps: [.buy("pro.monthly"), .does(.failBilling), .waits("P6M")],
            story: [
                bought, inGrace, "GRACE_PERIOD_EXPIRED 3 pro.monthly",
                "EXPIRED/BILLING_RETRY 2 pro.monthly",
            ]),
        Life(
            testDescription: "16: a customer cancels in grace",
            steps: [.buy("pro.monthly"), .does(.failBilling), .waits("P36D"), .does(.cancel)],
            story: [
                bought, inGrace, renewalOff + " 2 pro.monthly", "EXPIRED/VOLUNTARY 2 pro.monthly",
            ]),
        Life(
            testDescription: "17: an upgrade takes effect at once",
            steps: [.buy("pro.monthly"), .waits("P10D"), .changes("premium.monthly")],
            story: [bought, "DID_CHANGE_RENEWAL_PREF/UPGRADE 1 premium.monthly"]),
        Life(
            testDescription: "18, 20: a downgrade takes effect at the end of the period",
            steps: [.buy("pro.monthly"), .changes("plus.monthly"), .waits("P1M")],
            story: [
                bought, "DID_CHANGE_RENEWAL_PREF/DOWNGRADE 1 pro.monthly",
                "DID_RENEW 1 plus.monthly",
            ]),
        Life(
            testDescription: "19: a downgrade is undone before it takes effect",
            steps: [
                .buy("pro.monthly"), .changes("plus.monthly"), .changes("pro.monthly"),
                .waits("P1M"),
            ],
            story: [
                bought, "DID_CHANGE_RENEWAL_PREF/DOWNGRADE 1 pro.monthly",
                "DID_CHANGE_RENEWAL_PREF 1 pro.monthly", renewed,
            ]),
        Life(
            testDescription: "22: a change to a longer period waits for the end of the present one",
            steps: [.buy("pro.monthly"), .changes("pro.yearly"), .waits("P1M")],
            story: [
                bought, "DID_CHANGE_RENEWAL_PREF/DOWNGRADE 1 pro.monthly",
                "DID_RENEW 1 pro.yearly",
            ]),
        Life(
            testDescription: "23, 27: a refund is reversed",
            steps: [
                .buy("pro.monthly"), .waits("P3D"), .does(.refund()), .waits("P3D"),
                .does(.reverseRefund()), .waits("P1M"),
            ],
            story: [
                bought, "REFUND 5 pro.monthly", "REFUND_REVERSED 1 pro.monthly",
                "EXPIRED/VOLUNTARY 2 pro.monthly",
            ]),
        Life(
            testDescription: "27: a refund is reversed after the end of the period",
            steps: [.buy("pro.monthly"), .does(.refund()), .waits("P2M"), .does(.reverseRefund())],
            story: [bought, "REFUND 5 pro.monthly", "REFUND_REVERSED 2 pro.monthly"]),
        Life(
            testDescription: "46: a subscription ends for another reason",
            steps: [.buy("pro.monthly"), .does(.expire)],
            story: [bought, "EXPIRED 2 pro.monthly"]),
        Life(
            testDescription: "a purchase of a higher product in the same group is an upgrade",
            steps: [.buy("pro.monthly"), .buy("premium.monthly")],
            story: [bought, "DID_CHANGE_RENEWAL_PREF/UPGRADE 1 premium.monthly"]),
    ]

    @Test(arguments: lives)
    func `each history of a subscription sends the notifications in Apple's table`(life: Life)
        async throws
    {
        let stage = try Stage { $0.graceDays = life.graceDays }
        var id = ""
        for step in life.steps {
            switch step {
            case .buy(let product): id = try await stage.buy(product).originalTransactionID
            case .does(let verb): try await stage.simulator.change(id, verb)
            case .changes(let product):
                try await stage.simulator.change(id, .changeProduct(product))
            case .waits(let duration): try await stage.advance(duration)
            }
        }
        #expect(try await stage.story() == life.story)
        // All notifications were posted at once, in the same order, and without fields that we do
        // not know.
        #expect(try stage.letterBox.letters.map(\.line) == life.story)
        for letter in try await stage.letters() {
            #expect(letter.notification.unknown.isEmpty && letter.transaction.unknown.isEmpty)
            #expect(letter.renewal?.unknown.isEmpty == true)
        }
    }

    @Test func `each document is signed later than every document before it`() async throws {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        try await stage.advance("P3M")
        let dates = try await stage.letters().flatMap { letter in
            [
                letter.transaction.signedDate, letter.renewal?.signedDate,
                letter.notification.signedDate,
            ]
        }
        let known = dates.compactMap(\.?.milliseconds)
        #expect(known.count == 12)
        #expect(zip(known, known.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test func `if billing fails and recovers within the period, no notification is sent`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.simulator.change(id, .failBilling)
        try await stage.simulator.change(id, .recoverBilling)
        try await stage.advance("P1M")
        #expect(try await stage.story() == [Self.bought, Self.renewed])
    }

    @Test func `a one-time purchase is charged once, without status or renewal`() async throws {
        let shop = StoreKitFile(oneTimeProducts: [
            StoreKitProduct(id: "gem", referenceName: "Gem", type: .consumable, price: 990),
            StoreKitProduct(id: "map", referenceName: "Map", type: .nonConsumable, price: 1990),
        ])
        let stage = try Stage(shop: shop)
        let gem = try await stage.buy("gem").transactionID
        let map = try await stage.buy("map").transactionID
        // The second purchase is free, because the product is already owned.
        #expect(try await stage.buy("map").transactionID == map)
        #expect(try await stage.buy("gem").transactionID != gem)
        try await stage.simulator.change(transaction: map, .refund())
        #expect(
            try await stage.story() == [
                "ONE_TIME_CHARGE gem", "ONE_TIME_CHARGE map", "ONE_TIME_CHARGE gem", "REFUND map",
            ])
        #expect(try await stage.letters().allSatisfy { $0.renewal == nil })
        #expect(try await stage.buy("map").transactionID != map)
    }
}
