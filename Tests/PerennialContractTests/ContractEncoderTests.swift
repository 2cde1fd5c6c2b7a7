import Foundation
import PerennialContract
import Testing

/// The bytes that a server sends.
@Suite struct ContractEncoderTests {
    private func text(_ value: some Encodable, isIndented: Bool = false) throws -> String {
        String(
            decoding: try ContractEncoder(isIndented: isIndented).encode(value), as: UTF8.self)
    }

    private struct Cat: Codable, Equatable {
        var name = "Tom"
        var age: Int? = 3
        var weight = 4.5
        var isTame: Bool?
        var toys: [Toy] = []
        var best: Toy?
        var friends: [String: Int] = [:]
        var born = Timestamp(milliseconds: 0)

        struct Toy: Codable, Equatable {
            var kind: String
            var lives: Int64?
        }
    }

    private static let cat = Cat(
        isTame: true, toys: [.init(kind: "ball", lives: nil), .init(kind: "mouse", lives: 9)],
        best: .init(kind: "ball"), friends: ["z": 1, "a": 2, "m": 3])

    @Test func `JSON members have the order of their declaration, and nil is written as null`()
        throws
    {
        #expect(
            try text(Cat(age: nil)) == #"{"name":"Tom","age":null,"weight":4.5,"isTame":null,"#
                + #""toys":[],"best":null,"friends":{},"born":"1970-01-01T00:00:00.000Z"}"#)
    }

    @Test func `nested JSON members keep their order, and dictionaries are sorted by key`() throws {
        #expect(
            try text(Self.cat) == #"{"name":"Tom","age":3,"weight":4.5,"isTame":true,"#
                + #""toys":[{"kind":"ball","lives":null},{"kind":"mouse","lives":9}],"#
                + #""best":{"kind":"ball","lives":null},"friends":{"a":2,"m":3,"z":1},"#
                + #""born":"1970-01-01T00:00:00.000Z"}"#)
    }

    @Test func `indented text has the same content, and an empty list stays on one line`() throws {
        let expected = """
            {
              "name": "Tom",
              "age": 3,
              "weight": 4.5,
              "isTame": true,
              "toys": [
                {
                  "kind": "{[,:]}\\"\\\\",
                  "lives": null
                }
              ],
              "best": null,
              "friends": {},
              "born": "1970-01-01T00:00:00.000Z"
            }
            """
        let cat = Cat(isTame: true, toys: [.init(kind: "{[,:]}\"\\")])
        let indented = try ContractEncoder(isIndented: true).encode(cat)
        #expect(String(decoding: indented, as: UTF8.self) == expected)
        // Text that is already indented is not changed.
        #expect(ContractEncoder.indented(indented) == indented)
    }

    @Test(arguments: [false, true])
    func `an encoded value is decoded as the same value`(isIndented: Bool) throws {
        func check<Value: Codable & Equatable>(_ value: Value) throws {
            let bytes = try ContractEncoder(isIndented: isIndented).encode(value)
            #expect(try JSONDecoder().decode(Value.self, from: Data(bytes)) == value)
        }
        try check(Self.cat)
        try check(GoldenTests.anna)
        try check(GoldenTests.nobody)
        try check(GoldenTests.problem)
        try check(GoldenTests.events)
        try check([[1, 2], [], [Int.min, .max]])
        try check(["b": ["x": [Self.cat]], "a": [:]])
        try check([UInt64.max])
        try check([0.1, -0.0, 1e300, .leastNonzeroMagnitude, 1e21, 50])
        try check([Float(0.5)])
        try check([Bool?.none, true])
    }

    @Test func `text in JSON is escaped only where necessary, and slashes are not escaped`() throws
    {
        let all = String(String.UnicodeScalarView((0..<0x20).compactMap(Unicode.Scalar.init)))
        for sample in ["", "a/b", "\"\\", all, "é\u{1F426}\u{7F}\u{2028}", "日本\u{0}語"] {
            let bytes = try ContractEncoder().encode([sample])
            #expect(try JSONDecoder().decode([String].self, from: Data(bytes)) == [sample])
            #expect(bytes.allSatisfy { $0 >= 0x20 })
        }
        #expect(try text(["a/b\n\u{1}\u{1F}\""]) == #"["a/b\n\u0001\u001f\""]"#)
    }

    @Test func `whole numbers have no decimal point, and NaN and infinity are refused`() throws {
        #expect(try text([50.0, 4.5]) == "[50,4.5]")
        for wrong in [Double.nan, .infinity, -.infinity] {
            #expect(throws: EncodingError.self) { try ContractEncoder().encode([wrong]) }
        }
    }

    private struct Silent: Encodable {
        func encode(to encoder: any Encoder) {}
    }

    @Test func `a value that encodes nothing is refused`() {
        #expect(throws: EncodingError.self) { try ContractEncoder().encode([Silent()]) }
    }

    /// Encodes into nested containers that it creates explicitly, one after the other.
    private struct Nested: Encodable {
        enum Key: String, CodingKey {
            case list, object, last
        }

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Key.self)
            var list = members.nestedUnkeyedContainer(forKey: .list)
            try list.encode(1)
            var inner = list.nestedContainer(keyedBy: Key.self)
            try inner.encodeNil(forKey: .last)
            try list.encode("two")
            var object = members.nestedContainer(keyedBy: Key.self, forKey: .object)
            try object.encode(true, forKey: .last)
            var again = encoder.container(keyedBy: Key.self)
            try again.encode(3, forKey: .last)
        }
    }

    @Test func `a nested JSON container ends when its parent container is used again`() throws {
        #expect(
            try text([Nested()]) == #"[{"list":[1,{"last":null},"two"],"object":{"last":true},"#
                + #""last":3}]"#)
    }
}
