import AppStoreFormats
import Testing

/// The life of a group, row by row, whether Apple or the app invites its members.
@Suite(.serialized) struct SeatCycleStories {
    @Test(arguments: StoryDatabase.allCases, SeatRow.lifeCycle)
    func `after each step, a group's access, seats and daily money equal the ground truth`(
        database: StoryDatabase, row: SeatRow
    ) async throws {
        for host in row.hosts {
            try await SeatCycle.with(host, on: database) { try await row.play(&$0) }
        }
    }
}

extension SeatRow {
    static let lifeCycle = [
        added, undone, renewedWithFewer, left, boughtAgain, billing, neverPaid, refundedSeats,
        reversedByClaims, reversedByApple, refundedAddition, refundedFirst, refundedAll,
        allReversed, raised, declined, upgraded, switchedOff, assigned, family, trial,
    ]

    private static let added = SeatRow(
        "seats are added, and added again",
        [
            (.buys(3), "anna"), (.joins("ben"), "anna ben"), (.joins("cleo"), "anna ben cleo"),
            (.waits("P5D"), "anna ben cleo"), (.buys(4), "anna ben cleo"),
            (.joins("dora"), "anna ben cleo dora"), (.buys(6), "anna ben cleo dora"),
            (.waits("P1M"), "anna ben cleo dora"),
        ])

    private static let undone = SeatRow(
        "fewer seats are planned, and that is undone on the last day",
        [
            (.buys(4), "anna"), (.joins("ben"), "anna ben"), (.joins("cleo"), "anna ben cleo"),
            (.plans(2), "anna ben cleo"), (.waits("P30D"), "anna ben cleo"),
            (.plans(4), "anna ben cleo"), (.waits("P2D"), "anna ben cleo"),
            (.joins("dora"), "anna ben cleo dora"),
        ])

    private static let renewedWithFewer = SeatRow(
        "the renewal has fewer seats",
        [
            (.buys(4), "anna"), (.joins("ben"), "anna ben"), (.joins("cleo"), "anna ben cleo"),
            (.joins("dora"), "anna ben cleo dora"), (.plans(2), "anna ben cleo dora"),
            (.waits("P1M"), "anna ben"), (.plans(1), "anna ben"), (.waits("P1M"), "anna"),
        ])

    private static let left = SeatRow(
        "a member leaves, and another is removed",
        [
            (.buys(3), "anna"), (.joins("ben"), "anna ben"), (.joins("cleo"), "anna ben cleo"),
            (.leaves("ben"), "anna cleo"), (.isRemoved("cleo"), "anna"),
            (.joins("dora"), "anna dora"), (.joins("ben"), "anna ben dora"),
            (.waits("P1M"), "anna ben dora"),
        ])

    private static let boughtAgain = SeatRow(
        "renewal is turned off, and the subscription bought anew with another host",
        [
            (.buys(3), "anna"), (.joins("ben"), "anna ben"), (.does("cancel"), "anna ben"),
            (.changesHost, "anna ben"), (.waits("P20D"), "anna ben"), (.waits("P20D"), ""),
            (.waits("P30D"), ""), (.buysAnew(2), "anna"), (.joins("cleo"), "anna cleo"),
            (.waits("P1M"), "anna cleo"),
        ])

    private static let billing = SeatRow(
        "grace keeps all, retry ends all, and the payment brings all back",
        [
            (.buys(3), "anna"), (.joins("ben"), "anna ben"), (.does("fail-billing"), "anna ben"),
            (.waits("P35D"), "anna ben"), (.waits("P15D"), ""),
            (.does("recover-billing"), "anna ben"), (.waits("P1M"), "anna ben"),
        ])

    private static let neverPaid = SeatRow(
        "the next period is never paid",
        [
            (.buys(3), "anna"), (.joins("ben"), "anna ben"), (.does("fail-billing"), "anna ben"),
            (.waits("P50D"), ""), (.waits("P60D"), ""),
        ])

    private static let refundedSeats = SeatRow(
        "seats are refunded",
        [
            (.buys(4), "anna"), (.joins("ben"), "anna ben"), (.joins("cleo"), "anna ben cleo"),
            (.joins("dora"), "anna ben cleo dora"), (.waits("P2D"), "anna ben cleo dora"),
            (.refundsSeats(1), "anna ben cleo"), (.refundsSeats(1), "anna ben"),
            (.waits("P1M"), "anna ben"),
        ])

    private static let reversedByClaims = SeatRow(
        "a refund of seats is reversed, and claims that waited are held again", by: [.developer],
        [
            (.buys(4), "anna"), (.joins("ben"), "anna ben"), (.joins("cleo"), "anna ben cleo"),
            (.joins("dora"), "anna ben cleo dora"), (.refundsSeats(2), "anna ben"),
            (.waits("P1D"), "anna ben"), (.does("reverse-refund"), "anna ben cleo dora"),
            (.waits("P1M"), "anna ben cleo dora"),
        ])

