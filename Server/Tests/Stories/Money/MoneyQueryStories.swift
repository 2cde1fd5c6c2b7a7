import AppStoreFormats
import Engine
import Foundation
import Ledger
import Reports
import Storage
import Testing

/// Purchases as an operator reads them with SQL and in exported files.
@Suite(.serialized) struct MoneyQueryStories {
    /// Plays: anna renews, ben is refunded, cleo is in grace, and dora has switched renewal off.
    static func play(in shop: Shop) async throws {
        for name in ["anna", "ben", "cleo", "dora"] {
            #expect(try await shop.post(try await shop.buyMonth(name), as: name) == 200)
        }
        let simulator = shop.simulator
        try await simulator.post("/_sim/clock", ["advance": "P10D"])
        try await simulator.post("/_sim/subscriptions/ben:pro.monthly/refund")
        try await simulator.post(
            "/_sim/subscriptions/cleo:pro.monthly/fail-billing")
        try await simulator.post("/_sim/clock", ["advance": "P25D"])
        try await simulator.post("/_sim/subscriptions/dora:pro.monthly/cancel")
        try await simulator.post("/_sim/clock", ["advance": "PT1H"])
        while try await shop.engine.events.emitTimeBased() > 0 {}
        _ = try await shop.engine.events.numberEvents()
        while try await shop.engine.customers.show() > 0 {}
    }

    /// The queries in docs/sql.md, in their order.
    private static func pageQueries() throws -> [String] {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../docs/sql.md").standardized
        let text = try String(contentsOf: page, encoding: .utf8)
        return text.matches(of: #/(?m)^```sql\n([\s\S]*?)^```$/#).map { String($0.output.1) }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `the queries in docs/sql.md return the expected numbers of rows on both databases`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await Self.play(in: shop)
            let queries = try Self.pageQueries()
            #expect(queries.count == 10)
            var counts: [Int64] = []
            for query in queries {
                counts.append(
                    try await shop.database.read { connection in
                        try connection.number("SELECT count(*) FROM (\(query)) AS found")
                    })
            }
            #expect(counts == Self.expected)
        }
    }

    private static let expected: [Int64] = [3, 3, 1, 1, 1, 2, 4, 1, 1, 0]

    /// The reports end after the present day, and events of the future do not count yet.
    private static let days = WallClock.utc.dayNumber(at: Instant(milliseconds: 1_767_225_600_000))

