import Ledger
import Testing

@testable import Engine
@testable import Storage

private let token = "b7c2a5f0-1d3e-4c8a-9f60-1234567890ab"
private let lower = CustomerID(rawValue: token)
private let upper = CustomerID(rawValue: token.uppercased())
private let otherToken = "0d9b1c52-77aa-4f0e-8a31-abcdef012345"

private func bought(_ number: Int) -> PurchaseID {
    PurchaseID(TransactionID(rawValue: "\(number)"), in: .production)
}

private func month(_ number: Int, naming token: String?, attestedAt: Instant = now) -> Fact {
    Fact(
        about: bought(number), attestedAt: attestedAt,
        .payment(
            Payment(
                transaction: TransactionID(rawValue: "\(number)"), product: "pro", from: now,
                until: now + .days(30), accountToken: token)))
}

private let rules = DatabaseRules(erasedHash: hash)

private func hash(_ id: CustomerID) -> [UInt8] {
    Array((Array(id.rawValue.lowercased().utf8) + Array(repeating: 0, count: 32)).prefix(32))
}

extension Database {
    fileprivate func hear(_ number: UInt8, _ fact: Fact) async throws {
        _ = try await record(DocumentWithFacts(document(number), [fact]))
    }

    /// The events of purchases that name an id, as `purchase kind`.
    fileprivate func named(_ id: CustomerID, after sequence: Int64 = 0) async throws -> [String] {
        try await readingLog { try $0.accountTokens.events([id], in: app, after: sequence) }.map {
            event in
            "\(event.entry.purchase?.original.rawValue ?? "-") \(event.entry.change.kind.rawValue)"
        }
    }
}

/// Events without a customer, which belong to the customer whose account token they contain.
@Suite struct NamedEventTests {
    @Test(arguments: Driver.allCases)
    func `an event of an unowned purchase is listed for the customer named at that time`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            try await store.hear(1, month(1, naming: token))
            try await store.hear(2, month(2, naming: otherToken))
            // This purchase names the customer only later.
            try await store.hear(3, month(3, naming: nil))
            try await store.hear(4, month(3, naming: token, attestedAt: now + .seconds(1)))
            for id in [lower, upper] {
                #expect(try await store.named(id) == ["1 purchased"])
            }
            let last = try await store.readingLog { try $0.events.lastSequence(of: app) }
            #expect(try await store.named(lower, after: last) == [])
            let end = now + .days(30)
            _ = try await store.transaction {
                try PurchaseEvents($0).emitTransitions(
                    of: app, dueBy: end + .seconds(60), limit: 100)
            }
            let ends = ["1 access_unconfirmed", "3 access_unconfirmed"]
            #expect(try await store.named(lower, after: last).sorted() == ends)
            #expect(try await store.named(lower).count == 3)
            #expect(try await store.named("anna") == [])
        }
    }

    @Test(arguments: Driver.allCases)
    func `events listed for a named customer stay after a link, and disappear after an erasure`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            try await store.hear(1, month(1, naming: token))
            try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer(upper, in: app, at: now)
                try OwnershipUpdates(tx).link(bought(1), to: upper, by: .token, in: app, at: now)
            }
            #expect(try await store.named(upper) == ["1 purchased"])
            // The id in lower case is another customer.
            #expect(try await store.named(lower) == [])
            try await store.transaction { tx in
                let person = try #require(try tx.customers.find(known: upper, in: app))
                try CustomerErasure(tx).erase(
                    person, names: [upper: "erased_1"], hashes: [hash(upper)], in: app, at: now)
            }
            for id in [lower, upper] { #expect(try await store.named(id) == []) }
        }
    }
}
