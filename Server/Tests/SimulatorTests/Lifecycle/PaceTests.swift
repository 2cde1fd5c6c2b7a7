import AppStoreFormats
import Testing

@testable import Simulator

/// The pace of time in the sandbox and in TestFlight.
@Suite struct PaceTests {
    /// Apple's table of shortened periods: the minutes of a shortened month, and then those of a
    /// week, of two, three and six months, and of a year.
    @Test(arguments: [
        (Pace.Speed.threeMinutes, [3, 3, 6, 9, 18, 36]), (.fiveMinutes, [3, 5, 10, 15, 30, 60]),
        (.fifteenMinutes, [5, 15, 30, 45, 90, 180]), (.thirtyMinutes, [10, 30, 60, 90, 180, 360]),
        (.oneHour, [15, 60, 120, 180, 360, 720]),
    ])
    func `a shortened period lasts as long as Apple's table says`(
        speed: Pace.Speed, minutes: [Int64]
    ) {
        let periods = ["P1W", "P1M", "P2M", "P3M", "P6M", "P1Y"].compactMap { BillingPeriod($0) }
        let lengths = periods.map { Pace.monthly(speed).length(of: $0) }
        #expect(lengths == minutes.map { $0 * 60_000 })
    }

    @Test(arguments: [
        (Pace.Speed.thirtySeconds, 9, 15, 60), (.fiveMinutes, 154, 150, 600),
        (.fifteenMinutes, 257, 450, 1800), (.thirtyMinutes, 514, 900, 3600),
        (.oneHour, 771, 1800, 7200),
    ])
    func `grace and retry are shortened as Apple's table says`(
        speed: Pace.Speed, weekly: Int64, other: Int64, retry: Int64
    ) {
        let pace = Pace.monthly(speed)
        #expect(pace.graceLength(days: 6, isWeekly: true) == weekly * 1000)
        #expect(pace.graceLength(days: 16, isWeekly: false) == other * 1000)
        #expect(pace.retryLength(days: 60) == retry * 1000)
        #expect(Pace.realTime.retryLength(days: 60) == nil)
    }

    @Test func `in the sandbox a payment fails and is retried within minutes`() async throws {
        let stage = try Stage()
        try await stage.simulator.addDevice(account: "anna", environment: .sandbox)
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.simulator.change(id, .failBilling)
        try await stage.advance("PT1H")
        let times = await stage.simulator.notifications.map { RFC3339.text($0.draft.at) }
        #expect(
            times == [
                "2026-01-10T20:00:00.000Z", "2026-01-10T20:05:00.000Z", "2026-01-10T20:07:30.000Z",
                "2026-01-10T20:15:00.000Z",
            ])
    }

    @Test func `TestFlight renews every subscription daily, six times`() async throws {
        let stage = try Stage(shop: TableShop.file())
        try await stage.simulator.addDevice(
            account: "anna", environment: .sandbox, pace: .testFlight)
        try await stage.buy("yearly")
        try await stage.advance("P20D")
        let letters = try await stage.letters()
        #expect(letters.filter { $0.line == "DID_RENEW 1 yearly" }.count == 6)
        #expect(letters.last?.line == "EXPIRED/VOLUNTARY 2 yearly")
        #expect(try letters[1].transaction.expiresDate == moment("2026-01-12T20:00:00Z"))
    }

    @Test func `in the sandbox a gap of ten minutes restarts the subscription's start date`()
        async throws
    {
        for (wait, restarts) in [("PT14M", false), ("PT16M", true)] {
            let stage = try Stage()
            try await stage.simulator.addDevice(account: "anna", environment: .sandbox)
            let id = try await stage.buy("pro.monthly").originalTransactionID
            try await stage.simulator.change(id, .cancel)
            try await stage.advance(wait)
            try await stage.buy("pro.monthly")
            let letter = try require(try await stage.letters().last, "no letter")
            let start = letter.renewal?.recentSubscriptionStartDate
            #expect((start == letter.transaction.purchaseDate) == restarts, "after \(wait)")
        }
    }

    @Test func `if grace is limited to paid periods, a trial ends without grace`() async throws {
        for (isPaidOnly, status) in [
            (true, "DID_FAIL_TO_RENEW 3"), (false, "DID_FAIL_TO_RENEW/GRACE_PERIOD 4"),
        ] {
            let stage = try Stage { $0.graceForPaidOnly = isPaidOnly }
            let id = try await stage.buy("pro.yearly").originalTransactionID
            try await stage.simulator.change(id, .failBilling)
            try await stage.advance("P1W")
            #expect(try await stage.story().last == "\(status) pro.yearly")
        }
    }
}
