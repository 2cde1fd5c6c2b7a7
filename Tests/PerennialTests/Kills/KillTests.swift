import Foundation
import Perennial
import PerennialTesting
import Testing

/// An app, which is a separate process, is killed by SIGKILL at random moments between the tap on
/// "buy" and the finish of the transaction. After the kill, the app is launched again with the same
/// files.
///
/// `PERENNIAL_KILLS` sets the number of kills for each mixture of faults. `PERENNIAL_SEED` repeats
/// the choices of an earlier run. The moments also depend on how busy the machine is.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .enabled(if: World.isAvailable && KilledProcess.path != nil, "skipped: no program"))
struct KillTests {
    /// The faults besides kills.
    enum Mixture: String, CaseIterable {
        /// There are no other faults. Only the app reports purchases to the server.
        case calm
        /// The server is down, slow, failing, or its answers get lost. Only the app reports
        /// purchases.
        case network
        /// StoreKit's lists are late, doubled or in another order, and notifications are lost,
        /// doubled and late.
        case store
    }

    private static let products = ["seeds.100", "guide", "pro.monthly"]
    private static let environment = ProcessInfo.processInfo.environment
    static let kills = environment["PERENNIAL_KILLS"].flatMap { Int($0) } ?? 3
    static let seed =
        environment["PERENNIAL_SEED"].flatMap { UInt64($0) } ?? .random(in: 1...999_999)
    /// The number of purchases whose process is not killed. These purchases show how long a
    /// purchase takes.
    private static let calibrations = 3

    @Test(arguments: Mixture.allCases)
    func `a purchase whose process is killed is credited once, and finished after it is recorded`(
        mixture: Mixture
    ) async throws {
        print("Kills, \(mixture.rawValue): PERENNIAL_SEED=\(Self.seed)")
        var dice = KillDice(seed: Self.seed, mixture)
        var tally = KillTally()
        try await Stories.play { world in
            if mixture != .store { try await world.faults(["notifications": ["drop": 1]]) }
            var span = Double.infinity
            for number in 0..<Self.calibrations {
                let time = try await timeOfPurchase(number, in: world)
                span = min(span, time)
            }
            for number in 0..<Self.kills {
                let kill = Kill(
                    number: number, product: dice.pick(Self.products),
                    reach: mixture == .network ? dice.pick(Self.reaches) : .up,
                    isStoreFaulty: mixture == .store, seconds: dice.fraction() * span)
                tally.add(try await play(kill, in: world))
            }
        }
        print("Kills, \(mixture.rawValue): \(tally)")
        #expect(tally.count == Self.kills)
    }

    private static let reaches: [World.Reach] = [
        .up, .down, .slow(0.2), .answering(500), .answering(429, retryAfter: 1), .losingAnswers,
    ]

    private static let faults: [String: any Sendable] = [
        "devices": [
            "latest_twice": 0.3, "newest_first": 0.3, "finished_again": 0.2,
            "unlisted_after_purchase": 0.3, "empty_read": 0.2,
        ],
        "notifications": ["drop": 0.3, "duplicate": 0.3, "reorder": 0.3],
    ]
    private static let noFaults: [String: any Sendable] = ["devices": [:] as [String: Double]]

    private func timeOfPurchase(_ number: Int, in world: World) async throws -> Double {
        let phone = try await world.device(of: "calibration\(number)")
        let app = try KilledProcess(
            phone, in: world, customer: phone.account, buying: "seeds.100")
        #expect(await app.says("tap"))
        let clock = ContinuousClock()
        let start = clock.now
        #expect(await app.says("finished"))
        let time = clock.now - start
        await app.kill()
        return time / .seconds(1)
    }

    private struct Kill {
        var number: Int
        var product: String
        var reach: World.Reach
        var isStoreFaulty: Bool
        var seconds: Double
    }

