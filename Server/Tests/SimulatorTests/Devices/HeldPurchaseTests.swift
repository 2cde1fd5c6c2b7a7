import AppStoreFormats
import Testing

@testable import Simulator

/// Purchases of a product that the customer already has, as measured on devices.
@Suite struct HeldPurchaseTests {
    private func stage(_ quirks: Quirk...) async throws -> (Stage, PurchasedTransaction) {
        let stage = try Stage { $0.quirks = Set(quirks) }
        return (stage, try await stage.buy("pro.monthly", offer: "none"))
    }

    @Test func `buying an owned product returns the existing transaction, and costs nothing`()
        async throws
    {
        let (stage, first) = try await stage()
        let sent = await stage.simulator.notifications.count
        let again = try await stage.buy("pro.monthly", offer: "none")
        #expect(again.transactionID == first.transactionID)
        #expect(try await stage.truth().charges.count == 1)
        #expect(await stage.simulator.notifications.count == sent)
    }

    @Test func `with the habit already_subscribed_refused, buying an owned product is refused`()
        async throws
    {
        let (stage, _) = try await stage(.alreadySubscribedRefused)
        let problem = await #expect(throws: SimulatorProblem.self) {
            try await stage.buy("pro.monthly")
        }
        #expect(problem?.code == "already_subscribed")
    }

    @Test
    func `a purchase in billing retry is refused, or with a habit returns the old transaction`()
        async throws
    {
        let cases: [Set<Quirk>] = [[], [.retryPurchaseReturnsHeld]]
        for quirks in cases {
            let stage = try Stage { $0.quirks = quirks }
            let first = try await stage.buy("pro.monthly", offer: "none")
            try await stage.simulator.change(first.originalTransactionID, .failBilling)
            try await stage.advance("P50D")
            #expect(try await stage.truth().state == .retry)
            if quirks.isEmpty {
                let problem = await #expect(throws: SimulatorProblem.self) {
                    try await stage.buy("pro.monthly", offer: "none")
                }
                #expect(problem?.code == "wrong_state")
            } else {
                let again = try await stage.buy("pro.monthly", offer: "none")
                #expect(again.transactionID == first.transactionID)
            }
            #expect(try await stage.truth().state == .retry)
        }
    }

    @Test func `a purchase after a lapse is new, or with a habit returns the old transaction`()
        async throws
    {
        let cases: [Set<Quirk>] = [[], [.lapsePurchaseReturnsHeld]]
        for quirks in cases {
            let stage = try Stage { $0.quirks = quirks }
            let first = try await stage.buy("pro.monthly", offer: "none")
            try await stage.simulator.change(first.originalTransactionID, .cancel)
            try await stage.advance("P2M")
            let again = try await stage.buy("pro.monthly", offer: "none")
            #expect((again.transactionID == first.transactionID) == !quirks.isEmpty)
            #expect(try await stage.truth().isOpen == quirks.isEmpty)
        }
    }
}
