import Ledger
import Storage
import Testing

@testable import Engine

/// Purchases that are moved or shared, or whose customers are erased.
@Suite struct OwnershipRowsTests {
    private static let people: [CustomerID] = ["anna", "ben", "cleo"]

    private func fill(_ store: Database) async throws {
        try await store.keep(1)
        try await store.transaction { tx in
            for person in Self.people {
                _ = try IdentityUpdates(tx).customer(person, in: app, at: now)
            }
            try OwnershipUpdates(tx).link(purchase, to: "anna", by: .device, in: app, at: now)
        }
    }

    private func events(_ store: Database) async throws -> [LoggedEvent] {
        try await store.readingLog { try $0.events.all(of: app, after: 0, limit: 100) }
    }

    @Test(arguments: Driver.allCases)
    func `a move of a purchase is reported to both customers, and can be undone by its number`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await fill(store)
            let transfer = try await store.transaction {
                try OwnershipUpdates($0).move(
                    purchase, to: "ben", by: .device, in: app, at: now + .days(1))
            }
            let told = try await events(store).suffix(2)
            #expect(told.map(\.entry.change.kind) == [.movedAway, .moved])
            #expect(told.map(\.entry.customer) == ["anna", "ben"])
            #expect(told.map(\.entry.other) == ["ben", "anna"])
            #expect(transfer.former == "anna")
            let ofAnna = try await store.read { try $0.transfers.all(of: "anna", in: app) }
            let ofBen = try await store.read { try $0.transfers.all(of: "ben", in: app) }
            #expect(ofAnna == [transfer] && ofBen == [transfer])

