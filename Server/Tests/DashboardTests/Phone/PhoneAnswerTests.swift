import PerennialContract
import Testing

@testable import Dashboard

@Suite struct PhoneAnswerTests {
    private func line(_ life: PhoneLife) -> String {
        life.piece("line").replacing(#/<[^>]*>/#, with: "")
    }

    @Test func `a customer who has bought nothing has no access`() {
        let life = PhoneLife()
        #expect(line(life) == "anna has no access yet: she has bought nothing.")
        #expect(life.piece("line").contains(#"data-look="shut""#))
        #expect(life.piece("word").contains("nothing"))
    }

    @Test func `each state of access has a sentence, a colour and a label on the phone`() {
        let rows: [(AccessState, willRenew: Bool, String, look: String)] = [
            (
                .trial, true,
                "has access to pro: a free trial until 10 Dec 2026, 09:00 UTC, then she pays.", ""
            ),
            (
                .trial, false,
                "has access to pro: a free trial until 10 Dec 2026, 09:00 UTC, then it ends.", ""
            ),
            (
                .paid, true,
                "has access to pro: paid until 10 Dec 2026, 09:00 UTC, then it renews.", ""
            ),
            (
                .paid, false, "has access to pro: paid until 10 Dec 2026, 09:00 UTC, then it ends.",
                ""
            ),
            (
                .grace, true,
                "has access to pro until 10 Dec 2026, 09:00 UTC: her card was refused, and Apple "
                    + "grants time.",
                "warn"
            ),
            (
                .retry, true,
                "has no access to pro: her card is still refused. Apple tries until 8 Feb 2027.",
                "shut"
            ),
            (.expired, false, "has no access to pro: it ended on 10 Dec 2026, 09:00 UTC.", "shut"),
            (
                .refunded, false,
                "has no access to pro: Apple gave her money back on 10 Dec 2026, 09:00 UTC.", "bad"
            ),
            (.revoked, false, "has no access to pro: it is no longer shared with her.", "bad"),
        ]
        for row in rows {
            var life = PhoneLife()
            life.set(row.0, until: "2026-12-10T09:00:00Z", willRenew: row.willRenew)
            #expect(line(life) == "anna \(row.2)")
            #expect(life.piece("line").contains("data-look=\"\(row.look)\""), "\(row.0)")
            #expect(life.piece("word").contains(row.0.rawValue))
        }
    }

    @Test func `the phone shows why access last ended`() {
        var life = PhoneLife.inGrace
        life.add(.expired, "2027-01-23T09:00:00Z", .expired, why: "billing")
        #expect(line(life).hasSuffix("as the payment never came."))
        life.add(.expired, "2027-01-23T09:00:00Z", .expired, why: "cancelled")
        #expect(line(life).hasSuffix("as she had cancelled."))
    }

    @Test func `if a change of product is pending, the phone names the next product`() {
        var life = PhoneLife()
        life.set(.paid, until: "2026-12-10T09:00:00Z")
        life.state.customer.subscriptions[0].renewsTo = "pro.yearly"
        #expect(line(life).hasSuffix("then it continues as pro.yearly."))
    }

    @Test func `the phone shows whether the simulator's ground truth and the server disagree`() {
        var life = PhoneLife.inGrace
        #expect(life.piece("word").contains("Apple’s books agree"))
        life.state.books[0].isOpen = false
        #expect(life.piece("word").contains("Apple’s books say that it is closed."))
        life.state.customer.subscriptions = []
        life.state.books[0].isOpen = true
        #expect(life.piece("word").contains("Apple’s books say that it is open."))
    }

    @Test func `a customer's id cannot become markup`() {
        var life = PhoneLife()
        life.state.customer.customerID = "<script>"
        life.state.json = "</pre><script>"
        life.state.device.trouble = "<b>"
        for piece in PhonePiece.all(of: life.state) {
            #expect(!piece.html.contains("<script>"), "\(piece.id)")
        }
        #expect(life.piece("trouble").contains("&lt;b&gt;"))
    }
}
