import AppStoreFormats
import Testing

@testable import Simulator

/// A commitment of twelve months, paid month by month.
@Suite struct CommitmentTests {
    private let monthly = LifecycleTableTests.monthly

    private func stage() async throws -> (Stage, String) {
        let stage = try Stage(shop: TableShop.file())
        try await stage.simulator.addDevice(account: "anna")
        let bought = try await stage.simulator.purchase(monthly, on: "anna-1")
        return (stage, bought.originalTransactionID)
    }

    @Test func `a cancelled commitment continues for the committed months`() async throws {
        let (stage, id) = try await stage()
        try await stage.simulator.change(id, .cancel)
        #expect(try await stage.truth().willRenew)
        try await stage.advance("P13M")
        let story = try await stage.story()
        #expect(story.filter { $0 == "DID_RENEW 1 yearly" }.count == 11)
        #expect(story.last == "EXPIRED/VOLUNTARY 2 yearly")
        let last = try require(try await stage.letters().last, "no letter")
        #expect(try last.transaction.expiresDate == moment("2027-01-10T20:00:00Z"))
        #expect(
            try await stage.truth().charges.map(\.amount) == [Int64](repeating: 8330, count: 12))
    }

    @Test func `after twelve committed months, another twelve months follow automatically`()
        async throws
    {
        let (stage, _) = try await stage()
        try await stage.advance("P12M")
        let last = try require(try await stage.letters().last, "no letter").transaction
        #expect(last.commitmentInfo?.billingPeriodNumber == 1)
        #expect(try last.commitmentInfo?.commitmentExpiresDate == moment("2028-01-10T20:00:00Z"))
        let truth = try require(try await stage.truth().commitment, "no commitment")
        #expect(truth.month == 1 && truth.months == 12 && truth.renews)
    }

    @Test(arguments: [(Pace.monthly(.fiveMinutes), 12), (.testFlight, 6)])
    func `at a shortened pace the commitment ends with the last renewal`(
        pace: Pace, count: Int
    ) async throws {
        let stage = try Stage(shop: TableShop.file())
        try await stage.simulator.addDevice(account: "anna", environment: .sandbox, pace: pace)
        try await stage.simulator.purchase(monthly, on: "anna-1")
        try await stage.advance("P30D")
        let story = try await stage.story()
        #expect(story.filter { $0 == "DID_RENEW 1 yearly" }.count == count)
        #expect(story.last == "EXPIRED/VOLUNTARY 2 yearly" && story.count == count + 2)
        let renewals = try await stage.letters().compactMap(\.renewal)
        #expect(renewals[count - 1].autoRenewStatus == .on)
        #expect(renewals[count].autoRenewStatus == .off)
    }

    @Test func `a change to a cheaper product waits for the end of the commitment`() async throws {
        let (stage, id) = try await stage()
        try await stage.simulator.change(id, .changeProduct("plus"))
        let renewal = try require(try await stage.letters().last?.renewal, "no renewal")
        #expect(renewal.autoRenewProductId == "yearly")
        #expect(renewal.commitmentInfo?.commitmentAutoRenewProductId == "plus")
        try await stage.advance("P12M")
        let story = try await stage.story()
        #expect(story.filter { $0 == "DID_RENEW 1 yearly" }.count == 11)
        #expect(story.last == "DID_RENEW 1 plus")
        #expect(try await stage.truth().commitment == nil)
    }

    @Test func `a change to a more expensive product ends the commitment`() async throws {
        let (stage, id) = try await stage()
        try await stage.simulator.change(id, .changeProduct("premium"))
        let last = try require(try await stage.letters().last, "no letter")
        #expect(last.line == "DID_CHANGE_RENEWAL_PREF/UPGRADE 1 premium")
        #expect(last.transaction.commitmentInfo == nil && last.renewal?.commitmentInfo == nil)
    }

    @Test func `a monthly payment that is refused is retried for ninety days, without grace`()
        async throws
    {
        let (stage, id) = try await stage()
        try await stage.simulator.change(id, .failBilling)
        try await stage.advance("P1M")
        #expect(try await !stage.truth().isOpen)
        try await stage.advance("P89D")
        #expect(try await stage.truth().state == .retry)
        try await stage.simulator.change(id, .recoverBilling)
        let month = try await stage.letters().last?.transaction.commitmentInfo
        #expect(month?.billingPeriodNumber == 2)
    }

    @Test func `an extension of the period also moves the end of the commitment`() async throws {
        let (stage, id) = try await stage()
        try await stage.simulator.change(id, .extend(ExtensionOrder(days: 10)))
        let info = try await stage.letters().last?.renewal?.commitmentInfo
        #expect(try info?.commitmentRenewalDate == moment("2027-01-20T20:00:00Z"))
    }

    @Test func `if renewal is still on after a refund, a cancellation switches renewal off`()
        async throws
    {
        let stage = try Stage(shop: TableShop.file()) { $0.quirks = [.refundKeepsRenewalOn] }
        try await stage.simulator.addDevice(account: "anna")
        let bought = try await stage.simulator.purchase(monthly, on: "anna-1")
        let id = bought.originalTransactionID
        try await stage.simulator.change(id, .refund())
        #expect(try await stage.truth().willRenew)
        #expect(try await stage.letters().last?.renewal?.autoRenewStatus == .on)
        try await stage.simulator.change(id, .cancel)
        #expect(try await !stage.truth().willRenew)
        #expect(try await stage.letters().last?.renewal?.autoRenewStatus == .off)
    }
}
