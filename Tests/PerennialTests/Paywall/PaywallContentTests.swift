import Foundation
import Testing

@testable import Perennial

/// The rows of the paywall of the shop with comics, in each situation.
@Suite struct PaywallContentTests {
    /// Compares the actions of the rows: faces, two comics, two terms and two plans.
    private func expect(
        _ snapshot: Perennial.Snapshot, _ actions: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let found = RageShop.paywallContent(snapshot).rows.map(\.action.rawValue).joined(
            separator: " ")
        #expect(found == actions, sourceLocation: sourceLocation)
    }

    private func row(
        _ id: Perennial.ProductID, _ snapshot: Perennial.Snapshot
    ) throws -> Perennial.PaywallContent.Row {
        try #require(RageShop.paywallContent(snapshot).rows.first { $0.id == id })
    }

    @Test func `in each situation, each row of the paywall has the expected action`() {
        let drummer = Perennial.Access(
            entitlement: "drummer", isActive: true, state: .owned, product: "drummer")
        let bought = Perennial.OwnedProduct(product: "drummer", purchased: RageShop.now)
        // First nothing is known; then nothing was bought.
        expect(
            RageShop.snapshot(isKnown: false),
            "unavailable unavailable unavailable unavailable unavailable unavailable unavailable")
        // The store lists only a comic.
        expect(
            RageShop.snapshot([drummer], owned: [bought], isKnown: false),
            "unavailable owned unavailable unavailable unavailable unavailable unavailable")
        expect(RageShop.snapshot(), "buy buy buy subscribe subscribe subscribe subscribe")
        // First a comic was bought; then a comic was refunded.
        expect(
            RageShop.snapshot([drummer], owned: [bought]),
            "buy owned buy subscribe subscribe subscribe subscribe")
        expect(
            RageShop.snapshot(
                owned: [.init(product: "drummer", purchased: .distantPast, revoked: RageShop.now)]),
            "buy buy buy subscribe subscribe subscribe subscribe")
        // First a term runs; then the term is over.
        expect(
            RageShop.term(until: RageShop.now.addingTimeInterval(12 * 86_400)),
            "included included included renew renew included included")
        expect(
            RageShop.snapshot(
                [RageShop.everything(.expired, until: RageShop.now)],
                terms: [.init(product: "3months", from: .distantPast, until: RageShop.now)]),
            "buy buy buy subscribe subscribe subscribe subscribe")
        // The plan is active; then it is in a grace period; then its renewal could not be charged;
        // then it ended.
        expect(RageShop.plan(), "included included included renew renew owned switch_plan")
        expect(
            RageShop.plan { $0.state = .grace },
            "included included included renew renew owned switch_plan")
        expect(
            RageShop.plan { $0.state = .retry },
            "buy buy buy subscribe subscribe owned switch_plan")
        expect(
            RageShop.plan { $0.state = .expired },
            "buy buy buy subscribe subscribe subscribe subscribe")
        // The plan will change; or the plan is shared by the family; or the plan was granted
        // manually.
        expect(
            RageShop.plan { $0.renewsTo = "yearly" },
            "included included included renew renew owned pending")
        expect(
            RageShop.plan { $0.ownership = .familyShared },
            "included included included renew renew included included")
        expect(
            RageShop.snapshot([RageShop.everything(.granted, until: nil)]),
            "included included included renew renew included included")
        // An organization has assigned the plan.
        expect(
            RageShop.plan { $0.ownership = .assigned },
            "included included included renew renew included included")
    }

    @Test func `while a term runs, a purchased comic is shown as owned, not as included`() throws {
        var snapshot = RageShop.term(until: .distantFuture)
        snapshot.owned = [.init(product: "drummer", purchased: RageShop.now)]
        #expect(try row("drummer", snapshot).action == .owned)
        #expect(try row("nightly", snapshot).action == .included)
    }

    @Test func `if no entitlement covers everything, only covered products are shown as included`()
    {
        var offering = RageShop.offering
        offering.metadata = [:]
        var snapshot = RageShop.term(until: .distantFuture)
        snapshot.access["drummer"] = Perennial.Access(
            entitlement: "drummer", isActive: true, state: .granted)
        let actions = RageShop.paywallContent(snapshot, of: offering).rows.prefix(3).map(\.action)
        #expect(actions == [.buy, .included, .buy])
    }

    @Test func `if everything is unlocked permanently, no term is for sale`() throws {
        let snapshot = RageShop.snapshot([RageShop.everything(.owned, until: nil)])
        #expect(try row("3months", snapshot).action == .included)
        #expect(RageShop.paywallContent(snapshot).headline.kind == .unlocked)
    }

    @Test func `a paywall row with a button has a title, but a row with a checkmark has none`() {
        for snapshot in [RageShop.snapshot(), RageShop.plan(), RageShop.snapshot(isKnown: false)] {
            for row in RageShop.paywallContent(snapshot).rows {
                let isCheckmark = [.owned, .included].contains(row.action)
                #expect((row.actionTitle == nil) == isCheckmark, "\(row.id)")
            }
        }
        let titles = RageShop.paywallContent(RageShop.plan()).rows.map { $0.actionTitle ?? "✓" }
        #expect(titles == ["✓", "✓", "✓", "Renew", "Renew", "✓", "Switch"])
    }