    private static let reversedByApple = SeatRow(
        "a refund of seats is reversed, and members whom Apple invites join again", by: [.apple],
        [
            (.buys(3), "anna"), (.joins("ben"), "anna ben"), (.joins("cleo"), "anna ben cleo"),
            (.refundsSeats(1), "anna ben"), (.waits("P1D"), "anna ben"),
            (.does("reverse-refund"), "anna ben"), (.joins("cleo"), "anna ben cleo"),
            (.waits("P1M"), "anna ben cleo"),
        ])

    private static let refundedAddition = SeatRow(
        "the added seats are refunded as a whole",
        [
            (.buys(2), "anna"), (.joins("ben"), "anna ben"), (.waits("P2D"), "anna ben"),
            (.buys(4), "anna ben"), (.joins("cleo"), "anna ben cleo"),
            (.joins("dora"), "anna ben cleo dora"), (.refunds(1), "anna ben"),
            (.waits("P1M"), "anna ben"),
        ])

    private static let refundedFirst = SeatRow(
        "the first seats are refunded, and the added ones left",
        [
            (.buys(2), "anna"), (.joins("ben"), "anna ben"), (.waits("P2D"), "anna ben"),
            (.buys(4), "anna ben"), (.joins("cleo"), "anna ben cleo"),
            (.refunds(0), "anna ben"), (.waits("P1M"), "anna ben"),
        ])

    private static let refundedAll = SeatRow(
        "everything is refunded, and one of the refunds reversed", by: [.developer],
        [
            (.buys(2), "anna"), (.joins("ben"), "anna ben"), (.waits("P2D"), "anna ben"),
            (.buys(3), "anna ben"), (.joins("cleo"), "anna ben cleo"),
            (.refunds(1), "anna ben"), (.refunds(0), ""), (.waits("P2D"), ""),
            (.reverses(0), "anna ben"), (.reverses(1), "anna ben cleo"),
        ])

    private static let allReversed = SeatRow(
        "everything is refunded and reversed, and all have their seats again",
        [
            (.buys(3), "anna"), (.joins("ben"), "anna ben"), (.joins("cleo"), "anna ben cleo"),
            (.waits("P2D"), "anna ben cleo"), (.refunds(0), ""), (.waits("P1D"), ""),
            (.reverses(0), "anna ben cleo"), (.leaves("cleo"), "anna ben"),
            // The refund has switched renewal off.
            (.waits("P20D"), "anna ben"), (.waits("P1M"), ""),
        ])

    private static let raised = SeatRow(
        "the price rises, and the purchaser agrees",
        [
            (.buys(4), "anna"), (.joins("ben"), "anna ben"),
            (.does("raise-price", ["price": "12.99", "consent": true]), "anna ben"),
            (.does("consent"), "anna ben"), (.waits("P1M"), "anna ben"),
            (.buys(5), "anna ben"),
        ])

    private static let declined = SeatRow(
        "the price rises, and the purchaser does not agree",
        [
            (.buys(4), "anna"), (.joins("ben"), "anna ben"),
            (.does("raise-price", ["price": "12.99", "consent": true]), "anna ben"),
            (.waits("P40D"), ""),
        ])

    private static let upgraded = SeatRow(
        "another product in more seats takes the place of all parts",
        [
            (.buys(2), "anna"), (.joins("ben"), "anna ben"), (.buys(3), "anna ben"),
            (.waits("P10D"), "anna ben"), (.upgrades(4, "premium.monthly"), "anna ben"),
            (.joins("cleo"), "anna ben cleo"),
            (.waits("P1M"), "anna ben cleo"),
        ])

    private static let switchedOff = SeatRow(
        "seats are no longer sold",
        [
            (.buys(3), "anna"), (.joins("ben"), "anna ben"), (.sells(false), "anna ben"),
            (.cannotBuy(4, "multi_seat_purchase_disabled"), "anna ben"),
            (.waits("P1M"), "anna ben"), (.joins("cleo"), "anna ben cleo"),
            (.sells(true), "anna ben cleo"), (.buys(4), "anna ben cleo"),
        ])

    private static let assigned = SeatRow(
        "an organization gives a seat to one, and then to another",
        [
            (.buys(2), "anna"), (.isAssigned("ben"), "anna ben"),
            (.isAssigned("cleo"), "anna ben cleo"), (.isUnassigned("ben"), "anna cleo"),
            (.isAssigned("dora"), "anna cleo dora"), (.waits("P1M"), "anna cleo dora"),
            (.does("cancel"), "anna cleo dora"), (.waits("P1M"), "cleo dora"),
        ])

    private static let family = SeatRow(
        "a family has a subscription with one seat, and not one with more",
        [
            (.shares("pro.yearly", with: "fred"), "anna fred"),
            (.buys(3, "pro.yearly"), "anna"), (.joins("ben"), "anna ben"),
            (.waits("P10D"), "anna ben"),
        ])

    private static let trial = SeatRow(
        "seats are free in the trial, and paid afterwards",
        [
            (.buys(3, "pro.yearly"), "anna"), (.joins("ben"), "anna ben"),
            (.buys(4, "pro.yearly"), "anna ben"), (.joins("cleo"), "anna ben cleo"),
            (.waits("P8D"), "anna ben cleo"), (.waits("P1Y"), "anna ben cleo"),
        ])
}
