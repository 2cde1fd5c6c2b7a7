import AppStoreFormats
import AppStoreTrust
import Ledger
import Logging
import Reports
import StorageSQLite
import Testing

@testable import Engine

/// Which file is used if several files are about the same days.
@Suite struct ReportOrderTests {
    private static let app: AppID = "birds"
    private static let now = Instant(milliseconds: 1_772_000_000_000)
    private static let day = AppStoreFormats.CivilDate(year: 2026, month: 1, day: 15)
    /// January of Apple's fiscal calendar.
    private static let days = day.daysSince1970 - 18...day.daysSince1970 + 16

    /// An engine whose clock stands still, so that all files are imported in the same millisecond.
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

    private static func settled(
        _ units: [(country: String, Int64)], until lastDay: Int = 31
    ) throws -> [UInt8] {
        let rows = units.map { country, units in
            var row = FinancialRow()
            (row.vendorIdentifier, row.productType) = ("pro.monthly", .autoRenewable)
            (row.quantity, row.customerPrice, row.countryOfSale) = (units, 9_990, country)
            (row.start, row.end) = (
                AppStoreFormats.CivilDate(year: 2026, month: 1, day: 4),
                AppStoreFormats.CivilDate(year: 2026, month: 1, day: lastDay)
            )
            (row.customerCurrency, row.partnerShareCurrency) = ("USD", "USD")
            return row
        }
        return try SalesReport(rows: rows).bytes()
    }

    @Test func `if several files are about one day, the file that was imported last is used`()
        async throws
    {
        let engine = try await Self.engine()
        func importFile(_ units: Int64, _ name: String) async throws -> AppleReportImport {
            let done = try await engine.appleReports.importFile(
                try Self.sales(units: units), name: name, of: Self.app)
            let found = try await engine.appleReports.reconcileSales(
                of: Self.app, in: Self.days, .utc)
            #expect(found.apples.map(\.units) == [units], "\(name)")
            return done
        }
        // Sorted by checksum, either file may come first.
        for (units, other) in [(Int64(1), Int64(2)), (4, 3), (5, 6), (8, 7)] {
            let right = try await importFile(units, "right_\(units).txt")
            #expect(!right.isKnown)
            let wrong = try await importFile(other, "wrong_\(other).txt")
            #expect(!wrong.isKnown && wrong.replacedName == "right_\(units).txt")
            let again = try await importFile(units, "right_\(units)_again.txt")
            #expect(again.isKnown && again.replacedName == "wrong_\(other).txt")
            let more = try await importFile(units, "right_\(units)_again.txt")
            #expect(more.isKnown && more.replacedName == nil)
            let names = try await engine.appleReports.files(of: Self.app, in: Self.days).map(\.name)
            #expect(names.first == "right_\(units)_again.txt")
            #expect(!names.contains("right_\(units).txt"))
        }
    }

    @Test(
        arguments: [
            ("S_D_80000001_20260115.txt", nil), ("S_D_80000002_20260115.txt.gz", "80000002"),
            ("sales.txt", nil), ("S_W_7_20260115.txt", "7"),
        ] as [(String, String?)])
    func `a file of another vendor is reported with its vendor number`(
        name: String, other: String?
    ) async throws {
        let engine = try await Self.engine(vendorNumber: "80000001")
        let content = try Self.sales(units: 1)
        let done = try await engine.appleReports.importFile(content, name: name, of: Self.app)
        #expect(done.otherVendorNumber == other)
        let unconfigured = try await Self.engine()
        let any = try await unconfigured.appleReports.importFile(content, name: name, of: Self.app)
        #expect(any.otherVendorNumber == nil)
    }

    @Test func `a sales file about several days is not compared with our sales`() async throws {
        let engine = try await Self.engine()
        var row = SalesRow()
        (row.productType, row.begin) = (.autoRenewable, Self.day)
        for (days, isCompared) in [(Int64(0), true), (6, false)] {
            row.end = AppStoreFormats.CivilDate(daysSince1970: Self.day.daysSince1970 + days)
            let done = try await engine.appleReports.importFile(
                try SalesReport(rows: [row]).bytes(), name: "sales.txt", of: Self.app)
            #expect(done.isCompared == isCompared)
        }
    }

