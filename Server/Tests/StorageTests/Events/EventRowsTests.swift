import Ledger
import Testing

@testable import Engine
@testable import Storage

private struct Interrupted: Error {}

private func payment(
    _ number: Int, of purchase: PurchaseID, from: Instant = now, isRefunded: Bool = false,
    at: Instant? = nil
) -> Fact {
    Fact(
        about: purchase, attestedAt: at ?? from,
        .payment(
            Payment(
                transaction: TransactionID(rawValue: "\(number)"), line: "l\(number)",
                product: "pro.monthly", from: from, until: from + .days(30),
                price: Money(milliunits: 9_990, currency: "USD"), isRenewal: number > 1000,
                revocation: isRefunded ? Revocation(at: at ?? from, kind: .refund) : nil,
                accountToken: "token")))
}

private func purchase(_ number: Int) -> PurchaseID {
    PurchaseID(TransactionID(rawValue: "\(number)"), in: .production)
}

extension Database {
    fileprivate func hear(_ document: StoredDocument, _ facts: [Fact]) async throws {
        _ = try await record(DocumentWithFacts(document, facts))
    }

    fileprivate func events(after sequence: Int64 = 0) async throws -> [LoggedEvent] {
        try await readingLog { try $0.events.all(of: app, after: sequence, limit: 500) }
    }

    fileprivate func tellTurns(at moment: Instant) async throws -> Int {
        return try await transaction {
            try PurchaseEvents($0).emitTransitions(of: app, dueBy: moment, limit: 100)
        }
    }
}

/// The sequence numbers start at 1, without gaps or repetitions.
private func expectGapless(_ events: [LoggedEvent], _ comment: Comment? = nil) {
    #expect(events.map(\.sequence) == events.indices.map { Int64($0 + 1) }, comment)
}

