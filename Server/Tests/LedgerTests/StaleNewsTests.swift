import Ledger
import Testing

/// Information about one period says little about the other periods.
@Suite struct StaleNewsTests {
    private static let start = Instant(milliseconds: 1_700_000_000_000)
    private static let purchase = PurchaseID("1000", in: .production)

    private static func month(
        _ number: Int, product: ProductID = "pro.monthly", from day: Int? = nil,
        revocation: Revocation? = nil, isUpgraded: Bool = false, commitment: Commitment? = nil
    ) -> Payment {
        let from = start + .days(day ?? (number - 1) * 30)
        return Payment(
            transaction: TransactionID(rawValue: "\(number)"), line: "line \(number)",
            product: product, from: from, until: from + .days(30), commitment: commitment,
            isUpgraded: isUpgraded, revocation: revocation)
    }

    private static func timeline(_ facts: [(day: Int, Fact.Statement)]) -> Timeline {
        Timeline(
            of: purchase,
            facts.map { Fact(about: purchase, attestedAt: start + .days($0.day), $0.1) })
    }

    @Test func `after a recovery in grace, the old payment failure does not close the next period`()
    {
        let failing = Renewal(
            willRenew: true, isRetrying: true, graceUntil: Self.start + .days(46),
            ending: .billing)
        let timeline = Self.timeline([
            (0, .payment(Self.month(1))), (31, .renewal(failing)), (33, .payment(Self.month(2))),
        ])
        #expect(timeline.access(at: Self.start + .days(34))?.state == .paid)
        let after = timeline.access(at: Self.start + .days(60) + .hours(10))
        #expect(after?.state == .unconfirmed)
        // A failure that is reported near the end of a period is about that end.
        let again = Self.timeline([
            (0, .payment(Self.month(1))), (33, .payment(Self.month(2))), (59, .renewal(failing)),
        ])
        #expect(again.access(at: Self.start + .days(61))?.state == .retry)
    }

    @Test func `after a resubscription, renewal is unknown even if it was off before`() {
        let timeline = Self.timeline([
            (0, .payment(Self.month(1))),
            (5, .renewal(Renewal(willRenew: false, ending: .cancelled))),
            (40, .payment(Self.month(2, from: 40))),
        ])
        #expect(timeline.access(at: Self.start + .days(20))?.willRenew == false)
        #expect(timeline.access(at: Self.start + .days(41))?.willRenew == nil)
    }

    @Test func `the end of sharing closes access, even if the buyer upgraded`() throws {
        let revocation = Revocation(at: Self.start + .days(3), kind: .sharingEnded)
        let timeline = Self.timeline([
            (3, .payment(Self.month(1, revocation: revocation, isUpgraded: true)))
        ])
        let access = try #require(timeline.access(at: Self.start + .days(4)))
        #expect(access.state == .revoked)
        #expect(!access.isOpen)
    }

    @Test(arguments: [Revocation.Kind.refund, .sharingEnded])
    func `a refund or the end of sharing closes access in grace`(
        kind: Revocation.Kind
    ) {
        let grace = Renewal(
            willRenew: true, isRetrying: true, graceUntil: Self.start + .days(46),
            ending: .billing)
        let revocation = Revocation(at: Self.start + .days(33), kind: kind)
        let timeline = Self.timeline([
            (0, .payment(Self.month(1))), (30, .renewal(grace)),
            (33, .payment(Self.month(1, revocation: revocation))),
        ])
        #expect(timeline.access(at: Self.start + .days(32))?.state == .grace)
        let after = timeline.access(at: Self.start + .days(34))
        #expect(after?.isOpen == false)
        #expect(after?.state == (kind == .refund ? .refunded : .revoked))
    }

    @Test func `a failed payment of a commitment is still checked 70 days after it failed`() throws
    {
        let commitment = Commitment(month: 1, months: 12, until: Self.start + .days(360))
        let failing = Renewal(willRenew: true, isRetrying: true, ending: .billing)
        let timeline = Self.timeline([
            (0, .payment(Self.month(1, commitment: commitment))), (30, .renewal(failing)),
        ])
        let asked = Self.start + .days(30 + 70)
        let next = timeline.nextCheck(
            CheckHistory(knownAt: Self.start, askedAt: asked), rules: CheckRules())
        #expect(next < Self.start + .days(30 + 91))
    }
}
