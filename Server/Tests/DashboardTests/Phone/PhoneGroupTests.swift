import PerennialContract
import Testing

@testable import Dashboard

@Suite struct PhoneGroupTests {
    private var life: PhoneLife {
        var life = PhoneLife()
        life.state.products[0].seatTiers = [
            .init(from: 1, milliunits: 9_990), .init(from: 6, milliunits: 7_990),
        ]
        return life
    }

    /// Anna pays for seven seats; ben has one of them.
    private var group: PhoneLife {
        var life = life
        life.set(.paid, until: "2026-12-24T09:00:00Z")
        life.state.books[0].seats = 7
        life.state.group = PhoneGroup(
            seats: 7, free: 5,
            members: [.init(claimID: "c1", name: "b<b>en", hasSeat: true)], nextFriend: "carl")
        return life
    }

    private func buttons(_ life: PhoneLife) -> [String] {
        life.piece("screen").matches(of: #/name="act" value="([^"]*)"/#).map { String($0.1) }
    }

    @Test func `in graduated tiers, each seat has the price of its own tier`() {
        let product = life.state.products[0]
        let rows: [(Range<Int>, String, String)] = [
            (1..<2, "1 × $9.99", "$9.99"), (1..<6, "5 × $9.99", "$49.95"),
            (1..<8, "5 × $9.99 and 2 × $7.99", "$65.93"), (6..<9, "3 × $7.99", "$23.97"),
            (3..<3, "", "$0.00"),
        ]
        for (seats, breakdown, sum) in rows {
            #expect(product.breakdown(of: seats) == breakdown)
            #expect(Figures.money(product.cost(of: seats)) == sum)
        }
    }

    @Test func `the purchase sheet offers a group more seats, and one seat of any other product`() {
        #expect(life.state.seatChoices(of: "pro.monthly") == 1...12)
        #expect(life.state.seatChoices(of: "pro.yearly") == 1...1)
        #expect(group.state.seatChoices(of: "pro.monthly") == 8...12)
        #expect(group.state.seatChoices(of: "pro.yearly") == 1...1)
        #expect(group.state.seatChoices(of: "unknown") == 1...1)
        var late = group
        late.state.books[0].state = "retry"
        #expect(late.state.seatChoices(of: "pro.monthly") == 1...1)
        var large = group
        large.state.books[0].seats = 40
        #expect(large.state.seatChoices(of: "pro.monthly") == 41...41)
    }

    @Test func `the screen of the group shows its seats, its members and the invitation code`() {
        var life = group
        #expect(life.piece("screen").contains("2 of 7 seats taken"))
        #expect(buttons(life).first == "sheet pro.monthly")
        life.state.device.showsGroup = true
        #expect(buttons(life) == ["group", "sheet pro.monthly", "remove c1", "invite"])
        #expect(life.piece("screen").contains("b&lt;b&gt;en"))
        #expect(!life.piece("others").contains("value=\"join\""))
        life.state.device.invitation = "0123456789abcdef"
        #expect(life.piece("screen").contains("01234567<wbr>89abcdef"))
        #expect(life.piece("others").contains("Let <bdi>carl</bdi> join with the code"))
        #expect(life.piece("others").contains("value=\"leave c1\""))
        life.state.group = nil
        #expect(!life.piece("screen").contains("Back to the birds"))
    }

    @Test func `on the group screen, the hint of the tour leads back to the main screen`() {
        var life = group
        life.state.device.showsGroup = true
        life.state.device.cardWorks = false
        life.add(
            .purchased, "2026-09-24T09:00:00Z", .paid, until: "2026-10-24T09:00:00Z", money: "9.99")
        life.add(
            .renewed, "2026-10-24T09:00:00Z", .paid, until: "2026-11-24T09:00:00Z", money: "9.99")
        life.add(.billingFailed, "2026-11-24T09:00:00Z", .grace, until: "2026-12-10T09:00:00Z")
        #expect(PhoneTour(life.state).hint == .switchGroup)
    }

    @Test func `every action of the phone can be read back from its button's value`() {
        let acts: [PhoneAct] = [
            .moreSeats, .fewerSeats, .switchGroup, .invite, .join, .remove("c 1"), .leave("c1"),
            .openSheet("remove c1"),
        ]
        for act in acts { #expect(PhoneAct(name: act.name) == act) }
        for name in ["remove ", "leave ", "remove", "leave \(String(repeating: "c", count: 256))"] {
            #expect(PhoneAct(name: name) == nil, "\(name)")
        }
    }
}
