import AppStoreFormats
import Testing

@Suite struct SalesReportTests {
    private static let salesHeader = SalesRow.layouts[0].header.joined(separator: "\t")

    /// A sale of two units, and a refund of one, in Apple's spelling.
    private static let sale =
        "APPLE\tUS\tpro.monthly\t \tPro\t \tIAY\t2\t3.15\t10/05/2020\t10/05/2020\tUSD\tUA\tUSD\t"
        + "41\t4.49\t \tbirds\tRenewal\t1 Month\tLifestyle\t\tiPhone\tiOS\t"
        + "Rate After One Year\tYes\t \t "
    private static let refund =
        "APPLE\tUS\tpro.monthly\t\tPro\t\tIAY\t-1\t3.15\t10/05/2020\t10/05/2020\tUSD\tUA\tUSD\t41\t"
        + "-4.49\t\tbirds\tNew\t1 Month\tLifestyle\t\tiPhone\tiOS\t\t\t\tPay As You Go Intro Offer"

    private static func sales(_ lines: String..., ending: String = "\n") throws
        -> SalesReport<SalesRow>
    {
        let text = ([salesHeader] + lines).map { $0 + ending }.joined()
        return try SalesReport(parsing: Array(text.utf8))
    }

    @Test(arguments: ["\n", "\r\n"])
    func `the values of a sales row are read`(ending: String) throws {
        let report = try Self.sales(Self.sale, ending: ending)
        #expect(report.version == SalesReportVersion(1, 0))
        let row = try #require(report.rows.first)
        #expect(row.sku == "pro.monthly" && row.developer == "" && row.appVersion == "")
        #expect(row.productType == .autoRenewable && row.productType.isAutoRenewable)
        #expect(row.units == 2 && row.developerProceeds == 3150 && row.customerPrice == 4490)
        #expect(row.begin == CivilDate(year: 2020, month: 10, day: 5))
        #expect(row.subscription == .renewal && row.isRenewal)
        #expect(row.period?.period == BillingPeriod(1, .month))
        #expect(row.proceedsReason == .rateAfterOneYear && row.isPricePreserved)
        #expect(row.device == .iPhone && row.orderType == nil && row.appleID == 41)
        #expect(row.proceeds == 6300 && row.customerAmount == 8980 && !row.isRefund)
    }

    @Test func `a refund row has negative units and negative proceeds`() throws {
        let row = try #require(try Self.sales(Self.refund).rows.first)
        #expect(row.units == -1 && row.customerPrice == -4490 && row.developerProceeds == 3150)
        #expect(row.isRefund && !row.isPartialRefund && !row.isRenewal)
        #expect(row.proceeds == -3150 && row.customerAmount == -4490)
        #expect(row.orderType?.discount == .payAsYouGo && row.orderType?.type == .introductory)
    }

    @Test func `a partial refund has no units, and its proceeds are negative`() {
        var row = SalesRow()
        (row.units, row.customerPrice, row.developerProceeds) = (0, -85_430, 59_800)
        #expect(row.isRefund && row.isPartialRefund)
        #expect(row.proceeds == -59_800 && row.customerAmount == -85_430)
        var subscriber = SubscriberRow()
        (subscriber.units, subscriber.customerPrice) = (0, -85_430)
        subscriber.developerProceeds = 59_800
        #expect(subscriber.isPartialRefund && subscriber.proceeds == -59_800)
        #expect(subscriber.isRefund && subscriber.customerAmount == -85_430)
    }

    @Test func `a free download is not a refund`() {
        var row = SalesRow()
        row.units = 3
        #expect(!row.isRefund && row.proceeds == 0 && row.customerAmount == 0)
    }

    @Test func `the columns are found by name, in any order`() throws {
        let cells = zip(
            SalesRow.layouts[0].header,
            Self.sale.split(separator: "\t", omittingEmptySubsequences: false)
        ).reversed()
        let text = [cells.map(\.0), cells.map { String($0.1) }]
            .map { $0.joined(separator: "\t") + "\n" }.joined()
        let report = try SalesReport<SalesRow>(parsing: Array(text.utf8))
        #expect(report.rows == (try Self.sales(Self.sale).rows))
        #expect(report.header.first == "Order Type")
        #expect(try report.bytes() == Array(text.utf8))
    }

    @Test func `an empty report has only a header`() throws {
        #expect(try Self.sales().rows.isEmpty)
    }

    @Test func `a date is read in both formats`() throws {
        let changed = Self.sale.replacing("10/05/2020", with: "2020-10-05")
        #expect(try Self.sales(changed).rows == (try Self.sales(Self.sale).rows))
    }

    // MARK: - Cells

