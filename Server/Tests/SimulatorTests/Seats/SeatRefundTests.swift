import AppStoreFormats
import Testing

@testable import Simulator

@Suite struct SeatRefundTests {
    /// A group with four seats and three added ones.
    private func group(
        _ habits: Set<Quirk> = []
    ) async throws -> (stage: Stage, first: String, second: String) {
        let stage = try Stage.withSeats(.apple, habits)
        let first = try await stage.order(4).transactionID
        try await stage.advance("P1D")
        return (stage, first, try await stage.order(7).transactionID)
    }

    private func told(_ stage: Stage, since count: Int) async throws -> [String] {
        Array(try await stage.story().dropFirst(count))
    }

    @Test func `a refund of some seats takes the cheapest seats of the newest transaction first`()
        async throws
    {
        let (stage, first, second) = try await group()
        try await stage.simulator.change(first, .refundSeats(2))
        #expect(try await told(stage, since: 2) == ["REFUND/SEATS 1 pro.monthly"])
        let part = try await stage.transaction(second)
        #expect(part.multiSeatInfo?.revokedSeatQuantity == 2 && part.revocationDate == nil)
        #expect(try await stage.transaction(first).multiSeatInfo?.revokedSeatQuantity == nil)
        let truth = try await stage.truth()
        #expect(truth.charges.map(\.refunded) == [0, 15_980])
        #expect(truth.seats?.count == 5 && truth.seats?.atRenewal == 5 && truth.isOpen)
    }

