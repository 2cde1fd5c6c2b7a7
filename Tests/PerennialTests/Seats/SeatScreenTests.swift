import Foundation
import Testing

@testable import Perennial

@Suite struct SeatScreenTests {
    private static let group = Perennial.SeatGroup(
        id: "1", product: "pro", host: .developer, seats: 7, seatsAtRenewal: 5, available: 2,
        members: [
            .init(
                id: "c1", customer: "ben", standing: .held,
                since: RageShop.date("2027-05-01T12:00:00Z")),
            .init(
                id: "c2", customer: nil, standing: .waiting,
                since: RageShop.date("2027-05-02T12:00:00Z")),
        ],
        invitations: [.init(id: "i1", expires: RageShop.date("2027-05-19T12:00:00Z"))])

    private func wording(_ locale: String) -> Wording {
        Wording(locale: Locale(identifier: locale), calendar: RageShop.calendar)
    }

    private func texts(_ locale: String) -> [String?] {
        let screen = SeatScreen(Self.group, wording(locale))
        return [screen.seats, screen.renewal] + screen.members.flatMap { [$0.title, $0.status] }
            + screen.invitations.map(\.title)
    }

    @Test func `the purchaser's screen is in the purchaser's language`() {
        #expect(
            texts("en_GB") == [
                "7 seats, 2 free", "5 seats from the next period on", "ben",
                "Joined on 1 May 2027", "Member", "Waits for a free seat",
                "Invitation, valid until 19 May 2027",
            ])
        #expect(
            texts("de_DE") == [
                "7 Plätze, 2 frei", "5 Plätze ab dem nächsten Zeitraum", "ben",
                "Beigetreten am 1. Mai 2027", "Mitglied", "Wartet auf einen freien Platz",
                "Einladung, gültig bis zum 19. Mai 2027",
            ])
        #expect(
            texts("fr_FR") == [
                "7 places, 2 libres", "5 places à partir de la prochaine période", "ben",
                "Membre depuis le 1 mai 2027", "Membre", "Attend une place libre",
                "Invitation valable jusqu’au 19 mai 2027",
            ])
        #expect(
            texts("es_ES") == [
                "7 plazas, 2 libres", "5 plazas a partir del próximo periodo", "ben",
                "Miembro desde el 1 de mayo de 2027", "Miembro", "Espera una plaza libre",
                "Invitación válida hasta el 19 de mayo de 2027",
            ])
        #expect(
            texts("ja_JP") == [
                "7席、空き2席", "次の期間から5席", "ben", "2027年5月1日に参加", "メンバー", "空席待ち",
                "2027年5月19日まで有効な招待",
            ])
    }

    @Test func `only an active group whose members the app invites has an invite button`() {
        let rows: [(Perennial.SeatHost, Int, Bool)] = [
            (.developer, 7, true), (.developer, 0, false), (.apple, 7, false), (.other, 7, false),
        ]
        for (host, seats, invites) in rows {
            var group = Self.group
            (group.host, group.seats) = (host, seats)
            #expect(SeatScreen(group, wording("en")).invites == invites, "\(host) \(seats)")
        }
    }

    @Test func `the screen mentions the next period's seats only if their number changes`() {
        var group = Self.group
        (group.seats, group.seatsAtRenewal, group.available) = (1, 1, nil)
        #expect(SeatScreen(group, wording("en")).renewal == nil)
        #expect(SeatScreen(group, wording("en")).seats == "1 seat")
        (group.seats, group.seatsAtRenewal) = (0, 7)
        #expect(SeatScreen(group, wording("en")).renewal == nil, "It does not run.")
    }

    @Test func `a member sees who pays, until when, and whether there is a seat`() {
        var seat = Perennial.Subscription(
            id: "c1", product: "pro", state: .paid, ownership: .assigned)
        func lines() -> [String] { wording("en_GB").lines(about: seat) }
        #expect(lines() == ["Somebody else pays for you"])
        seat.until = RageShop.date("2027-05-24T12:00:00Z")
        #expect(lines() == ["Somebody else pays for you", "Paid until 24 May 2027"])
        seat.seat = .init(id: "c1", standing: .waiting)
        #expect(lines() == ["There is no free seat for you at the moment."])
    }

    @Test func `the shop says if somebody else pays for the plan`() {
        let paywall = RageShop.paywallContent(RageShop.plan { $0.ownership = .assigned })
        let row = paywall.rows.first { $0.id == "monthly" }
        #expect(row?.action == .included && row?.status == "Somebody else pays for you")
    }

    @Test func `each failure about seats has a separate sentence`() {
        let english = Locale(identifier: "en")
        let codes: [Perennial.Failure.Code] = [
            .seatsNotSold, .seatsUnchanged, .seatReductionNotAllowed, "seats_taken",
            "invitation_unknown", "purchaser_needs_no_seat",
        ]
        let texts = codes.map { Perennial.Failure($0, remedy: "").text(in: english) }
        #expect(Set(texts).count == codes.count)
        #expect(!texts.contains(Perennial.Failure("new", remedy: "").text(in: english)))
    }
}
