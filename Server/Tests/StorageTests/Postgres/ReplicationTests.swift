import Ledger
import PostgresCluster
import StoragePostgres
import Testing

@testable import Storage

/// Logical replication, as docs/operations.md describes it.
@Suite struct ReplicationTests {
    private static let publication =
        "CREATE PUBLICATION warehouse FOR TABLE documents, purchases, events "
        + "WITH (publish_via_partition_root = true)"
    /// A month that has no table yet.
    private static let later = now + .days(3650)

    private func published(by driver: any DatabaseDriver) async throws -> [String] {
        try await driver.read { connection in
            try connection.texts(
                "SELECT tablename::text FROM pg_publication_tables ORDER BY 1")
        }
    }

    /// A subscriber stops if a published table does not exist there.
    @Test func `the publication lists documents as one table, even with new month partitions`()
        async throws
    {
        let url = try await PostgresCluster.shared.preparedDatabase()
        let driver = try PostgresDriver(url: url)
        defer { driver.close() }
        _ = try await driver.write { try $0.run(Self.publication, []) }
        let tables = ["documents", "events", "purchases"]
        #expect(try await published(by: driver) == tables)
        try await Database(driver).createPartitions(around: Self.later)
        #expect(try await published(by: driver) == tables)
        try await PostgresCluster.shared.drop(url)
    }
}