    @Test
    func `if more seats are refunded than one transaction has, several transactions are refunded`()
        async throws
    {
        let (stage, first, second) = try await group()
        try await stage.simulator.change(first, .refundSeats(4))
        #expect(
            try await told(stage, since: 2) == [
                "REFUND 1 pro.monthly", "REFUND/SEATS 1 pro.monthly",
            ])
        #expect(try await stage.transaction(second).revocationDate != nil)
        #expect(try await stage.transaction(first).multiSeatInfo?.revokedSeatQuantity == 1)
        let truth = try await stage.truth()
        #expect(truth.charges.map(\.refunded) == [9_990, 25_970] && truth.seats?.count == 3)
        try await stage.simulator.change(first, .refundSeats(3))
        let end = try await stage.truth()
        #expect(end.state == .refunded && end.charges.map(\.refunded) == [39_960, 25_970])
        #expect(end.seats?.count == 0)
    }

    @Test func `with two habits, a refund of seats reports one transaction and its percentage`()
        async throws
    {
        let (stage, first, _) = try await group([.seatRefundToldOnce, .seatRefundNamesPercentage])
        try await stage.simulator.change(first, .refundSeats(4))
        #expect(try await told(stage, since: 2) == ["REFUND/SEATS 1 pro.monthly"])
        #expect(try await stage.transaction(first).revocationPercentage == 25_000)
        #expect(try await stage.truth().charges.map(\.refunded) == [9_990, 25_970])
    }

    @Test func `after an upgrade, the old transaction still names the share of refunded seats`()
        async throws
    {
        let stage = try Stage { settings in
            settings.quirks = [.seatRefundNamesPercentage]
            settings.upgradeSetsRevocationDate = false
            for product in ["pro.monthly", "premium.monthly"] {
                settings.rules.seats.set(SeatPrices.Tiers(), of: product)
            }
        }
        let bought = try await stage.order(4)
        try await stage.simulator.change(bought.originalTransactionID, .refundSeats(1))
        try await stage.advance("P1D")
        try await stage.order(4, "premium.monthly")
        let old = try await stage.transaction(bought.transactionID)
        #expect(old.isUpgraded == true && old.revocationDate == nil)
        #expect(old.multiSeatInfo?.revokedSeatQuantity == 1)
        #expect(old.revocationPercentage == 25_000)
    }

    @Test
    func `if one of two seat transactions is refunded, the remaining one keeps access and renews`()
        async throws
    {
        for isFirst in [true, false] {
            let (stage, first, second) = try await group()
            try await stage.simulator.change(transaction: isFirst ? first : second, .refund())
            let truth = try await stage.truth()
            #expect(truth.isOpen && truth.willRenew)
            #expect(truth.seats?.count == (isFirst ? 3 : 4))
            // Apple's notifications and answers are about the transaction that remains.
            try await stage.simulator.change(first, .cancel)
            #expect(
                try await stage.lastLetter.transaction.transactionId == (isFirst ? second : first))
            try await stage.simulator.change(first, .resume)
            try await stage.advance("P1M")
            let letter = try await stage.lastLetter
            #expect(letter.line == "DID_RENEW 1 pro.monthly")
            #expect(letter.transaction.quantity == (isFirst ? 3 : 4))
        }
    }

    @Test func `a refund of both transactions ends access, and the reversal restores access`()
        async throws
    {
        let (stage, first, second) = try await group()
        try await stage.simulator.change(transaction: first, .refund())
        try await stage.simulator.change(transaction: second, .refund())
        #expect(try await stage.truth().state == .refunded)
        try await stage.simulator.change(transaction: first, .reverseRefund)
        var truth = try await stage.truth()
        #expect(truth.isOpen && truth.seats?.count == 4)
        try await stage.simulator.change(transaction: second, .reverseRefund)
        truth = try await stage.truth()
        #expect(truth.seats?.count == 7 && truth.charges.map(\.refunded) == [0, 0])
    }

    @Test func `with the habit refund_keeps_renewal_on, one seat renews after a full refund`()
        async throws
    {
        let (stage, first, second) = try await group([.refundKeepsRenewalOn])
        try await stage.simulator.change(transaction: first, .refund())
        try await stage.simulator.change(transaction: second, .refund())
        let truth = try await stage.truth()
        #expect(truth.state == .refunded && truth.willRenew)
        #expect(truth.seats?.atRenewal == 1)
    }

    @Test func `a refund of seats can be reversed`() async throws {
        let (stage, first, second) = try await group()
        try await stage.simulator.change(first, .refundSeats(2))
        try await stage.simulator.change(transaction: second, .reverseRefund)
        #expect(try await stage.lastLetter.line == "REFUND_REVERSED 1 pro.monthly")
        #expect(try await stage.transaction(second).multiSeatInfo?.revokedSeatQuantity == nil)
        let truth = try await stage.truth()
        #expect(truth.seats?.count == 7 && truth.seats?.atRenewal == 7)
        #expect(truth.charges.map(\.refunded) == [0, 0])
    }

    @Test func `a refund of zero seats, or of more seats than the group has, is refused`()
        async throws
    {
        let (stage, first, second) = try await group()
        for (count, only) in [(8, nil), (4, second), (0, nil)] as [(Int64, String?)] {
            await #expect(throws: SimulatorProblem.self) {
                try await stage.simulator.change(first, .refundSeats(count, of: only))
            }
        }
        #expect(try await stage.truth().seats?.count == 7)
    }

    @Test func `the daily books have the sums of the seat prices`() async throws {
        let (stage, first, _) = try await group()
        try await stage.simulator.change(first, .refundSeats(2))
        let days = try await stage.simulator.dailyBooks(
            from: CivilDate(isoText: "2026-01-10") ?? .init(daysSince1970: 0),
            to: CivilDate(isoText: "2026-01-11") ?? .init(daysSince1970: 0)
        ).days
        #expect(days.map { $0.money["USD"]?.charged } == [39_960, 25_970])
        #expect(days.map { $0.money["USD"]?.refunded } == [0, 15_980])
        #expect(days.map(\.counts.paid) == [1, 1])
    }

    @Test(arguments: [[], [Quirk.seatRefundNamesPercentage]])
    func `a refund of seats with very high prices does not overflow`(habits: Set<Quirk>)
        async throws
    {
        let stage = try Stage { settings in
            settings.quirks = habits
            let tiers = SeatPrices.Tiers(everywhere: [.init(from: 2, price: 999_990_000_000)])
            settings.rules.seats.set(tiers, of: "pro.monthly")
        }
        let id = try await stage.order(1_000).transactionID
        #expect(try await stage.refusal(ofSeats: 2_000) == "bad_request")
        try await stage.simulator.change(id, .refundSeats(400))
        let part = try #require(
            try await stage.simulator.groundTruth(of: "anna").purchases.first?.charges.first)
        #expect(part.amount == 999 * 999_990_000_000 + 9_990)
        #expect(part.refunded > part.amount / 3)
        try await stage.simulator.change(id, .refund())
        let all = try #require(
            try await stage.simulator.groundTruth(of: "anna").purchases.first?.charges.first)
        #expect(all.refunded == all.amount)
    }
}
