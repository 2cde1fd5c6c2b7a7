import AppStoreFormats
import Foundation
import Storage
import Testing

/// The event log as an operator reads it with SQL.
@Suite(.serialized) struct EventQueryStories {
    /// Plays a trial with a refund, a sandbox purchase, a grant, a wallet, and a purchase that
    /// moves to another customer.
    private static func play(in shop: Shop) async throws {
        let simulator = shop.simulator
        #expect(try await shop.post(try await shop.buyMonth("anna"), as: "anna") == 200)
        let gus = try await shop.buyMonth("gus")
        #expect(try await shop.post(gus, as: "gus") == 200)
        try await shop.addDevice("sam", ["environment": "sandbox"])
        try await simulator.post(
            "/_sim/devices/sam-1/purchases", ["product_id": "pro.monthly"])
        try await shop.addDevice("eve")
        let seeds = try await simulator.post(
            "/_sim/devices/eve-1/purchases", ["product_id": "seeds.100"])
        #expect(try await shop.post(seeds, as: "eve") == 200)
        try await shop.support.post(
            "/v1/customers/eve/wallets/seeds/debits", ["amount": 30, "reason": "\"a\" bird"])
        try await shop.support.post(
            "/v1/customers/eve/grants", ["entitlement": "pro", "reason": "thanks"])
        try await simulator.post("/_sim/subscriptions/gus:pro.monthly/cancel")
        try await shop.support.post(
            "/v1/customers/hana/transfers",
            [
                "original_transaction_id": .string(try gus.text("original_transaction_id")),
                "reason": "ticket 7",
            ])
        try await simulator.post("/_sim/clock", ["advance": "P40D"])
        try await simulator.post("/_sim/subscriptions/anna:pro.monthly/refund")
        try await simulator.post("/_sim/clock", ["advance": "PT1H"])
    }

    /// The rows of a query, with all columns as text.
    private static func rows(
        _ query: String, _ columns: [String], in shop: Shop
    ) async throws -> [[String?]] {
        let texts = columns.map { "CAST(\($0) AS TEXT)" }.joined(separator: ", ")
        return try await shop.database.read { connection in
            try connection.rows("SELECT \(texts) FROM (\(query)) AS query", []) {
                row throws(StorageFailure) in
                var values: [String?] = []
                for _ in columns { values.append(try row.optionalText()) }
                return values
            }
        }
    }

    /// The queries in docs/events.md, in their order.
    private static func pageQueries() throws -> [String] {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../docs/events.md").standardized
        let text = try String(contentsOf: page, encoding: .utf8)
        return text.matches(of: #/(?m)^```sql\n([\s\S]*?)^```$/#).map { String($0.output.1) }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `the queries in docs/events.md give the same correct rows on both databases`(
        database: StoryDatabase
    ) async throws {
        let queries = try Self.pageQueries()
        try #require(queries.count == 3)
        try await withShop(on: database) { shop in
            try await Self.play(in: shop)
            let told = try await shop.support.get("/v1/events?limit=500")["items"]?.array ?? []
            let life = try await Self.rows(queries[0], ["known_at", "type", "state"], in: shop)
            let annas = told.filter { $0["customer_id"] == "anna" }
            #expect(annas.count > 2)
            #expect(
                life
                    == annas.map {
                        [$0["known_at"]?.string, $0["type"]?.string, $0["after"]?["state"]?.string]
                    })
            let money = try await Self.rows(
                queries[1], ["month", "currency", "revenue"], in: shop)
            // The two databases format the digits of a sum differently.
            let sums = try money.map { row -> [String?] in
                let sum = try #require(row[2].flatMap { Decimal(string: $0) })
                return [row[0], row[1], "\(sum)"]
            }
            #expect(sums == Self.revenue(of: told), "\(money)")
            let ended = try await Self.rows(
                queries[2], ["customer_id", "product_id", "why"], in: shop)
            #expect(ended == [["hana", "pro.monthly", "cancelled"]])
        }
    }

    /// The revenue in production by month and currency.
    private static func revenue(of events: [JSON]) -> [[String?]] {
        var sums: [[String]: Decimal] = [:]
        for event in events where event["environment"] == "production" {
            guard let month = event["at"]?.string?.prefix(7),
                let currency = event["money"]?["currency"]?.string,
                let amount = event["money"]?["amount"]?.string.flatMap({ Decimal(string: $0) })
            else { continue }
            sums[[String(month), currency], default: 0] += amount
        }
        return sums.sorted { $0.key.lexicographicallyPrecedes($1.key) }
            .map { $0.key + ["\($0.value)"] }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `every event has the same values in the table as in the HTTP API`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await Self.play(in: shop)
            let told = try await shop.support.get("/v1/events?limit=500")["items"]?.array ?? []
            let columns = [
                "sequence", "type", "known_at", "customer_id", "customer_sequence", "environment",
                "original_transaction_id",
            ]
            let rows = try await Self.rows(
                "SELECT * FROM event_log WHERE app = 'birds' ORDER BY sequence",
                columns + ["document_id", "details"], in: shop)
            #expect(rows.count == told.count && told.count > 15)
            for (row, event) in zip(rows, told) {
                for (value, column) in zip(row, columns) {
                    #expect(value == Self.text(event[column]), "\(column) of \(event.text)")
                }
                #expect(row[7] == Self.text(event["cause"]?["document_id"]))
                var details = Self.leaves(try JSON(parsing: Array((row[8] ?? "").utf8)))
                // The API omits the evidence of a link.
                details["evidence"] = nil
                var api = Self.leaves(event)
                // The API counts this value when the event is read.
                api["earlier_events"] = nil
                for name in columns + ["id", "purchase_id"] { api[name] = nil }
                if row[7] != nil { (api["cause.kind"], api["cause.document_id"]) = (nil, nil) }
                #expect(details == api, "\(event.text)")
            }
        }
    }

    private static func text(_ value: JSON?) -> String? {
        guard let value, value != .null else { return nil }
        return value.string ?? value.text
    }

    /// All values except null, by their paths.
    private static func leaves(_ value: JSON, at path: String = "") -> [String: String] {
        guard let members = value.members else { return text(value).map { [path: $0] } ?? [:] }
        return members.reduce(into: [:]) { leaves, member in
            let name = path.isEmpty ? member.key : "\(path).\(member.key)"
            leaves.merge(Self.leaves(member.value, at: name)) { one, _ in one }
        }
    }
}
