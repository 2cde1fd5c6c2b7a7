import AppStoreFormats
import Dice
import Foundation
import Testing

/// Files of every kind that were truncated, changed or saved in another encoding.
@Suite struct SalesReportDamageTests {
    private static let files: [[UInt8]] = SalesReportKind.allCases.map(file)

    /// A file with three rows, one of which contains a text that is not ASCII.
    private static func file(_ kind: SalesReportKind) -> [UInt8] {
        func bytes<Row: SalesReportRow>(
            _: Row.Type, _ change: (inout Row, Int64) -> Void
        ) -> [UInt8] {
            let rows = (1...3 as ClosedRange<Int64>).map { number in
                var row = Row()
                change(&row, number)
                return row
            }
            return (try? SalesReport(rows: rows).bytes()) ?? []
        }
        switch kind {
        case .sales:
            return bytes(SalesRow.self) { row, number in
                (row.productType, row.title, row.units) = (.autoRenewable, "Für immer", 10 * number)
            }
        case .subscription:
            return bytes(SubscriptionRow.self) { row, number in
                (row.appName, row.standardPrice, row.winBackPayAsYouGo) = ("Für", number, 12)
            }
        case .subscriptionEvent:
            return bytes(SubscriptionEventRow.self) { row, number in
                (row.event, row.appName, row.paidServiceDaysRecovered) = (.renew, "Für", number)
            }
        case .subscriber:
            return bytes(SubscriberRow.self) { row, number in
                (row.appName, row.units) = ("Für", 10 * number)
            }
        case .offerCodeRedemption:
            return bytes(OfferCodeRedemptionRow.self) { row, number in
                (row.appName, row.redemptions) = ("Für", 10 * number)
            }
        case .preOrder:
            return bytes(PreOrderRow.self) { row, _ in row.title = "Für" }
        case .financial:
            return bytes(FinancialRow.self) { row, number in
                (row.productType, row.title, row.quantity) = (.app, "Für", number)
                row.extendedPartnerShare = number * 3155
            }
        }
    }

    private static func lines(of file: [UInt8]) -> Int { file.count { $0 == UInt8(ascii: "\n") } }

    @Test func `the test files are valid before they are damaged`() throws {
        let kinds = try Self.files.map { try AnySalesReport(parsing: $0).kind }
        #expect(kinds == SalesReportKind.allCases)
    }

    /// Why a file is refused; nil if it can be read. Tests that read thousands of files call this
    /// function, because `#expect(throws:)` is slow: each time it searches all errors that tests
    /// have thrown.
    private static func failure(of bytes: [UInt8]) -> SalesReportFailure? {
        do throws(SalesReportFailure) { _ = try AnySalesReport(parsing: bytes) } catch {
            return error
        }
        return nil
    }

    @Test func `a file that is truncated within any line is refused`() {
        for file in Self.files {
            for count in file.indices where count == 0 || file[count - 1] != UInt8(ascii: "\n") {
                let failure = Self.failure(of: Array(file[..<count]))
                #expect(failure != nil)
                let isInHeader = !file[..<count].contains(UInt8(ascii: "\n"))
                if !isInHeader { #expect([.incomplete, .encoding].contains(failure?.code)) }
            }
        }
    }

    @Test func `if a financial report is truncated at the end of a line, it is refused`() throws {
        let file = try #require(Self.files.last)
        for count in file.indices where count > 0 && file[count - 1] == UInt8(ascii: "\n") {
            let failure = #expect(throws: SalesReportFailure.self) {
                try AnySalesReport(parsing: Array(file[..<count]))
            }
            #expect(failure?.code == .incomplete)
            #expect(failure?.found.hasPrefix("no line Total_") == true)
        }
    }

    /// The text alone does not show that rows are missing. The checksum of the download detects
    /// that.
    @Test func `if a report without totals is truncated at the end of a line, it is read`() throws {
        for file in Self.files.dropLast() {
            let end = try #require(file.dropLast().lastIndex(of: UInt8(ascii: "\n")))
            _ = try AnySalesReport(parsing: Array(file[...end]))
        }
    }

