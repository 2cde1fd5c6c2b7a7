import AppStoreFormats
import Testing

@testable import Simulator

/// Payments that succeed late, and refunds of purchases that have ended.
@Suite struct RecoveryTests {
    /// Anna's subscription, whose payment is being retried.
    private func retried() async throws -> (stage: Stage, id: String) {
        let stage = try Stage { $0.graceDays = 0 }
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.simulator.change(id, .failBilling)
        try await stage.advance("P32D")
        return (stage, id)
    }

    @Test(arguments: [true, false])
    func `a price rise without consent is not charged when the payment recovers`(
        agrees: Bool
    ) async throws {
        let (stage, id) = try await retried()
        let soon = AppStoreDate(
            milliseconds: stage.simulator.clock.now.milliseconds + 86_400_000)
        let rise = PriceRise.Order(price: 20_990, needsConsent: true, from: soon)
        try await stage.simulator.change(id, .raisePrice(rise))
        if agrees { try await stage.simulator.change(id, .consent) }
        try await stage.advance("P2D")
        try await stage.simulator.change(id, .recoverBilling)
        let last = try await stage.story().last
        let charged = try await stage.truth().charges.map(\.amount)
        if agrees {
            #expect(last == "DID_RENEW/BILLING_RECOVERY 1 pro.monthly")
            #expect(charged.last == 20_990)
        } else {
            #expect(last == "EXPIRED/PRICE_INCREASE 2 pro.monthly")
            #expect(charged.count == 1)
        }
    }

    @Test func `if a product is no longer for sale, it is not charged when the payment recovers`()
        async throws
    {
        let (stage, id) = try await retried()
        try await stage.simulator.change(id, .removeFromSale)
        try await stage.simulator.change(id, .recoverBilling)
        #expect(try await stage.story().last == "EXPIRED/PRODUCT_NOT_FOR_SALE 2 pro.monthly")
    }

    @Test func `after a reversed refund, the reason for the expiration is still billing`()
        async throws
    {
        let (stage, id) = try await retried()
        try await stage.advance("P61D")
        #expect(try await stage.story().last == "EXPIRED/BILLING_RETRY 2 pro.monthly")
        try await stage.simulator.change(id, .refund())
        try await stage.simulator.change(id, .reverseRefund())
        let renewal = try await stage.letters().last?.renewal
        #expect(renewal?.expirationIntent == .billingError)
        #expect(try await stage.story().last == "REFUND_REVERSED 2 pro.monthly")
    }
}
