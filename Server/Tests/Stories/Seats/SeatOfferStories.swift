import Testing

/// Groups whose purchaser uses an offer. An offer has one price for each seat, without tiers.
@Suite(.serialized) struct SeatOfferStories {
    @Test(arguments: StoryDatabase.allCases, SeatCycle.Host.allCases)
    func `at an offer's price, access, seats and daily money equal the ground truth`(
        database: StoryDatabase, host: SeatCycle.Host
    ) async throws {
        try await SeatCycle.with(host, on: database, app: try OfferStories.app()) { cycle in
            try await Self.offers.play(&cycle)
        }
    }

    private static let offers = SeatRow(
        "a month at an introductory price, a month bought back at another, and one by a code",
        [
            (.buys(3), "anna"), (.joins("ben"), "anna ben"), (.buys(4), "anna ben"),
            (.joins("cleo"), "anna ben cleo"), (.waits("P1M"), "anna ben cleo"),
            (.does("cancel"), "anna ben cleo"), (.waits("P1M"), ""), (.waits("P40D"), ""),
            (.buysAnew(2, offer: "back"), "anna"), (.joins("dora"), "anna dora"),
            (.waits("P1M"), "anna dora"), (.does("cancel"), "anna dora"), (.waits("P80D"), ""),
            (.buysAnew(3, offer: "SPRING"), "anna"), (.joins("ben"), "anna ben"),
            (.refundsSeats(1), "anna ben"), (.waits("P1M"), "anna ben"),
        ])
}
