import AppStoreFormats
import Testing

/// How the kind and the version of a report are recognised.
@Suite struct SalesReportHeaderTests {
    private static func recognised(_ header: [String], _ form: SalesReportForm = .tabs)
        throws(SalesReportFailure) -> AnySalesReport
    {
        let line = header.joined(separator: form == .tabs ? "\t" : ",") + "\n"
        return try AnySalesReport(parsing: Array(line.utf8))
    }

    private static let layouts: [(SalesReportKind, SalesReportLayout)] =
        SalesRow.layouts.map { (.sales, $0) } + SubscriptionRow.layouts.map { (.subscription, $0) }
        + SubscriptionEventRow.layouts.map { (.subscriptionEvent, $0) }
        + SubscriberRow.layouts.map { (.subscriber, $0) }
        + OfferCodeRedemptionRow.layouts.map { (.offerCodeRedemption, $0) }
        + PreOrderRow.layouts.map { (.preOrder, $0) }

    @Test(arguments: layouts)
    func `the kind and the version of a report are recognised by its columns`(
        kind: SalesReportKind, layout: SalesReportLayout
    ) throws {
        for form in [SalesReportForm.tabs, .commas] {
            let names = form == .tabs ? layout.header : layout.header.map(Self.snakeCase)
            let report = try Self.recognised(names, form)
            #expect(report.kind == kind && report.version == layout.version)
            // The order of the columns does not matter.
            let shuffled = try Self.recognised(names.reversed(), form)
            #expect(shuffled.kind == kind && shuffled.version == layout.version)
        }
    }

    @Test(arguments: layouts)
    func `a report without a required column is refused, and the error names the column`(
        kind: SalesReportKind, layout: SalesReportLayout
    ) throws {
        // Sales files of earlier years lack the last column.
        for place in layout.header.indices where kind != .sales || place < 27 {
            var names = layout.header
            let name = names.remove(at: place)
            let failure = #expect(throws: SalesReportFailure.self) { try Self.recognised(names) }
            #expect(failure?.code == .version && failure?.line == 1)
            // Two versions of the subscriber report differ only in the name of this column.
            let known = [name, name.replacing("Promotional Offer N", with: "Subscription Offer N")]
            #expect(known.contains { failure?.found == "no column \"\($0)\"" }, "\(name)")
        }
    }