            try await store.transaction {
                try OwnershipUpdates($0).undo(transfer, in: app, at: now + .days(2))
            }
            let link = try await store.read { try $0.links.find(of: purchase, in: app) }
            #expect(link == Link(customer: "anna", evidence: .support, since: now + .days(2)))
            let undone = try await store.read { try $0.transfers.find(transfer.number, in: app) }
            #expect(undone?.undoneAt == now + .days(2))
            #expect(try await store.read { try $0.consistency.logDifferences() }.count == 0)
        }
    }

    @Test(arguments: Driver.allCases)
    func `undoing the first move of a purchase leaves it without an owner again`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.keep(1)
            let transfer = try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                return try OwnershipUpdates(tx).move(
                    purchase, to: "anna", by: .support, in: app, at: now)
            }
            #expect(transfer.former == nil)
            try await store.transaction {
                try OwnershipUpdates($0).undo(transfer, in: app, at: now)
            }
            #expect(try await store.read { try $0.links.find(of: purchase, in: app) } == nil)
            #expect(try await events(store).last?.entry.change.kind == .unlinked)
        }
    }

    @Test(arguments: Driver.allCases)
    func `when a purchase loses its owner, its shares end, each with an event`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.keep(1)
            try await store.transaction { tx in
                for person in Self.people {
                    _ = try IdentityUpdates(tx).customer(person, in: app, at: now)
                }
                let transfer = try OwnershipUpdates(tx).move(
                    purchase, to: "anna", by: .support, in: app, at: now)
                try OwnershipUpdates(tx).share(purchase, with: "ben", in: app, at: now)
                let later = try OwnershipUpdates(tx).move(
                    purchase, to: "cleo", by: .support, in: app, at: now)
                try OwnershipUpdates(tx).share(purchase, with: "anna", in: app, at: now)
                try OwnershipUpdates(tx).undo(later, in: app, at: now)
                try OwnershipUpdates(tx).undo(transfer, in: app, at: now)
            }
            for person in Self.people {
                let timelines = try await store.read {
                    try $0.shares.timelines(with: person, in: app, environment: .production)
                        + $0.links.timelines(of: person, in: app, environment: .production)
                }
                #expect(timelines.isEmpty, "\(person)")
            }
            let told = try await events(store).suffix(2)
            #expect(told.map(\.entry.change.kind) == [.shareEnded, .unlinked])
            #expect(told.map(\.entry.customer) == ["ben", "anna"])
            #expect(told.map(\.entry.other) == ["anna", nil])
            let ofBen = try await store.read { try $0.transfers.all(of: "ben", in: app) }
            #expect(ofBen.count == 1 && ofBen.first?.undoneAt == now)
            #expect(try await store.read { try $0.consistency.logDifferences() }.count == 0)
        }
    }

    @Test(arguments: Driver.allCases)
    func `a merge keeps each share once, and no share for the owner`(driver: Driver) async throws {
        try await driver.withStore { store in
            try await fill(store)
            try await store.transaction { tx in
                try OwnershipUpdates(tx).share(purchase, with: "ben", in: app, at: now)
                try OwnershipUpdates(tx).share(purchase, with: "cleo", in: app, at: now)
                try IdentityUpdates(tx).merge("cleo", into: "ben", in: app, at: now)
            }
            func shared(_ person: CustomerID) async throws -> Int {
                try await store.read {
                    try $0.shares.timelines(with: person, in: app, environment: .production).count
                }
            }
            #expect(try await shared("ben") == 1)
            #expect(try await shared("cleo") == 0)
            try await store.transaction {
                try IdentityUpdates($0).merge("ben", into: "anna", in: app, at: now)
            }
            #expect(try await shared("anna") == 0)
            let link = try await store.read { try $0.links.find(of: purchase, in: app) }
            #expect(link?.customer == "anna")
            let moved = try await store.transaction {
                try $0.transfers.all(of: "anna", in: app).map(\.customer)
            }
            #expect(moved == ["anna", "anna"])
        }
    }

    @Test(arguments: Driver.allCases)
    func `an erased customer is named in no row, and the log has no gaps`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await fill(store)
            try await store.transaction { tx in
                try IdentityUpdates(tx).addID("phone", to: "anna", in: app, at: now)
                _ = try OwnershipUpdates(tx).move(
                    purchase, to: "ben", by: .device, in: app, at: now)
                _ = try OwnershipUpdates(tx).move(
                    purchase, to: "anna", by: .support, in: app, at: now)
                let grant = Grant(
                    id: "g", entitlement: "pro", from: now, until: now + .days(1),
                    reason: "a secret")
                try GrantUpdates(tx).add(StoredGrant(grant, to: "anna", in: .production), in: app)
                let anna = StoredCustomer(customer: "anna", ids: ["anna", "phone"])
                try CustomerErasure(tx).erase(
                    anna, names: ["anna": "erased_1", "phone": "erased_2"],
                    hashes: [[UInt8](repeating: 1, count: 32)], in: app, at: now)
            }
            let log = try await events(store)
            let names = log.flatMap { [$0.entry.customer, $0.entry.other] }.compactMap(\.self)
            #expect(Set(names) == ["erased_1", "erased_2", "ben"])
            #expect(log.compactMap(\.entry.change.grant).map(\.reason) == [""])
            #expect(log.last?.entry.change.kind == .customerErased)
            #expect(try await store.read { try $0.consistency.logDifferences() }.count == 0)
            let rest = try await store.read { tx in
                (
                    try tx.customers.find(known: "phone", in: app),
                    try tx.links.find(of: purchase, in: app),
                    try tx.transfers.all(of: "ben", in: app)
                )
            }
            #expect(rest.0 == nil && rest.1 == nil && rest.2 == [])
            #expect(
                try await store.read {
                    try $0.erasedIDs.contains([UInt8](repeating: 1, count: 32), in: app)
                })
            let isNew = try await store.transaction {
                try IdentityUpdates($0).customer("anna", in: app, at: now).ids == ["anna"]
            }
            #expect(isNew)
        }
    }

    @Test(arguments: Driver.allCases)
    func `if the customer of a share and then the owner are erased, no row names the owner`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await fill(store)
            try await store.transaction { tx in
                try OwnershipUpdates(tx).share(purchase, with: "ben", in: app, at: now)
                for (person, name): (CustomerID, CustomerID) in [
                    ("ben", "erased_1"), ("anna", "erased_2"),
                ] {
                    try CustomerErasure(tx).erase(
                        StoredCustomer(customer: person, ids: [person]), names: [person: name],
                        hashes: [[UInt8](repeating: name == "erased_1" ? 1 : 2, count: 32)],
                        in: app, at: now)
                }
            }
            let log = try await events(store)
            let names = log.flatMap { [$0.entry.customer, $0.entry.other] }.compactMap(\.self)
            #expect(Set(names) == ["erased_1", "erased_2"])
            #expect(log.contains { $0.entry.change.kind == .shared })
            #expect(try await store.read { try $0.consistency.logDifferences() }.count == 0)
        }
    }

    @Test(arguments: Driver.allCases, [("cleo", "ben"), ("ben", "cleo")])
    func `a merged customer has consented only if each customer with purchases had consented`(
        driver: Driver, merged: (other: CustomerID, one: CustomerID)
    ) async throws {
        try await driver.withStore { store in
            try await fill(store)
            // Ben has bought nothing, so Cleo's consent counts for him. Anna has bought something,
            // so Cleo's consent does not count for her.
            let given = Consent(isGiven: true, hadSample: nil, at: now)
            try await store.transaction { tx in
                try tx.consents.save(given, of: "cleo", in: app)
                try IdentityUpdates(tx).merge(merged.other, into: merged.one, in: app, at: now)
            }
            let both = try await store.read { try $0.consents.find(of: merged.one, in: app) }
            #expect(both == given)
            let isAnnaLast = merged.one == "ben"
            try await store.transaction { tx in
                if isAnnaLast {
                    try IdentityUpdates(tx).merge(merged.one, into: "anna", in: app, at: now)
                } else {
                    try IdentityUpdates(tx).merge("anna", into: merged.one, in: app, at: now)
                }
            }
            let last: CustomerID = isAnnaLast ? "anna" : merged.one
            let all = try await store.read { try $0.consents.find(of: last, in: app) }
            #expect(all?.isGiven == false)
        }
    }

    @Test(arguments: Driver.allCases)
    func `erasing a customer deletes the consent and usage, and keeps the App Store's requests`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await fill(store)
            let question = ConsumptionInquiry(
                purchase: purchase, transaction: "t1", product: "pro.monthly", reason: nil,
                askedAt: now)
            try await store.transaction { tx in
                var asked = DocumentWithFacts(document(9), [])
                asked.consumptionInquiry = question
                _ = try DocumentRecorder(tx).record(asked)
                for name: CustomerID in ["anna", "ben"] {
                    try tx.consents.save(
                        Consent(isGiven: true, hadSample: true, at: now), of: name, in: app)
                    for environment in Environment.allCases {
                        try tx.consents.save(
                            [PurchaseUsage(transaction: "t1", delivery: .other, used: 1)], of: name,
                            in: app, environment: environment)
                    }
                }
                try CustomerErasure(tx).erase(
                    StoredCustomer(customer: "anna", ids: ["anna"]), names: ["anna": "erased_1"],
                    hashes: [[UInt8](repeating: 1, count: 32)], in: app, at: now)
            }
            for (name, isLeft) in [(CustomerID("anna"), false), ("ben", true)] {
                let consent = try await store.read { try $0.consents.find(of: name, in: app) }
                #expect((consent != nil) == isLeft)
                for environment in Environment.allCases {
                    let uses = try await store.read {
                        try $0.consents.uses(of: name, in: app, environment: environment)
                    }
                    #expect(uses.isEmpty != isLeft)
                }
            }
            let questions = try await store.read {
                try $0.inquiries.all(about: [purchase], in: app)
            }
            #expect(questions.map(\.inquiry) == [question])
            #expect(try await store.read { try $0.consistency.logDifferences() }.count == 0)
        }
    }

    @Test(arguments: Driver.allCases)
    func `the end of a grant is reported once, when it is due`(driver: Driver) async throws {
        try await driver.withStore { store in
            try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                for (name, days) in [("a", 1), ("b", 3)] {
                    let grant = Grant(
                        id: GrantID(rawValue: name), entitlement: "pro", from: now,
                        until: now + .days(days), reason: "")
                    try GrantUpdates(tx).add(
                        StoredGrant(grant, to: "anna", in: .production), in: app)
                }
            }
            for (count, isDue) in [(1, true), (0, false)] {
                let then = now + .days(2)
                #expect(
                    try await store.read { try $0.queues.hasDue(.grantEnds, of: app, by: then) }
                        == isDue)
                let told = try await store.transaction {
                    try GrantUpdates($0).emitExpired(of: app, dueBy: then, limit: 10)
                }
                #expect(told == count)
            }
            let last = try await events(store).last?.entry
            #expect(last?.change.kind == .grantEnded && last?.change.at == now + .days(1))
            #expect(last?.change.grant?.id == "a" && last?.cause == .time)
        }
    }
}
