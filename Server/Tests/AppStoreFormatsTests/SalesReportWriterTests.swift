import AppStoreFormats
import Dice
import Testing

/// Random reports. Prints its seed; PERENNIAL_SEED sets it.
@Suite struct SalesReportWriterTests {
    private static let rounds = 60

    @Test func `a random report is written and read back unchanged`() throws {
        var dice = Dice(announcedBy: "SalesReportWriterTests")
        for _ in 0..<Self.rounds {
            try check(SalesRow.self, &dice)
            try check(SubscriptionRow.self, &dice)
            try check(SubscriptionEventRow.self, &dice)
            try check(SubscriberRow.self, &dice)
            try check(OfferCodeRedemptionRow.self, &dice)
            try check(PreOrderRow.self, &dice)
            try check(FinancialRow.self, &dice)
        }
    }

    /// Rows are made from random cells, not from typed values; the typed values are compared
    /// afterwards.
    private func check<Row: SalesReportRow>(_: Row.Type, _ dice: inout Dice) throws {
        for layout in Row.layouts {
            let names = layout.header.shuffled(using: &dice)
            let cells = names.map { name in
                Row.columns.first { $0.name == name }?.expected ?? "a text"
            }
            var text = names.joined(separator: "\t") + "\n"
            let count = Int.random(in: 0...4, using: &dice)
            for _ in 0..<count {
                text += cells.map { dice.cell($0) }.joined(separator: "\t") + "\n"
            }
            if Row.kind == .financial { text += totals(of: text) }
            let rows = try SalesReport<Row>(parsing: Array(text.utf8)).rows
            #expect(rows.count == count)
            for form in [SalesReportForm.tabs, .commas] {
                let report = SalesReport(version: layout.version, form: form, rows: rows)
                let bytes = try report.bytes()
                let again = try SalesReport<Row>(parsing: bytes)
                #expect(again == report)
                #expect(again.version == layout.version)
                #expect(try AnySalesReport(parsing: bytes).kind == Row.kind)
            }
        }
    }

    private func totals(of text: String) -> String {
        let lines = text.split(separator: "\n").map {
            $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        }
        func sum(_ name: String) -> Int64 {
            let place = lines[0].firstIndex(of: name) ?? 0
            return lines.dropFirst().reduce(0) { $0 + (Int64($1[place].filter { $0 != "." }) ?? 0) }
        }
        let share = sum("Extended Partner Share")
        let amount =
            "\(share < 0 ? "-" : "")\(share.magnitude / 100)."
            + String(String(share.magnitude % 100 + 100).dropFirst())
        return "Total_Rows\t\(lines.count - 1)\nTotal_Amount\t\(amount)\n"
            + "Total_Units\t\(sum("Quantity"))\n"
    }

