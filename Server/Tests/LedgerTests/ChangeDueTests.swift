import Ledger
import Testing

private let start = Instant(milliseconds: 1_700_000_000_000)
private let end = start + .days(30)
private let purchase = PurchaseID("1000", in: .production)

/// Anna's month, and other facts about it.
private func month(
    isUpgraded: Bool = false, renewal: (Renewal, at: Instant), more: [Fact] = []
) -> Timeline {
    let payment = Payment(
        transaction: "1", line: "a", product: "pro.monthly", from: start, until: end,
        isUpgraded: isUpgraded)
    return Timeline(
        of: purchase,
        more + [
            Fact(about: purchase, attestedAt: start, .payment(payment)),
            Fact(about: purchase, attestedAt: renewal.at, .renewal(renewal.0)),
        ])
}

@Suite struct ChangeDueTests {
    private static let downgraded = Renewal(willRenew: true, renewsTo: "plus")

    private func isOpen(_ product: ProductID, _ timeline: Timeline, at now: Instant) -> Bool? {
        Entitlement.access(through: [product], of: [timeline], at: now, rules: AccessRules())
            .map(\.isOpen)
    }

    @Test func `while a change of product is unconfirmed, the old and the new product are open`() {
        let due = month(renewal: (Self.downgraded, start + .days(3)))
        #expect(isOpen("plus", due, at: end - .seconds(60)) == nil)
        for product: ProductID in ["plus", "pro.monthly"] {
            #expect(isOpen(product, due, at: end) == true)
        }
        #expect(isOpen("pro.monthly", due, at: end + .hours(24)) == false)
        #expect(isOpen("plus", due, at: end + .hours(24)) == nil)
    }

    @Test func `once the product change is confirmed, only the new product is open`() {
        let renewal = Fact(
            about: purchase, attestedAt: end,
            .payment(
                Payment(
                    transaction: "2", line: "b", product: "plus", from: end,
                    until: end + .days(30), isRenewal: true)))
        let known = month(renewal: (Self.downgraded, start + .days(3)), more: [renewal])
        #expect(isOpen("plus", known, at: end + .hours(1)) == true)
        #expect(isOpen("pro.monthly", known, at: end + .hours(1)) == false)
    }

    @Test func `a product that was chosen in an earlier period gives no access`() {
        let old = month(renewal: (Self.downgraded, start - .days(3)))
        #expect(isOpen("plus", old, at: end) == nil)
    }

    @Test func `after an upgrade whose payment is not known yet, the new product is open`() {
        let upgraded = month(
            isUpgraded: true,
            renewal: (Renewal(willRenew: true, renewsTo: "premium"), start + .days(3)))
        #expect(isOpen("premium", upgraded, at: start + .days(4)) == true)
    }
}
