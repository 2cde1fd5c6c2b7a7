import Ledger
import Testing

@testable import Engine
@testable import Storage

private let token = "b7c2a5f0-1d3e-4c8a-9f60-1234567890ab"
private let tokenID = CustomerID(rawValue: token.uppercased())

private func hash(_ id: CustomerID) -> [UInt8] {
    Array((Array(id.rawValue.lowercased().utf8) + Array(repeating: 0, count: 32)).prefix(32))
}

/// Replaces the cryptography by XOR, so that another key gives another code.
private let keying = ErasureKeying(
    code: { hash, key in zip(hash, key).map { $0 ^ $1 } },
    freshKey: { Array(repeating: 0x5A, count: 32) })

private let rules = DatabaseRules(erasedHash: hash, erasureKeying: keying)

extension Database {
    fileprivate func erase(_ id: CustomerID) async throws {
        try await transaction { tx in
            let person = try IdentityUpdates(tx).customer(id, in: app, at: now)
            try CustomerErasure(tx).erase(
                person, names: [id: "erased_1"], hashes: person.ids.map(hash), in: app, at: now)
        }
    }

    fileprivate func isErased(_ token: String) async throws -> Bool {
        try await read { try $0.erasedIDs.contains(token: token, in: app) }
    }

    /// The hashes of erased ids in the table.
    fileprivate func erasures() async throws -> [[UInt8]] {
        try await driver.read { connection in
            try connection.rows("SELECT id_hash FROM erasures", []) { row throws(StorageFailure) in
                try row.bytes()
            }
        }
    }
}

/// How the ids of erased customers are recognized.
@Suite struct ErasureTests {
    @Test(arguments: Driver.allCases)
    func `erasing an id in mixed case does not change the token of another customer`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            let mixed = CustomerID(rawValue: "B" + token.dropFirst())
            _ = try await store.transaction { tx in
                try IdentityUpdates(tx).customer(CustomerID(rawValue: token), in: app, at: now)
            }
            try await store.erase(mixed)
            #expect(try await !store.isErased(token))
        }
    }

    @Test(arguments: Driver.allCases)
    func `an erased id is stored as a hash under a key of the app`(driver: Driver) async throws {
        try await driver.withStore(rules: rules) { store in
            #expect(try await !store.isErased(token))
            try await store.erase(tokenID)
            let code = zip(hash(tokenID), Array(repeating: UInt8(0x5A), count: 32)).map { $0 ^ $1 }
            #expect(try await store.erasures() == [code])
            #expect(try await store.isErased(token))
            let among = try await store.read {
                try $0.erasedIDs.erasedTokens(among: [token, "another"], in: app)
            }
            #expect(among == [token])
            // Another app has another key and other customers.
            #expect(try await !store.read { try $0.erasedIDs.contains(token: token, in: "zebra") })
        }
    }

    @Test(arguments: Driver.allCases)
    func `erasing a customer who has spent nothing leaves no row of the customer`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            try await store.erase("anna")
            let left = try await store.read { try $0.customers.all(of: app, after: nil, limit: 9) }
            #expect(left == [])
            // Another customer can then use the pseudonym as an id.
            _ = try await store.transaction {
                try IdentityUpdates($0).customer("erased_1", in: app, at: now)
            }
        }
    }
}
