import AppStoreFormats
import Testing

/// How the kind and the version of a file are recognised.
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
    func `a kind and its version are recognised by the columns`(
        kind: SalesReportKind, layout: SalesReportLayout
    ) throws {
        for form in [SalesReportForm.tabs, .commas] {
            let names = form == .tabs ? layout.header : layout.header.map(Self.snakeCase)
            let report = try Self.recognised(names, form)
            #expect(report.kind == kind && report.version == layout.version)
            // The order does not count.
            let shuffled = try Self.recognised(names.reversed(), form)
            #expect(shuffled.kind == kind && shuffled.version == layout.version)
        }
    }

    @Test(arguments: layouts)
    func `a header without one of its columns is refused, and the column is named`(
        kind: SalesReportKind, layout: SalesReportLayout
    ) throws {
        for place in layout.header.indices {
            var names = layout.header
            let name = names.remove(at: place)
            let failure = #expect(throws: SalesReportFailure.self) { try Self.recognised(names) }
            #expect(failure?.code == .version && failure?.line == 1)
            // Two versions of the subscriber report differ only in this name.
            let known = [name, name.replacing("Promotional Offer N", with: "Subscription Offer N")]
            #expect(known.contains { failure?.found == "no column \"\($0)\"" }, "\(name)")
        }
    }

    @Test(arguments: layouts)
    func `an unknown column is refused, except in subscription reports`(
        kind: SalesReportKind, layout: SalesReportLayout
    ) throws {
        let names = layout.header + ["Moon Phase"]
        if kind == .subscription, layout.version > SalesReportVersion(1, 2) {
            let report = try Self.recognised(names)
            #expect(report.version == SalesReportVersion(1, 4))
            return
        }
        let failure = #expect(throws: SalesReportFailure.self) { try Self.recognised(names) }
        #expect(failure?.code == .version && failure?.column == names.count)
        #expect(failure?.columnName == "Moon Phase")
    }

    @Test func `the columns of a newer version are retained as texts`() throws {
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

    @Test func `what data loaders add is retained in their form only`() throws {
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
    func `what is no report is refused`(text: String) {
        let failure = #expect(throws: SalesReportFailure.self) {
            try AnySalesReport(parsing: Array(text.utf8))
        }
        #expect(failure?.code == .header)
    }

    @Test func `a column that is there twice is refused`() {
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

    @Test func `a column that is there under both of its names is refused`() {
        let header = SubscriberRow.layouts[1].header
        let both = header + ["Promotional Offer Name"]
        for (names, form) in [(both, SalesReportForm.tabs), (both.map(Self.snakeCase), .commas)] {
            let failure = #expect(throws: SalesReportFailure.self) {
                try Self.recognised(names, form)
            }
            #expect(failure?.code == .header && failure?.column == both.count)
        }
    }

    @Test func `a column of another version is refused`() {
        let header = SubscriptionEventRow.layouts[0].header + ["Paid Service Days Recovered"]
        let failure = #expect(throws: SalesReportFailure.self) { try Self.recognised(header) }
        #expect(failure?.code == .version && failure?.column == header.count)
        #expect(failure?.found == "a column of another version")
    }

    @Test func `data loaders may mix the spellings of versions`() throws {
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

    @Test func `the file of another report is refused`() throws {
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
