import Ledger
import Testing

private let now = Instant(milliseconds: 1_700_000_000_000)
private let later = now + .days(1)
private let purchase = PurchaseID("1000", in: .sandbox)

/// A month with nine seats whose members the app invites.
private func group(refunded: Int = 0) -> Timeline {
    Timeline(
        of: purchase,
        [
            Fact(
                about: purchase, attestedAt: now,
                .payment(
                    Payment(
                        transaction: "1000", line: "a", product: "pro.monthly", from: now,
                        until: now + .days(30), quantity: 9,
                        price: Money(milliunits: 9_990, currency: "USD"), isRenewal: false,
                        seats: Seats(refunded: refunded, invitations: .developer))))
        ])
}

private func report(
    _ state: SeatReport.State, _ id: StoreSeatID? = nil, asked: Bool = true, since: Instant = now
) -> SeatReport {
    SeatReport(state: state, storeID: id, askedAt: asked ? now : nil, since: since)
}

private func claim(
    _ name: SeatClaimID, _ report: SeatReport, isOpen: Bool = true
) -> SeatClaim {
    SeatClaim(
        id: name, customer: "ben", claimedAt: now,
        end: isOpen ? nil : SeatClaim.End(.left, at: now), report: report)
}

/// The steps of reporting a claim to the App Store, and what follows from its responses.
@Suite struct StoreSeatTests {
    @Test(arguments: [
        (report(.due, asked: false), true, SeatReport.Step.claim),
        (report(.due), true, .claim),
        (report(.off, asked: false), true, .claim),
        (report(.refused, asked: false), true, .claim),
        (report(.reported, "s"), true, .nothing),
        // A request may still be on its way. The claim is sent again, to learn its id.
        (report(.due), false, .claim),
        (report(.due, asked: false), false, .nothing),
        (report(.off, asked: false), false, .nothing),
        (report(.refused, asked: false), false, .nothing),
        (report(.reported, "s"), false, .unclaim("s")),
        (report(.off, "s"), false, .unclaim("s")),
        (report(.refused, "s"), false, .unclaim("s")),
        (report(.ended, "s"), false, .nothing),
    ]) func `the next step of reporting a claim depends on what the App Store may know`(
        report: SeatReport, isOpen: Bool, step: SeatReport.Step
    ) {
        #expect(report.step(isOpen: isOpen, isRunning: true) == step)
        let waits = step == .nothing ? SeatReport.Step.nothing : .wait
        #expect(report.step(isOpen: isOpen, isRunning: false) == waits)
    }

    @Test(arguments: [
        (report(.due), SeatReport.Answer.claimed("s"), true, report(.reported, "s"), false),
        // The claim ended while the request was on its way.
        (report(.due), .claimed("s"), false, report(.reported, "s"), true),
        (report(.due), .noSeat, true, report(.refused, asked: false), false),
        (report(.due), .noSeat, false, report(.ended, asked: false), false),
        (report(.due), .refused, true, report(.refused, asked: false), false),
        (report(.due), .notRunning, true, report(.off), false),
        (report(.reported, "s"), .unclaimed, false, report(.ended, "s"), false),
        (report(.reported, "s"), .notRunning, false, report(.off, "s"), false),
        (report(.reported, "s"), .refused, false, report(.refused, "s"), false),
    ]) func `each response of the App Store gives the report of a claim its next state`(
        before: SeatReport, answer: SeatReport.Answer, isOpen: Bool, after: SeatReport,
        isDue: Bool
    ) {
        let found = before.after(answer, isOpen: isOpen, isFirst: true, at: later)
        var wanted = after
        wanted.since = later
        #expect(found.report == wanted)
        #expect(found.isDue == isDue)
    }

    @Test func `a late response does not reopen a claim that the App Store has ended`() {
        let ended = report(.ended, "s")
        let found = ended.after(.claimed("s"), isOpen: false, isFirst: false, at: later)
        #expect(found.report == ended && !found.isDue)
    }

    @Test func `if an earlier response was lost, the App Store may still know a refused claim`() {
        for answer in [SeatReport.Answer.noSeat, .refused] {
            let found = report(.due).after(answer, isOpen: true, isFirst: false, at: later)
            #expect(found.report.state == .refused && found.report.askedAt == now)
            #expect(found.report.step(isOpen: false, isRunning: true) == .claim)
        }
    }

