import Dice
import Ledger
import Testing

private let start = Instant(milliseconds: 1_700_000_000_000)
private let end = start + .days(30)
private let purchase = PurchaseID("1000", in: .production)
private let claims = ["a", "b", "c", "d"].enumerated().map { index, name in
    SeatClaim(
        id: SeatClaimID(rawValue: name), customer: CustomerID(rawValue: name),
        claimedAt: start + .days(index / 2))
}

private func month(
    _ transaction: TransactionID, seats count: Int, from: Instant = start, refunded: Int = 0,
    revokedAt: Instant? = nil, isRenewal: Bool = false, isPart: Bool = false,
    until: Instant? = nil, by host: Seats.Invitations? = .developer
) -> Fact {
    Fact(
        about: purchase, attestedAt: (revokedAt ?? from) + .hours(refunded),
        .payment(
            Payment(
                transaction: transaction, product: "pro.monthly", from: from,
                until: until ?? from + .days(30), quantity: count,
                price: Money(milliunits: Int64(count) * 9_990, currency: "USD"),
                isRenewal: isRenewal,
                revocation: revokedAt.map { Revocation(at: $0, kind: .refund) },
                accountToken: "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f", storefront: "USA",
                seats: Seats(refunded: refunded, isPart: isPart, invitations: host))))
}

private func standings(
    _ facts: [Fact], at now: Instant, _ claims: [SeatClaim] = claims
) -> [SeatClaim.Standing] {
    let roster = SeatRoster(claims, of: Timeline(of: purchase, facts), at: now)
    return claims.map { roster.standing(of: $0) }
}

@Suite struct SeatClaimTests {
    @Test(
        arguments: [
            // The purchaser has one of the seats.
            ([month("1", seats: 5)], 10, [.held, .held, .held, .held]),
            ([month("1", seats: 4)], 10, [.held, .held, .held, .waiting]),
            ([month("1", seats: 1)], 10, [.waiting, .waiting, .waiting, .waiting]),
            // Some seats were refunded; seats were added; the added seats were refunded.
            ([month("1", seats: 5, refunded: 2)], 10, [.held, .held, .waiting, .waiting]),
            (
                [
                    month("1", seats: 3, isPart: true),
                    month("2", seats: 2, from: start + .days(5), isPart: true, until: end),
                ], 10, [.held, .held, .held, .held]
            ),
            (
                [
                    month("1", seats: 3, isPart: true),
                    month(
                        "2", seats: 2, from: start + .days(5), revokedAt: start + .days(8),
                        isPart: true, until: end),
                ], 10, [.held, .held, .waiting, .waiting]
            ),
            // There are fewer seats after one renewal, and the former number after the next one.
            (
                [month("1", seats: 5), month("2", seats: 2, from: end, isRenewal: true)], 40,
                [.held, .waiting, .waiting, .waiting]
            ),
            (
                [
                    month("1", seats: 5), month("2", seats: 2, from: end, isRenewal: true),
                    month("3", seats: 5, from: end + .days(30), isRenewal: true),
                ], 70, [.held, .held, .held, .held]
            ),
            // The period is over, and no renewal is known yet: the seats at its last moment count.
            ([month("1", seats: 4)], 30, [.held, .held, .held, .waiting]),
            // The subscription was bought again: the former members do not belong to the new group.
            (
                [month("1", seats: 5), month("2", seats: 5, from: end + .days(40))], 75,
                [.ended, .ended, .ended, .ended]
            ),
            (
                [
                    month("1", seats: 5, revokedAt: end - .days(5)),
                    month("2", seats: 5, from: end + .days(1)),
                ], 45, [.ended, .ended, .ended, .ended]
            ),
            // Soon after the end the renewal may not be known yet.
            (
                [month("1", seats: 5), month("2", seats: 5, from: end + .days(9))], 35,
                [.held, .held, .held, .held]
            ),
            // An addition does not name who invites the members.
            (
                [
                    month("1", seats: 3, isPart: true),
                    month(
                        "2", seats: 2, from: start + .days(5), isPart: true, until: end, by: nil),
                ], 10, [.held, .held, .held, .held]
            ),
            // A late renewal continues the group.
            (
                [
                    month("1", seats: 5),
                    month("2", seats: 5, from: end + .days(9), isRenewal: true),
                ], 45, [.held, .held, .held, .held]
            ),
            // Apple manages the members of the group.
            ([month("1", seats: 5, by: .apple)], 10, Array(repeating: .waiting, count: 4)),
        ] as [([Fact], Int, [SeatClaim.Standing])])
    func `after the purchaser's seat, the oldest claims get the remaining seats`(
        facts: [Fact], day: Int, expected: [SeatClaim.Standing]
    ) {
        #expect(standings(facts, at: start + .days(day)) == expected)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `the order of documents and of claims does not change who gets a seat`(seed: UInt64) {
        var dice = Dice(seed: seed)
        let facts = [
            month("1", seats: 3, isPart: true), month("1", seats: 3, refunded: 1, isPart: true),
            month("2", seats: 2, from: start + .days(5), isPart: true, until: end),
            month("3", seats: 3, from: end, isRenewal: true),
        ]
        for day in [10, 40] {
            let expected = standings(facts, at: start + .days(day))
            var told = facts + facts.filter { _ in Bool.random(using: &dice) }
            told.shuffle(using: &dice)
            var timeline = Timeline(of: purchase, [])
            for fact in told { timeline = timeline.adding([fact]) }
            var mixed = claims
            mixed.shuffle(using: &dice)
            let roster = SeatRoster(mixed, of: timeline, at: start + .days(day))
            #expect(claims.map { roster.standing(of: $0) } == expected, "seed \(seed)")
        }
    }

