import AppStoreFormats
import Testing

@testable import Simulator

@Suite struct StoreCalendarTests {
    private let calendar = StoreCalendar()

    /// The ends of the given number of periods, one after another.
    private func ends(_ period: String, from start: String, _ count: Int) throws -> [String] {
        var now = try moment(start)
        var anchor = calendar.anchor(at: now)
        let period = try require(BillingPeriod(period), "no period")
        return (0..<count).map { _ in
            now = calendar.periodEnd(of: period, times: 1, from: now, anchor: &anchor)
            return RFC3339.text(now)
        }
    }

    @Test func `a month ends on the day of its beginning, or on the last day of a shorter month`()
        throws
    {
        #expect(
            try ends("P1M", from: "2026-01-31T20:00:00Z", 4) == [
                "2026-02-28T20:00:00.000Z", "2026-03-31T19:00:00.000Z",
                "2026-04-30T19:00:00.000Z", "2026-05-31T19:00:00.000Z",
            ])
    }

    @Test func `a year from a leap day ends on 28 February, and in a leap year on the 29th`()
        throws
    {
        #expect(
            try ends("P1Y", from: "2028-02-29T20:00:00Z", 4) == [
                "2029-02-28T20:00:00.000Z", "2030-02-28T20:00:00.000Z",
                "2031-02-28T20:00:00.000Z", "2032-02-29T20:00:00.000Z",
            ])
    }

    @Test func `the day of the month is counted in the time zone of Los Angeles`() throws {
        // In Los Angeles it is the evening of 30 January. The UTC date, 31 January, would give
        // another end.
        #expect(try ends("P1M", from: "2026-01-31T05:00:00Z", 1) == ["2026-03-01T05:00:00.000Z"])
    }

    @Test func `if summer time begins in a week, the week is an hour shorter`() throws {
        #expect(try ends("P1W", from: "2026-03-04T20:00:00Z", 1) == ["2026-03-11T19:00:00.000Z"])
    }

    @Test func `if summer time ends in a week, the week is an hour longer`() throws {
        #expect(try ends("P1W", from: "2026-10-28T19:00:00Z", 1) == ["2026-11-04T20:00:00.000Z"])
    }

    @Test
    func `a renewal at a skipped local time comes an hour later, and next month at the usual time`()
        throws
    {
        // 02:30 on 8 March 2026 does not exist in Los Angeles.
        #expect(
            try ends("P1M", from: "2026-02-08T10:30:00Z", 2) == [
                "2026-03-08T10:30:00.000Z", "2026-04-08T09:30:00.000Z",
            ])
    }

    @Test func `if a time occurs twice in a night, a period ends at the first occurrence`() throws {
        // 01:30 on 1 November 2026 comes in summer time and again in winter time.
        #expect(try ends("P1M", from: "2026-10-01T08:30:00Z", 1) == ["2026-11-01T08:30:00.000Z"])
    }

    @Test func `the end of a period has the milliseconds of its beginning`() throws {
        #expect(
            try ends("P1M", from: "2026-01-10T20:00:00.123Z", 1) == ["2026-02-10T20:00:00.123Z"])
    }

    @Test(arguments: [
        ("P31D", "2026-02-10T20:00:00.000Z"), ("P1M", "2026-02-10T20:00:00.000Z"),
        ("PT1H30M", "2026-01-10T21:30:00.000Z"), ("P1Y2M", "2027-03-10T20:00:00.000Z"),
        ("P1W", "2026-01-17T20:00:00.000Z"), ("PT0.5S", "2026-01-10T20:00:00.500Z"),
        ("P6M", "2026-07-10T19:00:00.000Z"), ("PT2902346S", "2026-02-13T10:12:26.000Z"),
        ("PT315619200S", "2036-01-11T20:00:00.000Z"), ("P10Y", "2036-01-10T20:00:00.000Z"),
        ("P3653D", "2036-01-11T20:00:00.000Z"), ("PT5260320M", "2036-01-11T20:00:00.000Z"),
        ("PT87672H", "2036-01-11T20:00:00.000Z"), ("P521W", "2036-01-05T20:00:00.000Z"),
        ("P120M", "2036-01-10T20:00:00.000Z"), ("P1Y1M1W1DT1H1M1S", "2027-02-18T21:01:01.000Z"),
        ("P1.5D", "2026-01-12T08:00:00.000Z"), ("P0,5W", "2026-01-14T08:00:00.000Z"),
        ("PT1.25H", "2026-01-10T21:15:00.000Z"), ("P1DT0.0015S", "2026-01-11T20:00:00.001Z"),
        ("P0D", "2026-01-10T20:00:00.000Z"), ("PT0000000000S", "2026-01-10T20:00:00.000Z"),
    ])
    func `the clock moves by an ISO 8601 duration`(text: String, expected: String) throws {
        let duration = try require(ISODuration(text), "no duration")
        let moved = calendar.moment(try moment(Stage.noon), plus: duration)
        #expect(RFC3339.text(moved) == expected)
    }

    @Test(arguments: [
        "", "P", "PT", "31D", "P-1D", "P1H", "PT1D", "P1", "P1DT", "P1D1D", "P1D1W", "PT1S1M", "1D",
        "P1.D", "P.5D", "P1.5D1H", "P1.5DT1H", "PT1.5H1M", "P 1D", "p1d", "P+1D", "P٥D", "PD",
        "P1\u{301}D", "PT1HT1M", "P1DT1D",
    ])
    func `an invalid duration is refused`(text: String) {
        #expect(throws: ISODuration.Refusal.unreadable) { try ISODuration(parsing: text) }
    }

    @Test(arguments: [
        "P11Y", "P121M", "P522W", "P3654D", "PT87673H", "PT5260321M", "PT315619201S", "P10Y1D",
        "P9223372036854775807Y", "P99999999999M", "P99999999D", "PT9999999999999999999999S",
        "PT315619200.001S",
    ])
    func `a duration of more than ten years is refused as too long`(text: String) {
        #expect(throws: ISODuration.Refusal.tooLong) { try ISODuration(parsing: text) }
    }

    @Test(arguments: ["P0.5Y", "P1.5M", "P1Y0,5M"])
    func `a duration with a fraction of a month is refused`(text: String) {
        #expect(throws: ISODuration.Refusal.partOfMonth) { try ISODuration(parsing: text) }
    }

    @Test(arguments: ["", "P", "PD", "P0D", "P+5D", "P-5D", "P367D", "5D", "P1H", "P1Y6M", "P٥D"])
    func `an invalid billing period is refused`(text: String) {
        #expect(BillingPeriod(text) == nil)
    }

    @Test(arguments: [
        ("2026-03-08T10:00:00Z", 1_772_964_000_000),
        ("2026-03-08T11:00:00+01:00", 1_772_964_000_000),
        ("1969-12-31T23:59:59.999Z", -1), ("2000-02-29T00:00:00.1234Z", 951_782_400_123),
    ])
    func `a time in a request is read with its offset from UTC`(text: String, milliseconds: Int64)
        throws
    {
        #expect(try moment(text).milliseconds == milliseconds)
    }

    @Test(arguments: ["2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01", "x"])
    func `an invalid time in a request is refused`(text: String) {
        #expect(RFC3339.moment(text) == nil)
    }
}