    /// Buys in a process that is killed, and recovers. Returns the stage that the purchase had
    /// reached.
    private func play(_ kill: Kill, in world: World) async throws -> KillTally.Stage {
        let phone = try await world.device(of: "anna\(kill.number)")
        await world.serverIs(kill.reach)
        if kill.isStoreFaulty { try await world.faults(Self.faults) }
        let app = try KilledProcess(
            phone, in: world, customer: phone.account, buying: kill.product)
        #expect(await app.says("tap"), "kill \(kill.number)")
        // The test kills at a random moment on purpose, so it waits for no condition.
        try await Task.sleep(nanoseconds: UInt64(kill.seconds * 1_000_000_000))
        await app.kill()
        await world.serverIs(.up)
        if kill.isStoreFaulty { try await world.faults(Self.noFaults) }
        let stage = try await stage(of: phone, kill, in: world)
        #expect(stage != .finishedTooSoon, "kill \(kill.number), \(kill.seconds) s")
        try await recover(phone, kill, in: world)
        return stage
    }

    private func stage(
        of phone: Device, _ kill: Kill, in world: World
    ) async throws -> KillTally.Stage {
        // The order of these questions matters: a purchase that was on its way when the process
        // ended can arrive between them.
        let isBought = try await !world.truth(of: phone.account).purchases.isEmpty
        let isFinished = try await phone.unfinished() == 0
        let isKept = try await isKept(kill.product, of: phone, in: world)
        guard isBought else { return .notBought }
        if isFinished { return isKept ? .finished : .finishedTooSoon }
        return isKept ? .kept : .bought
    }

    private func isKept(
        _ product: String, of phone: Device, in world: World
    ) async throws -> Bool {
        let server = try await world.serverTruth(of: phone.account)
        return product == "seeds.100"
            ? server.balance(of: "seeds") > 0
            : server.isOpen(String(product.prefix { $0 != "." }))
    }

    /// The maximum number of launches of the app after a kill. A purchase that was on its way to
    /// the App Store when the process ended can arrive after the first launch has read the store.
    /// So that launch is also ended.
    private static let recoveriesMax = 5

    private func recover(_ phone: Device, _ kill: Kill, in world: World) async throws {
        var isDone = false
        for number in 1...Self.recoveriesMax {
            let app = try KilledProcess(phone, in: world, customer: phone.account, buying: nil)
            isDone = await app.says("done")
            await app.kill()
            let unfinished = try await phone.unfinished()
            if number > 1, unfinished == 0 { break }
        }
        let truth = try await world.truth(of: phone.account)
        let server = try await world.serverTruth(of: phone.account)
        let unfinished = try await phone.unfinished()
        let comment: Comment = "kill \(kill.number), \(kill.seconds) s of \(kill.product)"
        #expect(isDone && unfinished == 0, comment)
        #expect(server.balance(of: "seeds") == 100 * truth.count(of: "seeds.100"), comment)
        for right in ["guide", "pro"] {
            #expect(server.isOpen(right) == truth.isOpen(right), comment)
        }
    }
}

/// The stages that purchases had reached when their process was killed.
struct KillTally: CustomStringConvertible {
    enum Stage: String, CaseIterable {
        case notBought = "not bought"
        case bought = "bought"
        case kept = "kept by the server"
        case finished = "finished"
        case finishedTooSoon = "finished too soon"
    }

    private var counts: [Stage: Int] = [:]

    var count: Int { counts.values.reduce(0, +) }

    mutating func add(_ stage: Stage) { counts[stage, default: 0] += 1 }

    var description: String {
        "\(count) kills: "
            + Stage.allCases.map { "\(counts[$0] ?? 0) \($0.rawValue)" }.joined(separator: ", ")
    }
}

/// Random numbers by SplitMix64.
struct KillDice {
    private var state: UInt64

    init(seed: UInt64, _ mixture: KillTests.Mixture) {
        state = mixture.rawValue.utf8.reduce(seed) { $0 &* 31 &+ UInt64($1) }
    }

    private mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    mutating func fraction() -> Double { Double(next() >> 11) / Double(1 << 53) }

    mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int(next() % UInt64(values.count))]
    }
}
