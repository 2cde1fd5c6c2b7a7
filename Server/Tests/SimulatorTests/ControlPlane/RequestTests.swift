import AppStoreFormats
import Testing

@testable import Simulator

/// Requests of customers and developers to the App Store: refunds, extensions, prices.
@Suite struct RequestTests {
    private func refused(
        _ code: String, _ act: () async throws -> Void
    ) async {
        await #expect(
            performing: { try await act() }, throws: { ($0 as? SimulatorProblem)?.code == code })
    }

    @Test(arguments: [
        (ConsumptionReply.Preference.decline, nil as Int64?, "REFUND_DECLINED gem", nil as Int64?),
        (.grantFull, nil, "REFUND gem", 100_000), (.grantProrated, 30_000, "REFUND gem", 70_000),
    ])
    func `Apple declines or grants a refund according to the app's consumption response`(
        preference: ConsumptionReply.Preference, consumed: Int64?, told: String,
        percentage: Int64?
    ) async throws {
        let stage = try Stage(shop: TableShop.file())
        let id = try await stage.buy("gem").transactionID
        try await stage.simulator.change(transaction: id, .requestRefund())
        try await stage.advance("PT11H")
        try await stage.simulator.recordConsumption(
            ConsumptionReply(preference: preference, consumedPercentage: consumed), of: id)
        try await stage.advance("P2D")
        let last = try require(try await stage.letters().last, "no letter")
        #expect(last.line == told && last.transaction.revocationPercentage == percentage)
    }

    @Test func `if a consumption response arrives after twelve hours, it changes nothing`()
        async throws
    {
        let stage = try Stage(shop: TableShop.file())
        let id = try await stage.buy("gem").transactionID
        try await stage.simulator.change(transaction: id, .requestRefund())
        try await stage.advance("PT13H")
        try await stage.simulator.recordConsumption(ConsumptionReply(preference: .decline), of: id)
        try await stage.advance("P2D")
        #expect(try await stage.story().last == "REFUND gem")
    }

    @Test func `Apple does not ask about consumption again after the app has responded`()
        async throws
    {
        let stage = try Stage(shop: TableShop.file()) { $0.quirks = [.consumptionRequestRepeated] }
        let id = try await stage.buy("gem").transactionID
        try await stage.simulator.change(transaction: id, .requestRefund())
        try await stage.simulator.recordConsumption(ConsumptionReply(preference: .decline), of: id)
        try await stage.advance("P3D")
        #expect(
            try await stage.story() == [
                "ONE_TIME_CHARGE gem", "CONSUMPTION_REQUEST gem", "REFUND_DECLINED gem",
            ])
    }

    @Test func `Apple decides only once about a purchase whose refund was requested`() async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.simulator.change(id, .requestRefund(.legal))
        await refused("wrong_state") { try await stage.simulator.change(id, .requestRefund()) }
        try await stage.simulator.change(id, .requestRefund(.legal, .granted))
        try await stage.advance("P3D")
        let types = await stage.simulator.notifications.map(\.draft.type)
        #expect(types.filter { $0 == .refund }.count == 1 && types.count == 4)
        await refused("wrong_state") { try await stage.simulator.change(id, .requestRefund()) }
    }

    @Test func `a refund request for a past period leaves renewal on`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.advance("P1M")
        try await stage.simulator.change(transaction: id, .requestRefund(.other, .granted))
        #expect(
            try await stage.story().dropFirst(2) == [
                "CONSUMPTION_REQUEST 1 pro.monthly", "REFUND 1 pro.monthly",
            ])
        #expect(try await stage.truth().willRenew)
    }

    @Test func `an extension moves the billing date of all later periods`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.simulator.change(id, .extend(ExtensionOrder(days: 5)))
        try await stage.advance("P2M")
        let ends = try await stage.letters().suffix(2).map(\.transaction.expiresDate)
        #expect(
            try ends == [moment("2026-02-15T20:00:00Z"), moment("2026-03-15T19:00:00Z")])
    }

    @Test
    func `an extension is refused in a trial or retry, over 90 days, or a third time in a year`()
        async throws
    {
        let stage = try Stage(shop: TableShop.file())
        let trial = try await stage.buy("trial").originalTransactionID
        let order = ExtensionOrder(days: 10)
        await refused("extension_not_eligible") {
            try await stage.simulator.change(trial, .extend(order))
        }
        let id = try await stage.buy("pro").originalTransactionID
        await refused("bad_request") {
            try await stage.simulator.change(id, .extend(ExtensionOrder(days: 91)))
        }
        for _ in 1...2 { try await stage.simulator.change(id, .extend(order)) }
        await refused("extension_limit") { try await stage.simulator.change(id, .extend(order)) }
        try await stage.advance("P366D")
        try await stage.simulator.change(id, .extend(order))
        try await stage.simulator.change(id, .failBilling)
        try await stage.advance("P2M")
        await refused("extension_not_eligible") {
            try await stage.simulator.change(id, .extend(order))
        }
    }

    @Test func `an extension for all subscribers names the subscribers whose extension failed`()
        async throws
    {
        let stage = try Stage()
        for (name, country) in [("anna", "USA"), ("ben", "USA"), ("cleo", "DEU")] {
            try await stage.simulator.addDevice(account: name, storefront: country)
            try await stage.buy("pro.monthly", on: "\(name)-1")
        }
        let ben = try await stage.simulator.groundTruth(of: "ben").purchases[0]
            .originalTransactionID
        let days = ExtensionOrder(days: 3)
        for _ in 1...2 { try await stage.simulator.change(ben, .extend(days)) }
        let wish = MassExtension(
            ExtensionOrder(days: 3, requestID: "outage"), productID: "pro.monthly",
            storefronts: ["USA"])
        try await stage.simulator.massExtend(wish)
        try await stage.simulator.massExtend(wish)
        #expect(await stage.simulator.world.massExtensions[wish.key]?.completed == nil)
        try await stage.advance("PT1H")
        #expect(
            try await stage.story().suffix(3) == [
                "RENEWAL_EXTENDED 1 pro.monthly", "RENEWAL_EXTENSION/FAILURE 1 pro.monthly",
                "RENEWAL_EXTENSION/SUMMARY",
            ])
        let summary = try await stage.letters().last?.notification.summary
        #expect(summary?.succeededCount == 1 && summary?.failedCount == 1)
        #expect(summary?.storefrontCountryCodes == ["USA"])
        #expect(await stage.simulator.world.massExtensions[wish.key]?.succeeded == 1)
        // A repeated request returns the same extension.
        let told = await stage.simulator.notifications.count
        try await stage.simulator.massExtend(wish)
        try await stage.advance("PT2H")
        #expect(await stage.simulator.notifications.count == told)
    }

    @Test func `one request id stands for a separate extension in each environment`() async throws {
        let stage = try Stage()
        try await stage.buy("pro.monthly", offer: "none")
        let sandbox = try await stage.simulator.addDevice(account: "ben", environment: .sandbox)
        try await stage.buy("pro.monthly", offer: "none", on: sandbox)
        let order = ExtensionOrder(days: 3, requestID: "outage")
        for environment in SimulatedEnvironment.allCases {
            try await stage.simulator.massExtend(
                MassExtension(order, productID: "pro.monthly", environment: environment))
        }
        try await stage.advance("P1D")
        let told = await stage.simulator.notifications.map(\.draft)
        let summaries = told.filter { $0.type == .renewalExtension && $0.subtype == .summary }
        #expect(Set(summaries.map(\.environment)) == [.production, .sandbox])
    }

    @Test
    func
        `the price of a subscriber can only rise; consent is accepted only if it was requested`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        let lower = PriceRise.Order(price: 5000, needsConsent: true)
        await refused("bad_request") { try await stage.simulator.change(id, .raisePrice(lower)) }
        await refused("wrong_state") { try await stage.simulator.change(id, .consent) }
        await refused("wrong_state") { try await stage.simulator.change(id, .decline) }
        let told = PriceRise.Order(price: 15_000, needsConsent: false)
        try await stage.simulator.change(id, .raisePrice(told))
        await refused("wrong_state") { try await stage.simulator.change(id, .consent) }
        let truth = try await stage.truth()
        #expect(truth.nextPrice == 15_000 && truth.priceRise?.price == 15_000)
        try await stage.advance("P1M")
        #expect(try await stage.truth().priceRise == nil)
        #expect(try await stage.letters().last?.renewal?.priceIncreaseStatus == nil)
    }

    @Test func `a product that is not for sale cannot be bought`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.simulator.change(id, .removeFromSale)
        try await stage.simulator.addDevice(account: "ben")
        await refused("product_not_for_sale") { try await stage.buy("pro.monthly", on: "ben-1") }
        // Customers who have already chosen another product keep their choice.
        try await stage.simulator.change(id, .changeProduct("plus.monthly"))
        try await stage.advance("P1M")
        #expect(try await stage.story().last == "DID_RENEW 1 plus.monthly")
    }
}