    @Test
    func `a waiting purchase cannot be repeated, unless a consumable waits for the server`()
        throws
    {
        func waits(_ id: Perennial.ProductID, _ reason: Perennial.WaitingPurchase.Reason)
            -> Perennial.Snapshot
        {
            RageShop.snapshot(waiting: [.init(product: id, reason: reason, since: RageShop.now)])
        }
        let asked = try row("drummer", waits("drummer", .approval))
        #expect(asked.action == .pending)
        #expect(asked.status == "Waiting for approval")
        #expect(!asked.canBuy)
        #expect(try row("monthly", waits("monthly", .server)).action == .pending)
        #expect(try row("faces", waits("faces", .approval)).action == .pending)
        #expect(try row("faces", waits("faces", .server)).action == .buy)
        #expect(try row("nightly", waits("drummer", .approval)).action == .buy)
    }

    @Test func `an ended plan is for sale before the server confirms the end`() throws {
        let past = RageShop.now.addingTimeInterval(-60)
        func row(_ access: Perennial.Access) throws -> Perennial.PaywallContent.Row {
            var snapshot = RageShop.plan { ($0.until, $0.willRenew) = (past, false) }
            snapshot.access[access.entitlement] = access
            return try self.row("monthly", snapshot)
        }
        #expect(try row(RageShop.everything(.expired, until: past)).action == .subscribe)
        #expect(try row(RageShop.everything(.unconfirmed, until: past)).action == .owned)
    }

    @Test func `the row of a plan says when it renews or ends, or that it was not charged`() throws
    {
        func status(_ change: (inout Perennial.Subscription) -> Void) throws -> String? {
            try row("monthly", RageShop.plan(change)).status
        }
        #expect(try status { _ in } == "Renews on 24 May 2027")
        #expect(try status { $0.willRenew = false } == "Ends on 24 May 2027")
        #expect(try status { $0.willRenew = nil } == "Paid until 24 May 2027")
        #expect(try status { $0.renewsTo = "yearly" } == "Changes to Yearly on 24 May 2027")
        #expect(try status { $0.state = .grace } == "There is a problem with your payment")
        #expect(try status { $0.state = .retry } == "There is a problem with your payment")
        #expect(try status { $0.ownership = .familyShared } == "Shared with you by your family")
        #expect(try status { $0.ownership = .assigned } == "Somebody else pays for you")
        let past = RageShop.now.addingTimeInterval(-60)
        #expect(try status { ($0.state, $0.until) = (.unconfirmed, past) } == nil)
        #expect(
            try status { $0.commitment = .init(month: 3, months: 12, until: nil, renews: false) }
                == "Ends after month 12")
        #expect(
            try status { $0.commitment = .init(month: 3, months: 12, until: nil, renews: true) }
                == "Renews on 24 May 2027")
        let retry = try row("monthly", RageShop.plan { $0.state = .retry })
        #expect(retry.hasPaymentProblem)
        let yearly = try row("yearly", RageShop.plan { $0.renewsTo = "yearly" })
        #expect(yearly.status == "Begins on 24 May 2027")
    }

    @Test func `a trial is shown to customers who are eligible and have no plan`() throws {
        #expect(
            try row("monthly", RageShop.snapshot()).trial
                == "1 week free, then 9,99 € a month")
        #expect(try row("yearly", RageShop.snapshot()).trial == nil)
        #expect(try row("monthly", RageShop.plan()).trial == nil)
        #expect(try row("monthly", RageShop.term(until: .distantFuture)).trial == nil)
        #expect(
            try row(
                "monthly",
                RageShop.plan { ($0.product, $0.renewsTo) = ("yearly", "yearly") }
            ).trial == nil)
        var offering = RageShop.offering
        offering.products[5].offers[0].isEligible = false
        #expect(RageShop.paywallContent(RageShop.snapshot(), of: offering).rows[5].trial == nil)
    }

    @Test func `only a plan that can be bought states that it renews`() throws {
        let rows = RageShop.paywallContent(RageShop.snapshot()).rows
        #expect(
            rows[5].disclosure == """
                9,99 € a month. Renews automatically until you cancel it. Cancel at least 24 hours \
                before the end of a period, in the settings of your Apple account.
                """)
        #expect(rows.filter { $0.disclosure != nil }.map(\.id) == ["monthly", "yearly"])
        #expect(try row("monthly", RageShop.plan()).disclosure == nil)
    }

    @Test func `the rows of terms state their length, and prices stay as the store writes them`() {
        let rows = RageShop.paywallContent(RageShop.snapshot()).rows
        #expect(rows.map(\.price).prefix(2) == ["0,99 €", "1,99 €"])
        #expect(
            rows.map(\.terms) == [
                nil, nil, nil, "5,99 € for 3 months and 1 day", "9,99 € for 6 months and 1 day",
                "9,99 € a month", "19,99 € a year",
            ])
    }
}
