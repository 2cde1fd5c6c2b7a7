import Foundation
import Testing

/// Random lives of a buyer among thieves, and lives that once failed. Prints its seed;
/// PERENNIAL_SEED sets it, and PERENNIAL_ROUNDS sets the number of random lives. A life that fails
/// prints its own seed. With this seed it is the first life of a run.
@Suite(.serialized) struct OwnershipOrderStories {
    private static let environment = ProcessInfo.processInfo.environment
    private static let lives = environment["PERENNIAL_ROUNDS"].flatMap(Int.init) ?? 8
    private static let acts = 40
    /// The seeds of lives that once failed.
    private static let knownSeeds: [UInt64] = [
        // A thief took a purchase from a person while the purchase gave no access. Later the
        // purchase gave access again, but the buyer's new document was refused.
        7_890_961_220_987_826_233
    ]
    private static let seed: UInt64 = {
        let given = environment["PERENNIAL_SEED"].flatMap(UInt64.init)
        let seed = given ?? UInt64.random(in: 0...UInt64.max / 2)
        print("OwnershipOrderStories: PERENNIAL_SEED=\(seed)")
        return seed
    }()

    @Test(.timeLimit(.minutes(10)), arguments: StoryDatabase.allCases)
    func `in random sequences by a buyer and thieves, a restore always gives the buyer access`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let random = (0..<Self.lives).map { Self.seed &+ UInt64($0) }
            for seed in random + Self.knownSeeds {
                try await database.withAddress { address in
                    var life = try await OwnershipLife(seed: seed, beside: shop, at: address)
                    let played = await Self.result { try await life.play(acts: Self.acts) }
                    life.assembly.database.close()
                    try played.get()
                }
            }
        }
    }

    private static func result(
        _ body: () async throws -> Void
    ) async -> Result<Void, any Error> {
        do { return .success(try await body()) } catch { return .failure(error) }
    }
}

extension OwnershipLife {
    mutating func play(acts count: Int) async throws {
        for _ in 0..<count { try await act() }
        let report = try await assembly.engine.maintenance.rebuild(verifyOnly: true)
        try #require(report.isClean, "\(report.firstDifferences) \(story)")
    }
}
