import AppStoreFormats
import Testing

@testable import AppStoreClient

@Suite struct AnswerDateTests {
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777_000 as Int64),
        ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199_000),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800_000),
    ])
    func `an HTTP date is read`(text: String, milliseconds: Int64) {
        #expect(HTTPDate.moment(text)?.milliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "now", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT", "Wed, 29 Feb 2023 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov +994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
        "Sun,  06 Nov 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
    ])
    func `a text that is not an HTTP date is read as nil`(text: String) {
        #expect(HTTPDate.moment(text) == nil)
    }
}
