import AppStoreFormats
import Engine
import Foundation
import Ledger
import Reports
import Storage
import Testing

/// Purchases as an owner reads them at a SQL prompt, and as files.
@Suite(.serialized) struct MoneyQueryStories {
    /// Anna renews, ben is refunded, cleo is in grace, and dora switched renewal off.
    private static func play(in shop: Shop) async throws {
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
        while try await shop.engine.emitTimeBasedEvents() > 0 {}
    }

    /// The queries of docs/sql.md, in their order.
    private static func pageQueries() throws -> [String] {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../docs/sql.md").standardized
        let text = try String(contentsOf: page, encoding: .utf8)
        return text.matches(of: #/(?m)^```sql\n([\s\S]*?)^```$/#).map { String($0.output.1) }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `the page's queries find what was played, on both databases`(
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
                        try connection.rows("SELECT count(*) FROM (\(query)) AS found", [])[0]
                            .integer(0)
                    })
            }
            #expect(counts == Self.expected)
        }
    }

    private static let expected: [Int64] = [3, 3, 1, 1, 1, 2, 4, 1, 1, 0]

    @Test func `each table is exported with all its rows and columns`() async throws {
        try await withShop(on: .sqlite) { shop in
            try await Self.play(in: shop)
            for table in ExportedTable.all {
                var rows: [[String?]] = []
                try await shop.engine.export(
                    table, of: "birds", in: .production, since: nil
                ) { rows.append($0) }
                let count = try await shop.database.read { connection in
                    try connection.rows("SELECT count(*) FROM \(table.name)", [])[0].integer(0)
                }
                #expect(rows.count == Int(count))
                #expect(count >= 4)
                #expect(rows.allSatisfy { $0.count == table.columns.count })
            }
        }
    }
}
