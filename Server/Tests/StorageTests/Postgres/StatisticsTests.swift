import Eventually
import Ledger
import PostgresCluster
import StoragePostgres
import Testing

@testable import Engine
@testable import Storage

/// PostgreSQL has no statistics about the tables of a new database.
@Suite struct StatisticsTests {
    private static let purchases = 300

    /// The queries for the rows of one purchase, and the key that each must use.
    private static let searches: [(sql: String, index: String)] = [
        (MovementRows.selectVersions, "money_movements_pkey"),
        (MoneyRows.selectSubscription, "money_subscriptions_pkey"),
        ("SELECT statement FROM facts WHERE \(ofPurchase)", "facts_pkey"),
        ("SELECT customer FROM links WHERE \(ofPurchase)", "links_pkey"),
        ("SELECT timeline FROM purchases WHERE \(ofPurchase)", "purchases_pkey"),
    ]
    private static let ofPurchase = "app = $1 AND environment = $2 AND purchase = $3"

    @Test func `once there are many rows, the rows of one purchase are found by their key`()
        async throws
    {
        let url = try await PostgresCluster.shared.preparedDatabase()
        let driver = try PostgresDriver(url: url)
        defer { driver.close() }
        let store = Database(driver)
        for start in stride(from: 0, to: Self.purchases, by: 100) {
            try await store.fill(start..<start + 100)
        }
        // PostgreSQL updates its counts shortly after the changes.
        try await eventually("the keys are used") {
            _ = try await store.refreshStatistics()
            return try await Self.unused(driver).isEmpty
        }
        try await PostgresCluster.shared.drop(url)
    }

    /// Returns the keys that the database does not use.
    private static func unused(_ driver: PostgresDriver) async throws -> [String] {
        try await driver.write { connection in
            try searches.filter { sql, index in
                let plan = try connection.texts(
                    "EXPLAIN \(sql)", [.text(app.rawValue), .text("production"), .text("1100")])
                return !plan.contains { $0.contains("Index Scan using \(index)") }
            }.map(\.index)
        }
    }
}

extension Database {
    /// Adds linked purchases, each with a document.
    fileprivate func fill(_ numbers: Range<Int>) async throws {
        try await transaction { tx in
            for number in numbers {
                let id = TransactionID(rawValue: "\(1000 + number)")
                let purchase = PurchaseID(id, in: .production)
                var document = document(0)
                document.id = (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 4 * 8)) }
                _ = try DocumentRecorder(tx).record(
                    DocumentWithFacts(document, [fact(id, about: purchase)]))
                let customer = try IdentityUpdates(tx).customer(
                    CustomerID(rawValue: "c\(number)"), in: app, at: now)
                try OwnershipUpdates(tx).link(
                    purchase, to: customer.customer, by: .device, in: app, at: now)
            }
        }
    }
}
