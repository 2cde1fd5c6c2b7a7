import AppStoreFormats
import Testing

@Suite struct WireObjectTests {
    private func transaction(_ text: String) throws -> TransactionPayload {
        try TransactionPayload(parsing: text.utf8)
    }

    @Test func `unknown keys are kept at every depth`() throws {
        let text = #"{"new":{"deep":[1.50]},"commitmentInfo":{"later":null,"commitmentPrice":5}}"#
        let payload = try transaction(text)
        #expect(payload.unknown == [.init("new", ["deep": [.decimal("1.50")]])])
        #expect(payload.commitmentInfo?.unknown == [.init("later", .null)])
        #expect(payload.commitmentInfo?.commitmentPrice == 5)
        #expect(payload.json.sorted == (try JSON(parsing: text.utf8)).sorted)
    }

    @Test(arguments: [
        #"{}"#, #"{"new":{"deep":[1.50]},"price":-9223372036854775808,"isUpgraded":false}"#,
        #"{"price":1,"price":2,"bundleId":"a\"\\\u0000ü","offerType":99,"offerType":"1"}"#,
        #"{"commitmentInfo":{"later":null,"commitmentPrice":0}}"#,
        #"{"advancedCommerceInfo":{"items":[]}}"#,
    ])
    func `a JSON object is written back with the values that were read`(text: String) throws {
        let payload = try transaction(text)
        #expect(payload.bytes == payload.json.bytes)
        #expect(try transaction(String(decoding: payload.bytes, as: UTF8.self)) == payload)
    }

    @Test(
        arguments: [
            (#"{"signedPayload":"eyJ.a-_b.c"}"#, "eyJ.a-_b.c"), (#"{"signedPayload":"x"}"#, "x"),
            (#"{"signedPayload":""}"#, nil), (#"{ "signedPayload":"x"}"#, nil),
            (#"{"signedPayload":"x","a":1}"#, nil), (#"{"signedPayload":"x\n"}"#, nil),
            (#"{"signedPayload":"x","signedPayload":"y"}"#, nil), (#"{"signedPayload":"ü"}"#, nil),
            ("{\"signedPayload\":\"x\u{1}\"}", nil), (#"{"signedPayload":"}"#, nil), ("", nil),
        ] as [(String, String?)])
    func `the payload of a body in Apple's exact form is found without parsing the JSON`(
        body: String, payload: String?
    ) {
        let taken = Array(body.utf8).withUnsafeBytes {
            NotificationBody.plainPayload(of: $0).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(taken == payload)
        if let payload {
            #expect((try? NotificationBody(parsing: body.utf8))?.signedPayload == payload)
        }
    }

    @Test func `unknown values of an enumeration are kept`() throws {
        let payload = try transaction(#"{"environment":"Moon","offerType":99}"#)
        #expect(payload.environment == StoreEnvironment(rawValue: "Moon"))
        #expect(payload.offerType == OfferType(rawValue: 99))
        #expect(payload.unknown.isEmpty)
        #expect(payload.json == ["offerType": 99, "environment": "Moon"])
    }

    @Test(arguments: [
        #"{"price":"10"}"#, #"{"price":1.5}"#, #"{"price":null}"#, #"{"isUpgraded":"true"}"#,
        #"{"isUpgraded":1}"#, #"{"bundleId":7}"#, #"{"environment":7}"#, #"{"offerType":"1"}"#,
        #"{"purchaseDate":"2026"}"#, #"{"purchaseDate":1e400}"#, #"{"commitmentInfo":[]}"#,
        #"{"advancedCommerceInfo":{"items":[{"SKU":1}]}}"#,
        #"{"advancedCommerceInfo":{"items":[7]}}"#, #"{"price":9223372036854775808}"#,
    ])
    func `a known field with a value of the wrong type is kept unparsed`(text: String) throws {
        let payload = try transaction(text)
        #expect(payload.price == nil && payload.isUpgraded == nil && payload.bundleId == nil)
        #expect(payload.environment == nil && payload.offerType == nil)
        #expect(payload.purchaseDate == nil && payload.commitmentInfo == nil)
        #expect(payload.json == (try JSON(parsing: text.utf8)))
    }

    @Test
    func `if a key is repeated, its last value is read, even after the object is written again`()
        throws
    {
        let payload = try transaction(#"{"price":1,"price":2}"#)
        #expect(payload.price == 2)
        let again = try transaction(payload.json.text)
        #expect(again == payload)
        #expect(payload.json["price"] == 2)
    }

    @Test(
        arguments: [
            ("1697679936049.7297", 1_697_679_936_049), ("1697679936049", 1_697_679_936_049),
            ("-62135769600000", -62_135_769_600_000), ("-0.5", -1), ("1.7e12", 1_700_000_000_000),
        ] as [(String, Int64)])
    func `times with fractions of milliseconds are rounded down`(text: String, milliseconds: Int64)
        throws
    {
        let payload = try transaction(#"{"signedDate":\#(text)}"#)
        #expect(payload.signedDate == AppStoreDate(milliseconds: milliseconds))
    }

    @Test(arguments: ["[]", "1", "null", "", "{"])
    func `a text that is not a JSON object is refused`(text: String) {
        #expect(throws: JSONFailure.self) { try TransactionPayload(parsing: text.utf8) }
    }
}

extension JSON {
    /// A JSON value whose members are sorted by their keys, at every depth.
    var sorted: JSON {
        switch self {
        case .object(let members):
            .object(
                members.map { Member($0.key, $0.value.sorted) }.sorted { $0.key < $1.key })
        case .array(let values): .array(values.map(\.sorted))
        case .null, .bool, .integer, .decimal, .string: self
        }
    }
}
