import AppStoreFormats
import Dice
import Engine
import Ledger
import Testing

@testable import Simulator

/// Many random customers with random lives.
@Suite(.serialized) struct PopulationStories {
    private static let accounts = 200
    private static let months = 8
    /// How often the answers about all customers are compared.
    private static let samples = 8

    @Test
    func `answers about random customers equal the ground truth, even after a shuffled replay`()
        async throws
    {
        let seed = Dice.seed(announcedBy: "PopulationStories", usual: 1)
        let set: @Sendable (inout SimulatorSettings) -> Void = { settings in
            settings.seed = seed
            settings.renewsEarlySeconds = Int64(seed % 3) * 43_200
            settings.rules.seats = FullShop.seats
        }
        try await DirectShop.open(set) { shop in
            var dice = SplitMix64(seed: seed)
            await shop.store.setFaults { $0.notifications.odds[.duplicate] = 0.1 }
            let names = try await shop.store.populate(Self.accounts, within: .months(Self.months))
            var crowd = Crowd(shop, names)
            for sample in 1...Self.samples {
                let days = Self.months * 30 / Self.samples
                let time = ISODuration(
                    days: days - 1, milliseconds: Int64.random(in: 0..<172_800_000, using: &dice))
                try await shop.store.advance(by: time)
                try await crowd.check("sample \(sample) of seed \(seed)")
            }
            let shuffled = await shop.bodies().shuffled(using: &dice)
            for database in StoryDatabase.allCases {
                try await database.withAddress { address in
                    try await shop.withLateServer("late", on: address) { late in
                        for body in shuffled {
                            _ = try await late.engine.recording.record(notification: body)
                        }
                        var crowd = Crowd(late, names)
                        try await crowd.check("shuffled, seed \(seed), \(database)")
                        let report = try await late.engine.maintenance.rebuild(verifyOnly: true)
                        #expect(report.isClean, "\(report)")
                    }
                }
            }
        }
    }
}

/// The customers of a population who have arrived so far. The app of each customer posts new
/// purchases.
struct Crowd {
    private let names: [String]
    private var run: CourseRun

    init(_ shop: DirectShop, _ names: [String]) {
        self.names = names
        run = CourseRun(shop)
    }

    mutating func check(_ place: String) async throws {
        var present: [String] = []
        for name in names where try await !run.shop.store.books(of: name).isEmpty {
            present.append(name)
        }
        #expect(!present.isEmpty)
        run.accounts = present
        try await run.check(place)
    }
}

extension AppStoreSimulator {
    /// The books about an account; empty if the account has not arrived yet.
    fileprivate func books(of name: String) throws -> [TruePurchase] {
        do { return try groundTruth(of: name).purchases } catch {
            guard error.code == "unknown_account" else { throw error }
            return []
        }
    }
}
