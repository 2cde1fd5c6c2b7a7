import AppStoreFormats
import Ledger
import Testing

/// What the server comes to know although nobody tells it: by asking.
@Suite(.serialized) struct ReconciliationStories {
    private static let apiFails: JSON = ["api": ["retryable_error": 1]]
    private static let apiWorks: JSON = ["api": ["retryable_error": 0]]

    @Test(arguments: Life.all)
    func `with every notification lost, each change is known within the hour`(life: Life)
        async throws
    {
        try await withShop(on: .sqlite, notifies: false, questions: .all) { shop in
            try await shop.addDevice(Stage.account)
            var stage = Stage(simulator: shop.simulator, server: shop.server)
            for (number, act) in life.acts.enumerated() {
                try await stage.play(act) { _ in }
                try await stage.play(.pass("PT1H1M")) { _ in }
                try await stage.compare("an hour after act \(number) \(act)")
            }
        }
    }

    @Test(arguments: Life.all)
    func `with every notification lost for ever, the schedule alone finds the truth`(life: Life)
        async throws
    {
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            try await shop.addDevice(Stage.account)
            var stage = Stage(simulator: shop.simulator, server: shop.server)
            for act in life.acts { try await stage.play(act) { _ in } }
            try await stage.set(clock: try await stage.now() + .days(200))
            try await stage.compare("at last")
        }
    }

    @Test(arguments: Life.all)
    func `with nobody to ask, the notifications tell everything`(life: Life) async throws {
        try await withShop(on: .sqlite, questions: .all) { shop in
            try await shop.addDevice(Stage.account)
            try await shop.simulator.post("/_sim/faults", Self.apiFails)
            var stage = Stage(simulator: shop.simulator, server: shop.server)
            for (number, act) in life.acts.enumerated() {
                try await stage.play(act) { stage in
                    try await stage.compare("act \(number) \(act)")
                }
            }
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `with neither, a payer is held in, and all is true within an hour after`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, questions: .all) { shop in
            try await shop.addDevice(Stage.account)
            var stage = Stage(simulator: shop.simulator, server: shop.server)
            try await stage.play(.buy("pro.monthly")) { _ in }
            try await stage.play(.pass("P30DT12H")) { _ in }
            try await shop.simulator.post("/_sim/faults", ["notifications": ["drop": 1]])
            try await shop.simulator.post("/_sim/faults", Self.apiFails)
            for _ in 0..<44 {
                try await stage.set(clock: try await stage.now() + .seconds(1800))
                let isOpen = try await shop.entitlement("pro", of: Stage.account)?["state"]?.string
                #expect(isOpen == "paid" || isOpen == "unconfirmed")
            }
            #expect(try await stage.answer().map(\.state) == ["unconfirmed"])
            try await shop.simulator.post("/_sim/faults", Self.apiWorks)
            for _ in 0..<60 { try await stage.set(clock: try await stage.now() + .seconds(60)) }
            try await stage.compare("an hour after")
            #expect(try await stage.answer().map(\.state) == ["paid"])
        }
    }

    @Test func `a purchase first heard of late is known from its beginning`() async throws {
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            try await shop.addDevice(Stage.account)
            var stage = Stage(simulator: shop.simulator, server: shop.server)
            try await stage.play(.buyUnheard("pro.monthly")) { _ in }
            try await stage.play(.pass("P200D")) { _ in }
            try await stage.play(.restore) { _ in }
            try await stage.play(.pass("PT1M")) { _ in }
            let known = try await shop.engine.customer(
                "anna", app: "birds", environment: .production)
            #expect(known.purchases.first?.timeline.periods.count == 7)
        }
    }
}
