import AppStoreFormats
import Testing

@testable import Simulator

/// The next plans of random customers, counted over many customers. The expected shares are the
/// published ones, written here independently.
@Suite struct LifeWeightTests {
    private static let lives: UInt64 = 6000

    /// A world with one customer, who has one subscription.
    private struct Scene {
        var world: World
        var now: AppStoreDate

        init(_ product: String, offer: String? = PurchaseOrder.noOffer) throws {
            now = try moment("2026-01-10T20:00:00Z")
            world = World(SimulatorSettings(now: now, shop: try FullShop.file()))
            _ = try world.addDevice(
                account: "life", environment: .production, storefront: .unitedStates,
                appAccountToken: nil, at: now)
            _ = try world.purchase(PurchaseOrder(product, offerID: offer), on: "life-1", at: now)
        }

        var chain: Subscription {
            get throws {
                try world.subscription(
                    require(world.chains(of: LifeWeightTests.key).first?.id, "no chain"))
            }
        }

        mutating func apply(_ act: SubscriptionAct) throws {
            _ = try world.apply(act, to: chain.id, at: now)
        }

        /// Processes the given number of due events.
        mutating func settle(_ count: Int = 1) throws {
            for _ in 0..<count {
                now = try require(world.nextDue, "nothing is due")
                _ = world.processNext(at: now)
            }
        }

        /// The plans of many customers in the same situation.
        func plans() -> [Life.Plan?] {
            (1...LifeWeightTests.lives).map { seed in
                var life = Life(
                    name: "life", environment: .production, household: nil, seed: seed &* 0x9E37)
                return life.plan(in: world, at: now)
            }
        }

        func share(_ isCounted: (Life.Plan?) -> Bool) -> Double {
            Double(plans().count(where: isCounted)) / Double(LifeWeightTests.lives)
        }
    }

    private static let key = Account.Key(name: "life", environment: .production)

    struct Odds: Sendable, CustomTestStringConvertible {
        let product: String
        var offer: String? = PurchaseOrder.noOffer
        var periods = 1
        /// The share of customers who renew.
        let renewal: Double

        var testDescription: String { "\(product), period \(periods)" }
    }

    static let renewals = [
        Odds(product: "weeks.one", renewal: 0.443), Odds(product: "family.monthly", renewal: 0.532),
        Odds(product: "years.promised", renewal: 0.252),
        Odds(product: "weeks.one", periods: 2, renewal: 0.710),
        Odds(product: "family.monthly", periods: 3, renewal: 0.774),
        Odds(product: "family.monthly", periods: 9, renewal: 0.883),
        Odds(product: "tiers.silver", offer: nil, renewal: 0.38),
    ]

    @Test(arguments: renewals)
    func `random customers cancel at the published rates, 86 percent by switching renewal off`(
        odds: Odds
    ) throws {
        var scene = try Scene(odds.product, offer: odds.offer)
        try scene.settle(odds.periods - 1)
        // Some customers cancel only for a while, and resume.
        let whim = 0.015 * odds.renewal
        let cancelled = scene.share { $0?.intent == .act(.cancel) }
        let failed = scene.share { $0?.intent == .act(.failBilling) }
        #expect(abs(cancelled - whim - 0.86 * (1 - odds.renewal)) < 0.025)
        #expect(abs(failed - 0.14 * (1 - odds.renewal)) < 0.015)
    }

    @Test func `more than a quarter of the cancelled trials are cancelled within an hour`() throws {
        let scene = try Scene("tiers.silver", offer: nil)
        let cancelled = scene.plans().compactMap { $0 }.filter { $0.intent == .act(.cancel) }
        let soon = cancelled.filter { $0.at.milliseconds - scene.now.milliseconds < 3_600_000 }
        let share = Double(soon.count) / Double(cancelled.count)
        // The published 28 %, and some of the other customers, who act at once or early by chance.
        #expect((0.33...0.42).contains(share))
        let paid = try Scene("family.monthly")
        let others = paid.plans().compactMap { $0 }.filter { $0.intent == .act(.cancel) }
        let early = others.filter { $0.at.milliseconds - paid.now.milliseconds < 3_600_000 }
        #expect(Double(early.count) / Double(others.count) < 0.12)
    }

    @Test func `three in ten cancellations are at the beginning of a period, or close to its end`()
        throws
    {
        let scene = try Scene("family.monthly")
        let end = try scene.chain.paidUntil.milliseconds
        let day: Int64 = 86_400_000
        let beside = Set([-day - 1, -day, -day + 1, -1, 0, 1].map { end + $0 })
        let acts = scene.plans().compactMap { $0 }.filter { $0.intent == .act(.cancel) }
        let edges = acts.map(\.at.milliseconds).filter {
            beside.contains($0) || $0 == scene.now.milliseconds
        }
        #expect(Set(edges).count == 7)
        #expect((0.26...0.34).contains(Double(edges.count) / Double(acts.count)))
    }

