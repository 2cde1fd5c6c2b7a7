import Ledger
import Testing

/// Renewal can stay on after a refund. Then the store charges the next period when the paid time is
/// over.
@Suite struct RefundedRenewalTests {
    private let start = Instant(milliseconds: 1_700_000_000_000)
    private var end: Instant { start + .days(30) }

    /// The access through a month that was refunded on its third day.
    private func access(_ renewal: Renewal, told: Instant, at now: Instant) -> Access? {
        let purchase = PurchaseID("1000", in: .production)
        let payment = Payment(
            transaction: "1", line: "a", product: "pro.monthly", from: start, until: end,
            revocation: Revocation(at: start + .days(3), kind: .refund))
        let facts = [
            Fact(about: purchase, attestedAt: start + .days(3), .payment(payment)),
            Fact(about: purchase, attestedAt: told, .renewal(renewal)),
        ]
        return Timeline(of: purchase, facts).access(at: now)
    }

    @Test func `after a refund, a failed renewal is in grace if the App Store reports grace`() {
        let renewal = Renewal(
            willRenew: true, isRetrying: true, graceUntil: end + .days(16), ending: .billing)
        let access = access(renewal, told: end, at: end + .days(1))
        #expect(access?.state == .grace)
        #expect(access?.until == end + .days(16))
    }

    @Test func `after a refund, a failed renewal is in retry if there is no grace`() {
        let renewal = Renewal(willRenew: true, isRetrying: true, ending: .billing)
        #expect(access(renewal, told: end, at: end + .days(59))?.state == .retry)
    }

    @Test(arguments: [true, false])
    func `after a refund, the subscription expires when the App Store gives up the renewal`(
        renews: Bool
    ) {
        let renewal = Renewal(willRenew: renews, ending: .billing)
        let access = access(renewal, told: end + .days(60), at: end + .days(60))
        #expect(access?.state == .expired)
        #expect(access?.willRenew == false)
    }

    @Test func `a payment failure that was reported within a refunded period changes nothing`() {
        let renewal = Renewal(willRenew: true, isRetrying: true, ending: .billing)
        let access = access(renewal, told: start + .days(3), at: end + .days(1))
        #expect(access?.state == .refunded)
    }
}
