import PerennialContract

@testable import Dashboard

extension Samples {
    private func claim(
        _ id: String, of customer: String?, _ standing: SeatStanding
    ) -> SeatClaim {
        SeatClaim(
            claimID: text(id), customerID: customer.map(text), standing: standing,
            claimedAt: at("2026-11-02T09:00:00Z"))
    }

    private func invitation(_ id: String, for customer: String?) -> SeatInvitation {
        SeatInvitation(
            invitationID: text(id), customerID: customer.map(text),
            createdAt: at("2026-11-20T09:00:00Z"), expiresAt: at("2026-11-27T09:00:00Z"))
    }

    /// Four members, one of whom waits, after a refund of one of the seats.
    var group: SeatGroup {
        SeatGroup(
            originalTransactionID: text("2000000811204418"), environment: .production,
            productID: text("team.monthly"), invitations: .developer, seats: 4, seatsAtRenewal: 6,
            claimed: 4, available: 0, waiting: 1, renewsAt: at("2026-12-18T09:00:00Z"),
            endsAt: at("2026-12-18T09:00:00Z"),
            claims: [
                claim("c1", of: "ben", .held), claim("c2", of: "erased_5f2c0e4b", .held),
                claim("c3", of: nil, .held), claim("c4", of: "dora", .waiting),
                claim("c5", of: "eva", SeatStanding(rawValue: text("strange"))),
            ], nextCursor: text("m5"))
    }

    private var parts: [CustomerGroup.Part] {
        [
            .init(
                at: at("2026-11-18T09:00:00Z"), seats: 3, refunded: 1,
                tiers: [
                    .init(count: 2, price: money("9.99")), .init(count: 1, price: money("7.99")),
                ], paid: money("19.98")),
            .init(
                at: at("2026-11-20T09:00:00Z"), seats: 2,
                tiers: [.init(count: 2, price: money("7.99"))], paid: money("15.98")),
        ]
    }

    /// The purchaser of a group, of an ended group, and of a group whose members Apple invites.
    var purchaser: CustomerPage {
        var page = emptyCustomer
        page.customer.customerID = text("anna")
        page.since = at("2026-10-17T09:00:00Z")
        var ended = group
        (ended.seats, ended.claims, ended.nextCursor) = (0, [], nil)
        var hosted = group
        (hosted.invitations, hosted.claims, hosted.claimed) = (.apple, [], nil)
        page.groups = [
            CustomerGroup(
                group: group, parts: parts,
                invitations: (1...7).map {
                    invitation("i\($0)", for: $0.isMultiple(of: 2) ? "frida" : nil)
                }, isFirstPage: false),
            CustomerGroup(group: ended, invitations: [invitation("i9", for: "frida")]),
            CustomerGroup(group: hosted, parts: [.init(at: Self.now, seats: 4)]),
        ]
        page.hasMoreGroups = true
        page.formKey = text("f0rm")
        return page
    }

    /// A member of two groups, who also has a seat from Apple.
    var member: CustomerPage {
        var page = emptyCustomer
        page.customer.customerID = text("ben")
        var seated = Subscription(
            purchaseID: text("c1"), productID: text("team.monthly"),
            originalTransactionID: text("c1"), state: .paid,
            period: .init(from: at("2026-11-18T09:00:00Z"), until: at("2026-12-18T09:00:00Z")),
            willRenew: true, renewsTo: text("team.monthly"), graceUntil: nil, price: nil,
            ownership: .assigned, environment: .production,
            seat: .init(claimID: text("c1"), standing: .held))
        let held = seated
        (seated.seat, seated.productID) = (nil, text("pro.yearly"))
        page.customer.subscriptions = [held, seated]
        page.purchases = PurchaseLine.lines(of: page.customer)
        page.customer.entitlements = [
            text("team"): entitlement(
                .paid, active: true, until: "2026-12-18T09:00:00Z", product: "team.monthly",
                reason: "Paid until 2026-12-18 09:00 UTC, then renews.", renews: true)
        ]
        page.customer.entitlements[text("team")]?.purchaseID = text("c1")
        page.seats = [
            CustomerSeat(
                claimID: text("c1"), productID: text("team.monthly"), standing: .held,
                claimedAt: at("2026-11-02T09:00:00Z"), purchaserID: text("anna")),
            CustomerSeat(
                claimID: text("c7"), productID: text("plus.monthly"), standing: .waiting,
                claimedAt: at("2026-11-02T09:00:00Z"), purchaserID: nil),
        ]
        return page
    }

    /// - Parameter token: nil if the form was already sent.
    func invitationPage(token: String?) -> InvitationPage {
        var made = invitation("i1", for: token == nil ? nil : "frida")
        made.token = token.map(text)
        return InvitationPage(customerID: text("anna"), invitation: made)
    }

    /// An event about a seat.
    func seatEvent(_ cause: SeatEnd?) -> Event {
        Event(
            id: text("evt_1"), sequence: 1, type: cause == nil ? .seatClaimed : .seatReleased,
            at: Self.now, knownAt: Self.now, customerID: text("ben"),
            seat: SeatChange(claimID: text("c1"), cause: cause), cause: .init(kind: "request"))
    }
}
