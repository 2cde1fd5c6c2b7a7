import AppStoreFormats
import Testing

@testable import Simulator

@Suite struct SeatPurchaseTests {
    @Test func `a purchase of seats costs the sum of its tiers`() async throws {
        let stage = try Stage.withSeats()
        let bought = try await stage.order(7)
        let letter = try await stage.lastLetter
        #expect(letter.line == "SUBSCRIBED/INITIAL_BUY 1 pro.monthly")
        let transaction = letter.transaction
        #expect(transaction.quantity == 7 && transaction.price == 9_419)
        #expect(transaction.tiers == ["5 × 9990", "2 × 7990"])
        #expect(transaction.multiSeatInfo?.invitationManagement == .apple)
        #expect(transaction.additionalTransactionReason == nil)
        #expect(letter.renewal?.renewalQuantity == 7)
        #expect(letter.renewal?.tiers == transaction.tiers && letter.renewal?.renewalPrice == 9_419)
        let truth = try await stage.truth()
        #expect(truth.charges.map(\.amount) == [65_930] && truth.nextPrice == 65_930)
        #expect(truth.seats?.count == 7 && truth.seats?.atRenewal == 7)
        #expect(truth.originalTransactionID == bought.transactionID)
    }

    @Test func `one seat is an ordinary purchase`() async throws {
        let stage = try Stage.withSeats()
        try await stage.order(1)
        let letter = try await stage.lastLetter
        #expect(letter.transaction.multiSeatInfo == nil && letter.transaction.quantity == 1)
        #expect(letter.renewal?.renewalQuantity == nil)
        #expect(try await stage.truth().seats == nil)
    }

    @Test func `added seats cost the prices of the tiers after the present seats`() async throws {
        let stage = try Stage.withSeats()
        let first = try await stage.order(4)
        try await stage.advance("P10D")
        let second = try await stage.order(7)
        let letter = try await stage.lastLetter
        #expect(letter.line == "DID_CHANGE_RENEWAL_PREF/INCREASE_QUANTITY 1 pro.monthly")
        #expect(letter.transaction.transactionId == second.transactionID)
        #expect(second.originalTransactionID == first.transactionID)
        let (one, other) = (
            try await stage.transaction(first.transactionID),
            try await stage.transaction(second.transactionID)
        )
        #expect(other.quantity == 3 && other.tiers == ["1 × 9990", "2 × 7990"])
        #expect(one.quantity == 4 && one.tiers == ["4 × 9990"])
        #expect(one.expiresDate == other.expiresDate)
        #expect(one.webOrderLineItemId != other.webOrderLineItemId)
        for part in [one, other] { #expect(part.additionalTransactionReason == .seatAddition) }
        #expect(one.isUpgraded == nil && letter.renewal?.renewalQuantity == 7)
        let truth = try await stage.truth()
        #expect(truth.charges.map(\.amount) == [39_960, 25_970] && truth.seats?.count == 7)
    }

    @Test func `seats can be added to an ordinary subscription, which becomes the first seat`()
        async throws
    {
        let stage = try Stage.withSeats(.developer)
        let first = try await stage.order(nil)
        try await stage.order(3)
        let one = try await stage.transaction(first.transactionID)
        #expect(one.quantity == 1 && one.tiers == ["1 × 9990"])
        #expect(one.additionalTransactionReason == .seatAddition)
        #expect(one.multiSeatInfo?.invitationManagement == .developer)
        #expect(try await stage.truth().seats?.count == 3)
    }

    @Test func `with two habits, added seats share the first line item and have a prorated price`()
        async throws
    {
        let stage = try Stage.withSeats(
            .apple, [.seatAdditionSharesLineItem, .seatAdditionProrated])
        let first = try await stage.order(2)
        try await stage.advance("P15DT12H")
        let second = try await stage.order(4)
        let (one, other) = (
            try await stage.transaction(first.transactionID),
            try await stage.transaction(second.transactionID)
        )
        #expect(one.webOrderLineItemId == other.webOrderLineItemId)
        #expect(other.tiers == ["2 × 4995"])
    }

    @Test func `an impossible order of seats is refused with a named error`() async throws {
        let stage = try Stage.withSeats()
        #expect(try await stage.refusal(ofSeats: 2, "pro.yearly") == "multi_seat_purchase_disabled")
        #expect(try await stage.refusal(ofSeats: 2, "guide") == "multi_seat_purchase_disabled")
        #expect(try await stage.refusal(ofSeats: 0) == "bad_request")
        #expect(try await stage.refusal(ofSeats: SeatPrices.seatsMax + 1) == "bad_request")
        #expect(try await stage.refusal(ofSeats: 4) == nil)
        #expect(try await stage.refusal(ofSeats: 3) == "seat_reduction_not_allowed")
        #expect(
            try await stage.refusal(ofSeats: 2, "premium.monthly") == "seat_reduction_not_allowed")
        #expect(try await stage.refusal(ofSeats: 4) == "seats_unchanged")
        #expect(await stage.simulator.notifications.count == 1)
    }

