import Foundation
import PerennialTesting
import Testing

@testable import Perennial

/// Random lives of one customer with up to two phones, with servers that are slow, down or silent,
/// stores that are empty or offline, and old offerings in the app. Every snapshot that an app ever
/// shows is compared with the App Store's books: a customer who has paid never sees access reported
/// as closed for certain.
///
/// `PERENNIAL_LIVES` sets the number of lives. `PERENNIAL_SEED` repeats the lives of an earlier
/// run, as far as the machine's timing allows.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .enabled(if: World.isAvailable, "skipped: no program"))
struct AccessLives {
    private static let environment = ProcessInfo.processInfo.environment
    static let count = environment["PERENNIAL_LIVES"].flatMap { Int($0) } ?? 4
    static let seed =
        environment["PERENNIAL_SEED"].flatMap { UInt64($0) } ?? .random(in: 1...999_999)

    @Test func `a customer who has paid never sees access as definitely closed`() async throws {
        print("Lives: PERENNIAL_SEED=\(Self.seed) PERENNIAL_LIVES=\(Self.count)")
        var tally = LifeTally()
        try await Stories.play { world in
            let shop = try await LifeShop(of: world)
            for number in 0..<Self.count {
                let seed = Self.seed &+ UInt64(number)
                var life = try await Life(seed: seed, in: world, shop)
                try await life.play()
                tally.add(life)
            }
        }
        print("Lives: \(tally)")
        #expect(tally.lives == Self.count && tally.snapshots > 0)
    }
}

/// Counts of the acts that were played and of the states that were shown.
struct LifeTally: CustomStringConvertible {
    private(set) var lives = 0
    private(set) var snapshots = 0
    private var answers: [String: Int] = [:]
    private var acts: [String: Int] = [:]

    mutating func add(_ life: Life) {
        lives += 1
        snapshots += life.snapshots
        answers.merge(life.answers) { $0 + $1 }
        acts.merge(life.acts) { $0 + $1 }
    }

    var description: String {
        func list(_ counts: [String: Int]) -> String {
            counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
                .joined(separator: ", ")
        }
        return "\(lives) lives, \(snapshots) snapshots: \(list(answers)); acts: \(list(acts))"
    }
}

/// The offerings that an app may have in its bundle.
struct LifeShop: Sendable {
    let keys: [Perennial.PublicKey]
    private let bundles: [String: URL]

    static let bundleNames = ["none", "none", "present", "lacking", "changed"]

    init(of world: World) async throws {
        keys = try await world.trustedKeys()
        let present = try await world.bundledOfferings()
        let text = try String(contentsOf: present, encoding: .utf8)
        let folder = present.deletingLastPathComponent()
        func write(_ name: String, _ change: (inout [String: Any]) -> Void) throws -> URL {
            let json = try JSONSerialization.jsonObject(with: Data(text.utf8))
            var members = try #require(json as? [String: Any])
            members["jws"] = nil
            let products = try #require(members["products"] as? [[String: Any]])
            members["products"] = products.compactMap { product in
                var product = product
                change(&product)
                return product.isEmpty ? nil : product
            }
            let file = folder.appendingPathComponent("\(name).json")
            try JSONSerialization.data(withJSONObject: members).write(to: file)
            return file
        }
        bundles = [
            "present": present,
            "lacking": try write("lacking") { product in
                if (product["product_id"] as? String)?.hasPrefix("season") != true { product = [:] }
            },
            "changed": try write("changed") { $0["entitlements"] = ["earlier"] },
        ]
    }

    /// The offerings of the app's bundle. Nil if the bundle has none.
    func bundle(_ name: String) -> URL? { bundles[name] }
}
