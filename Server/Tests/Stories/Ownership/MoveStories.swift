import AppStoreFormats
import Ledger
import PostgresCluster
import Storage
import StoragePostgres
import StorageSQLite
import Testing

@testable import Program

/// Moves a shop with its whole history from an SQLite file to a PostgreSQL server.
@Suite(.serialized) struct MoveStories {
    @Test func `a migration from SQLite to PostgreSQL keeps the timeline of every purchase`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = folder.path + "/moved.sqlite"
        let server = try await PostgresCluster.shared.emptyDatabase()
        try await withShop(on: .sqlite) { shop in
            try await shop.addDevice(Stage.account)
            var stage = Stage(simulator: shop.simulator, server: shop.server)
            let acts: [Life.Act] = [
                .buy("pro.monthly"), .pass("P40D"), .changeProduct("premium.monthly"),
                .pass("P20D"), .change("refund"), .pass("P10D"), .buy("pro.monthly"), .pass("P3D"),
            ]
            for act in acts { try await stage.play(act) { _ in } }
            try await Database(try SQLiteDriver(path: file)).migrate(at: 0)
            try await Database(try SQLiteDriver(path: file)).copy(from: Database(shop.database))
            let count = try await Migration(from: file, to: server).run()
            let moved = Database(try PostgresDriver(url: server))
            #expect(count > 20)
            let purchases = try await stage.truth().map(\.original)
            #expect(!purchases.isEmpty)
            for purchase in purchases {
                let id = PurchaseID(TransactionID(rawValue: purchase), in: .production)
                let before = try await Database(shop.database).read {
                    try $0.purchases.timeline(of: id, in: "birds")
                }
                let after = try await moved.read { try $0.purchases.timeline(of: id, in: "birds") }
                #expect(before != nil && before == after)
            }
            moved.driver.close()
        }
        try await PostgresCluster.shared.drop(server)
    }
}