    @Test func `fewer seats can be planned for the next period, which is then one transaction`()
        async throws
    {
        let stage = try Stage.withSeats()
        let id = try await stage.order(4).originalTransactionID
        try await stage.order(7)
        try await stage.simulator.change(id, .changeSeats(3))
        #expect(
            try await stage.lastLetter.line
                == "DID_CHANGE_RENEWAL_PREF/DECREASE_QUANTITY 1 pro.monthly")
        try await stage.simulator.change(id, .changeSeats(6))
        #expect(
            try await stage.lastLetter.line
                == "DID_CHANGE_RENEWAL_PREF/INCREASE_QUANTITY 1 pro.monthly")
        let planned = try await stage.lastLetter.renewal
        #expect(planned?.renewalQuantity == 6 && planned?.tiers == ["5 × 9990", "1 × 7990"])
        #expect(try await stage.truth().seats?.count == 7)
        for wrong: Int64 in [0, 8, 6] {
            await #expect(throws: SimulatorProblem.self) {
                try await stage.simulator.change(id, .changeSeats(wrong))
            }
        }
        try await stage.advance("P1M")
        let letter = try await stage.lastLetter
        #expect(letter.line == "DID_RENEW 1 pro.monthly" && letter.transaction.quantity == 6)
        #expect(letter.transaction.additionalTransactionReason == nil)
        let truth = try await stage.truth()
        #expect(truth.charges.map(\.amount) == [39_960, 25_970, 57_940])
        #expect(truth.seats?.count == 6)
    }

    @Test func `a group can shrink to one seat, and its period is then an ordinary period`()
        async throws
    {
        let stage = try Stage.withSeats()
        let id = try await stage.order(3).originalTransactionID
        try await stage.simulator.change(id, .changeSeats(1))
        let planned = try await stage.lastLetter.renewal
        #expect(planned?.renewalQuantity == 1 && planned?.multiSeatInfo == nil)
        #expect(planned?.renewalPrice == 9_990)
        try await stage.advance("P1M")
        let letter = try await stage.lastLetter
        #expect(letter.transaction.multiSeatInfo == nil && letter.renewal?.renewalQuantity == nil)
        #expect(try await stage.truth().charges.map(\.amount) == [29_970, 9_990])
    }

    @Test func `an upgrade to more seats replaces all parts of a period`()
        async throws
    {
        let stage = try Stage.withSeats()
        let first = try await stage.order(2)
        let second = try await stage.order(3)
        try await stage.order(4, "premium.monthly")
        let letter = try await stage.lastLetter
        #expect(letter.line == "DID_CHANGE_RENEWAL_PREF/UPGRADE 1 premium.monthly")
        #expect(letter.transaction.quantity == 4 && letter.transaction.tiers == ["4 × 19990"])
        for id in [first.transactionID, second.transactionID] {
            #expect(try await stage.transaction(id).isUpgraded == true)
        }
        #expect(try await stage.truth().seats?.count == 4)
        // A change to a product that is not sold in seats ends the group with the period.
        try await stage.simulator.change(first.originalTransactionID, .changeProduct("pro.yearly"))
        try await stage.advance("P1M")
        let truth = try await stage.truth()
        #expect(truth.productID == "pro.yearly" && truth.charges.last?.amount == 59_990)
        #expect(truth.seats?.count == 1)
    }

    @Test func `a group keeps its seats in grace, has none in retry, and regains them on recovery`()
        async throws
    {
        let stage = try Stage.withSeats()
        let id = try await stage.order(7).originalTransactionID
        try await stage.simulator.change(id, .failBilling)
        try await stage.advance("P40D")
        #expect(try await stage.truth().seats?.count == 7)
        #expect(try await stage.refusal(ofSeats: 8) == "wrong_state")
        try await stage.advance("P20D")
        #expect(try await stage.truth().seats?.count == 0)
        try await stage.simulator.change(id, .recoverBilling)
        #expect(try await stage.lastLetter.transaction.quantity == 7)
        #expect(try await stage.truth().seats?.count == 7)
    }

    @Test func `a resubscription begins a new group with the app's present invitation setting`()
        async throws
    {
        let stage = try Stage.withSeats()
        let id = try await stage.order(3).originalTransactionID
        try await stage.withClient { client in
            _ = try await client.json("/_sim/seats", #"{"invitations":"developer"}"#)
        }
        try await stage.order(4)
        #expect(
            try await stage.lastLetter.transaction.multiSeatInfo?.invitationManagement == .apple)
        try await stage.simulator.change(id, .cancel)
        try await stage.advance("P1M")
        #expect(try await stage.truth().seats?.count == 0)
        try await stage.order(2)
        let letter = try await stage.lastLetter
        #expect(letter.line == "SUBSCRIBED/RESUBSCRIBE 1 pro.monthly")
        #expect(letter.transaction.multiSeatInfo?.invitationManagement == .developer)
        #expect(letter.transaction.quantity == 2)
    }

    @Test func `after seats are switched off, no more seats are sold, and the group renews`()
        async throws
    {
        let stage = try Stage.withSeats()
        try await stage.order(3)
        try await stage.withClient { client in
            let answer = try await client.json("/_sim/seats", #"{"sold":{"pro.monthly":false}}"#)
            #expect(answer["sold"]?["pro.monthly"] == false)
        }
        #expect(try await stage.refusal(ofSeats: 4) == "multi_seat_purchase_disabled")
        try await stage.advance("P1M")
        #expect(try await stage.lastLetter.transaction.quantity == 3)
    }

    @Test func `an extension moves all parts of a period`() async throws {
        let stage = try Stage.withSeats()
        let first = try await stage.order(2)
        let second = try await stage.order(3)
        try await stage.simulator.change(
            first.originalTransactionID, .extend(ExtensionOrder(days: 7, reason: 0, requestID: "1"))
        )
        let (one, other) = (
            try await stage.transaction(first.transactionID),
            try await stage.transaction(second.transactionID)
        )
        #expect(one.expiresDate == other.expiresDate)
        try await stage.advance("P1M")
        #expect(try await stage.truth().seats?.count == 3)
    }
}