    /// At the end of the test, the month has 3 sales in the USA and 4 in Germany.
    @Test
    func `a fiscal month uses the file of all regions, or one file per region if that is missing`()
        async throws
    {
        let engine = try await Self.engine()
        func units(with file: [(country: String, Int64)], _ name: String) async throws -> [Int64] {
            _ = try await engine.appleReports.importFile(
                try Self.settled(file), name: name, of: Self.app)
            let all = try await engine.appleReports.compare(of: Self.app, in: Self.days, .utc)
            let financial = try #require(all.first { $0.kind == .financial })
            return financial.differences.filter { $0.quantity == .units }
                .sorted { ($0.key.country ?? "") < ($1.key.country ?? "") }.map(\.apples)
        }
        #expect(try await units(with: [("US", 2)], "80000001_0126_US.txt") == [2])
        // The same region under other names: as a browser saves the file, and as the server fetches
        // it.
        #expect(try await units(with: [("US", 5)], "80000001_0126_US (1).txt") == [5])
        #expect(try await units(with: [("US", 3)], "80000001_2026-04_US.txt.gz") == [3])
        #expect(try await units(with: [("DE", 4)], "80000001_0126_EU.txt") == [4, 3])
        let whole = [("DE", Int64(4)), ("US", Int64(3))]
        #expect(try await units(with: whole, "80000001_0126_ZZ.txt") == [4, 3])
        #expect(try await units(with: [("US", 9)], "80000001_0126_US.txt") == [4, 3])
    }

    /// The units in Apple's financial files, by country in alphabetical order.
    private static func units(_ engine: Engine) async throws -> [Int64] {
        let all = try await engine.appleReports.compare(of: app, in: days, .utc)
        let financial = try #require(all.first { $0.kind == .financial })
        return financial.differences.filter { $0.quantity == .units }
            .sorted { ($0.key.country ?? "") < ($1.key.country ?? "") }.map(\.apples)
    }

    /// Each row: the files of a month in the order of their import; the units for the USA that
    /// count in the end; and the file that the last import replaces, or ("not …") that counts
    /// instead of it.
    private static let months: [(files: [(String, Int64, Int)], units: Int64, note: String?)] = [
        ([("80000001_0126_US.txt", 2, 31), ("80000001_0126.txt", 3, 31)], 3, nil),
        (
            [("80000001_0126.txt", 3, 31), ("80000001_0126_US.txt", 2, 31)], 3,
            "not 80000001_0126.txt"
        ),
        (
            [("80000001_0126_ZZ.txt", 3, 31), ("80000001_0126.txt", 4, 31)], 4,
            "80000001_0126_ZZ.txt"
        ),
        // The file ends on another day, as does a file whose last rows were removed.
        (
            [("80000001_0126_US.txt", 2, 30), ("80000001_0126_US (1).txt", 5, 31)], 5,
            "80000001_0126_US.txt"
        ),
        ([("80000001_0126_US.txt", 2, 30), ("80000001_0126_ZZ.txt", 3, 31)], 3, nil),
        (
            [("80000001_0126_US.txt", 2, 31), ("80000001_0126_us.txt", 4, 30)], 4,
            "80000001_0126_US.txt"
        ),
    ]

    @Test(arguments: months)
    func `the units of two financial files of the same days and region are never added up`(
        files: [(String, Int64, Int)], units: Int64, note: String?
    ) async throws {
        let engine = try await Self.engine()
        var last: AppleReportImport?
        for (name, units, lastDay) in files {
            last = try await engine.appleReports.importFile(
                try Self.settled([("US", units)], until: lastDay), name: name, of: Self.app)
        }
        #expect(try await Self.units(engine) == [units])
        let found = last?.replacedName ?? last?.displacedBy.map { "not \($0)" }
        #expect(found == note)
    }

    @Test func `free units in a financial file do not count as missing sales`() async throws {
        let engine = try await Self.engine()
        var free = try #require(
            try SalesReport<FinancialRow>(parsing: Self.settled([("US", 2)])).rows.first)
        (free.customerPrice, free.countryOfSale) = (0, "DE")
        let file = try SalesReport(rows: [free], ending: .countries).bytes()
        _ = try await engine.appleReports.importFile(file, name: "80000001_0126.txt", of: Self.app)
        let all = try await engine.appleReports.compare(of: Self.app, in: Self.days, .utc)
        #expect(all.map(\.kind) == [.financial] && all.flatMap(\.differences) == [])
    }
}
