import Dice
import Ledger
import Testing

private let start = Instant(milliseconds: 1_700_000_000_000)
private let end = start + .days(30)
private let purchase = PurchaseID("1000", in: .production)

private func payment(
    _ transaction: TransactionID, from: Instant = start, until: Instant = end,
    isPart: Bool = false, isRenewal: Bool = false, revokedAt: Instant? = nil
) -> Payment {
    Payment(
        transaction: transaction, line: transaction.rawValue, product: "pro.monthly", from: from,
        until: until, quantity: 4, isRenewal: isRenewal,
        revocation: revokedAt.map { Revocation(at: $0, kind: .refund) },
        seats: Seats(isPart: isPart, invitations: .apple))
}

private func fact(_ payment: Payment, at: Instant) -> Fact {
    Fact(about: purchase, attestedAt: at, .payment(payment))
}

/// Subscriptions with several seats that were bought again before their time was over.
@Suite struct BoughtAgainTests {
    /// All seats were refunded, the same number was bought again, and the refund was reversed. Then
    /// seats were added to the second purchase, so that it also has several payments.
    @Test(
        arguments: [
            (.hours(3), false), (.hours(22), false), (.days(7), true),
            (.days(7) + .hours(1), true), (.days(7) - .hours(1), true),
            (.days(7) + .hours(4), false),
        ] as [(Duration, Bool)])
    func `seats with a later end count as added only if the end is whole days later`(
        difference: Duration, isAddition: Bool
    ) {
        let again = start + .hours(3)
        let facts = [
            fact(payment("1000"), at: start + .hours(9)),
            fact(
                payment("1001", from: again, until: end + difference, isPart: true),
                at: again + .days(1)),
            fact(
                payment("1002", from: again + .days(1), until: end + difference, isPart: true),
                at: again + .days(1)),
        ]
        let timeline = Timeline(of: purchase, facts)
        #expect(timeline.periods.map(\.isAddition) == [false, isAddition, true])
        #expect(timeline.periods[0].end == end)
        #expect(timeline == Timeline(of: purchase, facts.reversed()))
        guard !isAddition else { return }
        #expect(timeline.access(at: start + .days(9))?.until == end + difference)
        #expect(timeline.access(at: end)?.state == .paid)
    }

    /// An extension of the sandbox's shortened periods is not a whole number of days.
    @Test func `an extension of seats in the sandbox may be shorter than a day`() {
        let end = start + .seconds(300)
        let longer = end + .seconds(70)
        let facts = [
            fact(payment("1000", until: end), at: start),
            fact(
                payment("1001", from: start + .seconds(30), until: longer, isPart: true),
                at: start + .seconds(90)),
        ]
        #expect(Timeline(of: purchase, facts).periods.map(\.isAddition) == [false, true])
    }

    @Test
    func `the seats added to the latest purchase decide about access, not an earlier purchase`() {
        let again = start + .hours(3)
        let until = end + .hours(3)
        let now = start + .days(4)
        let facts = [
            fact(payment("1000"), at: now),
            fact(payment("1001", from: again, until: until, isPart: true, revokedAt: now), at: now),
            fact(payment("1002", from: again + .days(1), until: until, isPart: true), at: now),
        ]
        let timeline = Timeline(of: purchase, facts)
        #expect(timeline.periods.map(\.isAddition) == [false, false, true])
        #expect(timeline.period(at: now)?.payment.transaction == "1002")
        #expect(timeline.access(at: now)?.until == until)
    }

    @Test(
        arguments: [(true, false, .expired), (false, true, .expired), (true, true, .refunded)]
            as [(Bool, Bool, Access.State)])
    func `an ended period counts as refunded if all its seats are refunded`(
        isFirst: Bool, isAdded: Bool, state: Access.State
    ) {
        let late = end + .hours(1)
        let facts = [
            fact(payment("1000", isPart: true, revokedAt: isFirst ? late : nil), at: late),
            fact(
                payment(
                    "1001", from: start + .days(9), isPart: true, revokedAt: isAdded ? late : nil),
                at: late),
            Fact(
                about: purchase, attestedAt: late,
                .renewal(Renewal(willRenew: false, ending: .cancelled))),
        ]
        let timeline = Timeline(of: purchase, facts)
        #expect(timeline.access(at: end + .days(2))?.state == state)
        #expect(timeline == Timeline(of: purchase, facts.reversed()))
    }

    /// A renewal is charged ahead and refunded, and its product is bought again. Then the refund is
    /// reversed, so that two periods are paid for at once.
    @Test(arguments: 0..<8 as Range<UInt64>)
    func `if a product is bought again after a charged renewal, no period is ended`(
        seed: UInt64
    ) {
        let (again, over) = (start + .days(2), end + .days(2))
        let now = start + .days(3)
        var dice = Dice(seed: seed)
        func timeline(_ others: [Fact], refundedAt: Instant? = nil) -> Timeline {
            let renewal = payment(
                "1001", from: end, until: end + .days(30), isRenewal: true, revokedAt: refundedAt)
            let facts = [
                fact(payment("1000"), at: now),
                fact(payment("1002", from: again, until: over), at: again), fact(renewal, at: now),
            ]
            return Timeline(of: purchase, (facts + others).shuffled(using: &dice))
        }
        let two = timeline([])
        #expect(two.periods.map(\.payment.transaction) == ["1000", "1002", "1001"])
        #expect(two.periods.map(\.isOvertaken) == [false, false, true])
        #expect(two.periods.map(\.end) == [end, over, end + .days(30)])
        #expect(two.period(at: end + .days(1))?.payment.transaction == "1002")
        #expect(two.period(at: over)?.payment.transaction == "1001")
        #expect(two.access(at: end + .days(30) + .hours(1))?.state == .unconfirmed)
        let next = fact(
            payment("1003", from: over, until: over + .days(30), isRenewal: true), at: over)
        let three = timeline([next])
        #expect(three.periods[2].end == end + .days(30))
        #expect(three.period(at: over)?.payment.transaction == "1003")
        // A refunded renewal does not count as the period that ended last.
        let renewalIsOff = Fact(
            about: purchase, attestedAt: over,
            .renewal(Renewal(willRenew: false, ending: .cancelled)))
        let refunded = timeline([renewalIsOff], refundedAt: start + .days(1))
        #expect(refunded.access(at: over + .days(1))?.state == .expired)
        #expect(refunded.access(at: over + .days(1))?.until == over)
    }

    @Test
    func `the next period has the charged seats, even if the charge is not marked as a renewal`() {
        let charged = end - .days(1)
        let facts = [
            fact(payment("1000"), at: start),
            fact(payment("1001", from: end, until: end + .days(30)), at: charged),
            Fact(
                about: purchase, attestedAt: charged + .hours(5),
                .renewal(Renewal(willRenew: true, renewsAt: end + .days(30), seats: 3))),
        ]
        let timeline = Timeline(of: purchase, facts)
        #expect(timeline.seatsAtRenewal(at: end - .hours(1)) == 4)
        #expect(timeline.seatsAtRenewal(at: end) == 3)
    }
}
