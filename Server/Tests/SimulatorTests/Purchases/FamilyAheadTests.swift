import AppStoreFormats
import Testing

@testable import Simulator

/// Families whose purchaser's next period is charged ahead: members get the product of the present
/// period now, and that of the next period when it begins.
@Suite struct FamilyAheadTests {
    /// Anna has bought a product, changed to another and was charged for it ahead; ben is in her
    /// family.
    private func household(
        buys product: String = "pro.monthly", changesTo next: String? = nil
    ) async throws -> Stage {
        let stage = try Stage(shop: try CatShop.file())
        for name in ["anna", "ben"] {
            try await stage.simulator.addDevice(account: name, family: "cats")
        }
        let id = try await stage.buy(product, offer: "none").originalTransactionID
        if let next { try await stage.simulator.change(id, .changeProduct(next)) }
        try await stage.simulator.change(id, .renewNow)
        return stage
    }

    private func told(_ stage: Stage) async throws -> [String] {
        try await stage.simulator.notifications.filter { $0.draft.account == "ben" }.map {
            try Letter($0.signedPayload).line
        }
    }

    private func bensIsOpen(_ stage: Stage) async throws -> [Bool] {
        try await stage.simulator.groundTruth(of: "ben").purchases.map(\.isOpen)
    }

    @Test func `leaving the family ends a member's present period and the next period`()
        async throws
    {
        let stage = try await household()
        #expect(try await bensIsOpen(stage) == [true])
        let count = try await told(stage).count
        try await stage.simulator.changeFamily("cats", .leave, account: "ben", in: .production)
        let revoked = ["REVOKE 5 pro.monthly", "REVOKE 5 pro.monthly"]
        #expect(try await told(stage).dropFirst(count).elementsEqual(revoked))
        #expect(try await bensIsOpen(stage) == [false])
        try await stage.advance("P40D")
        #expect(try await bensIsOpen(stage) == [false])
    }

    @Test
    func `after a refund of the next period, leaving the family still ends the present period`()
        async throws
    {
        let stage = try await household()
        let id = try await stage.truth().originalTransactionID
        try await stage.simulator.change(id, .refund())
        #expect(try await bensIsOpen(stage) == [true])
        try await stage.simulator.changeFamily("cats", .leave, account: "ben", in: .production)
        #expect(try await bensIsOpen(stage) == [false])
    }

    @Test
    func `sharing ends when the period of an unshared product begins, not when it is charged`()
        async throws
    {
        let stage = try await household(changesTo: "pro.yearly")
        try await stage.advance("P20D")
        #expect(try await bensIsOpen(stage) == [true])
        #expect(try await !told(stage).contains { $0.hasPrefix("REVOKE") })
        try await stage.advance("P12D")
        #expect(try await bensIsOpen(stage) == [false])
        #expect(try await told(stage).last == "REVOKE 5 pro.monthly")
        let ben = try require(
            try await stage.simulator.groundTruth(of: "ben").purchases.first, "ben has nothing")
        let anna = try await stage.truth()
        #expect(ben.until == anna.period?.lowerBound && anna.productID == "pro.yearly")
    }

    @Test func `a product is shared when its period begins, not when it is charged`() async throws {
        let stage = try await household(buys: "pro.yearly", changesTo: "pro.monthly")
        try await stage.advance("P300D")
        #expect(try await told(stage) == [])
        try await stage.advance("P66D")
        #expect(try await told(stage) == ["SUBSCRIBED/INITIAL_BUY 1 pro.monthly"])
        let ben = try require(
            try await stage.simulator.groundTruth(of: "ben").purchases.first, "ben has nothing")
        let period = try await stage.truth().period
        #expect(ben.isOpen && ben.productID == "pro.monthly" && ben.period == period)
    }
}
