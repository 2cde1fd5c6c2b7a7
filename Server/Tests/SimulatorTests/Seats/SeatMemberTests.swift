import AppStoreFormats
import Testing

@testable import Simulator

@Suite struct SeatMemberTests {
    private func told(_ stage: Stage, since count: Int = 0) async throws -> [String] {
        try await stage.simulator.notifications.dropFirst(count).map { sent in
            "\(sent.draft.account ?? "?"): \(try Letter(sent.signedPayload).line)"
        }
    }

    private func group(_ seats: Int64 = 3, _ habits: Set<Quirk> = []) async throws -> (
        Stage, String
    ) {
        let stage = try Stage.withSeats(.apple, habits)
        try await stage.addAccounts(["ben", "cleo"])
        return (stage, try await stage.order(seats).originalTransactionID)
    }

    private func purchase(of name: String, _ stage: Stage) async throws -> TruePurchase {
        try require(
            try await stage.simulator.groundTruth(of: name).purchases.first, "\(name) has nothing")
    }

    @Test func `a member has a separate chain of renewals with the purchaser's seats and price`()
        async throws
    {
        let (stage, id) = try await group(7)
        try await stage.simulator.change(id, .joinGroup("ben"))
        let letter = try await stage.lastLetter
        #expect(try await told(stage).last == "ben: SUBSCRIBED/INITIAL_BUY 1 pro.monthly")
        #expect(letter.transaction.inAppOwnershipType == .assigned)
        #expect(letter.transaction.quantity == 7 && letter.transaction.price == 9_419)
        #expect(letter.transaction.tiers == ["5 × 9990", "2 × 7990"])
        #expect(letter.transaction.originalTransactionId != id)
        #expect(letter.renewal != nil)
        let seat = try await purchase(of: "ben", stage)
        #expect(seat.ownership == .assigned && seat.isOpen && seat.charges.isEmpty)
        #expect(seat.seats == nil)
        #expect(try await stage.truth().seats?.members == ["ben"])
    }

    @Test func `a member's periods renew and end with the purchaser's periods`() async throws {
        let (stage, id) = try await group()
        try await stage.simulator.change(id, .joinGroup("ben"))
        try await stage.advance("P1M")
        #expect(try await told(stage).last == "ben: DID_RENEW 1 pro.monthly")
        try await stage.simulator.change(id, .cancel)
        try await stage.advance("P1M")
        #expect(try await told(stage).last == "ben: EXPIRED/VOLUNTARY 2 pro.monthly")
        #expect(try await purchase(of: "ben", stage).isOpen == false)
        // The purchaser begins a new group without ben.
        try await stage.order(3)
        #expect(try await told(stage).last == "anna: SUBSCRIBED/RESUBSCRIBE 1 pro.monthly")
        #expect(try await purchase(of: "ben", stage).isOpen == false)
    }