@Suite struct EventRowsTests {
    @Test(arguments: Driver.allCases)
    func `an event contains the change, the account token and the document that caused it`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.hear(document(1), [payment(1000, of: purchase(1000))])
            let events = try await store.events()
            let entry = try #require(events.first?.entry)
            #expect(events.count == 1 && entry.change.kind == .purchased)
            #expect(entry.cause == .document(document(1).id))
            #expect(entry.customer == nil && entry.accountToken == "token")
            #expect(entry.knownAt == now && entry.change.money?.milliunits == 9_990)
            let after = PurchaseStatus(
                product: "pro.monthly", state: .paid, until: now + .days(30), willRenew: nil)
            #expect(entry.change.before == nil && entry.change.after == after)
        }
    }

    @Test(arguments: Driver.allCases)
    func `every kind of change is read from the log as it was written`(driver: Driver) async throws
    {
        var change = Change(.expired, at: now)
        change.before = PurchaseStatus(product: "a", state: .grace, until: now, willRenew: true)
        change.after = PurchaseStatus(product: "b", state: nil, until: nil, willRenew: nil)
        change.money = Money(milliunits: -1, currency: "JPY")
        (change.product, change.transaction) = ("a", "1")
        (change.ownership, change.offer) = (.assigned, Offer(.winBack, id: "x"))
        (change.nextProduct, change.nextPrice) = ("c", Money(milliunits: 5, currency: "EUR"))
        change.expirationReason = .priceNotAgreed
        let causes: [EventEntry.Cause] = [
            .time, .request, .rebuild, .document(document(1).id),
        ]
        let whole = change
        let entries = causes.map { cause in
            EventEntry(
                app: app, customer: "anna", purchase: purchase(7), change: whole, knownAt: now,
                cause: cause, accountToken: "t", other: "ben", evidence: .support)
        }
        try await driver.withStore { store in
            try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                try tx.events.append(entries)
            }
            #expect(try await store.events().map(\.entry) == entries)
            #expect(try await store.events().map(\.customerSequence) == [1, 2, 3, 4])
        }
    }

    @Test(arguments: Driver.allCases)
    func `a transaction that is undone leaves no gap in the numbers of events`(driver: Driver)
        async throws
    {
        try await driver.withStore { store in
            try await store.hear(document(1), [payment(1000, of: purchase(1000))])
            await #expect(throws: Interrupted.self) {
                try await store.transaction { tx in
                    let kept = DocumentWithFacts(document(2), [payment(5, of: purchase(5))])
                    _ = try DocumentRecorder(tx).record(kept)
                    throw Interrupted()
                }
            }
            try await store.hear(document(3), [payment(6, of: purchase(6))])
            let events = try await store.events()
            expectGapless(events)
            #expect(events.map(\.entry.purchase) == [purchase(1000), purchase(6)])
        }
    }

    @Test(arguments: Driver.allCases)
    func `a repeated document, or a document without news, causes no event`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let fact = payment(1000, of: purchase(1000))
            for number: UInt8 in [1, 1, 2] { try await store.hear(document(number), [fact]) }
            #expect(try await store.events().count == 1)
        }
    }

    @Test(arguments: Driver.allCases)
    func `an expiry without a document is reported once, when it is due`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.hear(document(1), [payment(1000, of: purchase(1000))])
            let end = now + .days(30)
            #expect(try await store.tellTurns(at: end + .seconds(59)) == 0)
            #expect(try await store.tellTurns(at: end + .seconds(60)) == 1)
            #expect(try await store.tellTurns(at: end + .hours(23)) == 0)
            #expect(try await store.tellTurns(at: end + .days(90)) == 1)
            #expect(try await store.tellTurns(at: end + .days(99)) == 0)
            let events = try await store.events()
            #expect(
                events.map(\.entry.change.kind) == [.purchased, .accessUnconfirmed, .expired])
            #expect(events.last?.entry.change.at == end + .hours(24))
            #expect(events.last?.entry.knownAt == end + .days(90))
            #expect(events.last?.entry.cause == .time)
        }
    }

    @Test(arguments: Driver.allCases)
    func `the log of a purchase's new owner begins with the purchase's present status`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.hear(document(1), [payment(1000, of: purchase(1000))])
            try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                try OwnershipUpdates(tx).link(
                    purchase(1000), to: "anna", by: .device, in: app, at: now + .days(40))
            }
            try await store.hear(
                document(2),
                [
                    payment(1001, of: purchase(1000), from: now + .days(41))
                ])
            let own = try await store.readingLog {
                try $0.events.all(of: ["anna"], in: app, after: 0, limit: 10)
            }
            #expect(own.map(\.entry.change.kind) == [.linked, .billingRecovered])
            #expect(own.map(\.customerSequence) == [1, 2])
            #expect(own.first?.entry.change.after?.state == .expired)
            #expect(own.first?.entry.evidence == .device)
            // Time changed the purchase before it had an owner.
            let kinds = try await store.events().map(\.entry.change.kind)
            #expect(kinds.prefix(3) == [.purchased, .accessUnconfirmed, .expired])
            expectGapless(try await store.events())
        }
    }

    @Test(arguments: Driver.allCases)
    func `after a merge, further events belong to the remaining customer`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.hear(document(1), [payment(1000, of: purchase(1000))])
            try await store.transaction { tx in
                for id: CustomerID in ["anna", "phone"] {
                    _ = try IdentityUpdates(tx).customer(id, in: app, at: now)
                }
                try IdentityUpdates(tx).addID("tablet", to: "phone", in: app, at: now)
                try OwnershipUpdates(tx).link(
                    purchase(1000), to: "phone", by: .device, in: app, at: now)
                try IdentityUpdates(tx).merge("phone", into: "anna", in: app, at: now)
            }
            let ids = try await store.read {
                try $0.customers.find(known: "anna", in: app)?.ids ?? []
            }
            let own = try await store.readingLog {
                try $0.events.all(of: ids, in: app, after: 0, limit: 10)
            }
            #expect(
                own.map(\.entry.change.kind) == [.aliasAdded, .linked, .customerMerged, .moved])
            #expect(own.map(\.entry.customer) == ["phone", "phone", "anna", "anna"])
            #expect(own.map(\.entry.other) == ["tablet", nil, "phone", "phone"])
            #expect(own.map(\.customerSequence) == [1, 2, 1, 2])
            let last = try await store.readingLog { try $0.events.last(of: ids, in: app, limit: 2) }
            #expect(last == own.suffix(2))
            expectGapless(try await store.events())
        }
    }

    @Test(arguments: Driver.allCases)
    func `a rebuild appends events only for the state that it changes`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let facts = [
                payment(1000, of: purchase(1000)),
                payment(1000, of: purchase(1000), isRefunded: true, at: now + .seconds(1)),
            ]
            for (number, fact) in facts.enumerated() {
                try await store.hear(document(UInt8(number)), [fact])
            }
            let before = try await store.events()
            let rows = try await store.toldRows()
            try await store.rebuild(with: facts)
            #expect(try await store.events() == before)
            // The row of the purchase is lost, and the log says what was reported.
            try await store.driver.write { _ = try $0.run("DELETE FROM purchases", []) }
            try await store.rebuild(with: facts)
            #expect(try await store.events() == before)
            #expect(try await store.toldRows() == rows)
            // The refund is no longer a fact.
            try await store.rebuild(with: [facts[0]])
            let after = try await store.events()
            #expect(after.dropLast() == before[...])
            #expect(after.last?.entry.change.kind == .refundReversed)
            #expect(after.last?.entry.change.money?.milliunits == 9_990)
            #expect(after.last?.entry.cause == .rebuild)
            // No document mentions the purchase any more.
            try await store.rebuild(with: [])
            let last = try #require(try await store.events().last?.entry.change)
            #expect(last.before?.state == .paid && last.after == nil)
            #expect(last.money?.milliunits == -9_990)
            #expect(try await store.read { try $0.consistency.logDifferences() }.count == 0)
            expectGapless(try await store.events())
        }
    }
}

@Suite struct LogVerificationTests {
    struct Harm: CustomTestStringConvertible, Sendable {
        var sql: String
        /// A part of the message about the damage.
        var told: String

