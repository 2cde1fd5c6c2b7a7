import Testing

@testable import Courier

@Suite struct RetryAfterTests {
    /// The date on the receiver's clock, which is three hours behind ours.
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let now: Int64 = 784_111_777 + 10_800

    @Test(
        arguments: [
            ("120", 120), (" 7 ", 7), ("0", 0), ("-5", nil), ("99999999999", nil), ("soon", nil),
            ("", nil), ("1.5", nil), ("Sun, 06 Nov 1994 08:51:37 GMT", 120),
            ("Sun, 06 Nov 1994 08:00:00 GMT", 0), ("Sunday, 06-Nov-94 08:50:07 GMT", 30),
            ("Sun Nov  6 08:50:07 1994", 30), ("Sun, 06 Nov", nil),
        ] as [(String, Int64?)])
    func `Retry-After is a number of seconds, or a date by the receiver's clock`(
        header: String, seconds: Int64?
    ) {
        #expect(
            Courier.retryAfter(header, at: Self.date, now: Self.now)
                == seconds.map { Duration.seconds($0) })
    }

    @Test func `without the receiver's date, Retry-After is compared with our clock`() {
        let header = "Sun, 06 Nov 1994 11:50:37 GMT"
        #expect(Courier.retryAfter(header, at: nil, now: Self.now) == .seconds(60))
        #expect(Courier.retryAfter(header, at: "yesterday", now: Self.now) == .seconds(60))
    }
}
