import Ledger
import Testing

@Suite struct InstantTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_795_250_096_789, "2026-11-21T08:34:56.789Z"),
            (.max, "292278994-08-17T07:12:55.807Z"), (.min, "-292275055-05-16T16:47:04.192Z"),
        ] as [(Int64, String)])
    func `an instant is written as RFC 3339 in UTC`(milliseconds: Int64, text: String) {
        #expect(Instant(milliseconds: milliseconds).description == text)
    }

    @Test func `in sentences an instant is written to the minute`() {
        #expect(Instant(milliseconds: 1_795_250_096_789).minute == "2026-11-21 08:34 UTC")
        #expect(Instant(milliseconds: -1).minute == "1969-12-31 23:59 UTC")
    }

    @Test func `adding a duration moves an instant by whole milliseconds`() {
        let instant = Instant(milliseconds: 1000)
        #expect((instant + .seconds(1.5)).milliseconds == 2500)
        #expect((instant - .hours(1)).milliseconds == -3_599_000)
        #expect((instant + .days(1)) - instant == .hours(24))
        #expect(Duration.seconds(-1.5).wholeMilliseconds == -1500)
        #expect(Duration.microseconds(1999).wholeMilliseconds == 1)
    }

    @Test func `arithmetic with instants is limited by the first and the last instant`() {
        let (first, last) = (Instant(milliseconds: .min), Instant(milliseconds: .max))
        #expect(last + .days(1) == last && first - .days(1) == first)
        #expect(last - .days(1) < last && first + .days(1) > first)
        #expect(last - first == .milliseconds(Int64.max))
        #expect(first + (last - first) < last)
    }
}
