import AppStoreFormats
import Testing

/// Financial reports about all regions, which end with sums for each country and currency.
@Suite struct SalesReportCountrySumsTests {
    private static let header = FinancialRow.layouts[0].header.joined(separator: "\t")

    private static func row(
        _ quantity: Int, _ share: String, _ extended: String, _ currency: String, _ country: String,
        price: String = "4.99"
    ) -> String {
        [
            "12/28/2025", "01/31/2026", "", "", "pro.monthly", "\(quantity)", share, extended,
            currency, "S", "1400000001", "Example", "Pro", "", "", "IAY", "", country, "", "",
            price, currency,
        ].joined(separator: "\t")
    }

    private static let rows = [
        row(2, "3.49", "6.98", "USD", "US"), row(1, "3.20", "3.20", "EUR", "DE"),
        row(1, "3.20", "3.20", "EUR", "FR"),
    ]
    private static let table = [
        "Total_Rows\t3",
        "Country Of Sale\tPartner Share Currency\tQuantity\tExtended Partner Share",
        "DE\tEUR\t1\t3.20", "FR\tEUR\t1\t3.20", "US\tUSD\t2\t6.98",
    ]

    private static func file(_ tail: [String], rows: [String] = rows) -> [UInt8] {
        Array(([header] + rows + tail).map { $0 + "\n" }.joined().utf8)
    }

    private static func failure(
        _ tail: [String], rows: [String] = rows
    ) -> SalesReportFailure? {
        #expect(throws: SalesReportFailure.self) {
            try AnySalesReport(parsing: file(tail, rows: rows))
        }
    }

    @Test func `rows of all regions are read and written byte for byte`() throws {
        let file = Self.file(Self.table)
        let report = try SalesReport<FinancialRow>(parsing: file)
        #expect(report.rows.map(\.countryOfSale) == ["US", "DE", "FR"])
        #expect(report.rows.map(\.proceeds) == [6_980, 3_200, 3_200])
        #expect(try report.bytes() == file)
    }

    /// Each row: a change to the table, then the line and the column that the error message names.
    private static let changes: [(from: String, to: String, line: Int, column: Int)] = [
        ("US\tUSD\t2\t6.98", "US\tUSD\t2\t6.99", 9, 4),
        ("US\tUSD\t2\t6.98", "US\tUSD\t3\t6.98", 9, 3),
        ("DE\tEUR\t1\t3.20", "DE\tEUR\t1\tx", 7, 4),
        ("DE\tEUR\t1\t3.20", "AT\tEUR\t1\t3.20", 7, 1),
        ("FR\tEUR\t1\t3.20", "DE\tEUR\t1\t3.20", 8, 1),
    ]

    @Test(arguments: changes)
    func `a country line that differs from the sum of its rows is refused with its place`(
        from: String, to: String, line: Int, column: Int
    ) {
        let failure = Self.failure(Self.table.map { $0 == from ? to : $0 })
        #expect(failure?.code == .totals && failure?.line == line && failure?.column == column)
    }

    @Test func `the error names a country that has rows but no sum line`() {
        let failure = Self.failure(Self.table.dropLast())
        #expect(failure?.code == .incomplete && failure?.line == 9)
        #expect(failure?.found == "no line for US USD")
        #expect(failure?.remedy.contains("not about the same countries") == true)
    }

    @Test func `the error names a country that has a sum line but no rows`() {
        let failure = Self.failure(
            ["Total_Rows\t2"] + Self.table.dropFirst(), rows: Array(Self.rows.dropLast()))
        #expect(failure?.code == .totals && failure?.found == "FR EUR")
        #expect(failure?.remedy.contains("not about the same countries") == true)
    }

    @Test func `a line with the wrong number of cells is refused`() {
        let failure = Self.failure(Self.table.map { $0.hasPrefix("DE") ? "DE\tEUR\t1" : $0 })
        #expect(failure?.code == .cellCount && failure?.line == 7)
    }

    @Test func `if a financial report ends before its country sums, it is refused`() {
        for count in 1..<Self.table.count {
            let failure = Self.failure(Array(Self.table.prefix(count)))
            #expect(failure?.code == .incomplete, "\(count) lines")
        }
    }

    /// Apple does not document whether the sums include free units.
    @Test(arguments: ["DE\tEUR\t1\t3.20", "DE\tEUR\t3\t3.20"])
    func `country sums are accepted whether or not they include free units`(line: String) throws {
        let free = Self.row(2, "0.00", "0.00", "EUR", "DE", price: "0.00")
        let lines = Self.table.map { $0.hasPrefix("DE") ? line : $0 }
        let file = Self.file(["Total_Rows\t4"] + lines.dropFirst(), rows: Self.rows + [free])
        #expect(try SalesReport<FinancialRow>(parsing: file).rows.count == 4)
    }

    @Test func `a country with only free units needs no sum line`() throws {
        let free = Self.row(1, "0.00", "0.00", "EUR", "AT", price: "0.00")
        let file = Self.file(["Total_Rows\t4"] + Self.table.dropFirst(), rows: Self.rows + [free])
        #expect(try SalesReport<FinancialRow>(parsing: file).rows.count == 4)
    }

    @Test func `the totals of a financial report about one region are verified`() throws {
        let totals = ["Total_Rows\t1", "Total_Amount\t6.98", "Total_Units\t2"]
        let file = Self.file(totals, rows: Array(Self.rows.prefix(1)))
        let report = try SalesReport<FinancialRow>(parsing: file)
        #expect(try report.bytes() == file)
        let wrong = totals.map { $0.replacing("6.98", with: "6.97") }
        #expect(Self.failure(wrong, rows: Array(Self.rows.prefix(1)))?.code == .totals)
    }
}
