import AppStoreFormats
import AppStoreTrust
import Crypto
import Ledger
import Logging
import Reports
import Storage
import StorageSQLite
import Testing

@testable import Engine

/// Absurd numbers in imported files.
@Suite struct ReportNumberTests {
    private static let app: AppID = "birds"
    private static let now = Instant(milliseconds: 1_772_000_000_000)
    private static let day = AppStoreFormats.CivilDate(year: 2026, month: 1, day: 15)
    /// January of Apple's fiscal calendar.
    private static let days = day.daysSince1970 - 18...day.daysSince1970 + 16
    private static let countMax: Int64 = 999_999_999_999
    /// Count times price is just below the limit. For `rowsCount` rows, the sum of these amounts
    /// does not fit into 64 bits, but the sum of the counts does.
    private static let (count, unitPrice) = (Int64(9_000_000_000), Int64(10_000_000))
    private static let rowsCount = 110

    private static func engine() async throws -> Engine {
        try await .empty(
            AppSettings(id: app, bundleID: "com.example.birds", entitlements: [:]), at: now)
    }

    private static func sale(_ units: Int64, _ price: Int64) -> SalesRow {
        var row = SalesRow()
        (row.sku, row.productType) = ("pro.monthly", .autoRenewable)
        (row.units, row.customerPrice, row.developerProceeds) = (units, price, price)
        (row.begin, row.end) = (day, day)
        (row.customerCurrency, row.proceedsCurrency, row.countryCode) = ("USD", "USD", "US")
        return row
    }

    private static func payment(_ units: Int64, _ price: Int64) -> SubscriberRow {
        var row = SubscriberRow()
        (row.units, row.customerPrice, row.developerProceeds) = (units, price, price)
        (row.eventDate, row.country) = (day, "US")
        (row.customerCurrency, row.proceedsCurrency) = ("USD", "USD")
        return row
    }

    private static func settled(_ quantity: Int64, _ price: Int64) -> FinancialRow {
        var row = FinancialRow()
        (row.vendorIdentifier, row.productType) = ("pro.monthly", .autoRenewable)
        (row.quantity, row.customerPrice) = (quantity, price)
        (row.start, row.end) = (
            AppStoreFormats.CivilDate(year: 2026, month: 1, day: 4),
            AppStoreFormats.CivilDate(year: 2026, month: 1, day: 31)
        )
        (row.customerCurrency, row.partnerShareCurrency, row.countryOfSale) = ("USD", "USD", "US")
        return row
    }

    @Test func `a row whose count times price is too large is refused with its line and column`()
        async throws
    {
        let engine = try await Self.engine()
        var partial = Self.settled(0, -999_999_999_000)
        (partial.partnerShare, partial.extendedPartnerShare) = (1, -100_000_000)
        let files: [(file: [UInt8], name: String, place: String)] = [
            (
                try SalesReport(rows: [Self.sale(1, 9_990), Self.sale(900_000_000_000, 9_000_000)])
                    .bytes(), "S_D_1_20260115.txt", "Line 3, column 16 (Customer Price): found"
            ),
            (
                try SalesReport(rows: [Self.payment(-900_000_000_000, 9_000_000)]).bytes(),
                "SUBSCRIBER_D_1_20260115.txt", "Line 2, column 13 (Customer Price): found"
            ),
            (
                try SalesReport(rows: [Self.settled(100_000_000_000, 999_999_999_000)]).bytes(),
                "1_2026-04_US.txt", "Line 2, column 21 (Customer Price): found"
            ),
            (
                try SalesReport(rows: [partial]).bytes(), "1_2026-04_US.txt",
                "Line 2, column 21 (Customer Price): found"
            ),
        ]
        for (file, name, place) in files {
            let failure = await #expect(throws: SalesReportFailure.self, "\(name)") {
                try await engine.appleReports.importFile(file, name: name, of: Self.app)
            }
            #expect(failure?.code == .limit)
            #expect(failure.map { "\($0)" }?.hasPrefix(place) == true, "\(failure as Any)")
        }
        #expect(try await engine.appleReports.files(of: Self.app, in: Self.days).isEmpty)
    }

    @Test func `in every comparison, a sum beyond 64 bits becomes the largest 64-bit number`()
        async throws
    {
        let engine = try await Self.engine()
        func store<Row: SalesReportRow>(_ row: Row, _ name: String) async throws {
            let rows = [Row](repeating: row, count: Self.rowsCount)
            _ = try await engine.appleReports.importFile(
                try SalesReport(rows: rows).bytes(), name: name, of: Self.app)
        }
        var standing = SubscriptionRow()
        standing.country = "US"
        for path in [\SubscriptionRow.standardPrice, \.introductoryPayUpFront, \.billingRetry] {
            standing[keyPath: path] = Self.countMax
        }
        var refund = SubscriptionEventRow()
        (refund.event, refund.quantity, refund.country) = (.refund, Self.countMax, "US")
        refund.eventDate = Self.day
        try await store(Self.sale(Self.count, Self.unitPrice), "S_D_1_20260115.txt")
        try await store(standing, "SUBSCRIPTION_D_1_20260115.txt")
        try await store(refund, "SUBSCRIPTION_EVENT_D_1_20260115.txt")
        try await store(
            Self.payment(Self.count, Self.unitPrice), "SUBSCRIBER_D_1_20260115.txt")
        try await store(Self.settled(Self.count, Self.unitPrice), "1_2026-04_US.txt")
        let sales = try await engine.appleReports.reconcileSales(of: Self.app, in: Self.days, .utc)
        #expect(sales.apples.map(\.gross) == [.max])
        #expect(sales.reconciliation.residual[.gross] == ["USD": .max])
        let others = try await engine.appleReports.compare(of: Self.app, in: Self.days, .utc)
        #expect(others.map(\.kind) == [.subscription, .subscriptionEvent, .subscriber, .financial])
        for other in others.dropFirst(2) {
            let gross = other.differences.filter { $0.quantity == .gross }
            #expect(gross.map(\.difference) == [.max], "\(other.kind)")
        }
    }

    /// Files with too large numbers may have been stored by an earlier release, which had no
    /// limit.
    @Test func `an error names a stored report file that can no longer be read, and has a remedy`()
        async throws
    {
        let engine = try await Self.engine()
        let content = try SalesReport(rows: [Self.sale(900_000_000_000, 9_000_000)]).bytes()
        let stored = AppleReport(
            kind: SalesReportKind.sales.rawValue,
            days: Self.day.daysSince1970...Self.day.daysSince1970,
            digest: Array(SHA256.hash(data: content)), name: "S_D_1_20260115.txt", rowsCount: 1,
            importedAt: Self.now, content: content)
        _ = try await engine.context.transaction { tx in
            try tx.appleReports.insert(stored, in: Self.app)
        }
        let failure = await #expect(throws: UnreadableReport.self) {
            try await engine.appleReports.reconcileSales(of: Self.app, in: Self.days, .utc)
        }
        let sentence = failure.map { "\($0)" } ?? ""
        #expect(sentence.hasPrefix("The imported file S_D_1_20260115.txt cannot be read: Line 2"))
        #expect(sentence.contains("the one that was imported last is used"), "\(sentence)")
    }
}