    @Test func `if a line is missing from a financial report, the report is refused`() throws {
        let file = try #require(Self.files.last)
        let lines = file.split(separator: UInt8(ascii: "\n"))
        for missing in lines.indices {
            let rest = lines.enumerated().filter { $0.offset != missing }.map(\.element)
            let text = rest.flatMap { $0 + [UInt8(ascii: "\n")] }
            #expect(throws: SalesReportFailure.self) { try AnySalesReport(parsing: text) }
        }
    }

    private static let totals: [(String, String, SalesReportFailure.Code)] = [
        ("Total_Rows\t3", "Total_Rows\t4", .totals), ("Total_Rows\t3", "Total_Rows\tx", .totals),
        ("Total_Amount\t18.93", "Total_Amount\t18.94", .totals),
        ("Total_Units\t6", "Total_Units\t-6", .totals), ("Total_Rows", "Total_Lines", .cellCount),
        ("Total_Units", "Total_Rows", .totals), ("Total_Rows\t3", "Total_Rows\t3\t9", .cellCount),
        ("Total_Rows\t3", "Total_Rows", .cellCount),
        ("Total_Units\t6\n", "Total_Units\t6\n\n", .cellCount),
        ("Total_Units\t6\n", "Total_Units\t6\nTotal_Units\t6\n", .cellCount),
    ]

    @Test(arguments: totals)
    func `a financial report is refused if its totals differ from the sums of its rows`(
        from: String, to: String, code: SalesReportFailure.Code
    ) throws {
        let text = String(decoding: try #require(Self.files.last), as: UTF8.self)
        try #require(text.contains(from))
        let failure = #expect(throws: SalesReportFailure.self) {
            try AnySalesReport(parsing: Array(text.replacing(from, with: to).utf8))
        }
        #expect(failure?.code == code)
    }

