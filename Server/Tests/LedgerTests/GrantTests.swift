import Testing

@testable import Ledger

@Suite struct GrantTests {
    private static let now = Instant(milliseconds: 1_700_000_000_000)

    private func grant(
        _ id: GrantID = "g", until: Instant? = nil, withdrawn: Instant? = nil
    ) -> Grant {
        Grant(
            id: id, entitlement: "pro", from: Self.now - .days(1), until: until, reason: "sorry",
            withdrawnAt: withdrawn)
    }

    private func access(_ state: Access.State, until: Instant?) -> Access {
        Access(
            purchase: PurchaseID("1", in: .production), product: "pro.monthly", state: state,
            until: until, reason: .owned(since: Self.now), willRenew: true)
    }

    @Test func `a grant opens access until its end, but not at its end`() {
        let end = Self.now + .days(1)
        let open = EntitlementStatus.strongest(nil, [grant(until: end)], at: end - .milliseconds(1))
        #expect(open?.state == .granted && open?.isOpen == true && open?.until == end)
        #expect(open?.purchase == nil && open?.grant == "g" && open?.willRenew == false)
        let over = EntitlementStatus.strongest(nil, [grant(until: end)], at: end)
        #expect(over?.state == .expired && over?.isOpen == false && over?.until == end)
    }

    @Test func `a grant without an end stays open until it is withdrawn`() {
        #expect(
            EntitlementStatus.strongest(nil, [grant()], at: Self.now + .days(9_999))?.isOpen == true
        )
        let back = EntitlementStatus.strongest(nil, [grant(withdrawn: Self.now)], at: Self.now)
        #expect(back?.state == .revoked && back?.until == Self.now)
    }

    @Test func `a grant withdrawn after its end counts as expired`() {
        let late = grant(until: Self.now, withdrawn: Self.now + .days(1))
        #expect(
            EntitlementStatus.strongest(nil, [late], at: Self.now + .days(2))?.state == .expired)
    }

    @Test func `if a purchase and a grant are open, the one that ends later decides about access`()
    {
        let purchase = access(.paid, until: Self.now + .days(5))
        let short = grant(until: Self.now + .days(4))
        let long = grant(until: Self.now + .days(6))
        #expect(EntitlementStatus.strongest(purchase, [short], at: Self.now)?.state == .paid)
        #expect(EntitlementStatus.strongest(purchase, [long], at: Self.now)?.state == .granted)
        #expect(EntitlementStatus.strongest(purchase, [grant()], at: Self.now)?.state == .granted)
        let owned = access(.owned, until: nil)
        #expect(EntitlementStatus.strongest(owned, [grant()], at: Self.now)?.state == .owned)
        #expect(EntitlementStatus.strongest(owned, [long], at: Self.now)?.state == .owned)
        // A purchase in retry has no end and is closed.
        let unpaid = access(.retry, until: nil)
        #expect(EntitlementStatus.strongest(unpaid, [short], at: Self.now)?.state == .granted)
        #expect(
            EntitlementStatus.strongest(unpaid, [grant(until: Self.now)], at: Self.now)?.state
                == .retry)
        let expired = access(.expired, until: Self.now - .milliseconds(1))
        #expect(EntitlementStatus.strongest(expired, [short], at: Self.now)?.state == .granted)
        #expect(
            EntitlementStatus.strongest(purchase, [grant(withdrawn: Self.now)], at: Self.now)?.state
                == .paid)
    }

    @Test func `the reason of a grant is not shown to the customer`() {
        let sentence = EntitlementStatus.strongest(nil, [grant()], at: Self.now)?.reason.sentence
        #expect(sentence == "Granted.")
    }
}
