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
    @Test(
        arguments: [(true, false, .expired), (false, true, .expired), (true, true, .refunded)]
            as [(Bool, Bool, Access.State)])
    func `a period that is over is refunded if all its seats are`(
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
}