    @Test func `totals that are padded with empty cells are read`() throws {
        let text = String(decoding: try #require(Self.files.last), as: UTF8.self)
            .replacing("Total_Rows\t3", with: "Total_Rows\t3\t\t \t")
        #expect(throws: Never.self) { try AnySalesReport(parsing: Array(text.utf8)) }
    }

    @Test func `a report in which another character replaces a tab is refused`() {
        for file in Self.files {
            for place in file.indices where file[place] == UInt8(ascii: "\t") {
                for other in [UInt8(ascii: " "), UInt8(ascii: "x"), UInt8(ascii: "\n"), 0x08] {
                    var damaged = file
                    damaged[place] = other
                    #expect(Self.failure(of: damaged) != nil)
                }
            }
        }
    }

    @Test func `a report in which a tab replaces another character is refused`() {
        for file in Self.files {
            for place in file.indices where file[place] != UInt8(ascii: "\t") {
                var damaged = file
                damaged[place] = UInt8(ascii: "\t")
                #expect(Self.failure(of: damaged)?.line != nil)
            }
        }
    }

    @Test func `the error about a line with the wrong number of cells names both numbers`() {
        let file = Self.files[0] + Array("a\tb\n".utf8)
        let failure = #expect(throws: SalesReportFailure.self) { try AnySalesReport(parsing: file) }
        #expect(failure?.code == .cellCount && failure?.line == 5)
        #expect(failure?.found == "2 cells" && failure?.expected == "28, as in the header")
    }

    // MARK: - Encodings

    @Test func `encodings other than UTF-8 are refused with a remedy`() throws {
        for file in Self.files {
            let text = String(decoding: file, as: UTF8.self)
            for encoding in [
                String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian, .isoLatin1,
                .windowsCP1252, .macOSRoman, .utf32,
            ] {
                let bytes = Array(try #require(text.data(using: encoding)))
                let failure = #expect(throws: SalesReportFailure.self) {
                    try AnySalesReport(parsing: bytes)
                }
                #expect(failure?.code == .encoding, "\(encoding)")
                #expect(failure?.remedy.contains("another encoding") == true)
            }
        }
    }

    @Test func `a byte that is not UTF-8 is reported with its line and column`() throws {
        let latin = Array(
            try #require(
                String(decoding: Self.files[0], as: UTF8.self).data(using: .isoLatin1)))
        let failure = #expect(throws: SalesReportFailure.self) {
            try AnySalesReport(parsing: latin)
        }
        #expect(failure?.line == 2 && failure?.column == 5)
        #expect(failure?.description.contains("F\u{FFFD}r immer") == true)
    }

    @Test func `compressed data is refused with a remedy`() {
        for start in [[0x1F, 0x8B, 8, 0], [0x50, 0x4B, 3, 4]] as [[UInt8]] {
            let failure = #expect(throws: SalesReportFailure.self) {
                try AnySalesReport(parsing: start + Self.files[0])
            }
            #expect(failure?.code == .encoding && failure?.remedy.contains("gunzip") == true)
        }
    }

    @Test func `a byte order mark and Windows line ends change nothing`() throws {
        for file in Self.files {
            let text = String(decoding: file, as: UTF8.self).replacing("\n", with: "\r\n")
            let marked = [0xEF, 0xBB, 0xBF] + Array(text.utf8)
            #expect(try AnySalesReport(parsing: marked) == (try AnySalesReport(parsing: file)))
        }
    }

    @Test func `classic Mac line ends are refused`() {
        let text = String(decoding: Self.files[0], as: UTF8.self).replacing("\n", with: "\r")
        let failure = #expect(throws: SalesReportFailure.self) {
            try AnySalesReport(parsing: Array(text.utf8))
        }
        #expect(failure?.code == .encoding && failure?.line == 1)
    }

    // MARK: - Commas

    private static let quoting: [(String, String?)] = [
        ("plain", "plain"), ("\"a,b\"", "a,b"), ("\"a\"\"b\"", "a\"b"), ("\"a\nb\"", "a\nb"),
        ("\"\"", ""), ("\" \"", ""), ("a\"b", "a\"b"), ("\"a\"b", nil), ("\"a", nil), ("a,b", nil),
        ("\"a\tb\"", "a\tb"), ("\"a\u{1}b\"", nil), ("\"a\r\nb\"", "a\r\nb"),
    ]

    @Test(arguments: quoting)
    func `cells between commas may be quoted`(cell: String, value: String?) throws {
        var row = OfferCodeRedemptionRow()
        row.appName = "@"
        let plain = try SalesReport(form: .commas, rows: [row]).bytes()
        let text = String(decoding: plain, as: UTF8.self).replacing("@", with: cell)
        guard let value else {
            #expect(throws: SalesReportFailure.self) {
                try SalesReport<OfferCodeRedemptionRow>(parsing: Array(text.utf8))
            }
            return
        }
        let report = try SalesReport<OfferCodeRedemptionRow>(parsing: Array(text.utf8))
        #expect(report.rows.map(\.appName) == [value])
    }

    // MARK: - Random damage

    @Test func `random damage is refused, or read and written without loss`() throws {
        var dice = Dice(announcedBy: "SalesReportDamageTests")
        var readable = 0
        let rounds = 3000
        for round in 0..<rounds {
            let file = Self.files[round % Self.files.count]
            let damaged = dice.damaged(file, marks: Array("\t\n\r ,\"-/.0".utf8))
            guard let report = try? AnySalesReport(parsing: damaged) else { continue }
            readable += 1
            let again =
                switch report {
                case .sales(let report): try report.bytes()
                case .subscription(let report): try report.bytes()
                case .subscriptionEvent(let report): try report.bytes()
                case .subscriber(let report): try report.bytes()
                case .offerCodeRedemption(let report): try report.bytes()
                case .preOrder(let report): try report.bytes()
                case .financial(let report): try report.bytes()
                }
            #expect(try AnySalesReport(parsing: again) == report)
        }
        #expect((1..<rounds).contains(readable))
    }
}
