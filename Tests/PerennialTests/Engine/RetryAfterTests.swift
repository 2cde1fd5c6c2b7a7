import Foundation
import Testing

@testable import Perennial

@Suite struct RetryAfterTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    @Test(arguments: [
        ("120", 120), (" 7 ", 7), ("0", 0), ("-5", 0), ("999999999", 3600),
        ("Sun, 06 Nov 1994 08:51:37 GMT", 120), ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
        ("Sun, 06 Nov 1994 08:00:00 GMT", 0), ("Mon, 07 Nov 1994 08:49:37 GMT", 3600),
        ("Sunday, 06-Nov-94 08:50:07 GMT", 30), ("Sun Nov  6 08:50:07 1994", 30),
    ])
    func `Retry-After is a number of seconds or a date`(header: String, seconds: Int) {
        #expect(RetryAfter(header, date: Self.date)?.seconds == seconds)
    }

    @Test(arguments: [nil, "", "soon", "1.5", "Sun, 06 Nov", "06 Nov 1994 08:49:37"])
    func `a text in any other form is not a valid Retry-After`(header: String?) {
        #expect(RetryAfter(header, date: Self.date) == nil)
    }

    @Test func `without the server's date, Retry-After is compared with the device's clock`()
        throws
    {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let header = formatter.string(from: Date().addingTimeInterval(600))
        let wait = try #require(RetryAfter(header, date: nil)?.seconds)
        #expect((590...601).contains(wait))
    }
}
