import Ledger
import Testing

@testable import Engine
@testable import Storage

private let token = "b7c2a5f0-1d3e-4c8a-9f60-1234567890ab"
private let tokenID = CustomerID(rawValue: token.uppercased())
private let otherToken = "0d9b1c52-77aa-4f0e-8a31-abcdef012345"

private func bought(_ number: Int) -> PurchaseID {
    PurchaseID(TransactionID(rawValue: "\(number)"), in: .production)
}

/// A payment for a month of a subscription, or for a season that does not renew.
private func paid(
    _ number: Int, by token: String, kind: ProductKind = .autoRenewable
) -> Payment {
    Payment(
        transaction: TransactionID(rawValue: "\(number)"), product: "pro", kind: kind,
        from: now, until: kind == .autoRenewable ? now + .days(30) : nil, accountToken: token)
}

private func payment(
    _ number: Int, by token: String, kind: ProductKind = .autoRenewable
) -> Fact {
    Fact(about: bought(number), attestedAt: now, .payment(paid(number, by: token, kind: kind)))
}

private let rules = DatabaseRules(appsWithReminders: [app], erasedHash: hash)

private func hash(_ id: CustomerID) -> [UInt8] {
    Array((Array(id.rawValue.lowercased().utf8) + Array(repeating: 0, count: 32)).prefix(32))
}

extension Database {
    fileprivate func hear(_ document: StoredDocument, _ fact: Fact) async throws {
        _ = try await record(DocumentWithFacts(document, [fact]))
    }

    fileprivate func events(after sequence: Int64 = 0) async throws -> [LoggedEvent] {
        try await readingLog { try $0.events.all(of: app, after: sequence, limit: 500) }
    }

    /// The customers and tokens whose terms are watched for reminders.
    fileprivate func watched() async throws -> [String] {
        try await driver.read { connection in
            try connection.texts("SELECT subject FROM term_watches ORDER BY subject")
        }
    }

    fileprivate func remindersTold(to subject: CustomerID) async throws -> Int {
        try await read {
            try $0.reminders.times(of: [subject], in: app, environment: .production).count
        }
    }

    /// Links the first purchase to the customer of the token, and erases the customer.
    fileprivate func forget() async throws {
        try await transaction { tx in
            _ = try IdentityUpdates(tx).customer(tokenID, in: app, at: now)
            try OwnershipUpdates(tx).link(bought(1), to: tokenID, by: .device, in: app, at: now)
            let person = try #require(try tx.customers.find(known: tokenID, in: app))
            try CustomerErasure(tx).erase(
                person, names: [tokenID: "erased_1"], hashes: [hash(tokenID)], in: app, at: now)
        }
    }
}

/// A document of an erased customer still contains the customer's account token.
@Suite struct ErasedTokenTests {
    @Test(arguments: Driver.allCases)
    func `later events do not contain the account token of an erased customer`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            try await store.hear(document(1), payment(1, by: token))
            #expect(try await store.events().first?.entry.accountToken == token)
            try await store.forget()
            let last = try await store.events().last?.sequence ?? 0
            try await store.hear(document(2), payment(2, by: token))
            try await store.hear(document(3), payment(3, by: otherToken))
            _ = try await store.transaction {
                try PurchaseEvents($0).emitTransitions(of: app, dueBy: now + .days(90), limit: 100)
            }
            let later = try await store.events(after: last).map(\.entry)
            let named = Set(
                later.map {
                    "\($0.purchase?.original.rawValue ?? "-") \($0.accountToken ?? "nobody")"
                })
            #expect(named == ["1 nobody", "2 nobody", "3 \(otherToken)"])
            #expect(try await store.read { try $0.consistency.logDifferences() }.count == 0)
        }
    }

    @Test(arguments: Driver.allCases)
    func `an erased customer's account token is no longer watched for reminders`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            try await store.hear(document(1), payment(1, by: token, kind: .nonRenewing))
            #expect(try await store.watched() == [token])
            try await store.forget()
            #expect(try await store.watched() == [])
            try await store.hear(document(2), payment(2, by: token, kind: .nonRenewing))
            #expect(try await store.watched() == [])
            try await store.hear(document(3), payment(3, by: otherToken, kind: .nonRenewing))
            #expect(try await store.watched() == [otherToken])
        }
    }

    @Test(arguments: Driver.allCases)
    func `reminders sent for the account token of an erased customer are deleted`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            try await store.hear(document(1), payment(1, by: token, kind: .nonRenewing))
            let season = paid(1, by: token, kind: .nonRenewing)
            let ending = TermEnding(
                chain: "all", from: now, until: now + .days(9), daysBefore: 7)
            let watch = TermWatch(
                subject: CustomerID(rawValue: token), environment: .production)
            try await store.transaction {
                try $0.reminders.insert(
                    TermReminder(
                        ending: ending, dueAt: now, purchase: bought(1), payment: season),
                    to: nil, watch: watch, in: app, at: now)
            }
            #expect(try await store.remindersTold(to: watch.subject) == 1)
            try await store.forget()
            #expect(try await store.remindersTold(to: watch.subject) == 0)
        }
    }
}