        var testDescription: String { told }

        static let all = [
            Harm(
                sql: "DELETE FROM events WHERE sequence = 2",
                told: "event 3 of birds follows event 1"),
            Harm(
                sql: "UPDATE events SET customer_sequence = 7 WHERE sequence = 3",
                told: "event 3 of birds should be number 1 of its customer"),
            Harm(
                sql: "UPDATE purchases SET reported_state = (SELECT reported_state FROM purchases "
                    + "WHERE purchase = '5') WHERE purchase = '1000'",
                told: "ends with another status than was reported"),
            Harm(
                sql: "UPDATE purchases SET reported_state = NULL WHERE purchase = '5'",
                told: "production:5 has no events"),
            Harm(
                sql: "DELETE FROM purchases WHERE purchase = '5'",
                told: "production:5 has events but is not stored"),
            Harm(
                sql: "UPDATE purchases SET timeline = reported_state WHERE purchase = '5'",
                told: "production:5 cannot be read"),
            Harm(
                sql: "UPDATE logs SET last_sequence = last_sequence + 1",
                told: "the log of birds ends with event 3"),
        ]
    }

    @Test(arguments: Harm.all)
    func `the check of the log finds damage`(harm: Harm) async throws {
        try await Driver.sqliteMemory.withStore { store in
            try await store.hear(document(1), [payment(1000, of: purchase(1000))])
            try await store.hear(document(2), [payment(5, of: purchase(5), from: now - .days(2))])
            try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                try OwnershipUpdates(tx).link(
                    purchase(1000), to: "anna", by: .device, in: app, at: now)
            }
            #expect(try await store.read { try $0.consistency.logDifferences() }.count == 0)
            try await store.driver.write { _ = try $0.run(harm.sql, []) }
            let texts = try await store.read { try $0.consistency.logDifferences() }.first
            #expect(texts.contains { $0.contains(harm.told) }, "\(texts)")
        }
    }
}

extension Database {
    /// Rebuilds as if each fact had its own document.
    fileprivate func rebuild(with facts: [Fact]) async throws {
        try await transaction { tx in
            try tx.rebuild.begin()
            for (number, fact) in facts.enumerated() {
                try tx.rebuild.add([fact], from: document(UInt8(number)))
            }
            try RebuildUpdates(tx).swapRebuilt(at: now)
        }
    }

    fileprivate func toldRows() async throws -> [Row] {
        try await driver.read {
            try $0.rows(
                "SELECT purchase, timeline, reported_state, next_change_at_ms FROM purchases", [])
        }
    }
}

/// Servers that share one PostgreSQL database.
@Suite struct SharedLogTests {
    private static let documents: UInt8 = 240

    @Test func `while three servers write, a reader sees every event, in order`()
        async throws
    {
        try await Driver.withServers { servers in
            try await servers[0].transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                for number in 0..<10 {
                    try OwnershipUpdates(tx).link(
                        purchase(number), to: "anna", by: .device, in: app, at: now)
                }
            }
            let done = Tally()
            let read = try await withThrowingTaskGroup(of: [LoggedEvent].self) { group in
                for number in 0..<Self.documents {
                    let server = servers[Int(number) % 3]
                    group.addTask {
                        let own = purchase(Int(number) % 40)
                        let paid = payment(
                            Int(number), of: own, from: now + .days(30 * Int(number / 40)))
                        try await server.hear(document(number), [paid])
                        _ = done.next()
                        return []
                    }
                }
                group.addTask {
                    var read: [LoggedEvent] = []
                    while true {
                        // The condition is evaluated before the read, so that the last read sees
                        // everything.
                        let isLast = done.count == Self.documents
                        read += try await servers[1].events(after: read.last?.sequence ?? 0)
                        if isLast { return read }
                        await Task.yield()
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(read.count >= Int(Self.documents) + 10)
            expectGapless(read)
            #expect(read == (try await servers[2].events()))
            let annas = read.filter { $0.entry.customer == "anna" }
            #expect(annas.map(\.customerSequence) == annas.indices.map { Int64($0 + 1) })
            #expect(annas.count > 10)
        }
    }

    @Test func `each transition caused by time is reported once, even if many servers look for it`()
        async throws
    {
        try await Driver.withServers { servers in
            for number in 0..<60 {
                try await servers[0].hear(
                    document(UInt8(number)), [payment(number, of: purchase(number))])
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for server in servers {
                    group.addTask {
                        while try await server.transaction({
                            try PurchaseEvents($0).emitTransitions(
                                of: app, dueBy: now + .days(90), limit: 7)
                        }) > 0 {}
                    }
                }
                try await group.waitForAll()
            }
            let events = try await servers[0].events()
            expectGapless(events)
            let ends = events.filter { $0.entry.change.kind == .expired }.map(\.entry.purchase)
            #expect(ends.count == 60 && Set(ends).count == 60)
            #expect(events.count == 180)
        }
    }
}
