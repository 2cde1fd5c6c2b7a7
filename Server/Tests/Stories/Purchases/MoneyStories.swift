import AppStoreFormats
import Engine
import Ledger
import Testing

/// The money of the event log equals the money of the simulator's books, whichever way the server
/// learns of a change.
@Suite(.serialized) struct MoneyStories {
    enum Way: CaseIterable {
        /// The server learns of changes by notifications, which never contain the refund of an
        /// upgrade.
        case told
        /// The server learns of changes by checks alone. Every notification is lost, and the
        /// notification history is not available.
        case asked
    }

    @Test(arguments: Life.all, Way.allCases)
    func `the money in all events equals the simulator's money, even if no device posts again`(
        life: Life, way: Way
    ) async throws {
        let isReported = way == .told
        try await withShop(on: .sqlite, notifies: isReported, questions: isReported ? .all : .due) {
            shop in
            try await shop.play(life).passUntilAllIsKnown()
            let books = try await shop.simulator.get("/_sim/truth/\(Stage.account)")
            #expect(try await Self.told(by: shop.engine) == Self.booked(books), "\(books.text)")
        }
    }

    @Test(arguments: [
        Life(
            "a past period is refunded, and the chain goes on",
            [.buy("pro.monthly"), .pass("P40D"), .onTransaction(0, "refund")]),
        Life(
            "another product takes the place of a month",
            [.buy("pro.monthly"), .pass("P9D"), .changeProduct("premium.monthly")]),
    ])
    func `changes of an active subscription without notifications are found within 45 days`(
        life: Life
    ) async throws {
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            let stage = try await shop.play(life)
            // Time passes in small steps. If a server's clock jumped by days, it would ask only
            // after the chain has ended.
            for _ in 0..<90 {
                try await stage.set(clock: try await stage.now() + .hours(12))
            }
            try await stage.compare("a month and a half later")
            let books = try await shop.simulator.get("/_sim/truth/\(Stage.account)")
            #expect(try await Self.told(by: shop.engine) == Self.booked(books), "\(books.text)")
        }
    }

    @Test func `the log has the exact amount of a partial refund through Advanced Commerce`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            try await shop.addDevice(Stage.account)
            var stage = Stage(simulator: shop.simulator, server: shop.server)
            try await stage.play(.buy("pro.monthly")) { _ in }
            let verbs = "/_sim/subscriptions/\(try #require(stage.original))"
            try await shop.simulator.post(verbs + "/advanced-commerce", ["type": "MIGRATION"])
            try await stage.set(clock: try await stage.now() + .days(3))
            try await shop.simulator.post(verbs + "/refund", ["percentage": .decimal("25.5")])
            try await stage.compare("given back in part")
            let books = try await shop.simulator.get("/_sim/truth/\(Stage.account)")
            #expect(try await Self.told(by: shop.engine) == Self.booked(books), "\(books.text)")
        }
    }

    private static let eventsMax = 500

    /// The sum of the events' money, in thousandths of the currency's unit.
    private static func told(by engine: Engine) async throws -> Int64 {
        let events = try await engine.events.list(of: "birds", after: 0, limit: eventsMax)
        #expect(events.count < eventsMax)
        return events.reduce(0) { $0 + ($1.entry.change.money?.milliunits ?? 0) }
    }

    private static func booked(_ books: JSON) throws -> Int64 {
        let charges = (books["purchases"]?.array ?? []).flatMap { $0["charges"]?.array ?? [] }
        return try charges.reduce(0) { sum, charge in
            let amount = try #require(charge["amount_milliunits"]?.integer)
            return sum + amount - (charge["refunded_milliunits"]?.integer ?? 0)
        }
    }
}
