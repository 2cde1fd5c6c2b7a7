import Ledger
import Storage
import Testing

@testable import Engine

private let now = Instant(milliseconds: 1_767_268_800_000)

extension Engine {
    fileprivate func erasedHashes() async throws -> [[UInt8]] {
        try await context.db.driver.read { connection in
            try connection.rows("SELECT id_hash FROM erasures", []) { row throws(StorageFailure) in
                try row.bytes()
            }
        }
    }

    fileprivate func isErased(_ id: CustomerID) async throws -> Bool {
        try await context.db.read { try $0.erasedIDs.contains(id.hash, in: "birds") }
    }
}

@Suite struct ErasureKeyTests {
    private func engine() async throws -> Engine {
        let app = AppSettings(id: "birds", bundleID: "com.example.birds", entitlements: [:])
        return try await .empty(app, at: now)
    }

    @Test func `without the key, a guessed id cannot be found among the hashes of erased ids`()
        async throws
    {
        let id: CustomerID = "anna@example.com"
        var seen: [[UInt8]] = []
        for _ in 0..<2 {
            let engine = try await engine()
            _ = try await engine.customers.alias(
                "x", to: id, app: "birds", environment: .production)
            _ = try await engine.customers.erase(id, app: "birds")
            let hashes = try await engine.erasedHashes()
            #expect(hashes.count == 2 && !hashes.contains(id.hash))
            #expect(try await engine.isErased(id))
            #expect(try await !engine.isErased("ben@example.com"))
            seen += hashes
        }
        // Each database has its own key.
        #expect(Set(seen).count == 4)
    }
}
