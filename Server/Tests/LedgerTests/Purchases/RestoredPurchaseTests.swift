import Dice
import Ledger
import Testing

private let bought = Instant(milliseconds: 1_700_000_000_000)
private let purchase = PurchaseID("3000001", in: .production)

/// A purchase of the guide, or a restored copy of it.
private func copy(
    _ id: TransactionID, restoredAfter hours: Int? = nil, refundedAfter refund: Double? = nil,
    signedAfter signed: Double, _ grade: Grade = .signed, _ kind: ProductKind = .nonConsumable
) -> Fact {
    let revocation = refund.map { Revocation(at: after($0), kind: .refund) }
    let payment = Payment(
        transaction: id, product: "guide", kind: kind, from: bought, until: nil,
        price: grade == .signed ? Money(milliunits: 4_990, currency: "USD") : nil,
        revocation: revocation, restoredAt: hours.map { bought + .hours($0) })
    return Fact(about: purchase, attestedAt: after(signed), grade: grade, .payment(payment))
}

private func after(_ hours: Double) -> Instant { bought + .milliseconds(Int(hours * 3_600_000)) }

/// The timeline of facts. Requires that it is the same in every order of up to five facts, also if
/// the timeline is stored in between.
private func timeline(_ facts: [Fact]) throws -> Timeline {
    let made = Set(
        permutations(of: facts).map { order in
            order.reduce(Timeline(of: purchase, [])) { grown, fact in
                let stored = Timeline(
                    stored: purchase, copies: grown.copies, renewal: grown.sourcedRenewal,
                    lastGrace: grown.lastGrace)
                return stored.adding([fact])
            }
        } + [Timeline(of: purchase, facts)])
    #expect(made.count == 1, "the order matters")
    return try #require(made.first)
}

private func permutations(of facts: [Fact]) -> [[Fact]] {
    guard let first = facts.first else { return [[]] }
    return permutations(of: Array(facts.dropFirst())).flatMap { rest in
        (0...rest.count).map { Array(rest[..<$0]) + [first] + Array(rest[$0...]) }
    }
}

@Suite struct RestoredPurchaseTests {
    private static let original = copy("3000001", signedAfter: 0)
    private static let restored = copy("3000002", restoredAfter: 1, signedAfter: 1)

    @Test func `a restored non-consumable counts as one purchase, bought at its first date`() throws
    {
        for facts in [[Self.original, Self.restored], [Self.restored]] {
            let told = try timeline(facts)
            #expect(told.periods.count == 1)
            #expect(told.periods.first?.from == bought)
            #expect(told.netAmounts == ["USD": 4_990])
            #expect(told.access(at: bought + .hours(2))?.reason == .owned(since: bought))
        }
        let both = try timeline([Self.original, Self.restored])
        #expect(both.periods[0].payment.transaction == "3000001")
        #expect(both.periods[0].transactions == ["3000001", "3000002"])
        #expect(try timeline([Self.restored]).periods[0].payment.transaction == "3000002")
    }

    /// Each row has a name, the facts about a purchase and its refund, and whether access is open.
    /// Times are in hours after the purchase.
    private static let refunds: [(String, [Fact], isOpen: Bool)] = [
        (
            "the refund names the first number",
            [original, restored, copy("3000001", refundedAfter: 1.5, signedAfter: 1.5)], false
        ),
        (
            "the refund names the copy",
            [
                original, restored,
                copy("3000002", restoredAfter: 1, refundedAfter: 1.5, signedAfter: 1.5),
            ], false
        ),
        (
            "a device signs the other copy again later",
            [
                original, copy("3000001", refundedAfter: 1.5, signedAfter: 1.5),
                copy("3000002", restoredAfter: 1, signedAfter: 3),
            ], false
        ),
        (
            "a receipt that was made later lists the other copy",
            [
                original, copy("3000001", refundedAfter: 1.5, signedAfter: 1.5),
                copy("3000002", restoredAfter: 1, signedAfter: 3, .legacy),
            ], false
        ),
        (
            "the refund is reversed under the number that it named",
            [
                original, restored, copy("3000001", refundedAfter: 1.5, signedAfter: 1.5),
                copy("3000001", signedAfter: 2),
            ], true
        ),
        (
            "the refund is reversed, and a device had shown the copy as refunded",
            [
                restored, copy("3000001", refundedAfter: 1.5, signedAfter: 1.5),
                copy("3000002", restoredAfter: 1, refundedAfter: 1.5, signedAfter: 1.6),
                copy("3000001", signedAfter: 2),
            ], true
        ),
        (
            "a copy is restored after the refund",
            [
                original, copy("3000001", refundedAfter: 1.5, signedAfter: 1.5),
                copy("3000002", restoredAfter: 2, signedAfter: 2),
            ], true
        ),
        (
            "the refund was undone by a restore, and then repeated",
            [
                original, copy("3000001", refundedAfter: 1.5, signedAfter: 1.5),
                copy("3000002", restoredAfter: 2, signedAfter: 2),
                copy("3000001", refundedAfter: 2.5, signedAfter: 2.5),
            ], false
        ),
    ]

    @Test(arguments: refunds.indices)
    func `a refund under any id of a purchase closes earlier copies, but no later copy`(row: Int)
        throws
    {
        let (name, facts, isOpen) = Self.refunds[row]
        let told = try timeline(facts)
        #expect(told.periods.count == 1, "\(name)")
        #expect(told.access(at: bought + .hours(4))?.isOpen == isOpen, "\(name)")
        #expect((told.netAmounts["USD"] ?? 0) == (isOpen ? 4_990 : 0), "\(name)")
    }

    @Test(arguments: [ProductKind.nonConsumable, .consumable, .nonRenewing, .unknown])
    func `in old receipts, copies of a one-time purchase of any kind are one purchase`(
        kind: ProductKind
    )
        throws
    {
        let told = try timeline([
            copy("3000002", restoredAfter: 1, signedAfter: 1, .legacy, kind),
            copy("3000003", restoredAfter: 2, signedAfter: 1.5, .legacy, .unknown),
            copy("3000001", signedAfter: 2, .signed, kind),
        ])
        #expect(told.periods.map(\.payment.kind) == [kind])
        #expect(told.periods.map(\.payment.transaction) == ["3000001"])
        #expect(told.periods.first?.copies.count == 3)
    }

    @Test(arguments: RandomLife.seeds)
    func `any order of copies gives the same purchase`(seed: UInt64) {
        var dice = Dice(seed: seed)
        let facts = (0..<Int.random(in: 2...8, using: &dice)).map { _ in
            let number = Int.random(in: 0...2, using: &dice)
            let isRefunded = Int.random(in: 0..<3, using: &dice) == 0
            return copy(
                TransactionID(rawValue: "300000\(number + 1)"),
                restoredAfter: number == 0 ? nil : number,
                refundedAfter: isRefunded ? Double.random(in: 0...3, using: &dice) : nil,
                signedAfter: Double(Int.random(in: 0...5, using: &dice)),
                Bool.random(using: &dice) ? .signed : .legacy)
        }
        let expected = Timeline(of: purchase, facts)
        #expect(expected.periods.count == 1)
        for _ in 0..<20 {
            let order = facts.shuffled(using: &dice) + facts.shuffled(using: &dice)
            #expect(Timeline(of: purchase, order) == expected, "seed \(seed)")
        }
    }
}
