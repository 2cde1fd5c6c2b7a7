import Foundation
import Testing

@testable import Perennial

@Suite struct HeadlineTests {
    private func headline(
        _ snapshot: Perennial.Snapshot, at date: Date = RageShop.now
    ) -> String? {
        RageShop.paywallContent(snapshot, at: date).headline.text
    }

    @Test func `each situation of a customer has its headline`() {
        #expect(headline(RageShop.snapshot(isKnown: false)) == nil)
        // The store lists a subscription, and the server has not answered.
        var open = RageShop.plan()
        open.isKnown = false
        #expect(headline(open) == headline(RageShop.plan()))
        #expect(headline(RageShop.snapshot()) == "Not subscribed")
        #expect(headline(RageShop.plan()) == "Subscribed: renews on 24 May 2027")
        #expect(headline(RageShop.plan { $0.willRenew = false }) == "Subscribed: 12 days left")
        #expect(
            headline(RageShop.plan { $0.state = .retry }) == "There is a problem with your payment")
        #expect(
            headline(RageShop.plan { $0.state = .grace }) == "There is a problem with your payment")
        #expect(headline(RageShop.plan { $0.state = .expired }) == "Not subscribed")
        #expect(
            headline(RageShop.snapshot([RageShop.everything(.granted, until: nil)]))
                == "Subscribed")
        let past = RageShop.now.addingTimeInterval(-60)
        #expect(
            headline(RageShop.plan { ($0.state, $0.until) = (.unconfirmed, past) }) == "Subscribed")
        #expect(
            headline(
                RageShop.plan {
                    $0.commitment = .init(month: 3, months: 12, until: nil, renews: false)
                }) == "Subscribed: ends after month 12")
        #expect(
            headline(
                RageShop.plan {
                    $0.willRenew = false
                    $0.commitment = .init(month: 12, months: 12, until: nil, renews: false)
                }) == "Subscribed: 12 days left")
    }

    @Test func `the last day of a subscription counts as one day, until its last second`() {
        let end = RageShop.date("2027-05-24T12:00:00Z")
        let rows: [(Date, String)] = [
            (end.addingTimeInterval(-12 * 86_400), "Subscribed: 12 days left"),
            (end.addingTimeInterval(-12 * 86_400 - 1), "Subscribed: 13 days left"),
            (end.addingTimeInterval(-2 * 86_400), "Subscribed: 2 days left"),
            (end.addingTimeInterval(-86_400), "Subscribed: 1 day left"),
            (end.addingTimeInterval(-3600), "Subscribed: 1 day left"),
            (end.addingTimeInterval(-1), "Subscribed: 1 day left"),
        ]
        for (date, text) in rows {
            #expect(headline(RageShop.term(until: end), at: date) == text)
        }
        #expect(RageShop.paywallContent(RageShop.term(until: end)).headline.daysRemaining == 12)
    }

    @Test func `a paid term takes precedence over a plan whose renewal failed`() {
        var snapshot = RageShop.plan { $0.state = .retry }
        let end = RageShop.date("2027-06-01T12:00:00Z")
        snapshot.access["everything"] = RageShop.everything(until: end, by: "3months")
        #expect(headline(snapshot) == "Subscribed: 20 days left")
        let row = RageShop.paywallContent(snapshot).rows.first { $0.id == "monthly" }
        #expect(row?.hasPaymentProblem == true)
    }

    @Test func `purchased comics do not count as a subscription`() {
        let drummer = Perennial.Access(
            entitlement: "drummer", isActive: true, state: .owned, product: "drummer")
        #expect(headline(RageShop.snapshot([drummer])) == "Not subscribed")
    }

    @Test func `while access to the entitlement is unknown, there is no headline`() {
        let unknown = Perennial.Access(
            entitlement: "everything", isActive: false, isKnown: false, state: .unknown,
            basis: .nothing)
        #expect(headline(RageShop.snapshot([unknown])) == nil)
    }

    @Test func `a shop without subscriptions does not mention them`() {
        let offering = Perennial.Offering(id: "comics", products: [RageShop.drummer])
        let paywall = RageShop.paywallContent(RageShop.snapshot(), of: offering)
        #expect(paywall.headline == .init(kind: .nothing, text: nil))
    }
}
