import Engine
import Ledger
import Storage
import Testing

@testable import HTTPServer

/// Which keys the server knows without a look-up. This decides which limit counts a request.
@Suite struct KeyCacheTests {
    private static func key(_ number: UInt8, lastUsedAt moment: Int64? = nil) -> StoredKey {
        StoredKey(
            app: "birds", hash: [number], kind: .app, name: "test",
            createdAt: Instant(milliseconds: 0),
            lastUsedAt: moment.map { Instant(milliseconds: $0) })
    }

    @Test func `a full cache of API keys drops the keys that were used least recently`() {
        var known = KnownKeys(max: 8)
        for number in 1...8 as ClosedRange<UInt8> { known.add(Self.key(number)) }
        #expect(known.kind(of: [1]) == .app)
        known.add(Self.key(9))
        #expect(known.count == 6)
        #expect(known.kind(of: [1]) == .app && known.kind(of: [9]) == .app)
        #expect(known.kind(of: [2]) == nil && known.kind(of: [4]) == nil)
    }

    @Test func `if not all stored keys fit into the cache, it has the most recently used ones`() {
        var known = KnownKeys(max: 4)
        known.replace(by: (1...6).map { Self.key($0, lastUsedAt: Int64($0)) })
        #expect(known.count == 4 && known.kind(of: [2]) == nil)
        #expect(known.kind(of: [3]) == .app)
        // Key 3 was used here, so it stays.
        known.replace(by: (3...8).map { Self.key($0, lastUsedAt: Int64($0)) })
        #expect(known.kind(of: [3]) == .app && known.kind(of: [4]) == nil)
        known.replace(by: [])
        #expect(known.count == 0)
    }

    @Test func `the cache knows a stored key before its first use, and forgets a revoked key`()
        async throws
    {
        try await TestServer.run { server in
            let cache = KeyCache(refused: ["pk_refused"])
            #expect(cache.knownKind(of: TestServer.secret) == nil)
            try await server.engine.keys.add(
                key: "pk_refused", app: "birds", kind: .app, name: "test")
            try await cache.learn(from: server.engine)
            #expect(cache.knownKind(of: TestServer.secret) == .secret)
            #expect(cache.knownKind(of: TestServer.key) == .app)
            #expect(cache.knownKind(of: "pk_refused") == nil)
            #expect(cache.knownKind(of: "pk_made_up") == nil)
            cache.replace(refused: [])
            #expect(cache.knownKind(of: TestServer.secret) == .secret)
            let stored = try await server.engine.keys.all(of: "birds")
            for key in stored { try await server.engine.keys.revoke(key) }
            #expect(try await cache.holder(of: TestServer.secret, in: server.engine) == nil)
            #expect(cache.knownKind(of: TestServer.secret) == nil)
        }
    }
}
