import AppStoreFormats
import AppStoreTrust
import Engine
import Foundation
import Ledger
import Logging
import PerennialContract
import Storage
import Testing

/// Reminders before the end of a season. The example season lasts three months and a day, and has
/// reminders a week and a day before its end.
@Suite(.serialized) struct ReminderStories {
    private static let day = "T12:00:00Z"

    private static func set(_ date: String, in shop: Shop) async throws {
        try await shop.simulator.post("/_sim/clock", ["set": .string(date + day)])
    }

    @discardableResult
    private static func buy(
        _ name: String, in shop: Shop, token: String? = nil
    ) async throws -> JSON {
        try await shop.addDevice(name)
        var order: [JSON.Member] = [JSON.Member("product_id", "season.spring")]
        if let token { order.append(JSON.Member("app_account_token", .string(token))) }
        return try await shop.simulator.post(
            "/_sim/devices/\(name)-1/purchases", .object(order))
    }

    private static func post(_ bought: JSON, as customer: String, in shop: Shop) async throws {
        try await shop.server.post(
            "/v1/purchases",
            [
                "customer_id": .string(customer),
                "signed_transactions": [.string(try bought.text("signed_transaction"))],
            ])
    }

    private static func events(in shop: Shop) async throws -> [LoggedEvent] {
        while try await shop.engine.events.emitTimeBased() > 0 {}
        return try await shop.engine.events.list(of: "birds", after: 0, limit: 500)
            .filter { $0.entry.change.kind == .termEnding }
    }

    /// The reminders in the form `anna 7 2027-05-01 known 2027-04-24`.
    private static func told(in shop: Shop) async throws -> [String] {
        try await events(in: shop).map { event in
            let ending = try #require(event.entry.change.ending)
            return "\(event.entry.customer?.rawValue ?? event.entry.accountToken ?? "-") "
                + "\(ending.daysBefore) \(ending.until.minute.prefix(10)) "
                + "known \(event.entry.knownAt.minute.prefix(10))"
        }
    }

