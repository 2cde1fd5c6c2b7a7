import Foundation
import Testing

@testable import PerennialContract

@Suite struct ValueTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:00.001Z"),
            (-1, "1969-12-31T23:59:59.999Z"), (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_000, "2024-02-29T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
        ] as [(Int64, String)])
    func `a time is written as its text and read back`(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).description == text)
        #expect(Timestamp(text)?.milliseconds == milliseconds)
    }

    @Test(
        arguments: [
            (.max, "292278994-08-17T07:12:55.807Z"), (.min, "-292275055-05-16T16:47:04.192Z"),
        ] as [(Int64, String)])
    func `a time outside the range of calendars can be written`(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).description == text)
    }

    @Test(arguments: [
        ("2026-11-21T08:30:00Z", "2026-11-21T08:30:00.000Z"),
        ("2026-11-21T08:30:00.5Z", "2026-11-21T08:30:00.500Z"),
        ("2026-11-21T08:30:00.123999Z", "2026-11-21T08:30:00.123Z"),
        ("2026-11-21T08:30:00+02:00", "2026-11-21T06:30:00.000Z"),
        ("2026-11-21t08:30:00-08:30", "2026-11-21T17:00:00.000Z"),
    ])
    func `every RFC 3339 form of a time is read`(text: String, same: String) {
        #expect(Timestamp(text)?.description == same)
    }

    @Test(arguments: [
        "", "2026-11-21", "2026-11-21T08:30:00", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
        "2026-04-31T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T08:30:00.Z",
        "2026-11-21T08:30:00Zjunk", "9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00+00:01",
        "２026-11-21T08:30:00Z",
    ])
    func `a text that is not a time is refused`(text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test(
        arguments: [
            (9990, "9.99"), (0, "0.00"), (10_000, "10.00"), (9999, "9.999"), (5, "0.005"),
            (50, "0.05"), (500, "0.50"), (-1500, "-1.50"), (-5, "-0.005"),
            (Int64.max, "9223372036854775.807"), (Int64.min, "-9223372036854775.808"),
        ] as [(Int64, String)])
    func `money is exact and has at least the decimal places of its currency`(
        milliunits: Int64, amount: String
    ) {
        #expect(Money(milliunits: milliunits, currency: "USD").amount == amount)
    }

    @Test(
        arguments: [
            ("JPY", 1_500_000, "1500"), ("KRW", 9_900_000, "9900"), ("VND", 249_000_000, "249000"),
            ("CLP", 0, "0"), ("JPY", 1_050_500, "1050.5"), ("KWD", 3_500, "3.500"),
            ("BHD", 10, "0.010"), ("OMR", -1_000, "-1.000"), ("EUR", 59_204, "59.204"),
            ("EUR", 59_200, "59.20"), ("HUF", 990_000, "990.00"), ("", 990, "0.99"),
        ] as [(String, Int64, String)])
    func `each currency has the number of decimal places of ISO 4217`(
        currency: String, milliunits: Int64, amount: String
    ) {
        #expect(Money(milliunits: milliunits, currency: currency).amount == amount)
    }

    @Test(arguments: [
        ("anna", "/v1/customers/anna"), ("a/b?c", "/v1/customers/a%2Fb%3Fc"),
        ("ü @", "/v1/customers/%C3%BC%20%40"), ("A-z_0.9~", "/v1/customers/A-z_0.9~"),
    ])
    func `a path can contain any id`(id: String, path: String) {
        #expect(Paths.customer(id) == path)
        #expect(Paths.aliases(of: id) == path + "/aliases")
    }
}

/// Responses from servers of an earlier version.
@Suite struct EarlierResponseTests {
    @Test func `a report of an older server, which lacks newer members, can be decoded`() throws {
        let text = """
            {"id":"perennial.mrr","name":"mrr","version":1,"title":"MRR","sentence":"",
            "environment":"production","from":"2026-11-01","to":"2026-11-30","by":"month",
            "time_zone":"UTC","unconverted":[],"is_filling":false,"columns":[],"rows":[]}
            """
        let report = try JSONDecoder().decode(Report.self, from: Data(text.utf8))
        #expect(report.isRestated == nil && report.completeUntil == nil)
        #expect(report.name == "mrr")
    }
}

/// Values that only the app interprets.
@Suite struct MetadataValueTests {
    @Test func `metadata of any kind is read and written unchanged`() throws {
        let text = """
            {"a":null,"b":true,"c":2,"d":0.5,"e":"x","f":[1,["y"]],"g":{"h":{}}}
            """
        let read = try JSONDecoder().decode([String: MetadataValue].self, from: Data(text.utf8))
        #expect(read["a"]?.isNull == true && read["b"]?.flag == true && read["c"]?.integer == 2)
        #expect(read["c"]?.number == 2 && read["d"]?.number == 0.5 && read["d"]?.integer == nil)
        #expect(read["e"]?.text == "x" && read["f"]?.list?[1].list == [.text("y")])
        #expect(read["g"]?.members == ["h": .members([:])] && read["b"]?.integer == nil)
        let written = try ContractEncoder().encode(read)
        #expect(String(decoding: written, as: UTF8.self) == text)
    }
}
