import Dice
import Ledger
import Reports
import Testing

@testable import Engine
@testable import Storage

/// The list of sources behind a number of a report, page by page.
@Suite struct ReportSourceTests {
    private static let columns = [
        ("mrr", "mrr"), ("active", "active"), ("revenue", "gross"), ("revenue", "refunded"),
    ]

    @Test(arguments: [Driver.sqliteMemory, .postgres])
    func `pages of any length make up the whole list of sources, and add up to the report's number`(
        driver: Driver
    ) async throws {
        let seed = Dice.seed(announcedBy: "ReportSourceTests", usual: 1)
        try await driver.withStore { store in
            var sales = RandomSales(seed: seed, name: "p", purchases: 40)
            for _ in 0..<300 {
                let (document, facts) = sales.next()
                try await store.transaction { tx in
                    guard try tx.documents.insert(document) else { return }
                    try DocumentRecorder(tx).project(facts, from: document)
                }
            }
            let filter = MovementFilter(
                app: app, environment: .production, until: sales.clock)
            let days = 0..<sales.clock.milliseconds / 86_400_000 + 1
            for column in try Self.openColumns() {
                let whole = try await store.read {
                    try $0.reportSources.all(filter, column, in: days, after: nil, limit: 10_000)
                }
                #expect(!whole.isEmpty, "\(column.name)")
                for limit in [1, 7, 64] {
                    let pages = try await store.pages(filter, column, in: days, limit: limit)
                    #expect(pages == whole, "\(column.name) by \(limit), seed \(seed)")
                }
                let sums = try await store.read {
                    try $0.sums.scanned(filter, before: days.upperBound, opening: days.lowerBound)
                }
                let listed = whole.map { column.value(of: $0.totals, kind: $0.kind).number }
                let isStock = whole.allSatisfy { $0.kind == nil }
                let summed = sums.map {
                    column.value(of: $0.totals, kind: isStock ? nil : $0.kind).number
                }
                #expect(
                    listed.reduce(0, +) == summed.reduce(0, +), "\(column.name), seed \(seed)")
            }
        }
    }

    /// A month of pro, replaced by a month of premium in its middle.
    @Test(arguments: [Driver.sqliteMemory, .postgres])
    func `the subscriptions behind a number are listed with their product at the report's time`(
        driver: Driver
    ) async throws {
        func payment(_ id: String, _ product: ProductID, _ from: Instant) -> Payment {
            Payment(
                transaction: TransactionID(rawValue: id), line: "l\(id)", product: product,
                from: from, until: from + .days(30),
                price: Money(milliunits: product == "premium" ? 19_990 : 9_990, currency: "USD"),
                isRenewal: id == "2", group: "G")
        }
        var first = payment("1", "pro", now)
        first.revocation = Revocation(at: now + .days(10), kind: .refund, percentage: 66_666)
        first.isUpgraded = true
        let payments = [first, payment("2", "premium", now + .days(10))]
        try await driver.withStore { store in
            try await store.transaction { tx in
                try tx.money.beginFill(of: app)
                while try MoneyUpdates(tx).continueFill(of: app, at: now) > 0 {}
                let document = document(1, signedAt: now + .days(20))
                #expect(try tx.documents.insert(document))
                try DocumentRecorder(tx).project(
                    payments.map {
                        Fact(about: purchase, attestedAt: now + .days(20), .payment($0))
                    }, from: document)
            }
            for (days, product, mrr) in [(5, "pro", 9_990), (20, "premium", 19_990)] {
                let moment = now + .days(days)
                for name in ["mrr", "active"] {
                    let column = try #require(
                        ReportCatalogue.named("mrr")?.columns.first { $0.name == name })
                    let found = try await store.read {
                        try $0.reportSources.all(
                            MovementFilter(app: app, environment: .production, until: moment),
                            column, in: 0..<moment.milliseconds / 86_400_000 + 1, after: nil,
                            limit: 10)
                    }
                    #expect(found.map(\.product?.rawValue) == [product])
                    #expect(abs((found.first?.totals.amounts.mrr ?? 0) - Int64(mrr)) < 500)
                }
            }
        }
    }

    /// Two columns that are computed from purchases, and two from movements.
    private static func openColumns() throws -> [ReportDefinition.Column] {
        try columns.map { report, name in
            let definition = try #require(ReportCatalogue.named(report))
            return try #require(definition.columns.first { $0.name == name }, "\(report) \(name)")
        }
    }
}

extension Database {
    /// Returns all pages, one after the other.
    fileprivate func pages(
        _ filter: MovementFilter, _ column: ReportDefinition.Column, in days: Range<Int64>,
        limit: Int
    ) async throws -> [ReportSource] {
        var (all, position) = ([ReportSource](), SourcePosition?.none)
        while true {
            let after = position
            let page = try await read {
                try $0.reportSources.all(
                    filter, column, in: days, after: after, limit: limit, stretch: 3)
            }
            all += page
            guard page.count == limit else { return all }
            position = page.last?.position
        }
    }
}
