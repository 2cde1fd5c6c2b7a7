import Testing

@testable import Storage

/// The index that the deletion of test purchases needs.
@Suite struct RetentionIndexTests {
    @Test(arguments: Driver.allCases)
    func `a server creates the retention index, except for a large table on PostgreSQL`(
        driver: Driver
    )
        async throws
    {
        try await driver.withStore { store in
            let isServer = store.driver.dialect == .postgres
            let isCreated = try await store.createRetentionIndex(bytesMax: -1)
            #expect(isCreated != isServer)
            let isCreatedThen = try await store.createRetentionIndex()
            #expect(isCreatedThen)
            let isKnown = try await store.createRetentionIndex(bytesMax: -1)
            #expect(isKnown)
        }
    }
}
