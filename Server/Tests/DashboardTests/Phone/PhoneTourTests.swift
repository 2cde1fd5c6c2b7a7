import PerennialContract
import Testing

@testable import Dashboard

@Suite struct PhoneTourTests {
    @Test func `the tour marks each finished step, and hints at the action of the next step`() {
        var life = PhoneLife()
        func expect(
            _ done: Int, _ hint: PhoneAct?, sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let tour = PhoneTour(life.state)
            #expect(tour.done.count == done, sourceLocation: sourceLocation)
            #expect(tour.hint == hint, sourceLocation: sourceLocation)
            let marked = PhonePiece.all(of: life.state).filter { $0.html.contains(" hint\"") }
            let isOnPage = hint.map { marked.first?.html.contains("value=\"\($0.name)\"") } ?? true
            #expect(isOnPage == true, sourceLocation: sourceLocation)
        }
        expect(0, .openSheet("pro.monthly"))
        life.state.device.sheet = "pro.monthly"
        expect(0, .confirmSheet)
        life.state.device.sheet = nil
        life.add(
            .purchased, "2026-09-24T09:00:00Z", .paid, until: "2026-10-24T09:00:00Z", money: "9.99")
        expect(1, .pass(PhonePeriod(1, .month)))
        life.add(
            .renewed, "2026-10-24T09:00:00Z", .paid, until: "2026-11-24T09:00:00Z", money: "9.99")
        expect(2, .switchCard)
        life.state.device.cardWorks = false
        expect(2, .pass(PhonePeriod(1, .month)))
        life.add(.billingFailed, "2026-11-24T09:00:00Z", .grace, until: "2026-12-10T09:00:00Z")
        expect(3, .switchCard)
        life.state.device.cardWorks = true
        life.add(
            .billingRecovered, "2026-11-26T09:00:00Z", .paid, until: "2026-12-24T09:00:00Z",
            money: "9.99")
        expect(3, .restoreElsewhere)
        life.state.device.restoredCount = 1
        expect(4, .requestRefund)
        life.state.refund = AskedRefund(decidedAt: PhoneLife.moment("2026-11-28T09:00:00Z"))
        expect(4, .goToDue)
        life.state.refund = nil
        life.add(.refunded, "2026-11-28T09:00:00Z", .refunded, money: "-9.99")
        expect(5, nil)
        #expect(life.piece("try").matches(of: #/class="done"/#).count == 5)
        #expect(life.piece("try").contains("All five are done."))
        for link in ["/customers/anna", "/charts/mrr", "/events"] {
            #expect(life.piece("try").contains("<a href=\"\(link)\">"), "\(link)")
        }
    }

    @Test func `the closing text of the tour is shown only after the last step`() {
        #expect(!PhoneLife.inGrace.piece("try").contains("<p>"))
    }

    @Test func `if a parent must approve a purchase, the tour first hints at the approval`() {
        var life = PhoneLife()
        life.state.pending = PendingOrder(id: "7", productID: "pro.monthly")
        #expect(PhoneTour(life.state).hint == .approve)
        #expect(life.piece("others").contains("A parent allows Monthly".prefix(14)))
        #expect(life.piece("screen").contains("a parent is asked"))
    }

    @Test func `if the next action of the tour is on the other screen, the hint leads there`() {
        var life = PhoneLife()
        life.state.device.showsChoices = true
        #expect(PhoneTour(life.state).hint == .switchScreen)
        #expect(life.piece("screen").contains("Back to the birds"))
        #expect(life.piece("screen").contains("Ask a parent first"))
        #expect(!life.piece("screen").contains("Field guide<"))
        life.add(
            .purchased, "2026-09-24T09:00:00Z", .paid, until: "2026-10-24T09:00:00Z", money: "9.99")
        #expect(PhoneTour(life.state).hint == .pass(PhonePeriod(1, .month)))
    }

    @Test func `the phone shows the earliest event that is due next`() {
        let rows: [(AccessState, willRenew: Bool, String?)] = [
            (.paid, true, "24 Dec 2026, pro.monthly renews"),
            (.paid, false, "24 Dec 2026, it ends"),
            (.trial, true, "24 Dec 2026, the trial becomes a payment"),
            (.trial, false, "24 Dec 2026, the trial ends"),
            (.grace, true, "24 Dec 2026, grace is over"),
            (.retry, true, "22 Feb 2027, Apple stops trying"), (.expired, false, nil),
            (.refunded, false, nil),
        ]
        for row in rows {
            var life = PhoneLife()
            life.set(row.0, until: "2026-12-24T09:00:00Z", willRenew: row.willRenew)
            life.state.now = PhoneLife.moment("2026-11-24T09:00:00Z")
            let due = PhoneDue(life.state).map { "\(CivilTime($0.at).date), \($0.what)" }
            #expect(due == row.2)
            #expect(life.piece("due").contains("Nothing is due") == (row.2 == nil))
        }
        var life = PhoneLife()
        life.set(.paid, until: "2026-12-24T09:00:00Z")
        life.state.refund = AskedRefund(decidedAt: PhoneLife.moment("2026-11-28T09:00:00Z"))
        #expect(PhoneDue(life.state)?.what == "Apple decides about the refund")
    }

    @Test
    func `every action of the phone is found by its name, and an unknown name finds no action`() {
        let names = [
            "day", "week", "month", "year", "due", "over", "yes", "no", "renew", "card", "choices",
            "parent",
            "family", "consumption", "refund", "restore", "approve", "decline", "other",
            "sheet pro.monthly",
        ]
        for name in names { #expect(PhoneAct(name: name)?.name == name) }
        for name in ["", "sheet", "sheet ", "Day", String(repeating: "sheet ", count: 60)] {
            #expect(PhoneAct(name: name) == nil, "\(name)")
        }
    }
}
