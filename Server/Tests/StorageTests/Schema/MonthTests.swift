import Ledger
import PostgresCluster
import StoragePostgres
import Testing

@testable import Storage

@Suite struct MonthTests {
    @Test(
        arguments: [
            (1970, 1, 0), (2000, 2, 949_363_200), (2000, 3, 951_868_800), (2024, 3, 1_709_251_200),
            (2026, 11, 1_793_491_200), (2026, 12, 1_796_083_200), (2100, 3, 4_107_542_400),
        ] as [(Int64, Int64, Int64)])
    func `a month begins at midnight of its first day`(year: Int64, month: Int64, at: Int64) {
        let start = Instant(milliseconds: at * 1000)
        #expect(Month(year: year, month: month).start == start)
        #expect(Month(containing: start) == Month(year: year, month: month))
        let before = Month(containing: start - .milliseconds(1))
        #expect(before.adding(1) == Month(year: year, month: month))
    }

    @Test func `a document is stored in its month's table or, without one, in a common table`()
        async throws
    {
        try await Driver.postgres.withStore { store in
            _ = try await store.transaction { tx in
                try tx.documents.insert([document(1), document(2, signedAt: now - .days(1000))])
            }
            let tables = try await store.tables()
            #expect(tables == ["documents_2023_11", "documents_other"])
        }
    }

    @Test func `tables for future months can be created repeatedly`() async throws {
        try await Driver.postgres.withStore { store in
            let later = now + .days(120)
            for _ in 0..<2 { try await store.createPartitions(around: later) }
            _ = try await store.transaction {
                try $0.documents.insert(document(1, signedAt: later))
            }
            #expect(try await store.tables() == ["documents_2024_03"])
        }
    }

    @Test func `a month whose documents are already in the common table gets no table of its own`()
        async throws
    {
        try await Driver.postgres.withStore { store in
            let later = now + .days(400)
            _ = try await store.transaction {
                try $0.documents.insert(document(1, signedAt: later))
            }
            try await store.createPartitions(around: later)
            let same = document(2, signedAt: later)
            let next = document(3, signedAt: later + .days(31))
            let added = try await store.transaction {
                try $0.documents.insert([document(1), same, next])
            }
            #expect(added == [true, true, true])
            #expect(
                try await store.tables() == [
                    "documents_2023_11", "documents_2025_01", "documents_other",
                ])
        }
    }

    @Test func `servers that start together create the tables once`() async throws {
        let url = try await PostgresCluster.shared.emptyDatabase()
        let stores = try (0..<4).map { _ in Database(try PostgresDriver(url: url)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores { group.addTask { try await store.migrate(at: 1) } }
            try await group.waitForAll()
        }
        let versions = try await stores[0].driver.read {
            try $0.rows("SELECT version FROM schema_versions", [])
        }
        #expect(versions.map(\.values) == [[.integer(Int64(Schema.version))]])
        try await stores[0].keep(1)
        for store in stores { store.driver.close() }
        try await PostgresCluster.shared.drop(url)
    }
}

extension Database {
    /// The tables that contain documents.
    func tables() async throws -> [String] {
        try await driver.read {
            try $0.texts(
                "SELECT DISTINCT CAST(tableoid AS regclass)::TEXT FROM documents ORDER BY 1")
        }
    }
}