    @Test func `new rows are written in Apple's spelling`() throws {
        var row = SubscriberRow()
        row.eventDate = CivilDate(year: 2026, month: 1, day: 9)
        row.subscriptionName = "Pro"
        row.standardDuration = SalesReportDuration(BillingPeriod(1, .month))
        (row.customerPrice, row.developerProceeds, row.units) = (-4490, 3150, -1)
        row.isMarkedAsRefund = true
        row.purchaseDate = CivilDate(year: 2025, month: 12, day: 31)
        let text = String(decoding: try SalesReport(rows: [row]).bytes(), as: UTF8.self)
        #expect(
            text.split(separator: "\n").last.map(String.init)
                == "2026-01-09\t\t0\tPro\t0\t0\t1 Month\t\t\t\t\t\t-4.49\t\t3.15\t\t \t \t \t\t"
                + "\t0\t\tYes\t2025-12-31\t-1")
    }

    @Test func `a financial report ends with its totals`() throws {
        var rows = [FinancialRow(), FinancialRow()]
        for place in rows.indices { rows[place].productType = .autoRenewable }
        (rows[0].quantity, rows[0].extendedPartnerShare) = (5, 31_500)
        (rows[1].quantity, rows[1].extendedPartnerShare) = (-1, -3_155)
        rows[1].direction = .return
        let bytes = try SalesReport(rows: rows).bytes()
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.hasSuffix("\nTotal_Rows\t2\nTotal_Amount\t28.345\nTotal_Units\t4\n"))
        let again = try SalesReport<FinancialRow>(parsing: bytes)
        #expect(again.rows == rows && rows[1].isRefund && rows[1].proceeds == -3_155)
    }

    @Test(
        arguments: [
            (179_000, "179"), (206_890, "206.89"), (34_600, "34.6"), (-12_170, "-12.17"),
            (0, "0"), (-5, "-0.005"),
        ] as [(Int64, String)])
    func `totals are written with no more decimals than necessary`(amount: Int64, text: String)
        throws
    {
        var row = FinancialRow()
        (row.productType, row.extendedPartnerShare) = (.app, amount)
        let file = String(decoding: try SalesReport(rows: [row]).bytes(), as: UTF8.self)
        #expect(file.contains("\nTotal_Amount\t\(text)\n"))
        #expect(throws: Never.self) { try AnySalesReport(parsing: Array(file.utf8)) }
    }

    @Test func `writing a value that no report file can hold is refused`() throws {
        func code(_ change: (inout SalesRow) -> Void, form: SalesReportForm = .tabs) -> String? {
            var row = SalesRow()
            row.productType = .app
            change(&row)
            let report = SalesReport(form: form, rows: [row])
            do throws(SalesReportFailure) {
                let again = try SalesReport<SalesRow>(parsing: try report.bytes())
                #expect(again == report)
                return nil
            } catch {
                return "\(error.code) \(error.columnName ?? "")"
            }
        }
        #expect(code { $0.title = "a\tb" } == "unwritable Title")
        #expect(code({ $0.title = "a\tb\nc\"d,e" }, form: .commas) == nil)
        #expect(code { $0.title = " " } == "unwritable Title")
        #expect(code { $0.title = "\u{1}" } == "unwritable Title")
        #expect(code { $0.title = "  \"é\" " } == nil)
        #expect(
            code { $0.productType = .init(rawValue: "") } == "unwritable Product Type Identifier")
        #expect(code { $0.device = .init(rawValue: "") } == "unwritable ")
        #expect(code { $0.appleID = -1 } == "unwritable Apple Identifier")
        #expect(code { $0.units = 1_000_000_000_000 } == "unwritable Units")
        #expect(
            code { $0.begin = CivilDate(year: 2026, month: 2, day: 30) } == "unwritable Begin Date")
    }

    @Test func `writing a value to a version that lacks the value's column is refused`() {
        var row = SubscriptionEventRow()
        row.event = .renew
        row.paidServiceDaysRecovered = 3
        let report = SalesReport(version: SalesReportVersion(1, 2), rows: [row])
        let failure = #expect(throws: SalesReportFailure.self) { try report.bytes() }
        #expect(failure?.code == .unwritable && failure?.line == 2)
        #expect(failure?.expected.contains("Paid Service Days Recovered") == true)
    }
}

extension Dice {
    /// A random cell that the column accepts. The column's error messages say which kind of cell
    /// it expects.
    fileprivate mutating func cell(_ expected: String) -> String {
        if expected.hasSuffix("or a blank cell"), Bool.random(using: &self) {
            return Bool.random(using: &self) ? "" : " "
        }
        if expected.hasPrefix("a day such as") { return day() }
        if expected.hasPrefix("an amount") {
            let whole = Int.random(in: -9999...9999, using: &self)
            return "\(whole).\(Int.random(in: 10...99, using: &self))"
        }
        if expected.hasPrefix("a whole") { return "\(Int.random(in: -999...99_999, using: &self))" }
        if expected.hasPrefix("a number") { return "\(Int.random(in: 0...99, using: &self)).5" }
        if expected.hasPrefix("an identifier") {
            return "\(Int.random(in: 0...999_999_999_999_999_999, using: &self))"
        }
        if expected.hasPrefix("Yes") { return "Yes" }
        return text(isBlankAllowed: expected == "a text")
    }

    private mutating func day() -> String {
        let year = Int.random(in: 2008...2099, using: &self)
        let month = String(Int.random(in: 101...112, using: &self)).dropFirst()
        let day = String(Int.random(in: 101...128, using: &self)).dropFirst()
        return Bool.random(using: &self) ? "\(year)-\(month)-\(day)" : "\(month)/\(day)/\(year)"
    }

    private mutating func text(isBlankAllowed: Bool) -> String {
        let pieces = [
            "a", "B", "é", "日本", "😀", "\"", "\"\"", ",", "'", "  ", "x y", "\\", "Total_Rows",
        ]
        let count = Int.random(in: isBlankAllowed ? 0...4 : 1...4, using: &self)
        return (0..<count).map { _ in pieces.randomElement(using: &self) ?? "" }.joined()
    }
}
