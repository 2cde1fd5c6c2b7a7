import AppStoreFormats
import Testing

@testable import Simulator

/// The money in the simulator's books.
@Suite struct MoneyTests {
    private func money(_ steps: [LifecycleTableTests.Step]) async throws -> [[Int64]] {
        let stage = try Stage(shop: TableShop.file())
        try await stage.play(steps)
        let books = try await stage.simulator.groundTruth(of: "anna")
        return books.purchases.flatMap(\.charges).map { [$0.amount, $0.refunded] }
    }

    @Test func `every charge and every refund is booked`() async throws {
        let past: [LifecycleTableTests.Step] = [
            .buy("pro"), .waits("P1M"), .transaction(.refund()), .waits("P1M"),
        ]
        #expect(try await money(past) == [[9990, 9990], [9990, 0], [9990, 0]])
        let half = RefundOrder(.prorated(50_000))
        #expect(try await money([.buy("pro"), .does(.refund(half))]) == [[9990, 4995]])
        #expect(try await money([.buy("gem"), .buy("map")]) == [[990, 0], [4990, 0]])
    }

    @Test func `an upgrade refunds the rest of the period`() async throws {
        // Ten of thirty-one days have passed.
        let steps: [LifecycleTableTests.Step] = [
            .buy("pro"), .waits("P10D"), .does(.changeProduct("premium")),
        ]
        #expect(try await money(steps) == [[9990, 9990 * 67_741 / 100_000], [19_990, 0]])
    }

    @Test func `the ground truth does not count a reversed refund as a refund`() async throws {
        let steps: [LifecycleTableTests.Step] = [
            .buy("pro"), .does(.refund()), .does(.reverseRefund()),
        ]
        #expect(try await money(steps) == [[9990, 0]])
    }

    @Test
    func `after a reversal, the order of the charges and the chain's first date are unchanged`()
        async throws
    {
        let stage = try Stage(shop: TableShop.file())
        let first = try await stage.buy("pro")
        let id = first.originalTransactionID
        try await stage.simulator.change(id, .refund())
        try await stage.advance("P1D")
        let second = try await stage.buy("pro")
        try await stage.simulator.change(id, .refund(RefundOrder(), of: second.transactionID))
        try await stage.simulator.change(id, .reverseRefund(of: first.transactionID))
        let ids = [first.transactionID, second.transactionID]
        #expect(try await stage.truth().charges.map(\.transactionID) == ids)
        try await stage.advance("P2M")
        try await stage.buy("pro")
        let last = try require(try await stage.letters().last, "no letter").transaction
        #expect(try last.originalPurchaseDate == moment(Stage.noon))
    }

    @Test func `a trial and a price rise are charged at their prices`() async throws {
        let rise = PriceRise.Order(price: 12_990, needsConsent: false)
        let steps: [LifecycleTableTests.Step] = [
            .buy("trial"), .waits("P1W"), .does(.raisePrice(rise)), .waits("P2M"),
        ]
        #expect(try await money(steps) == [[0, 0], [9990, 0], [12_990, 0], [12_990, 0]])
    }

    @Test func `a price rise during grace does not change the amount owed`() async throws {
        let rise = PriceRise.Order(price: 12_990, needsConsent: false)
        let steps: [LifecycleTableTests.Step] = [
            .buy("pro"), .does(.failBilling), .waits("P1M"), .waits("P1D"),
            .does(.raisePrice(rise)), .does(.recoverBilling), .waits("P1M"),
        ]
        #expect(try await money(steps) == [[9990, 0], [9990, 0], [12_990, 0]])
    }

    @Test func `a price rise at a later date does not change the renewals before it`()
        async throws
    {
        let rise = PriceRise.Order(
            price: 12_990, needsConsent: true, from: try moment("2026-03-01T00:00:00Z"))
        let steps: [LifecycleTableTests.Step] = [
            .buy("pro"), .does(.raisePrice(rise)), .waits("P1M"), .does(.consent), .waits("P1M"),
        ]
        #expect(try await money(steps) == [[9990, 0], [9990, 0], [12_990, 0]])
    }

    @Test func `a returning customer pays the price of the day of the return`() async throws {
        let rise = PriceRise.Order(price: 12_990, needsConsent: true)
        let steps: [LifecycleTableTests.Step] = [
            .buy("pro"), .does(.raisePrice(rise)), .waits("P2M"), .buy("pro"), .waits("P1M"),
        ]
        #expect(try await money(steps) == [[9990, 0], [12_990, 0], [12_990, 0]])
    }

    @Test(arguments: [true, false])
    func `a planned price rise does not apply to a customer who left and came back`(
        needsConsent: Bool
    ) async throws {
        let rise = PriceRise.Order(
            price: 12_990, needsConsent: needsConsent, from: try moment("2026-04-15T00:00:00Z"))
        let stage = try Stage(shop: TableShop.file())
        try await stage.play([
            .buy("pro"), .does(.raisePrice(rise)), .does(.cancel), .waits("P2M"), .buy("pro"),
        ])
        #expect(try await stage.truth().priceRise == nil)
        let told = try require(try await stage.letters().last?.renewal, "no renewal info")
        #expect(told.renewalPrice == 9990 && told.priceIncreaseStatus == nil)
        try await stage.advance("P2M")
        let truth = try await stage.truth()
        #expect(truth.charges.map(\.amount) == [9990, 9990, 9990, 9990])
        #expect(truth.state == .paid)
    }

    @Test func `a past price rise is charged when a customer returns, but is not announced`()
        async throws
    {
        let stage = try Stage(shop: try CatShop.file())
        let id = try await stage.buy("pro.monthly", offer: "none").originalTransactionID
        let rise = PriceRise.Order(price: 12_990, needsConsent: true)
        try await stage.simulator.change(id, .raisePrice(rise))
        try await stage.simulator.change(id, .cancel)
        try await stage.advance("P2M")
        try await stage.simulator.change(id, .winBack())
        let truth = try await stage.truth()
        #expect(truth.priceRise == nil && truth.nextPrice == 12_990)
        try await stage.advance("P1M")
        #expect(try await stage.truth().charges.map(\.amount) == [9990, 2990, 12_990])
    }

    @Test func `the ground truth has the currency, product and refund of each charge`() async throws
    {
        let stage = try Stage()
        try await stage.simulator.addDevice(account: "anna", storefront: "DEU")
        let bought = try await stage.buy("pro.monthly")
        try await stage.advance("P3D")
        try await stage.simulator.change(bought.originalTransactionID, .refund())
        let charge = try require(try await stage.truth().charges.first, "no charge")
        #expect(charge.currency == "EUR" && charge.productID == "pro.monthly")
        #expect(try charge.at == moment(Stage.noon))
        #expect(try charge.refundedAt == moment("2026-01-13T20:00:00Z"))
        #expect(charge.json["refunded_milliunits"] == 9990)
        #expect(charge.transactionID == bought.transactionID)
    }
}
