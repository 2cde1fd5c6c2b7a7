import AppStoreFormats
import Testing

@Suite struct ReceiptDateTests {
    /// The moments 2026-01-10T20:00:00Z in winter and 2017-04-11T00:22:23Z in summer.
    @Test(arguments: [
        (
            Int64(1_768_075_200_000), "2026-01-10T20:00:00Z", "2026-01-10 20:00:00 Etc/GMT",
            "2026-01-10 12:00:00 America/Los_Angeles"
        ),
        (
            1_491_870_143_000, "2017-04-11T00:22:23Z", "2017-04-11 00:22:23 Etc/GMT",
            "2017-04-10 17:22:23 America/Los_Angeles"
        ),
    ])
    func `each format of a date is read as the same moment`(
        milliseconds: Int64, text: String, greenwich: String, pacific: String
    ) {
        let moment = AppStoreDate(milliseconds: milliseconds)
        #expect(ReceiptDate.text(moment) == text)
        #expect(ReceiptDate.greenwich(moment) == greenwich)
        #expect(ReceiptDate.pacific(moment) == pacific)
        for spelling in [text, greenwich, pacific] {
            #expect(ReceiptDate.moment(spelling) == moment, "\(spelling)")
        }
    }

    /// A test with damaged receipts found this bug: the program crashed at a number that only a
    /// forged receipt contains.
    @Test(arguments: [
        (Int64.min, "0001-01-02T00:00:00Z"), (.max, "9999-12-31T00:00:00Z"),
        (-1, "1969-12-31T23:59:59Z"),
    ])
    func `a moment outside the years 1 to 9999 is written as the nearest moment within them`(
        milliseconds: Int64, text: String
    ) throws {
        let moment = AppStoreDate(milliseconds: milliseconds)
        #expect(ReceiptDate.text(moment) == text)
        var row = VerifyReceiptRow()
        row.expires = moment
        #expect(try VerifyReceiptRow(parsing: row.json.bytes) == row)
    }

    @Test(arguments: [
        ("2020-07-22T18:33:15+0100", 1_595_439_195_000 as Int64?),
        ("2020-07-22T18:33:15+01:00", 1_595_439_195_000),
        ("2020-07-22T12:33:15-0500", 1_595_439_195_000),
        ("2020-07-22T17:33:15.25Z", 1_595_439_195_250), ("", nil), ("2020-07-22", nil), ("7", nil),
        ("2020-02-30T00:00:00Z", nil), ("2020-07-22T24:00:00Z", nil),
        ("2020-07-22T17:33:15 Mars/Base", nil), ("2020-07-22T17:33:15", nil),
        ("2020-07-22T17:33:15.Z", nil), ("2020-07-22T17:33:15.1234567Z", 1_595_439_195_123),
        ("2020-07-22T17:33:15.5Z", 1_595_439_195_500), ("2020-07-22T18:33:15+01:60", nil),
        ("2020-07-22T18:33:15+0:100", nil), ("2020-07-22T18:33:15+01000", nil),
        ("2020-13-22T17:33:15Z", nil), ("2020-07-22 17:33:60Z", nil),
        ("٢٠٢٠-07-22T17:33:15Z", nil),
        ("2020-07-22T17:33:15 Etc/GMT ", nil), ("x020-07-22T17:33:15Z", nil),
    ])
    func `offsets are read with and without a colon, and invalid ones are refused`(
        text: String, milliseconds: Int64?
    ) {
        #expect(ReceiptDate.moment(text)?.milliseconds == milliseconds)
    }
}