    private static let amounts: [(String, Int64?)] = [
        ("0", 0), ("0.00", 0), ("-0.00", 0), ("1.5", 1500), ("209.30", 209_300),
        ("-85.43", -85_430),
        ("0.005", 5), ("1.2500", 1250), ("16990.00", 16_990_000),
        ("999999999999.999", 999_999_999_999_999), ("1000000000000.00", nil), ("0.0005", nil),
        (".99", 990), (".7", 700), ("-.70", -700), (".005", 5), (".", nil), ("-.", nil), ("-", nil),
        ("1,50", nil), ("1,000.00", nil), ("1e3", nil), ("+1.00", nil), ("1.", nil), ("4,49", nil),
        ("--1", nil), ("..5", nil), (".0005", nil), ("007.00", nil), ("1.0000000", nil), ("", nil),
        (" ", nil), ("1.00 ", nil),
        ("NaN", nil), ("٣", nil), ("0x10", nil), ("4.49 USD", nil),
    ]

    @Test(arguments: amounts)
    func `an amount is read exactly or refused`(text: String, milliunits: Int64?) throws {
        let line = Self.sale.replacing("\t4.49\t", with: "\t\(text)\t")
        guard let milliunits else {
            let failure = #expect(throws: SalesReportFailure.self) { try Self.sales(line) }
            #expect(failure?.code == .cell && failure?.line == 2 && failure?.column == 16)
            #expect(failure?.columnName == "Customer Price")
            return
        }
        #expect(try Self.sales(line).rows.first?.customerPrice == milliunits)
    }

    /// Each row: a column, a text that the column refuses, and the value that the message says it
    /// expects.
    private static let refusedCells: [(Int, String, String)] = [
        (7, "", "a text that is not blank"), (8, "1.5", "a whole number"),
        (8, "", "a whole number"),
        (8, "1234567890123", "a whole number"), (10, "10/05/20", "a day such as 01/31/2026"),
        (10, "13/05/2020", "a day such as 01/31/2026"),
        (11, "02/30/2020", "a day such as 01/31/2026"), (11, " ", "a day such as 01/31/2026"),
        (15, "1.23E+09", "an identifier of digits only"),
        (15, "-41", "an identifier of digits only"), (26, "No", "Yes, or a blank cell"),
    ]

    @Test(arguments: refusedCells)
    func `a cell with a value of the wrong type is refused with its place`(
        column: Int, text: String, expected: String
    ) {
        var cells = Self.sale.split(separator: "\t", omittingEmptySubsequences: false).map(
            String.init)
        cells[column - 1] = text
        let failure = #expect(throws: SalesReportFailure.self) {
            try Self.sales(Self.sale, cells.joined(separator: "\t"))
        }
        #expect(failure?.code == .cell && failure?.line == 3 && failure?.column == column)
        #expect(failure?.columnName == SalesRow.layouts[0].header[column - 1])
        #expect(failure?.expected == expected)
    }

    @Test
    func `an error about a report names the place, the value, the expected value, and the remedy`()
    {
        let failure = #expect(throws: SalesReportFailure.self) {
            try Self.sales(Self.sale.replacing("4.49", with: "4,49"))
        }
        #expect(
            failure?.description
                == "Line 2, column 16 (Customer Price): found \"4,49\", expected an amount such as "
                + "12.34. The file was cut, damaged or edited: download it again, and do not open "
                + "it in a spreadsheet before.")
    }

    @Test func `a sale is refused if its units times its price overflow`() {
        let line = Self.sale.replacing("\t2\t3.15\t", with: "\t999999999999\t999999999999.00\t")
        let failure = #expect(throws: SalesReportFailure.self) { try Self.sales(line) }
        #expect(failure?.code == .limit && failure?.line == 2)
    }

    @Test func `a cell that exceeds the length limit is refused`() {
        let long = String(repeating: "x", count: 32_769)
        let failure = #expect(throws: SalesReportFailure.self) {
            try Self.sales(Self.sale.replacing("\tPro\t", with: "\t\(long)\t"))
        }
        #expect(failure?.code == .limit && failure?.column == 5)
        #expect(throws: Never.self) {
            try Self.sales(Self.sale.replacing("\tPro\t", with: "\t\(long.dropLast())\t"))
        }
    }

    @Test func `a file with too many columns is refused`() {
        let text = (0...200).map { "column \($0)" }.joined(separator: "\t") + "\n"
        let failure = #expect(throws: SalesReportFailure.self) {
            try AnySalesReport(parsing: Array(text.utf8))
        }
        #expect(failure?.code == .limit && failure?.line == 1)
    }

    @Test func `unknown values of enumerations survive reading and writing`() throws {
        let line = Self.sale.replacing("IAY", with: "IAZ").replacing("iPhone", with: "iCar")
        let report = try Self.sales(line)
        #expect(report.rows.first?.productType.rawValue == "IAZ")
        #expect(report.rows.first?.device?.rawValue == "iCar")
        #expect(try SalesReport(parsing: report.bytes()) == report)
    }
}
