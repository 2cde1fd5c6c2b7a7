import AppStoreFormats
import Ledger
import Testing

/// Plays whole lives over HTTP. Compares the server's answers with the simulator's books, which are
/// independent of the server.
@Suite(.serialized) struct LifeStories {
    @Test(arguments: Life.all, StoryDatabase.allCases)
    func `after every step of a purchase history, the server's answer equals the ground truth`(
        life: Life, database: StoryDatabase
    ) async throws {
        try await play(life, on: database) { _ in }
    }

    @Test(arguments: Life.all, StoryDatabase.allCases)
    func `if a notification arrives a second time, nothing changes`(
        life: Life, database: StoryDatabase
    ) async throws {
        try await play(life, on: database) { shop in
            try await shop.simulator.post("/_sim/faults", ["notifications": ["duplicate": 1]])
        }
    }

    /// Sets the faults before a life, and compares after each act.
    private func play(
        _ life: Life, on database: StoryDatabase,
        prepare: @escaping @Sendable (Shop) async throws -> Void
    ) async throws {
        try await withShop(on: database) { shop in
            try await prepare(shop)
            try await shop.play(life, isCompared: true)
        }
    }

    @Test(arguments: Life.all, StoryDatabase.allCases)
    func `late notifications in any order lead to correct answers`(
        life: Life, database: StoryDatabase
    ) async throws {
        for seed in Self.seeds { try await playLate(life, seed: seed, on: database) }
    }

    private static let seeds: [UInt64] = [1, 2]

    private func playLate(
        _ life: Life, seed: UInt64, on database: StoryDatabase
    ) async throws {
        try await withShop(on: database, seed: seed) { shop in
            try await shop.simulator.post(
                "/_sim/faults",
                [
                    "notifications": [
                        "delay": .decimal("0.7"), "delay_seconds": ["max": 36_000],
                        "duplicate": .decimal("0.3"), "reorder": .decimal("0.3"),
                    ]
                ])
            var stage = try await shop.play(life)
            try await shop.simulator.post(
                "/_sim/faults",
                ["notifications": ["delay": 0, "duplicate": 0, "reorder": 0, "drop": 0]])
            try await stage.play(.pass("P1D")) { _ in }
            if stage.isPosted { try await stage.compare("at last, seed \(seed)") }
        }
    }

    @Test(arguments: Life.all, StoryDatabase.allCases)
    func `if all notifications of a history arrive at its end, shuffled, the answers are correct`(
        life: Life, database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let stage = try await shop.play(life)
            let bodies = try await shop.notifications()
            try await shop.postTwiceShuffled(bodies, as: "LifeStories")
            if stage.isPosted { try await stage.compare("at last") }
            try await shop.expectCleanRebuild()
        }
    }
}