    @Test(arguments: StoryDatabase.allCases)
    func `in each report, the breakdowns and the listed purchases add up to the totals`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await Self.play(in: shop)
            for definition in ReportCatalogue.all where definition.cohort == nil {
                var query = ReportQuery(
                    definition.name, days: Self.days...Self.days + 364, by: .year)
                let whole = try await shop.engine.reporting.report(query, of: "birds").report
                #expect(whole.rows.count == 1, "\(definition.name)")
                for division in Division.allCases {
                    query.division = division
                    let parts = try await shop.engine.reporting.report(query, of: "birds").report
                    #expect(
                        Self.sums(parts) == Self.sums(whole), "\(definition.name) by \(division)")
                }
                query.division = nil
                for (index, column) in definition.columns.enumerated()
                where column.source != .computed {
                    let found = try await Self.sum(of: column.name, query, in: shop.engine)
                    #expect(
                        found == whole.rows[0].values[index].number,
                        "\(definition.name) \(column.name)")
                }
            }
        }
    }

    /// Four customers began in January. Anna and dora paid twice, and ben was refunded.
    @Test(arguments: StoryDatabase.allCases)
    func `cohort reports give the expected numbers in each profile, on both databases`(
        database: StoryDatabase
    )
        async throws
    {
        try await withShop(on: database) { shop in
            try await Self.play(in: shop)
            func values(_ name: String) async throws -> [[Int64]] {
                try await shop.engine.reporting.report(
                    ReportQuery(name, days: Self.days...Self.days + 30), of: "birds"
                ).report.rows.map { $0.values.map(\.number) }
            }
            func theirs(_ profile: ReportProfile, _ name: String) async throws -> [[Int64]] {
                var query = ReportQuery(name, days: Self.days...Self.days + 30)
                query.profile = profile
                let columns = try #require(profile.named(name)).columns.count
                return try await shop.engine.reporting.report(query, of: "birds").report.rows.map {
                    $0.values.prefix(columns).map(\.number)
                }
            }
            #expect(try await values("retention") == [[4, 2] + Array(repeating: 0, count: 10)])
            #expect(try await values("ltv") == [[4, 49_950, 12_487]])
            #expect(try await values("trial_conversion") == [])
            #expect(try await values("retention_days") == [[4, 4, 3, 3, 0, 0, 0, 0]])
            #expect(try await values("refund_cohorts") == [[4, 1, 1, 39_960, 9_990]])
            // Ben was refunded. No other subscription has ended.
            #expect(try await values("churn_reasons") == [[1, 0, 0, 0, 0, 1, 0, 0]])
            for profile in ReportProfile.allCases {
                for definition in profile.definitions {
                    var query = ReportQuery(definition.name, days: Self.days...Self.days + 30)
                    query.profile = profile
                    let both = try await shop.engine.reporting.report(query, of: "birds").report
                    query.profile = nil
                    let ours = try await shop.engine.reporting.report(query, of: "birds").report
                    #expect(
                        both.rows.map { Array($0.values.suffix(ours.definition.columns.count)) }
                            == ours.rows.map(\.values), "\(definition.id)")
                }
            }
            #expect(try await theirs(.revenuecat, "revenue") == [[29_970, 29_970, 20_979]])
            #expect(try await theirs(.revenuecat, "refunds") == [[4, 1, 1]])
            #expect(try await theirs(.apphud, "refunds") == [[4, 1, 1]])
            #expect(
                try await theirs(.revenuecat, "retention")
                    == [[4, 2] + Array(repeating: 0, count: 10)])
        }
    }

    /// Anna's month ends, she buys another month, and that month is refunded.
    @Test(arguments: StoryDatabase.allCases)
    func `a customer who comes back and leaves again counts once as returned`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let month: JSON = ["product_id": "pro.monthly"]
            let subscription = "/_sim/subscriptions/anna:pro.monthly"
            #expect(try await shop.post(try await shop.buyMonth("anna"), as: "anna") == 200)
            try await shop.simulator.post(subscription + "/cancel")
            try await shop.simulator.post("/_sim/clock", ["advance": "P35D"])
            let again = try await shop.simulator.post("/_sim/devices/anna-1/purchases", month)
            #expect(try await shop.post(again, as: "anna") == 200)
            func reasons() async throws -> [Int64] {
                while try await shop.engine.events.emitTimeBased() > 0 {}
                let query = ReportQuery(
                    "churn_reasons", days: Self.days...Self.days + 364, by: .year)
                let rows = try await shop.engine.reporting.report(query, of: "birds").report.rows
                return rows.first?.values.map(\.number) ?? []
            }
            #expect(try await reasons() == [1, 0, 0, 0, 0, 0, 0, 1])
            try await shop.simulator.post("/_sim/clock", ["advance": "P5D"])
            try await shop.simulator.post(subscription + "/refund")
            #expect(try await reasons() == [2, 0, 0, 0, 0, 1, 0, 1])
        }
    }

    /// The sums of each column, except for columns of shares, which do not add up.
    private static func sums(_ report: Report) -> [Int64] {
        report.definition.columns.indices.map { column in
            guard report.definition.columns[column].unit != .percent else { return 0 }
            return report.rows.reduce(0) { $0 + $1.values[column].number }
        }
    }

    /// The purchases behind a number, from all pages.
    private static func sum(
        of column: String, _ query: ReportQuery, in engine: Engine
    ) async throws -> Int64 {
        var (sum, cursor) = (Int64(0), SourceCursor?.none)
        repeat {
            let page = try await engine.reporting.sources(
                query, column: column, of: "birds", after: cursor, limit: 2)
            for source in page.movements {
                sum += page.column.value(of: source.totals, kind: source.kind).number
                #expect(!source.documents.isEmpty, "documents of \(source)")
            }
            cursor = page.next
        } while cursor != nil
        return sum
    }

    /// Anna buys 100 seeds, spends 30 of them, and buys 100 more in February. The story ends in
    /// March.
    @Test(arguments: StoryDatabase.allCases)
    func `the wallet report carries each month's closing balance into the next month`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await shop.addDevice("anna")
            try await Self.buySeeds(in: shop)
            let debit: JSON = ["amount": 30, "reason": "an oak"]
            let spent = try await Wire(base: shop.server.base, bearer: Shop.secretKey).send(
                "POST", "/v1/customers/anna/wallets/seeds/debits", body: debit.bytes)
            #expect(spent.status == 200)
            try await shop.simulator.post("/_sim/clock", ["advance": "P35D"])
            try await Self.buySeeds(in: shop)
            _ = try await shop.engine.events.numberEvents()
            while try await shop.engine.customers.show() > 0 {}
            try await shop.simulator.post("/_sim/clock", ["advance": "P40D"])
            var query = ReportQuery("wallets", days: Self.days...Self.days + 89, by: .month)
            let rows = try await shop.engine.reporting.report(query, of: "birds").report.rows
            #expect(rows.map(\.part) == ["seeds", "seeds", "seeds"])
            let values = rows.map { $0.values.map(\.number) }
            // Nothing happened in March, so the balance is the same.
            #expect(values == [[100, 0, -30, 0, 70], [100, 0, 0, 0, 170], [0, 0, 0, 0, 170]])
            query.asKnownAt = Instant(milliseconds: Self.days * 86_400_000)
            await #expect(throws: EngineFailure.self) {
                try await shop.engine.reporting.report(query, of: "birds")
            }
        }
    }

    private static func buySeeds(in shop: Shop) async throws {
        let bought = try await shop.simulator.post(
            "/_sim/devices/anna-1/purchases", ["product_id": "seeds.100"])
        #expect(try await shop.post(bought, as: "anna") == 200)
    }

    @Test func `each table is exported with all its rows and columns`() async throws {
        try await withShop(on: .sqlite) { shop in
            try await Self.play(in: shop)
            for table in ExportedTable.all {
                var rows: [[ExportedValue]] = []
                try await shop.engine.reporting.export(
                    table, of: "birds", in: .production, since: nil
                ) { rows.append($0) }
                let count = try await shop.database.read { connection in
                    try connection.number("SELECT count(*) FROM \(table.name)")
                }
                #expect(rows.count == Int(count))
                let least = ["wallet_entries": 0, "customer_summaries": 1][table.name] ?? 4
                #expect(count >= least, "\(table.name)")
                #expect(rows.allSatisfy { $0.count == table.columns.count })
            }
        }
    }
}
