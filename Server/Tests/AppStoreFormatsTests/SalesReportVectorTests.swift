import AppStoreFormats
import Foundation
import Testing

/// Reports of third parties, which are not part of this repository.
@Suite(.enabled(if: Vectors.arePresent, "skipped: no vectors"))
struct SalesReportVectorTests {
    private static let files: [(String, SalesReportKind, SalesReportVersion, Int)] = [
        ("matisiekpl-sales.tsv", .sales, SalesReportVersion(1, 0), 46),
        ("matisiekpl-subscriptions.tsv", .subscription, SalesReportVersion(1, 2), 49),
        ("matisiekpl-subscriptions-events.tsv", .subscriptionEvent, SalesReportVersion(1, 2), 49),
        ("matisiekpl-subscribers.tsv", .subscriber, SalesReportVersion(1, 2), 48),
        ("matisiekpl-preorders.tsv", .preOrder, SalesReportVersion(1, 0), 2),
        ("matisiekpl-financial.tsv", .financial, SalesReportVersion(1, 0), 2),
        (
            "fivetran-sales_subscription_event_summary.csv", .subscriptionEvent,
            SalesReportVersion(1, 3), 10
        ),
        (
            "fivetran-sales_subscription_summary.csv", .subscription, SalesReportVersion(1, 3), 10
        ),
    ]

    @Test(arguments: files)
    func `a real report file is recognised, read, and written back`(
        name: String, kind: SalesReportKind, version: SalesReportVersion, count: Int
    ) throws {
        let bytes = try Vectors.bytes("reports/" + name)
        let report = try AnySalesReport(parsing: bytes)
        #expect(report.kind == kind && report.version == version)
        let (written, rows) =
            switch report {
            case .sales(let report): (try report.bytes(), report.rows.count)
            case .subscription(let report): (try report.bytes(), report.rows.count)
            case .subscriptionEvent(let report): (try report.bytes(), report.rows.count)
            case .subscriber(let report): (try report.bytes(), report.rows.count)
            case .offerCodeRedemption(let report): (try report.bytes(), report.rows.count)
            case .preOrder(let report): (try report.bytes(), report.rows.count)
            case .financial(let report): (try report.bytes(), report.rows.count)
            }
        #expect(rows == count)
        #expect(try AnySalesReport(parsing: written) == report)
        // Data loaders write amounts with fewer decimals. Apple's own files are written byte for
        // byte.
        if name.hasSuffix(".tsv") { #expect(written == bytes) }
    }

    @Test func `every report file in the folder of vectors is tested`() throws {
        let folder = Vectors.directory.appending(path: "reports")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let tables = names.filter { $0.hasSuffix(".tsv") || $0.hasSuffix(".csv") }
        #expect(Set(tables) == Set(Self.files.map(\.0)))
    }

    private static let headers: [(String, [SalesReportLayout])] = [
        ("SALES_1_0", SalesRow.layouts), ("SUBSCRIPTION_1_2-sample", SubscriptionRow.layouts),
        ("SUBSCRIPTION_1_3", SubscriptionRow.layouts),
        ("SUBSCRIPTION_EVENT_1_2-sample", SubscriptionEventRow.layouts),
        ("SUBSCRIPTION_EVENT_1_3", SubscriptionEventRow.layouts),
        ("SUBSCRIBER_1_2-sample", SubscriberRow.layouts),
        ("SUBSCRIBER_1_3", SubscriberRow.layouts),
        ("SUBSCRIPTION_OFFER_CODE_REDEMPTION_1_0", OfferCodeRedemptionRow.layouts),
        ("PRE_ORDER_1_0", PreOrderRow.layouts), ("FINANCIAL", FinancialRow.layouts),
    ]

    @Test(arguments: headers)
    func `the header that we write equals the header in Apple's files`(
        name: String, layouts: [SalesReportLayout]
    ) throws {
        let line = String(decoding: try Vectors.bytes("reports/headers/\(name).tsv"), as: UTF8.self)
        let header = line.split(separator: "\n")[0].split(separator: "\t").map(String.init)
        let minor = name.split(separator: "_").compactMap { Int($0.prefix(1)) }.last ?? 0
        let layout = layouts.first { $0.version == SalesReportVersion(1, minor) }
        #expect(layout?.header == header)
    }

    @Test func `a report about eligibility for win-back offers is refused`() throws {
        let bytes = try Vectors.bytes("reports/headers/WIN_BACK_ELIGIBILITY_1_0.tsv")
        let failure = #expect(throws: SalesReportFailure.self) {
            try AnySalesReport(parsing: bytes)
        }
        #expect(failure?.code == .header)
    }

    @Test func `the real sales report has one partial refund`() throws {
        let report = try SalesReport<SalesRow>(
            parsing: Vectors.bytes("reports/matisiekpl-sales.tsv"))
        let refunds = report.rows.filter(\.isRefund)
        #expect(refunds.map(\.proceeds) == [-59_800] && refunds.map(\.customerAmount) == [-85_430])
        #expect(refunds.map(\.orderType) == [.payAsYouGoIntroductory])
        #expect(report.rows.first?.proceeds == 2_511_600)
        #expect(
            report.rows.count { $0.isRenewal } + report.rows.count { $0.subscription == .new } == 16
        )
    }

    @Test func `the real subscriber report has the same refund as the real sales report`() throws {
        let report = try SalesReport<SubscriberRow>(
            parsing: Vectors.bytes("reports/matisiekpl-subscribers.tsv"))
        let refunds = report.rows.filter(\.isRefund)
        #expect(refunds.map(\.proceeds) == [-59_800])
        #expect(refunds.map(\.purchaseDate) == [CivilDate(year: 2020, month: 9, day: 30)])
    }

    @Test func `every event in the real files belongs to a known event family`() throws {
        for name in [
            "matisiekpl-subscriptions-events.tsv", "fivetran-sales_subscription_event_summary.csv",
        ] {
            let report = try SalesReport<SubscriptionEventRow>(
                parsing: Vectors.bytes("reports/" + name))
            for row in report.rows { #expect(row.event.family != nil, "\(row.event)") }
        }
    }

    @Test func `columns that a data loader has added are kept`() throws {
        let report = try SalesReport<SubscriptionRow>(
            parsing: Vectors.bytes("reports/fivetran-sales_subscription_summary.csv"))
        #expect(
            report.additional.map(\.name) == [
                "_fivetran_id", "vendor_number", "_fivetran_synced", "date",
            ])
        #expect(report.additional.last?.cells.first == "2024-12-07")
    }

    @Test func `a real report file that was truncated or lost a tab is refused`() throws {
        for file in Self.files.map(\.0) where file.hasSuffix(".tsv") {
            let bytes = try Vectors.bytes("reports/" + file)
            let tabs = bytes.indices.filter { bytes[$0] == UInt8(ascii: "\t") }
            for place in stride(from: 0, to: tabs.count, by: 7) {
                var damaged = bytes
                damaged[tabs[place]] = UInt8(ascii: " ")
                #expect((try? AnySalesReport(parsing: damaged)) == nil)
                #expect((try? AnySalesReport(parsing: Array(bytes[..<tabs[place]]))) == nil)
            }
        }
    }
}