    /// The yearly files of 2013, 2014 and 2015 have 21, 22 and 24 columns.
    @Test(arguments: 21...28)
    func `an old sales file without the last columns is read`(
        count: Int
    ) throws {
        var row = SalesRow()
        (row.productType, row.units, row.customerPrice) = (.autoRenewable, 2, 990)
        let whole = String(decoding: try SalesReport(rows: [row]).bytes(), as: UTF8.self)
        let text = whole.split(separator: "\n").map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).prefix(count)
                .joined(separator: "\t") + "\n"
        }.joined()
        let report = try SalesReport<SalesRow>(parsing: Array(text.utf8))
        #expect(report.rows == [row] && report.header.count == count)
        #expect(try report.bytes() == Array(text.utf8))
    }

    @Test func `if a sales file is too old to be read, the remedy does not suggest an upgrade`()
        throws
    {
        let header = try #require(SalesRow.layouts.first?.header)
        let older = Array(header.prefix(20))
        let failure = #expect(throws: SalesReportFailure.self) { try Self.recognised(older) }
        #expect(failure?.code == .version && failure?.found == "no column \"Category\"")
        #expect(failure?.remedy.contains("upgrade") == false)
        // A file with an unknown column may be of a newer version.
        let newer = #expect(throws: SalesReportFailure.self) {
            try Self.recognised(older + ["Moon Phase"])
        }
        #expect(newer?.remedy.contains("upgrade") == true)
    }

    @Test func `a sales file that lacks a column in the middle is refused`() throws {
        var header = try #require(SalesRow.layouts.first?.header)
        header.remove(at: 24)
        let failure = #expect(throws: SalesReportFailure.self) { try Self.recognised(header) }
        #expect(failure?.found == "no column \"Proceeds Reason\"")
    }

    @Test func `a sales report may have unknown columns only after the last known column`() throws {
        let header = try #require(SalesRow.layouts.first?.header)
        guard case .sales(let report) = try Self.recognised(header + ["Moon Phase"]) else {
            Issue.record("not recognised")
            return
        }
        #expect(report.additional.map(\.name) == ["Moon Phase"])
        for names in [["Moon Phase"] + header, header.dropLast() + ["Moon Phase"]] {
            let failure = #expect(throws: SalesReportFailure.self) { try Self.recognised(names) }
            #expect(failure?.columnName == "Moon Phase" && failure?.code == .version)
        }
    }

    @Test(
        arguments: [
            (.sales, "1_0", true), (.sales, "1_1", true), (.sales, "0_9", false),
            (.subscription, "1_2", true), (.subscription, "1_5", true),
            (.subscriptionEvent, "1_2", true), (.subscriptionEvent, "1_4", false),
            (.subscriber, "1_1", false),
        ] as [(SalesReportKind, String, Bool)])
    func `a newer version is readable if columns may be added to this kind of report`(
        kind: SalesReportKind, version: String, isReadable: Bool
    ) throws {
        #expect(kind.canRead(try #require(SalesReportVersion(version))) == isReadable)
    }

    @Test(arguments: ["", "1", "1_", "_4", "1.4", "1_4_1", "1_four", "12345_1", "-1_4"])
    func `a text in another form is not the version of a report`(text: String) {
        #expect(SalesReportVersion(text) == nil)
    }

    @Test(arguments: layouts)
    func `only sales reports and newer subscription reports may have an unknown column`(
        kind: SalesReportKind, layout: SalesReportLayout
    ) throws {
        let names = layout.header + ["Moon Phase"]
        if kind == .sales { return }
        if kind == .subscription, layout.version > SalesReportVersion(1, 2) {
            let report = try Self.recognised(names)
            #expect(report.version == SalesReportVersion(1, 4))
            return
        }
        let failure = #expect(throws: SalesReportFailure.self) { try Self.recognised(names) }
        #expect(failure?.code == .version && failure?.column == names.count)
        #expect(failure?.columnName == "Moon Phase")
    }

    @Test func `the unknown columns of a newer report are kept as text`() throws {
        let layout = SubscriptionRow.layouts[1]
        var row = SubscriptionRow()
        (row.offerCodeFreeTrial, row.offerCodePayUpFront, row.offerCodePayAsYouGo) = (0, 0, 7)
        let plain = try SalesReport(version: layout.version, rows: [row]).bytes()
        let lines = String(decoding: plain, as: UTF8.self).split(separator: "\n")
        let text = "Moon Phase\t\(lines[0])\nwaxing\t\(lines[1])\n"
        let report = try SalesReport<SubscriptionRow>(parsing: Array(text.utf8))
        #expect(report.version == SalesReportVersion(1, 4) && report.rows == [row])
        #expect(report.additional.map(\.name) == ["Moon Phase"])
        #expect(report.additional.map(\.cells) == [["waxing"]])
        #expect(try report.bytes() == Array(text.utf8))
    }

    @Test func `unknown columns are kept in a data loader's file, and refused in Apple's file`()
        throws
    {
        let names = SubscriberRow.layouts[1].header
        let added = ["_loader_id"] + names.map(Self.snakeCase) + ["vendor_number", "date"]
        guard case .subscriber(let report) = try Self.recognised(added, .commas) else {
            Issue.record("not recognised")
            return
        }
        #expect(report.additional.map(\.name) == ["_loader_id", "vendor_number", "date"])
        #expect(throws: SalesReportFailure.self) { try Self.recognised(["_loader_id"] + names) }
    }

    private static let strangers: [String] = [
        "", "\n", "\t\n", "hello\n", #"{"errors":[{"status":"404"}]}"# + "\n",
        "<html><head>\n", "Vendor Name\tExample\n", "a\tb\tc\n", "Provider,Units\n",
        "App Name\tApp Apple ID\tSubscription Name\tSubscription Apple ID\tSubscription Group ID\t"
            + "Standard Subscription Duration\tPaid Subscription Tenure\t"
            + "Time Since Last Subscribed\tHas Previously Redeemed Win-Back Offer\t"
            + "Time Since Last Win-Back Offer\tTerritory\tChurned Subscription Count\n",
    ]

    @Test(arguments: strangers)
    func `a text that is not a report is refused`(text: String) {
        let failure = #expect(throws: SalesReportFailure.self) {
            try AnySalesReport(parsing: Array(text.utf8))
        }
        #expect(failure?.code == .header)
    }

    @Test func `a report with a column that occurs twice is refused`() {
        let header = PreOrderRow.layouts[0].header
        let failure = #expect(throws: SalesReportFailure.self) {
            try Self.recognised(header + ["Title"])
        }
        #expect(failure?.code == .header && failure?.column == header.count + 1)
        let subscription = SubscriptionRow.layouts[1].header + ["Moon Phase", "moon_phase"]
        let unknown = #expect(throws: SalesReportFailure.self) {
            try Self.recognised(subscription)
        }
        #expect(unknown?.code == .header && unknown?.column == subscription.count)
    }

    @Test func `a report that has one column under two names is refused`() {
        let header = SubscriberRow.layouts[1].header
        let both = header + ["Promotional Offer Name"]
        for (names, form) in [(both, SalesReportForm.tabs), (both.map(Self.snakeCase), .commas)] {
            let failure = #expect(throws: SalesReportFailure.self) {
                try Self.recognised(names, form)
            }
            #expect(failure?.code == .header && failure?.column == both.count)
        }
    }

    @Test func `a report with a column of another version is refused`() {
        let header = SubscriptionEventRow.layouts[0].header + ["Paid Service Days Recovered"]
        let failure = #expect(throws: SalesReportFailure.self) { try Self.recognised(header) }
        #expect(failure?.code == .version && failure?.column == header.count)
        #expect(failure?.found == "a column of another version")
    }

    @Test func `only a data loader's file may mix the column names of two versions`()
        throws
    {
        let names = SubscriptionEventRow.layouts[1].header.map(Self.snakeCase)
            .map { $0 == "subscription_offer_name" ? "promotional_offer_name" : $0 }
        #expect(try Self.recognised(names, .commas).version == SalesReportVersion(1, 3))
        #expect(throws: SalesReportFailure.self) {
            try Self.recognised(
                SubscriptionEventRow.layouts[1].header.map {
                    $0 == "Subscription Offer Name" ? "Promotional Offer Name" : $0
                })
        }
    }

    @Test func `a file is refused if its report was not requested`() throws {
        let file = try SalesReport<PreOrderRow>(rows: []).bytes()
        let failure = #expect(throws: SalesReportFailure.self) {
            try SalesReport<SalesRow>(parsing: file)
        }
        #expect(failure?.code == .header && failure?.found == "the report PRE_ORDER")
    }

    private static func snakeCase(_ name: String) -> String {
        String(name.lowercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })
    }
}
