import AppStoreFormats
import Dice
import Engine
import Foundation
import Ledger
import Reports
import Testing

@testable import Program
@testable import Simulator

/// Compares our sales of a random population with the files that the simulator makes from its
/// books.
@Suite(.serialized) struct SalesReconciliationStories {
    private static let accounts = 120
    private static let months = 8
    /// The sales of another app of the same developer.
    private static let foreign: ProductID = "cats.monthly"

    /// With seed 1, a payment is collected during grace, and the due date has no sale. With seed 6,
    /// a partial refund is reversed.
    @Test(arguments: [UInt64(1), 6])
    func `our sales equal the simulator's sales reports, and a missing file is reported`(
        usual: UInt64
    ) async throws {
        let seed = Dice.seed(announcedBy: "SalesReconciliationStories", usual: usual)
        let set: @Sendable (inout SimulatorSettings) -> Void = { $0.seed = seed }
        try await DirectShop.open(set) { shop in
            let start = shop.store.clock.milliseconds
            let names = try await shop.store.populate(Self.accounts, within: .months(Self.months))
            var crowd = Crowd(shop, names)
            try await shop.store.advance(by: .months(Self.months))
            try await crowd.check("the end, seed \(seed)")
            try await shop.postAll(of: names)
            let clock = WallClock(try #require(TimeZone(identifier: "America/Los_Angeles")))
            let first = clock.dayNumber(at: Instant(milliseconds: start))
            let last = clock.dayNumber(at: shop.now) - 1
            let left = try await Self.importFiles(of: first...last, into: shop, leavingOutOne: true)
            let without = try await shop.engine.appleReports.reconcileSales(
                of: DirectShop.app, in: first...last, clock
            ).reconciliation
            #expect(without.differences.contains { $0.key.day == left && $0.cause == .fileMissing })
            _ = try await Self.importFiles(of: left...left, into: shop, leavingOutOne: false)
            let found = try await shop.engine.appleReports.reconcileSales(
                of: DirectShop.app, in: first...last, clock
            ).reconciliation
            #expect(found.comparedCount > 500)
            let missing = found.differences.filter { $0.cause.isResidual }
            let places = Set(missing.map(\.key.product))
            var evidence: [String] = []
            for name in names where !missing.isEmpty {
                for purchase in try await shop.store.purchases(of: name)
                where places.contains(ProductID(rawValue: purchase.productID)) {
                    evidence += purchase.charges.map { "\(name) \($0)" }
                }
            }
            #expect(missing == [], "seed \(seed), charges: \(evidence)")
            #expect(found.residual.isEmpty, "\(found.residual), seed \(seed)")
            try await Self.importOtherFiles(of: first...last, into: shop)
            let others = try await shop.engine.appleReports.compare(
                of: DirectShop.app, in: first...last, clock)
            #expect(
                others.map(\.kind) == [.subscription, .subscriptionEvent, .subscriber, .financial])
            for other in others {
                #expect(other.residual == [], "\(other.kind), seed \(seed)")
                #expect(other.comparedCount > 10, "\(other.kind)")
                let foreign = other.differences.filter { $0.key.product == Self.foreign }
                #expect(foreign.isEmpty == (other.kind != .financial), "\(other.kind)")
                #expect(foreign.allSatisfy { $0.cause == .otherApp && $0.ours == 0 })
                let lines = SalesComparisonText().lines(of: other)
                    .filter { $0.contains(Self.foreign.rawValue) }
                #expect(lines.count == (foreign.isEmpty ? 0 : 1), "\(lines)")
            }
        }
    }

    /// Imports the other reports of each day and fiscal month for which Apple has such reports.
    /// Copies each row for another app, because Apple's files are about all apps of a developer.
    private static func importOtherFiles(
        of days: ClosedRange<Int64>, into shop: DirectShop
    ) async throws {
        let books = ReportBooks(await shop.store.world)
        func store<Row: SalesReportRow>(_ rows: [Row], _ name: String) async throws {
            guard !rows.isEmpty else { return }
            _ = try await shop.engine.appleReports.importFile(
                SalesReport<Row>(rows: rows).bytes(), name: name, of: DirectShop.app)
        }
        var months: Set<AppleFiscalMonth> = []
        for day in days {
            let date = AppStoreFormats.CivilDate(daysSince1970: day)
            let digits = "\(Ledger.CivilDate(dayNumber: day).text)".filter { $0 != "-" }
            let standing = books.subscriptionRows(at: date)
            try await store(
                standing + standing.map { $0.with(\.appAppleID, 99) },
                "SUBSCRIPTION_D_1_\(digits).txt")
            let events = books.eventRows(on: date)
            try await store(
                events + events.map { $0.with(\.appAppleID, 99) },
                "SUBSCRIPTION_EVENT_D_1_\(digits).txt")
            let subscribers = books.subscriberRows(on: date)
            try await store(
                subscribers + subscribers.map { $0.with(\.appAppleID, 99) },
                "SUBSCRIBER_D_1_\(digits).txt")
            if let month = AppleFiscalMonth(containing: date) { months.insert(month) }
        }
        for month in months.sorted() where month.last.daysSince1970 <= days.upperBound {
            let rows = books.financialRows(of: month, region: FinanceReportRequest.allRegions)
            try await store(
                rows + rows.map { $0.with(\.vendorIdentifier, Self.foreign.rawValue) },
                "1_\(month)_ZZ.txt")
        }
    }

    /// Imports the sales report of each day, except the report with the most rows. Returns that
    /// day.
    private static func importFiles(
        of days: ClosedRange<Int64>, into shop: DirectShop, leavingOutOne: Bool
    ) async throws -> Int64 {
        let books = ReportBooks(await shop.store.world)
        let files = days.map { day in
            let date = AppStoreFormats.CivilDate(daysSince1970: day)
            return (day, books.salesRows(from: date, to: date))
        }
        let most = try #require(files.max { $0.1.count < $1.1.count })
        for (day, rows) in files where !rows.isEmpty && !(leavingOutOne && day == most.0) {
            let content = try SalesReport<SalesRow>(rows: rows).bytes()
            let name = "S_D_80000001_\(day).txt"
            let done = try await shop.engine.appleReports.importFile(
                content, name: name, of: DirectShop.app)
            #expect(done.days == day...day)
            #expect(!done.isKnown)
        }
        return most.0
    }
}

extension SalesReportRow {
    fileprivate func with<Value>(_ path: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var row = self
        row[keyPath: path] = value
        return row
    }
}