    @Test func `when a member leaves, the member who has waited longest gets the seat`() {
        var claims = claims
        claims[1].end = SeatClaim.End(.left, at: start + .days(3))
        let found = standings([month("1", seats: 3)], at: start + .days(4), claims)
        #expect(found == [.held, .ended, .held, .waiting])
    }

    private static let seat = MemberSeat(
        claim: "c-1", standing: .held, since: start + .days(3), purchase: purchase)

    @Test func `a member sees the subscription without price, purchaser and transaction ids`()
        throws
    {
        let timeline = Timeline(of: purchase, [month("1001", seats: 5)])
        let view = timeline.seen(from: Self.seat)
        let payment = try #require(view.periods.first?.payment)
        #expect(view.purchase == PurchaseID("c-1", in: .production))
        #expect(view.payingPurchase == purchase)
        #expect(payment.ownership == .assigned)
        #expect((payment.price, payment.accountToken, payment.storefront) == (nil, nil, nil))
        #expect(payment.seats == nil && payment.quantity == 1)
        #expect(payment.transaction == "c-1-1")
        let now = start + .days(10)
        #expect(view.access(at: now)?.state == timeline.access(at: now)?.state)
        #expect(view.access(at: now)?.until == end)
    }

    @Test func `a waiting member has no access, and the reason says why`() throws {
        var seat = Self.seat
        seat.standing = .waiting
        let view = Timeline(of: purchase, [month("1001", seats: 5)]).seen(from: seat)
        let access = try #require(view.access(at: start + .days(10)))
        #expect((access.state, access.until) == (.revoked, nil))
        #expect(access.reason == .seatsTaken)
        // An ended subscription is shown as ended, also to a waiting member.
        #expect(view.access(at: end + .days(5))?.state == .expired)
        #expect(view.sinceSeat.periods.isEmpty)
    }

    @Test func `for access to publications, a member's periods begin when the seat is claimed`() {
        let facts = [month("1", seats: 5), month("2", seats: 5, from: end, isRenewal: true)]
        var seat = Self.seat
        seat.since = end + .days(2)
        let view = Timeline(of: purchase, facts).seen(from: seat).sinceSeat
        #expect(view.periods.map(\.from) == [end + .days(2)])
    }

    @Test func `a revoked seat is not reported as the end of family sharing`() {
        let revoked = Payment(
            transaction: "7", product: "pro.monthly", from: start, until: end,
            ownership: .assigned,
            revocation: Revocation(at: start + .days(2), kind: .sharingEnded))
        let timeline = Timeline(
            of: purchase, [Fact(about: purchase, attestedAt: start, .payment(revoked))])
        let access = timeline.access(at: start + .days(3))
        #expect(access?.reason == .seatRevoked(at: start + .days(2)))
    }
}
