import AppStoreFormats
import Testing

@testable import Simulator

@Suite struct ScenarioTests {
    private static let renewalOff = "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"
    private static let refused = "DID_FAIL_TO_RENEW/GRACE_PERIOD"

    /// Each row: what a scenario sends after the first SUBSCRIBED/INITIAL_BUY, and its final
    /// state.
    private static let stories: [(String, [String], TruePurchase.State)] = [
        ("first-purchase-and-renewals", ["DID_RENEW", "DID_RENEW", "DID_RENEW"], .paid),
        ("trial-converts", ["DID_RENEW"], .paid),
        ("trial-cancelled", [renewalOff, "EXPIRED/VOLUNTARY"], .expired),
        ("cancelled-and-expired", [renewalOff, "EXPIRED/VOLUNTARY"], .expired),
        (
            "cancelled-and-resumed",
            [renewalOff, "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED", "DID_RENEW"], .paid
        ),
        (
            "back-after-a-gap", [renewalOff, "EXPIRED/VOLUNTARY", "SUBSCRIBED/RESUBSCRIBE"], .paid
        ),
        (
            "billing-failure-recovered-in-grace", [refused, "DID_RENEW/BILLING_RECOVERY"], .paid
        ),
        (
            "billing-failure-recovered-in-retry",
            [refused, "GRACE_PERIOD_EXPIRED", "DID_RENEW/BILLING_RECOVERY"], .paid
        ),
        (
            "billing-failure-never-recovered",
            [refused, "GRACE_PERIOD_EXPIRED", "EXPIRED/BILLING_RETRY"], .expired
        ),
        ("refund", ["DID_RENEW", "REFUND"], .refunded),
        ("refund-reversed", ["REFUND", "REFUND_REVERSED"], .paid),
        (
            "refund-request-declined", ["CONSUMPTION_REQUEST", renewalOff, "REFUND_DECLINED"], .paid
        ),
        ("upgrade", ["DID_CHANGE_RENEWAL_PREF/UPGRADE", "DID_RENEW"], .paid),
        ("downgrade", ["DID_CHANGE_RENEWAL_PREF/DOWNGRADE", "DID_RENEW"], .paid),
        (
            "price-increase-agreed",
            ["PRICE_INCREASE/PENDING", "PRICE_INCREASE/ACCEPTED", "DID_RENEW"], .paid
        ),
        (
            "price-increase-unanswered", ["PRICE_INCREASE/PENDING", "EXPIRED/PRICE_INCREASE"],
            .expired
        ),
        ("outage", ["DID_RENEW"], .paid),
        ("notification-lost", [renewalOff, "EXPIRED/VOLUNTARY"], .expired),
        ("notifications-out-of-order", ["DID_RENEW", "REFUND"], .refunded),
        ("forgery", ["DID_RENEW"], .paid),
    ]

    @Test(arguments: stories)
    func `a scenario sends the notifications that its description promises`(
        name: String, tells: [String], ends: TruePurchase.State
    ) async throws {
        let stage = try Stage()
        let run = try await stage.simulator.run(Scenario.named(name))
        let told = run.notifications.map { notice in
            notice.type.rawValue + (notice.subtype.map { "/" + $0.rawValue } ?? "")
        }
        #expect(told == ["SUBSCRIBED/INITIAL_BUY"] + tells)
        #expect(run.groundTruth.purchases.map(\.state) == [ends])
    }

    @Test func `the table of this test contains every scenario`() {
        #expect(Scenario.all.map(\.name) == Self.stories.map(\.0))
    }

    @Test func `each scenario with faults posts the expected number of notifications`() async throws
    {
        let posted = try await [
            "outage": 2, "notification-lost": 2, "notifications-out-of-order": 3, "forgery": 3,
        ].mapPosted { name in
            let stage = try Stage()
            _ = try await stage.simulator.run(Scenario.named(name))
            return stage.letterBox.count
        }
        #expect(posted.ours == posted.expected)
        let stage = try Stage()
        _ = try await stage.simulator.run(Scenario.named("notifications-out-of-order"))
        let order = try stage.letterBox.letters.map { $0.notification.notificationType }
        #expect(order == [.subscribed, .refund, .didRenew])
    }

    @Test
    func `a scenario can be repeated for another customer, in any shop with a suitable product`()
        async throws
    {
        let stage = try Stage(shop: FullShop.file())
        for number in 1...2 {
            let run = try await stage.simulator.run(Scenario.named("downgrade"))
            #expect(run.account == "downgrade-\(number)")
            #expect(run.groundTruth.purchases.first?.productID == "tiers.bronze")
        }
    }

    @Test func `an unknown scenario, or a shop without its product, is refused with a remedy`()
        async throws
    {
        #expect {
            try Scenario.named("nonsense")
        } throws: {
            "\($0)".contains("unknown_scenario") && "\($0)".contains("trial-converts")
        }
        let stage = try Stage(shop: StoreKitFile())
        await #expect {
            _ = try await stage.simulator.run(Scenario.named("upgrade"))
        } throws: {
            "\($0)".contains("scenario_needs_product")
        }
    }
}

extension [String: Int] {
    fileprivate func mapPosted(
        _ post: (String) async throws -> Int
    ) async throws -> (ours: [String: Int], expected: [String: Int]) {
        var ours: [String: Int] = [:]
        for name in keys { ours[name] = try await post(name) }
        return (ours, self)
    }
}