    private static let long = now - StoreSeatComparison.settledAfter

    private func comparison(
        _ listed: Set<StoreSeatID>, _ claims: SeatClaim..., refunded: Int = 9
    ) -> StoreSeatComparison {
        StoreSeatComparison(listed, with: claims, on: group(refunded: refunded), askedAt: now)
    }

    @Test
    func `a claim that the App Store does not list counts as missing only after some time`() {
        let old = claim("a", report(.reported, "s1", since: Self.long))
        let new = claim("b", report(.reported, "s2", since: now - .seconds(1)))
        let found = comparison([], old, new)
        #expect(found.missing == [old])
        #expect(found.isEarly)
        #expect(comparison(["s1", "s2"], old, new).missing == [])
        #expect(comparison([], old).isEarly == false)
    }

    @Test func `if one seat was refunded, only the newest of several unlisted claims is missing`() {
        let claims = ["a", "b", "c"].map { (name: SeatClaimID) in
            claim(name, report(.reported, StoreSeatID(rawValue: name.rawValue), since: Self.long))
        }
        let found = comparison([], claims[0], claims[1], claims[2], refunded: 1)
        #expect(found.missing.map(\.id) == ["c"] && found.dropped.map(\.id) == ["b", "a"])
        #expect(comparison([], claims[0], refunded: 0).missing == [])
        let dropped = claim("d", report(.ended, "d", since: Self.long))
        #expect(comparison(["d"], dropped, refunded: 0).relisted == [dropped])
    }

    @Test func `a refunded seat ends one claim at most`() {
        var ended = claim("a", report(.ended, "a", since: Self.long), isOpen: false)
        ended.end = SeatClaim.End(.unclaimed, at: now)
        let open = claim("b", report(.reported, "b", since: Self.long))
        #expect(comparison([], ended, open, refunded: 1).dropped == [open])
        #expect(comparison([], ended, open, refunded: 2).missing == [open])
        // This seat was refunded in an earlier period.
        ended.end = SeatClaim.End(.unclaimed, at: now - .days(1))
        #expect(comparison([], ended, open, refunded: 1).missing == [open])
    }

    @Test func `if a claim ended here, but the App Store lists it, the claim counts as left over`()
    {
        let ended = claim("a", report(.ended, "s1", since: Self.long), isOpen: false)
        let refused = claim("b", report(.refused, "s2", since: Self.long), isOpen: false)
        let silent = claim("c", report(.reported, "s3", since: Self.long), isOpen: false)
        let onItsWay = claim("d", report(.reported, "s4", since: now), isOpen: false)
        let found = comparison(["s1", "s2", "s3", "s4"], ended, refused, silent, onItsWay)
        #expect(found.leftover == [ended, refused, silent])
        #expect(found.missing == [] && found.foreign == 0)
        #expect(comparison([], ended, refused, onItsWay).leftover == [])
    }

    @Test func `unknown claim ids count as foreign, minus one for each claim with a lost response`()
    {
        let told = claim("a", report(.reported, "s1", since: Self.long))
        let unanswered = claim("b", report(.due))
        let unasked = claim("c", report(.due, asked: false))
        #expect(comparison(["s1", "x", "y"], told).foreign == 2)
        #expect(comparison(["s1", "x", "y"], told, unanswered, unasked).foreign == 1)
        #expect(comparison([], told, unanswered).foreign == 0)
    }

    @Test
    func `claims made outside our server use up free seats, but take no seat from a member`() {
        let claims = ["a", "b", "c"].map { claim($0, report(.reported)) }
        let roster = SeatRoster(claims, of: group(), takenByOthers: 4, at: now)
        #expect(roster.capacity == 8 && roster.waiting == 0 && roster.available == 1)
        #expect(claims.map(roster.standing) == [.held, .held, .held])
        #expect(SeatRoster(claims, of: group(), takenByOthers: 99, at: now).available == 0)
        let counted = StoreSeats(seats: 9, available: 1, foreign: 4, askedAt: now)
        #expect(counted.takenByOthers(at: now + .days(2)) == 4)
        #expect(counted.takenByOthers(at: now + StoreSeats.knownFor) == 0)
    }
}
