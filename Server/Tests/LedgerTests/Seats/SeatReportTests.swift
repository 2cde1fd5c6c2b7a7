import Dice
import Ledger
import Testing

private let start = Instant(milliseconds: 1_700_000_000_123)
private let end = start + .days(30)
private let purchase = PurchaseID("1000", in: .production)

/// A month with four seats and two added ones, which share a line item, as documents of all kinds
/// report it. Older documents have no field for seats, and no milliseconds.
private enum Reported {
    private static func payment(
        _ transaction: TransactionID, from: Instant, seats count: Int? = nil, isPart: Bool = false,
        revokedAt: Instant? = nil
    ) -> Payment {
        Payment(
            transaction: transaction, line: "a", product: "pro.monthly", from: from, until: end,
            quantity: count ?? 1,
            price: count.map { Money(milliunits: Int64($0) * 9_990, currency: "USD") },
            isRenewal: true, revocation: revokedAt.map { Revocation(at: $0, kind: .refund) },
            seats: count.map { count in
                Seats(tiers: [Seats.Tier(price: 9_990, count: count)], isPart: isPart)
            })
    }

    private static func fact(
        _ payment: Payment, day: Int, _ grade: Grade = .signed
    ) -> Fact {
        Fact(about: purchase, attestedAt: start + .days(day), grade: grade, .payment(payment))
    }

    private static let addedAt = start + .days(10)

    private static func receipt(
        _ transaction: TransactionID, from: Instant, day: Int, revokedAt: Instant? = nil
    ) -> Fact {
        let seconds = from.milliseconds / 1000 * 1000
        let payment = payment(
            transaction, from: Instant(milliseconds: seconds), revokedAt: revokedAt)
        return fact(payment, day: day, .legacy)
    }

    static let first = fact(payment("1000", from: start, seats: 4), day: 0)
    /// A payment under another transaction id.
    static let firstOfOtherNumber = fact(payment("9000", from: start, seats: 4), day: 1)
    static let firstOfTwo = fact(payment("1000", from: start, seats: 4, isPart: true), day: 10)
    static let added = fact(payment("1001", from: addedAt, seats: 2, isPart: true), day: 10)
    static let receiptOfFirst = receipt("1000", from: start, day: 11)
    static let receiptOfAdded = receipt("1001", from: addedAt, day: 11)
    static let receiptOfRefund = receipt(
        "1001", from: addedAt, day: 16, revokedAt: start + .days(15))

    static let all = [
        first, firstOfOtherNumber, firstOfTwo, added, receiptOfFirst, receiptOfAdded,
        receiptOfRefund,
    ]
}

/// Payments of one period that share a line item. Some of the documents do not name the line item.
@Suite struct SeatReportTests {
    @Test func `every order of the documents gives the same two payments of one period`() {
        let expected = Timeline(of: purchase, Reported.all)
        #expect(expected.periods.map(\.payment.transaction) == ["1000", "1001"])
        #expect(expected.periods.map(\.isAddition) == [false, true])
        #expect(expected.netAmounts == ["USD": 39_960])
        #expect(expected.seats(at: start + .days(20)) == 4)
        #expect(expected.access(at: start + .days(20))?.state == .paid)
        var count = 0
        Self.forEachOrder(of: Reported.all) { facts in
            var timeline = Timeline(of: purchase, [])
            for fact in facts { timeline = timeline.adding([fact]) }
            count += timeline == expected ? 1 : 0
        }
        #expect(count == 5_040)
    }

    @Test(arguments: 0..<300 as Range<UInt64>)
    func `the order of documents does not matter, even if some are missing`(seed: UInt64) {
        var dice = Dice(seed: seed)
        let facts = Reported.all.filter { _ in Bool.random(using: &dice) }
        let told = (facts + facts.filter { _ in Bool.random(using: &dice) }).shuffled(using: &dice)
        var timeline = Timeline(of: purchase, [])
        for fact in told { timeline = timeline.adding([fact]) }
        #expect(timeline == Timeline(of: purchase, facts), "seed \(seed)")
        #expect(timeline.periods.count <= 2, "seed \(seed)")
    }

    @Test func `if only a receipt reports a refund of added seats, access stays open`() {
        let facts = [Reported.first, Reported.receiptOfFirst, Reported.receiptOfRefund]
        let timeline = Timeline(of: purchase, facts)
        #expect(timeline.access(at: start + .days(20))?.state == .paid)
        #expect(timeline.access(at: start + .days(20))?.until == end)
        #expect(timeline.netAmounts == ["USD": 39_960])
    }

    /// Calls the body with each order of the values. Uses Heap's algorithm.
    private static func forEachOrder(of facts: [Fact], _ body: ([Fact]) -> Void) {
        var facts = facts
        func permute(_ count: Int) {
            guard count > 1 else { return body(facts) }
            for index in 0..<count {
                permute(count - 1)
                facts.swapAt(count.isMultiple(of: 2) ? index : 0, count - 1)
            }
        }
        permute(facts.count)
    }
}