    @Test func `when a member leaves, another person can take the seat`() async throws {
        let (stage, id) = try await group(2)
        try await stage.simulator.change(id, .joinGroup("ben"))
        await #expect(throws: SimulatorProblem.self) {
            try await stage.simulator.change(id, .joinGroup("cleo"))
        }
        try await stage.simulator.change(id, .leaveGroup("ben"))
        let letter = try await stage.lastLetter
        #expect(try await told(stage).last == "ben: REVOKE 5 pro.monthly")
        #expect(letter.transaction.revocationType == .assignmentRevoke)
        #expect(letter.transaction.revocationDate != nil)
        try await stage.simulator.change(id, .joinGroup("cleo"))
        #expect(try await purchase(of: "cleo", stage).isOpen)
        // An account that is not in the group cannot be removed. The purchaser and unknown accounts
        // cannot be added.
        for act: SubscriptionAct in [
            .leaveGroup("ben"), .joinGroup("anna"), .joinGroup("cleo"), .joinGroup("nobody"),
        ] {
            await #expect(throws: SimulatorProblem.self) {
                try await stage.simulator.change(id, act)
            }
        }
        try await stage.order(3)
        try await stage.simulator.change(id, .joinGroup("ben"))
        #expect(try await told(stage).last == "ben: SUBSCRIBED/RESUBSCRIBE 1 pro.monthly")
    }

    @Test func `if fewer seats are left, the latest members lose their seats`() async throws {
        let (stage, id) = try await group(3)
        for name in ["ben", "cleo"] { try await stage.simulator.change(id, .joinGroup(name)) }
        try await stage.simulator.change(id, .changeSeats(2))
        try await stage.advance("P1M")
        #expect(
            try await told(stage, since: 4) == [
                "anna: DID_RENEW 1 pro.monthly", "ben: DID_RENEW 1 pro.monthly",
                "cleo: REVOKE 5 pro.monthly",
            ])
        #expect(try await purchase(of: "ben", stage).isOpen)
        try await stage.simulator.change(id, .refundSeats(1))
        #expect(try await purchase(of: "ben", stage).isOpen == false)
        #expect(try await stage.truth().isOpen)
        #expect(try await stage.truth().seats?.members == [])
    }

    /// Ben joined when only the added seats were left, and the next period was charged ahead.
    @Test func `a member keeps the seat while any part of the period is left`() async throws {
        let (stage, id) = try await group(2)
        let second = try await stage.order(4).transactionID
        try await stage.simulator.change(transaction: id, .refund())
        try await stage.simulator.change(id, .joinGroup("ben"))
        let third = try await stage.order(6).transactionID
        try await stage.simulator.change(id, .renewNow)
        try await stage.simulator.change(transaction: second, .refund())
        let seat = try await purchase(of: "ben", stage)
        #expect(seat.isOpen && seat.nextBegins == seat.period?.upperBound)
        #expect(try await stage.truth().seats?.members == ["ben"])
        // Nothing is left of the period, and the next one has not begun.
        try await stage.simulator.change(transaction: third, .refund())
        let taken = try await purchase(of: "ben", stage)
        #expect(!taken.isOpen && taken.nextBegins == seat.nextBegins)
        #expect(try await told(stage).last == "ben: REVOKE 1 pro.monthly")
    }

    @Test func `members keep their seats during grace, and lose them by a full refund`()
        async throws
    {
        let (stage, id) = try await group()
        try await stage.simulator.change(id, .joinGroup("ben"))
        try await stage.simulator.change(id, .failBilling)
        try await stage.advance("P35D")
        #expect(try await purchase(of: "ben", stage).state == .grace)
        try await stage.simulator.change(id, .recoverBilling)
        #expect(try await purchase(of: "ben", stage).state == .paid)
        try await stage.simulator.change(id, .refund())
        #expect(try await told(stage).last == "ben: REVOKE 5 pro.monthly")
        #expect(try await stage.lastLetter.transaction.revocationType == .assignmentRevoke)
    }

    @Test func `with the habit members_have_no_renewal_info, members get no renewal information`()
        async throws
    {
        let (stage, id) = try await group(3, [.membersHaveNoRenewalInfo])
        #expect(try await stage.lastLetter.renewal != nil)
        try await stage.simulator.change(id, .joinGroup("ben"))
        #expect(try await stage.lastLetter.renewal == nil)
    }

    @Test func `Apple's invitation link adds no member to a group whose members the app invites`()
        async throws
    {
        let stage = try Stage.withSeats(.developer)
        try await stage.addAccounts(["ben"])
        let id = try await stage.order(3).originalTransactionID
        await #expect(throws: SimulatorProblem.self) {
            try await stage.simulator.change(id, .joinGroup("ben"))
        }
    }

    @Test func `a subscription with several seats is not shared with the family`() async throws {
        let stage = try Stage { settings in
            settings.rules.seats.set(SeatPrices.Tiers(), of: "pro.yearly")
            settings.rules.families = ["birds": ["anna", "ben"]]
        }
        try await stage.addAccounts(["ben"])
        try await stage.order(1, "pro.yearly")
        #expect(try await purchase(of: "ben", stage).ownership == .familyShared)
        try await stage.order(2, "pro.yearly")
        #expect(try await purchase(of: "ben", stage).isOpen == false)
    }

    @Test
    func `an organization can move a seat to another account, and no money is charged`()
        async throws
    {
        let stage = try Stage.withSeats()
        try await stage.addAccounts(["ben", "cleo"])
        try await stage.withClient { client in
            func seat(_ verb: String, _ name: String) async throws {
                let body = #"{"account":"\#(name)","product_id":"pro.monthly"}"#
                _ = try await client.json("/_sim/organizations/acme/\(verb)", body)
            }
            try await seat("assign", "ben")
            #expect(try await purchase(of: "ben", stage).ownership == .assigned)
            try await seat("unassign", "ben")
            try await seat("assign", "cleo")
            try await stage.advance("P1M")
        }
        #expect(try await purchase(of: "ben", stage).isOpen == false)
        #expect(try await purchase(of: "cleo", stage).isOpen)
        let posted = try stage.letterBox.letters.map(\.line)
        #expect(
            posted == [
                "SUBSCRIBED/INITIAL_BUY 1 pro.monthly", "REVOKE 5 pro.monthly",
                "SUBSCRIBED/INITIAL_BUY 1 pro.monthly", "DID_RENEW 1 pro.monthly",
            ])
        let books = try await stage.simulator.dailyBooks(
            from: CivilDate(isoText: "2026-01-10") ?? .init(daysSince1970: 0),
            to: CivilDate(isoText: "2026-01-10") ?? .init(daysSince1970: 0))
        #expect(books.days.first?.money.isEmpty == true)
    }
}
