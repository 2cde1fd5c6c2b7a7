import PerennialContract
import Testing

@testable import Dashboard

@Suite struct SeatPageTests {
    private let samples = Samples()

    private var purchaser: String { samples.purchaser.html(in: samples.frame) }
    private var member: String { samples.member.html(in: samples.frame) }

    @Test func `the page of a group shows who waits for a seat, and the cost of each payment`() {
        for part in [
            "3 seats taken, 0 free, 1 member waits", "<dt>At renewal</dt><dd>6</dd>",
            "3 seats, 1 of them refunded", "2 × $9.99, 1 × $7.99",
            "<th scope=\"row\">Together</th><td>4 seats</td>",
            "$35.96", "First members", "members=m5", "And 2 older ones",
        ] {
            #expect(purchaser.contains(part), "\(part)")
        }
    }

    @Test func `an ended group accepts no members, but its invitations can be withdrawn`() {
        #expect(purchaser.contains("none: the subscription does not run"))
        #expect(purchaser.contains("The members have no access by it."))
        #expect(purchaser.contains("id=\"withdraw-i1-0\""))
        #expect(!purchaser.contains("id=\"again-i1-0\"") && !purchaser.contains("id=\"invite1\""))
    }

    @Test func `a group whose members Apple invites has no list of invitations`() {
        #expect(purchaser.contains("Apple invites the members of this group"))
        #expect(!purchaser.contains("id=\"invite2\""))
    }

    @Test func `a member's page shows no payment, and says why a waiting member has no access`() {
        #expect(member.contains("pays for it."))
        #expect(member.contains("Who pays for it is not known here."))
        #expect(member.contains("There are fewer seats than members"))
        #expect(member.contains("A seat that Apple gave"))
        #expect(member.contains("a seat, paid for by somebody else until 18 December 2026"))
    }

    @Test func `every id in the dialogs of a group is unique`() {
        for html in [purchaser, member] {
            let ids = HTMLDocument(html).elements.compactMap { $0.attributes["id"] }
            #expect(Set(ids).count == ids.count)
        }
    }

    @Test
    func `each reason for the end of a seat has a sentence; an unknown reason is shown as it is`() {
        func words(_ cause: SeatEnd?) -> String {
            EventWords(event: samples.seatEvent(cause)).detail(in: samples.frame).html
        }
        for cause in SeatEnd.known {
            #expect(!words(cause).contains("<bdi>\(cause.rawValue)</bdi>"), "\(cause)")
            #expect(words(cause).contains(", claim "), "\(cause)")
        }
        #expect(words(nil).hasPrefix("claim "))
        #expect(words(SeatEnd(rawValue: "vanished")).contains("<bdi>vanished</bdi>, claim "))
        #expect(EventWords(event: samples.seatEvent(nil)).headline == "Joined a group")
        #expect(EventWords(event: samples.seatEvent(.left)).headline == "Seat released")
    }

    @Test func `the token of an invitation is shown only directly after its creation`() {
        let made = samples.invitationPage(token: "70ken").html(in: samples.frame)
        #expect(made.contains("data-copy=\"70ken\"") && made.contains("shown once"))
        let before = samples.invitationPage(token: nil).html(in: samples.frame)
        #expect(!before.contains("data-copy") && before.contains("was made already"))
    }
}