    /// Another server of the same app, with its own clock.
    private static func server(
        _ database: any DatabaseDriver, at now: Instant, terms: TermRules = birds.settings.terms
    ) -> Engine {
        var app = birds.settings
        app.terms = terms
        return Engine(
            database: database, apps: [app], verifiers: ["birds": Verifier(roots: .apple)],
            now: { now }, logger: Logger(label: "story") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test(arguments: StoryDatabase.allCases)
    func `reminders are emitted once, and again if a second purchase moves the season's end`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await Self.set("2027-01-31", in: shop)
            try await Self.post(Self.buy("anna", in: shop), as: "anna", in: shop)
            try await Self.set("2027-04-23", in: shop)
            #expect(try await Self.told(in: shop) == [])
            try await Self.set("2027-04-24", in: shop)
            let first = ["anna 7 2027-05-01 known 2027-04-24"]
            #expect(try await Self.told(in: shop) == first)
            #expect(try await Self.told(in: shop) == first)
            try await Self.set("2027-04-28", in: shop)
            let again = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "season.spring"])
            try await Self.post(again, as: "anna", in: shop)
            // The second purchase has moved the end, so there was no reminder on the day before the
            // old end.
            try await Self.set("2027-07-25", in: shop)
            #expect(try await Self.told(in: shop) == first)
            try await Self.set("2027-07-26", in: shop)
            let second = first + ["anna 7 2027-08-02 known 2027-07-26"]
            #expect(try await Self.told(in: shop) == second)
            let text = try await shop.engine.customers.explain(
                "anna", app: "birds", environment: .production)
            #expect(text.contains("7 days before 2027-08-02 12:00 UTC: emitted on 2027-07-26"))
            #expect(text.contains("1 day before 2027-08-02 12:00 UTC: due on 2027-08-01"))
            // After the end of the season no reminder is emitted.
            try await Self.set("2027-08-02", in: shop)
            #expect(try await Self.told(in: shop) == second)
            try await Self.expectSound(shop)
        }
    }

    struct Look: Sendable, CustomTestStringConvertible {
        var at: String
        var told: Int
        var testDescription: String { "\(at): \(told)" }
    }

    /// Until now no worker has run.
    @Test(arguments: [
        Look(at: "2027-04-24T11:59:59Z", told: 0), Look(at: "2027-04-24T12:00:00Z", told: 1),
        Look(at: "2027-04-30T11:59:59Z", told: 1), Look(at: "2027-04-30T12:00:00Z", told: 2),
        Look(at: "2027-05-01T11:59:59Z", told: 2), Look(at: "2027-05-01T12:00:00Z", told: 0),
    ]) func `a delayed reminder is emitted late, but not after the end`(
        look: Look
    ) async throws {
        try await withShop(on: .sqlite) { shop in
            try await Self.set("2027-01-31", in: shop)
            try await Self.post(Self.buy("anna", in: shop), as: "anna", in: shop)
            try await shop.simulator.post("/_sim/clock", ["set": .string(look.at)])
            #expect(try await Self.told(in: shop).count == look.told)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `sixteen servers emit each of forty customers' reminders once`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await Self.set("2027-01-31", in: shop)
            for number in 0..<40 {
                let name = "c\(number)"
                try await Self.post(Self.buy(name, in: shop), as: name, in: shop)
            }
            let now = Instant(try #require(Timestamp("2027-04-30T13:00:00Z")))
            let rows = shop.database
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 0..<16 {
                    let server = Self.server(rows, at: now)
                    tasks.addTask { while try await server.events.emitTimeBased() > 0 {} }
                }
                try await tasks.waitForAll()
            }
            let told = try await Self.told(in: shop)
            let expected = (0..<40).flatMap { number in
                [7, 1].map { "c\(number) \($0) 2027-05-01 known 2027-04-30" }
            }
            #expect(told.sorted() == expected.sorted())
            try await Self.expectSound(shop)
        }
    }

    @Test func `after a change of reminders, a server examines all terms again`() async throws {
        try await withShop(on: .sqlite) { shop in
            try await Self.set("2027-01-31", in: shop)
            try await Self.post(Self.buy("anna", in: shop), as: "anna", in: shop)
            while try await shop.engine.events.emitTimeBased() > 0 {}
            let now = Instant(try #require(Timestamp("2027-04-25T12:00:00Z")))
            // A customer buys while a server without reminders runs.
            var silent = birds.settings.terms
            silent.products["season.spring"]?.reminders = []
            let first = Self.server(shop.database, at: now, terms: silent)
            while try await first.events.emitTimeBased() > 0 {}
            try await Self.post(Self.buy("ben", in: shop), as: "ben", in: shop)
            var monthly = birds.settings.terms
            monthly.products["season.spring"]?.reminders = [30]
            let second = Self.server(shop.database, at: now, terms: monthly)
            while try await second.events.emitTimeBased() > 0 {}
            let expected = ["anna", "ben"].map { "\($0) 30 2027-05-01 known 2027-04-25" }
            try await Self.set("2027-04-25", in: shop)
            #expect(try await Self.told(in: shop).sorted() == expected)
            try await Self.expectSound(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `when reminders are first configured, purchases without an owner also get reminders`(
        database: StoryDatabase
    ) async throws {
        var silent = birds
        silent.settings.terms.products["season.spring"]?.reminders = []
        try await withShop(on: database, app: silent) { shop in
            let token = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
            try await Self.set("2027-01-31", in: shop)
            _ = try await Self.buy("anna", in: shop, token: token)
            while try await shop.engine.events.emitTimeBased() > 0 {}
            var monthly = birds.settings.terms
            monthly.products["season.spring"]?.reminders = [30]
            let now = Instant(try #require(Timestamp("2027-04-25T12:00:00Z")))
            let server = Self.server(shop.database, at: now, terms: monthly)
            while try await server.events.emitTimeBased() > 0 {}
            let told = try await Self.told(in: shop)
            #expect(told == ["\(token) 30 2027-05-01 known 2027-04-25"])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a reminder sent for an account token is not repeated when a customer claims the purchase`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let token = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
            try await Self.set("2027-01-31", in: shop)
            let bought = try await Self.buy("anna", in: shop, token: token)
            try await Self.set("2027-04-24", in: shop)
            let first = ["\(token) 7 2027-05-01 known 2027-04-24"]
            #expect(try await Self.told(in: shop) == first)
            try await shop.support.post(
                "/v1/customers/anna/aliases", ["customer_id": .string(token)])
            try await Self.post(bought, as: "anna", in: shop)
            #expect(try await Self.told(in: shop) == first)
            try await Self.set("2027-04-30", in: shop)
            let second = first + ["anna 1 2027-05-01 known 2027-04-30"]
            #expect(try await Self.told(in: shop) == second)
            try await Self.expectSound(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `merged customers get one reminder, and erased customers none`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await Self.set("2027-01-31", in: shop)
            for name in ["anna", "ben", "cleo"] {
                try await Self.post(Self.buy(name, in: shop), as: name, in: shop)
            }
            try await Self.set("2027-04-24", in: shop)
            #expect(try await Self.told(in: shop).count == 3)
            _ = try await shop.engine.customers.alias(
                "ben", to: "anna", app: "birds", environment: .production)
            _ = try await shop.engine.customers.erase("cleo", app: "birds")
            // The end is two seasons after 31 January; a season lasts three months and a day.
            try await Self.set("2027-07-26", in: shop)
            let told = try await Self.told(in: shop).suffix(1)
            #expect(Array(told) == ["anna 7 2027-08-02 known 2027-07-26"])
            #expect(try await Self.told(in: shop).count == 4)
            let names = try await Self.events(in: shop).compactMap(\.entry.customer?.rawValue)
            #expect(!names.contains("cleo"))
            try await Self.expectSound(shop)
        }
    }

    /// Checks the log's rules, whatever events were emitted.
    private static func expectSound(_ shop: Shop) async throws {
        let wrong = try await Database(shop.database).read { try $0.consistency.logDifferences() }
        #expect(wrong.first == [])
    }
}

extension Instant {
    fileprivate init(_ timestamp: Timestamp) {
        self.init(milliseconds: timestamp.milliseconds)
    }
}
