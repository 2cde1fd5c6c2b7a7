import Ledger
import Storage
import Testing

@testable import Engine

private let now = Instant(milliseconds: 1_767_268_800_000)

extension Engine {
    fileprivate func erasedHashes() async throws -> [[UInt8]] {
        try await db.driver.read { connection in
            try connection.rows("SELECT id_hash FROM erasures", []).map { try $0.bytes(0) }
        }
    }

    fileprivate func isErased(_ id: CustomerID) async throws -> Bool {
        try await db.read { try $0.isErased(id.hash, in: "birds") }
    }
}

@Suite struct ErasureKeyTests {
    private func engine() async throws -> Engine {
        let app = AppSettings(id: "birds", bundleID: "com.example.birds", entitlements: [:])
        return try await .empty(app, at: now)
    }

    @Test func `whoever can guess an id does not find it among the erased without the key`()
        async throws
    {
        let id: CustomerID = "anna@example.com"
        var seen: [[UInt8]] = []
        for _ in 0..<2 {
            let engine = try await engine()
            _ = try await engine.alias("x", to: id, app: "birds", environment: .production)
            _ = try await engine.erase(id, app: "birds")
            let hashes = try await engine.erasedHashes()
            #expect(hashes.count == 2 && !hashes.contains(id.hash))
            #expect(try await engine.isErased(id))
            #expect(try await !engine.isErased("ben@example.com"))
            seen += hashes
        }
        // Each database has a key of its own.
        #expect(Set(seen).count == 4)
    }

    @Test func `at the start hashes of an earlier version are put under the key`() async throws {
        let engine = try await engine()
        let id: CustomerID = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"
        try await engine.db.driver.write { connection in
            _ = try connection.run(
                "INSERT INTO erasures (app, id_hash, erased_at_ms) VALUES ('birds', $1, 5)",
                [.bytes(id.hash)])
        }
        #expect(try await engine.isErased(id))
        try await engine.prepare()
        #expect(try await !engine.erasedHashes().contains(id.hash))
        #expect(try await engine.isErased(id))
        let again = try await engine.erasedHashes()
        try await engine.prepare()
        #expect(try await engine.erasedHashes() == again)
    }
}
