import Ledger
import Testing

private let start = Instant(milliseconds: 1_700_000_000_000)
private let end = start + .days(30)
private let purchase = PurchaseID("1000", in: .production)

/// A change of product that is paid before the present period ends.
@Suite struct PaidAheadTests {
    /// A month, and then a year of another product that is paid before the month ends.
    private func changing(to product: ProductID, from: Instant = end) -> [Timeline] {
        let month = Payment(
            transaction: "1", line: "a", product: "pro.monthly", from: start, until: end)
        let next = Payment(
            transaction: "2", line: "b", product: product, from: from, until: end + .days(365),
            isRenewal: true)
        return [
            Timeline(
                of: purchase,
                [month, next].map { Fact(about: purchase, attestedAt: start, .payment($0)) })
        ]
    }

    private func access(
        _ products: Set<ProductID>, _ timelines: [Timeline], at now: Instant
    ) -> Access? {
        Entitlement.access(through: products, of: timelines, at: now, rules: AccessRules())
    }

    @Test func `a change of product that is paid ahead extends access to the same entitlement`()
        throws
    {
        let pro: Set<ProductID> = ["pro.monthly", "pro.yearly"]
        let found = try #require(access(pro, changing(to: "pro.yearly"), at: start + .days(9)))
        #expect(found.until == end + .days(365))
        #expect(found.reason == .paid(until: end + .days(365), .unknown))
        #expect(found.product == "pro.monthly" && found.state == .paid)
    }

    @Test func `a paid change to another entitlement, or after a gap, does not extend access`()
        throws
    {
        let pro: Set<ProductID> = ["pro.monthly", "pro.yearly"]
        for timelines in [
            changing(to: "plus.yearly"), changing(to: "pro.yearly", from: end + .days(1)),
        ] {
            let found = try #require(access(pro, timelines, at: start + .days(9)))
            #expect(found.until == end)
        }
        let ahead = access(["pro.yearly"], changing(to: "pro.yearly"), at: start + .days(9))
        #expect(ahead == nil, "the year has not begun, and opens nothing by itself")
    }
}
