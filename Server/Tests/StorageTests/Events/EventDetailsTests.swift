import Ledger
import Testing

@testable import Engine
@testable import Storage

/// Events are stored as JSON text in the table, where operators read them.
@Suite struct EventDetailsTests {
    private static let id = PurchaseID("7", in: .production)

    /// One entry for each kind of content.
    private static let entries: [EventEntry] = {
        var expired = Change(.expired, at: now)
        expired.before = PurchaseStatus(product: "a", state: .grace, until: now, willRenew: true)
        expired.after = PurchaseStatus(product: "b", state: nil, until: nil, willRenew: nil)
        expired.money = Money(milliunits: -1_005, currency: "JPY")
        (expired.product, expired.transaction) = ("a", "1")
        (expired.ownership, expired.offer) = (.familyShared, Offer(.winBack, id: "x"))
        (expired.nextProduct, expired.nextPrice) = ("c", Money(milliunits: 990, currency: "EUR"))
        expired.expirationReason = .priceNotAgreed
        var granted = Change(.granted, at: now + .milliseconds(1))
        granted.grant = Grant(
            id: "g", entitlement: "pro", from: now, until: now + .days(1),
            reason: "\"thanks\"\n\\ ü \u{1} 🐦", withdrawnAt: now)
        granted.grantEnvironment = .sandbox
        var ending = Change(.termEnding, at: Instant(milliseconds: -1))
        ending.ending = TermEnding(chain: "all", from: now, until: now + .days(9), daysBefore: 3)
        var debited = Change(.walletDebited, at: now)
        debited.wallet = WalletChange(
            "seeds", in: .sandbox, before: 100, after: -30, debit: "d", reason: "", key: "k")
        func entry(
            _ change: Change, _ cause: EventEntry.Cause, _ purchase: PurchaseID? = nil,
            token: String? = nil, other: CustomerID? = nil, evidence: Link.Evidence? = nil
        ) -> EventEntry {
            EventEntry(
                app: app, customer: "anna", purchase: purchase, change: change, knownAt: now,
                cause: cause, accountToken: token, other: other, evidence: evidence)
        }
        return [
            entry(
                expired, .document(document(1).id), id, token: "t", other: "ben",
                evidence: .support),
            entry(expired, .rebuild, id), entry(granted, .request), entry(ending, .time, id),
            entry(debited, .request),
        ]
    }()

    private static func fill(_ store: Database) async throws {
        try await store.transaction { tx in
            _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
            try tx.events.append(entries)
        }
        try await store.numberEvents()
    }

    private static func stored(in store: Database) async throws -> [EventEntry] {
        try await store.readingLog { try $0.events.all(of: app, after: 0, limit: 10).map(\.entry) }
    }

    @Test(arguments: Driver.allCases)
    func `every kind of event is read from the table as it was written`(driver: Driver) async throws
    {
        try await driver.withStore { store in
            try await Self.fill(store)
            #expect(try await Self.stored(in: store) == Self.entries)
        }
    }

    @Test func `the JSON of an event has the names and forms of the HTTP API`() {
        let day = "2026-11-21T"
        #expect(Self.entries[0].details.contains("\"at\":\"\(now)\"") && "\(now)".contains("T"))
        var change = Change(.renewed, at: Instant(milliseconds: 1_795_249_800_000))
        change.after = PurchaseStatus(
            product: "pro", state: .paid, until: Instant(milliseconds: 1_795_249_800_001))
        change.money = Money(milliunits: 9_990, currency: "USD")
        change.ownership = .familyShared
        let entry = EventEntry(
            app: app, customer: "anna", purchase: Self.id, change: change, knownAt: now,
            cause: .rebuild)
        #expect(
            entry.details == "{\"at\":\"\(day)08:30:00.000Z\",\"ownership\":\"family_shared\","
                + "\"after\":{\"product_id\":\"pro\",\"active\":true,\"state\":\"paid\","
                + "\"until\":\"\(day)08:30:00.001Z\"},"
                + "\"money\":{\"amount\":\"9.99\",\"currency\":\"USD\"},"
                + "\"cause\":{\"kind\":\"rebuild\"}}")
    }

    @Test(
        arguments: [
            (0, "0.00"), (5, "0.005"), (-990, "-0.99"), (1_000, "1.00"), (-1_234_560, "-1234.56"),
        ] as [(Int64, String)])
    func `an amount of money is stored as exact decimal text`(milliunits: Int64, text: String) {
        var change = Change(.renewed, at: now)
        change.money = Money(milliunits: milliunits, currency: "USD")
        let entry = EventEntry(
            app: app, customer: nil, purchase: nil, change: change, knownAt: now, cause: .time)
        #expect(entry.details.contains("{\"amount\":\"\(text)\",\"currency\":\"USD\"}"))
    }

    @Test(arguments: Driver.allCases)
    func `an erased customer leaves no personal data in any event`(driver: Driver) async throws {
        try await driver.withStore { store in
            try await Self.fill(store)
            try await store.transaction { tx in
                let anna = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                try CustomerErasure(tx).erase(
                    anna, names: ["anna": "erased_1"], hashes: [], in: app, at: now)
            }
            let rows = try await store.readingLog { tx in
                try tx.connection.rows("SELECT customer, details FROM events", [])
            }
            let text = rows.map { "\($0.values)" }.joined()
            // The texts are anna's id, the id of another customer, and what the app's server wrote
            // about her.
            for word in ["anna", "ben", "thanks", "🐦"] { #expect(!text.contains(word), "\(text)") }
            let kept = try await Self.stored(in: store)
            #expect(kept.map(\.change.kind) == Self.entries.map(\.change.kind) + [.customerErased])
            #expect(kept.map(\.environment).prefix(5) == Self.entries.map(\.environment)[...])
        }
    }

    @Test(arguments: [
        "", "{", "{}", "[]", "{\"at\":\"2026\"}", "{\"at\":1}", "{\"at\":\"\(now)\"} {}",
        "{\"at\":\"\(now)\",\"ownership\":\"rented\"}", "{\"at\":\"\(now)\",\"money\":{}}",
        "{\"at\":\"\(now)\",\"money\":{\"amount\":\"9\",\"currency\":\"USD\"}}",
        "{\"at\":\"\(now)\",\"cause\":{\"kind\":\"magic\"}}", "{\"at\":\"\\u12\"}", "{\"at\":\"",
        String(repeating: "{\"a\":", count: 99),
    ])
    func `damaged event JSON is refused`(details: String) {
        #expect(throws: StorageFailure.self) { try Self.entry(details) }
    }

    @Test func `event JSON that was reformatted or has more members can be read`() throws {
        let more =
            " { \"more\" : [ 1, 2.5, {\"x\": null} ],\n \"at\" : \"\(now)\",\n"
            + "\"account_token\":\"\\u0041\\t\\/\", \"why\": null }"
        let entry = try Self.entry(more)
        #expect(entry.change.at == now && entry.accountToken == "A\t/")
    }

    private static func entry(_ details: String) throws -> EventEntry {
        try EventEntry(
            app: app, customer: nil, environment: nil, purchase: nil, kind: "renewed",
            knownAt: now, document: nil, details: details)
    }
}
