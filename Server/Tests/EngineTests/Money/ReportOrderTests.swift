import AppStoreFormats
import AppStoreTrust
import Ledger
import Logging
import Reports
import StorageSQLite
import Testing

@testable import Engine

/// Which of several files of the same days counts.
@Suite struct ReportOrderTests {
    private static let app: AppID = "birds"
    private static let now = Instant(milliseconds: 1_772_000_000_000)
    private static let day = AppStoreFormats.CivilDate(year: 2026, month: 1, day: 15)
    private static let days = day.daysSince1970 - 14...day.daysSince1970 + 16

    /// Its clock stands still: all files are imported in the same millisecond.
    private static func engine(vendorNumber: String? = nil) async throws -> Engine {
        var app = AppSettings(id: app, bundleID: "com.example.birds", entitlements: [:])
        app.money.vendorNumber = vendorNumber
        return try await .empty(app, at: now)
    }

    private static func sales(units: Int64) throws -> [UInt8] {
        var row = SalesRow()
        (row.sku, row.productType, row.units) = ("pro.monthly", .autoRenewable, units)
        (row.customerPrice, row.developerProceeds) = (9_990, 6_993)
        (row.begin, row.end) = (day, day)
        (row.customerCurrency, row.proceedsCurrency, row.countryCode) = ("USD", "USD", "US")
        return try SalesReport(rows: [row]).bytes()
    }

    private static func settled(_ units: [(country: String, Int64)]) throws -> [UInt8] {
        let rows = units.map { country, units in
            var row = FinancialRow()
            (row.vendorIdentifier, row.productType) = ("pro.monthly", .autoRenewable)
            (row.quantity, row.customerPrice, row.countryOfSale) = (units, 9_990, country)
            (row.start, row.end) = (
                AppStoreFormats.CivilDate(year: 2026, month: 1, day: 4),
                AppStoreFormats.CivilDate(year: 2026, month: 1, day: 31)
            )
            (row.customerCurrency, row.partnerShareCurrency) = ("USD", "USD")
            return row
        }
        return try SalesReport(rows: rows).bytes()
    }

    @Test func `of several files of a day the last import counts, whatever the clock says`()
        async throws
    {
        let engine = try await Self.engine()
        func importFile(_ units: Int64, _ name: String) async throws -> AppleReportImport {
            let done = try await engine.importAppleReport(
                try Self.sales(units: units), name: name, of: Self.app)
            let found = try await engine.reconcileSales(of: Self.app, in: Self.days, .utc)
            #expect(found.apples.map(\.units) == [units], "\(name)")
            return done
        }
        // By their checksums, any of them may come first.
        for (units, other) in [(Int64(1), Int64(2)), (4, 3), (5, 6), (8, 7)] {
            let right = try await importFile(units, "right_\(units).txt")
            #expect(!right.isKnown)
            let wrong = try await importFile(other, "wrong_\(other).txt")
            #expect(!wrong.isKnown && wrong.replacedName == "right_\(units).txt")
            let again = try await importFile(units, "right_\(units)_again.txt")
            #expect(again.isKnown && again.replacedName == "wrong_\(other).txt")
            let more = try await importFile(units, "right_\(units)_again.txt")
            #expect(more.isKnown && more.replacedName == nil)
            let names = try await engine.appleFiles(of: Self.app, in: Self.days).map(\.name)
            #expect(names.first == "right_\(units)_again.txt")
            #expect(!names.contains("right_\(units).txt"))
        }
    }

    @Test(
        arguments: [
            ("S_D_80000001_20260115.txt", nil), ("S_D_80000002_20260115.txt.gz", "80000002"),
            ("sales.txt", nil), ("S_W_7_20260115.txt", "7"),
        ] as [(String, String?)])
    func `a file of another developer is named`(name: String, other: String?) async throws {
        let engine = try await Self.engine(vendorNumber: "80000001")
        let content = try Self.sales(units: 1)
        let done = try await engine.importAppleReport(content, name: name, of: Self.app)
        #expect(done.otherVendorNumber == other)
        let unconfigured = try await Self.engine()
        let any = try await unconfigured.importAppleReport(content, name: name, of: Self.app)
        #expect(any.otherVendorNumber == nil)
    }

    @Test func `a sales file of more than a day is not compared`() async throws {
        let engine = try await Self.engine()
        var row = SalesRow()
        (row.productType, row.begin) = (.autoRenewable, Self.day)
        for (days, isCompared) in [(Int64(0), true), (6, false)] {
            row.end = AppStoreFormats.CivilDate(daysSince1970: Self.day.daysSince1970 + days)
            let done = try await engine.importAppleReport(
                try SalesReport(rows: [row]).bytes(), name: "sales.txt", of: Self.app)
            #expect(done.isCompared == isCompared)
        }
    }

    /// The month is sold 3 times in the USA, and 4 times in Germany.
    @Test func `of a fiscal month either all regions count or single ones, each once`()
        async throws
    {
        let engine = try await Self.engine()
        func units(with file: [(country: String, Int64)], _ name: String) async throws -> [Int64] {
            _ = try await engine.importAppleReport(
                try Self.settled(file), name: name, of: Self.app)
            let all = try await engine.compareReports(of: Self.app, in: Self.days, .utc)
            let financial = try #require(all.first { $0.kind == .financial })
            return financial.differences.filter { $0.quantity == .units }
                .sorted { ($0.key.country ?? "") < ($1.key.country ?? "") }.map(\.apples)
        }
        #expect(try await units(with: [("US", 2)], "80000001_0126_US.txt") == [2])
        // The same region under another name, as a browser saves it, and as the server fetches it.
        #expect(try await units(with: [("US", 5)], "80000001_0126_US (1).txt") == [5])
        #expect(try await units(with: [("US", 3)], "80000001_2026-04_US.txt.gz") == [3])
        #expect(try await units(with: [("DE", 4)], "80000001_0126_EU.txt") == [4, 3])
        let whole = [("DE", Int64(4)), ("US", Int64(3))]
        #expect(try await units(with: whole, "80000001_0126_ZZ.txt") == [4, 3])
        #expect(try await units(with: [("US", 9)], "80000001_0126_US.txt") == [4, 3])
    }
}
