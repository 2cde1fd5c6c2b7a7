import AppStoreFormats
import Testing

@Suite struct JSONTests {
    @Test(
        arguments: [
            ("null", .null), ("true", true), (" false\r\n\t", false), ("0", 0), ("-0", 0),
            ("-17", -17), ("9223372036854775807", .integer(.max)),
            ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .decimal("9223372036854775808")),
            ("-9223372036854775809", .decimal("-9223372036854775809")),
            ("1697680122257.447", .decimal("1697680122257.447")),
            ("1.50", .decimal("1.50")), ("1e5", .decimal("1e5")), ("-2E+03", .decimal("-2E+03")),
            ("1e999", .decimal("1e999")), ("0.1e-2", .decimal("0.1e-2")),
            (#""""#, ""), (#""a b""#, "a b"), (#""é€😀""#, "é€😀"),
            (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
            (#""\u0041\u00e9\u20AC""#, "Aé€"), (#""\ud83d\uDE00""#, "😀"), (#""\u0000""#, "\0"),
            (#""x\ty""#, "x\ty"),
            ("[]", []), ("[ ]", []), ("[1, [2] ,{}]", [1, [2], [:]]),
            ("{}", [:]), (#"{"a":1}"#, ["a": 1]),
            (#" { "a" : [ ] , "b" : { "c" : null } } "#, ["a": [], "b": ["c": .null]]),
            (#"{"a":1,"a":2}"#, .object([.init("a", 1), .init("a", 2)])),
        ] as [(String, JSON)])
    func `valid JSON text is read`(text: String, value: JSON) throws {
        #expect(try JSON(parsing: text.utf8) == value)
        #expect(try JSON(parsing: value.bytes) == value)
    }

    @Test func `indented JSON has a line for each member and element`() throws {
        let json: JSON = ["a": [1, [:], [], "x\"y"], "b": ["c": .null], "d": .decimal("1.50")]
        let text = """
            {
              "a": [
                1,
                {},
                [],
                "x\\"y"
              ],
              "b": {
                "c": null
              },
              "d": 1.50
            }
            """
        #expect(String(decoding: json.bytes(isIndented: true), as: UTF8.self) == text)
        #expect(json.bytes(isIndented: false) == json.bytes)
        #expect(JSON.integer(1).bytes(isIndented: true) == JSON.integer(1).bytes)
    }

    @Test(arguments: [
        "", " ", "nul", "nulll", "tru", "True", "NaN", "Infinity", "+1", "01", "-", "-01", ".5",
        "1.", "1.e5", "1e", "1e+", "0x10", "1 2", "--1",
        "\"", "\"a", #""\x""#, #""\"#, #""\u12""#, #""\u12G4""#, #""\ud83d""#, #""\ud83d\n""#,
        #""\ud83d\u0041""#, #""\ude00""#, "\"\n\"", "\"\u{1F}\"", "'a'", "\"a\"b",
        "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "]", "[1}", "{", #"{"a"#, #"{"a""#, #"{"a":"#,
        #"{"a":1"#, #"{"a":1,"#, #"{"a":1,}"#, #"{"a" 1}"#, "{a:1}", "{1:2}", #"{"a":1]"#, "}",
        "\u{FEFF}1", "// comment\n1",
    ])
    func `invalid JSON text is refused`(text: String) {
        #expect(throws: JSONFailure.self) { try JSON(parsing: text.utf8) }
    }

    @Test(
        arguments: [
            [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xC0, 0x80, 0x22],
            [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22],
            [0x22, 0x5C, 0x6E, 0xFF, 0x22], [0x22, 0xE2, 0x82, 0x22],
        ] as [[UInt8]])
    func `a string that is not UTF-8 is refused`(bytes: [UInt8]) {
        #expect(throws: JSONFailure.self) { try JSON(parsing: bytes) }
    }

    @Test func `a failure names the byte at which reading stopped`() {
        let failure = #expect(throws: JSONFailure.self) {
            try JSON(parsing: #"{"a": 1, "b": x}"#.utf8)
        }
        #expect(failure?.offset == 14)
        #expect(failure?.description == "expected a value at byte 14")
    }

    @Test func `JSON is read if its nesting is within the limit, and refused if it is deeper`()
        throws
    {
        func nested(_ depth: Int, _ content: String) -> String {
            String(repeating: "[", count: depth) + content + String(repeating: "]", count: depth)
        }
        _ = try JSON(parsing: nested(JSONParser.depthMax, "1").utf8)
        _ = try JSON(parsing: nested(JSONParser.depthMax - 1, #"{"a":1}"#).utf8)
        for text in [
            nested(JSONParser.depthMax + 1, ""), nested(JSONParser.depthMax, "{}"),
            String(repeating: "[", count: 1_000_000),
            String(repeating: #"{"a":"#, count: 200_000),
        ] {
            #expect(throws: JSONFailure.self) { try JSON(parsing: text.utf8) }
        }
    }

    @Test func `the last value of a repeated key is returned`() throws {
        let json = try JSON(parsing: #"{"a":1,"b":2,"a":3}"#.utf8)
        #expect(json["a"] == 3)
        #expect(json["c"] == nil)
    }

    @Test func `JSON is written compactly, in the order of the members`() {
        let json: JSON = ["b": [1, .null, true, .decimal("1.50")], "a": "\"\\\n\u{1}é/"]
        #expect(json.text == #"{"b":[1,null,true,1.50],"a":"\"\\\u000a\u0001é/"}"#)
    }

    @Test(arguments: ["\"", "\\", "\n", "\u{1F}", "\u{0}"])
    func `a character is escaped at every position in a long text`(mark: String) throws {
        for place in 0..<100 {
            let text =
                String(repeating: "é", count: place) + mark + String(repeating: "x", count: 40)
            let written = JSON.string(text).bytes
            #expect(try JSON(parsing: written) == .string(text))
            #expect(written.dropFirst().dropLast().allSatisfy { $0 >= 0x20 })
        }
    }
}