    @Test func `half of the cancellations within a period come in its first quarter`() throws {
        let scene = try Scene("family.monthly")
        let length = Double(try scene.chain.paidUntil.milliseconds - scene.now.milliseconds)
        let places = scene.plans().compactMap { $0 }.filter { $0.intent == .act(.cancel) }
            .map { Double($0.at.milliseconds - scene.now.milliseconds) / length }
            .filter { $0 > 0 && $0 < 0.95 }
        let early = places.filter { $0 < 0.25 }
        #expect((0.45...0.58).contains(Double(early.count) / Double(places.count)))
    }

    @Test func `of the customers who cancel, one in seven switches renewal on again`() throws {
        var scene = try Scene("family.monthly")
        try scene.apply(.cancel)
        #expect(abs(scene.share { $0?.intent == .act(.resume) } - 0.15) < 0.02)
    }

    @Test func `six in ten refused payments recover, in grace or after it`() throws {
        var scene = try Scene("family.monthly")
        try scene.apply(.failBilling)
        try scene.settle()
        guard case .grace(let until, let retryUntil) = try scene.chain.phase else {
            throw Missing(description: "no grace")
        }
        let recoveries = scene.plans().compactMap { $0 }.filter {
            $0.intent == .act(.recoverBilling)
        }
        #expect(abs(Double(recoveries.count) / Double(Self.lives) - 0.6) < 0.025)
        let late = recoveries.filter { $0.at > until }
        #expect((0.15...0.35).contains(Double(late.count) / Double(recoveries.count)))
        // Recoveries also occur exactly at the end of grace and of retry.
        for end in [until, retryUntil] { #expect(recoveries.contains { $0.at == end }) }
        try scene.settle()
        #expect(abs(scene.share { $0?.intent == .act(.recoverBilling) } - 0.6) < 0.025)
    }

    @Test(arguments: [("family.monthly", 0.2), ("years.promised", 0.05)])
    func `some former customers subscribe again`(product: String, odds: Double) throws {
        var scene = try Scene(product)
        try scene.apply(.cancel)
        try scene.settle()
        #expect(abs(scene.share { $0?.intent == .buyAgain } - odds) < 0.02)
    }

    @Test func `after some refunds, the refund is reversed or the customer comes back`() throws {
        var scene = try Scene("family.monthly")
        try scene.apply(.refund())
        #expect(abs(scene.share { $0?.intent == .reverseRefund } - 0.2) < 0.02)
        #expect(abs(scene.share { $0?.intent == .buyAgain } - 0.16) < 0.02)
    }

    @Test func `one random action in twenty is followed by a second action, often at once`()
        throws
    {
        var scene = try Scene("family.monthly")
        scene.now = AppStoreDate(milliseconds: scene.now.milliseconds + 86_400_000)
        var (whims, followed, atOnce) = (0, 0, 0)
        for seed in 1...4 * Self.lives {
            var life = Life(
                name: "life", environment: .production, household: nil, seed: seed &* 0x9E37)
            // Each of these acts is always followed by another one.
            switch life.plan(in: scene.world, at: scene.now)?.intent {
            case .look?, .move?, .act(.cancel)?, nil: continue
            case .act(let act)? where act.description.hasPrefix("advanced-commerce"): continue
            default: whims += 1
            }
            var copy = life
            guard copy.dequeueFollowing() == .changeProduct(isRepeated: false) else { continue }
            followed += 1
            if life.plan(in: scene.world, at: scene.now)?.at == scene.now { atOnce += 1 }
        }
        #expect((0.03...0.07).contains(Double(followed) / Double(whims)))
        #expect((0.2...0.4).contains(Double(atOnce) / Double(followed)))
    }

    @Test func `random actions occur as often as their weights say`() throws {
        var scene = try Scene("family.monthly")
        // The period is no longer fresh, so nobody leaves in it now.
        scene.now = AppStoreDate(milliseconds: scene.now.milliseconds + 86_400_000)
        func isSame(_ intent: Life.Intent?, _ name: String) -> Bool {
            intent.map { String(describing: $0).contains(name) } ?? false
        }
        let whims: [(String, Double)] = [
            ("act(refund", 0.025), ("act(request-refund", 0.010),
            ("changeProduct(isRepeated: false", 0.040), ("changeProduct(isRepeated: true", 0.020),
            ("act(cancel)", 0.015), ("act(raise-price", 0.010),
            ("redeemOffer", 0.006), ("refundPastPeriod", 0.020), ("buyOnce", 0.007),
            ("leaveFamily", 0.010), ("stopSharing", 0.010), ("extend", 0.006),
        ]
        let plans = scene.plans()
        for (name, odds) in whims {
            let count = Double(plans.count { isSame($0?.intent, name) })
            let expected = odds * Double(Self.lives)
            #expect(abs(count - expected) < 4 * expected.squareRoot(), "\(name): \(count)")
        }
    }
}

// An act contains a function, so plans are compared by their descriptions. Acts count as equal if
// they differ only in parts that are not described, such as the reason of a refund.

extension SubscriptionAct: Equatable {
    public static func == (one: Self, other: Self) -> Bool {
        one.description == other.description
    }
}

extension Life.Intent: Equatable {
    public static func == (one: Self, other: Self) -> Bool {
        String(describing: one) == String(describing: other)
    }
}
