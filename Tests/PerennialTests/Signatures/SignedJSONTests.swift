import Testing

@testable import Perennial

struct SignedJSONTests {
    @Test(
        arguments: [
            ("null", .null), (" true ", .bool(true)), ("-12", .integer(-12)), ("0", .integer(0)),
            ("9223372036854775807", .integer(.max)),
            (#""a\"\\\/\b\f\n\r\té\ud83d\udc26🐦""#, .string("a\"\\/\u{8}\u{c}\n\r\té🐦🐦")),
            ("[]", .array([])), ("{}", .object([:])),
            (
                #"{"a" : [1, {"b":null}] }"#,
                .object(["a": .array([.integer(1), .object(["b": .null])])])
            ),
        ] as [(String, SignedJSON)])
    func `a valid JSON value in a signed text is read`(text: String, value: SignedJSON) {
        #expect(SignedJSON(Array(text.utf8)) == value)
    }

    @Test(arguments: [
        "", " ", "{", "[1,]", "[1 2]", "{\"a\":1,}", "{\"a\":1,\"a\":1}", "{a:1}", "01", "-", "1.5",
        "1e3", "9223372036854775808", "nul", "truex", "\"a", "\"\\x\"", "\"\\ud83d\"", "\"\\u12\"",
        "\"\n\"", "1 1", "\u{feff}1", String(repeating: "[", count: 20_000),
    ])
    func `a signed text that is not valid JSON is refused`(text: String) {
        #expect(SignedJSON(Array(text.utf8)) == nil)
    }

    @Test func `signed JSON that is not UTF-8 is refused`() {
        #expect(SignedJSON([0x22, 0xC3, 0x22]) == nil)
        #expect(SignedJSON([0x22, 0xFF, 0x22]) == nil)
    }
}
