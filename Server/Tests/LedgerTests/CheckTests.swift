import Dice
import Ledger
import Testing

private let start = Instant(milliseconds: 1_700_000_000_000)
private let purchase = PurchaseID("1000", in: .production)

/// A month from `start`, and facts about its renewal.
private func month(
    number: Int = 0, days: Int = 30, attested: Instant? = nil, revokedAt: Instant? = nil,
    isUpgraded: Bool = false
) -> Fact {
    let from = start + .days(days * number)
    return Fact(
        about: purchase, attestedAt: attested ?? from,
        .payment(
            Payment(
                transaction: TransactionID(rawValue: "\(number)"), product: "pro.monthly",
                from: from, until: from + .days(days), isRenewal: number > 0,
                isUpgraded: isUpgraded,
                revocation: revokedAt.map { Revocation(at: $0, kind: .refund) })))
}

/// A payment for another product, bought within the first month.
private func instead(at from: Instant) -> Fact {
    Fact(
        about: purchase, attestedAt: from,
        .payment(
            Payment(
                transaction: "other", product: "gold.monthly", from: from, until: from + .days(30),
                isRenewal: false)))
}

private func news(
    at: Instant, renews: Bool = true, retrying: Bool = false, grace: Instant? = nil,
    ending: Renewal.Ending? = nil, due: Instant? = nil
) -> Fact {
    Fact(
        about: purchase, attestedAt: at,
        .renewal(
            Renewal(
                willRenew: renews, isRetrying: retrying, graceUntil: grace, ending: ending,
                renewsAt: due)))
}

/// A change of product that an older document reports without its date.
private func undated(heard: Instant) -> Fact {
    Fact(
        about: purchase, attestedAt: start + .milliseconds(1), grade: .legacy,
        .renewal(Renewal(willRenew: true, renewsTo: "gold.monthly", receivedAt: heard)))
}

private let end = start + .days(30)

/// Each row has the facts of a purchase, the time of the last check, and the time at which the
/// next check is due.
private struct Row: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var facts: [Fact]
    var asked: Instant
    var next: Instant

    static let all = [
        Row(
            "if the renewal information is known, a check is due a minute after the end",
            [month(), news(at: start)], asked: start, next: end + .seconds(60)),
        Row(
            "without renewal information, a check is due an hour before the end",
            [month()], asked: start, next: end - .hours(1)),
        Row(
            "after a reported renewal, no check is due at the end of the past period",
            [month(), month(number: 1), news(at: end)], asked: start + .days(5),
            next: start + .days(35)),
        Row(
            "after a renewal charged early, a check is due a minute after the next end",
            [month(), month(number: 1, attested: end - .hours(20)), news(at: end - .hours(20))],
            asked: start + .days(29), next: start + .days(60) + .seconds(60)),
        Row(
            "if a check a minute after the end finds no change, the next is a minute later",
            [month(), news(at: start)], asked: end + .seconds(60), next: end + .seconds(120)),
        Row(
            "if a check two hours after the end finds no change, the next is an hour later",
            [month(), news(at: start)], asked: end + .hours(2), next: end + .hours(3)),
        Row(
            "if the store reports renewal but no new period, the next check is a minute later",
            [month(), news(at: end + .seconds(60))], asked: end + .seconds(60),
            next: end + .seconds(120)),
        Row(
            "a subscription reported as ended is checked after ninety days",
            [month(), news(at: end, renews: false, ending: .cancelled)], asked: end,
            next: end + .days(90)),
        Row(
            "a subscription that ended over a year ago is checked even more rarely",
            [month(), news(at: end, renews: false, ending: .cancelled)], asked: end + .days(400),
            next: end + .days(600)),
        Row(
            "a cancelled subscription is checked a minute after its end",
            [month(), news(at: start + .days(2), renews: false)], asked: start + .days(5),
            next: end + .seconds(60)),
        Row(
            "in grace, the first check is due after an hour",
            [month(), news(at: end, retrying: true, grace: end + .days(16))], asked: start,
            next: end + .hours(1)),
        Row(
            "near the end of grace, a check is due a minute after that end",
            [month(), news(at: end, retrying: true, grace: end + .days(16))],
            asked: end + .days(15), next: end + .days(16) + .seconds(60)),
        Row(
            "after a day of retry, the next check is a day later",
            [month(), news(at: end, retrying: true)], asked: end + .days(1), next: end + .days(2)),
        Row(
            "grace that is over counts as retry, even if the retry flag is missing",
            [month(), news(at: end, grace: end + .days(16), ending: .billing)],
            asked: end + .days(20), next: end + .days(23)),
        Row(
            "after the end of retry, the next check is ninety days later",
            [month(), news(at: end, retrying: true)], asked: end + .days(61),
            next: end + .days(61 + 90)),
        Row(
            "an upgrade to an unknown product is checked a minute later",
            [month(attested: start + .days(3), isUpgraded: true), news(at: start)],
            asked: start, next: start + .days(3) + .seconds(60)),
        Row(
            "if an upgrade does not mark the old period, a check is due an hour later",
            [month(), instead(at: start + .days(3)), news(at: start + .days(3))], asked: start,
            next: start + .days(3) + .hours(1)),
        Row(
            "if that check finds no mark either, the upgrade is checked like any month",
            [month(), instead(at: start + .days(3)), news(at: start + .days(3))],
            asked: start + .days(3) + .hours(1), next: start + .days(33) + .seconds(60)),
        Row(
            "if an upgrade marks the old period, the next check is a month later",
            [month(isUpgraded: true), instead(at: start + .days(3)), news(at: start + .days(3))],
            asked: start, next: start + .days(30)),
        Row(
            "if a check does not find the upgrade's product, the next check is later",
            [month(attested: start + .days(4), isUpgraded: true), news(at: start)],
            asked: start + .days(4), next: start + .days(4) + .hours(12)),
        Row(
            "a renewal charged ahead and replaced by an upgrade does not change the next check",
            [
                month(), month(number: 1, attested: end, isUpgraded: true),
                instead(at: end - .days(1)), news(at: end),
            ],
            asked: end, next: end + .days(29) + .seconds(60)),
        Row(
            "a refunded period is still checked, because refunds can be reversed",
            [month(revokedAt: start + .days(2))], asked: start + .days(3), next: start + .days(33)),
        Row(
            "a refunded period whose renewal is on is checked a minute after its end",
            [month(revokedAt: start + .days(2)), news(at: start + .days(2))],
            asked: start + .days(3), next: end + .seconds(60)),
        Row(
            "a period refunded during retry is checked a minute after the end of retry",
            [
                month(attested: end + .days(10), revokedAt: end + .days(10)),
                news(at: end + .days(10), retrying: true),
            ],
            asked: end + .days(59), next: end + .days(60) + .seconds(60)),
        Row(
            "if the store postpones an end, a check is due a minute after the later date",
            [month(), news(at: start, due: end + .days(7))],
            asked: end + .days(6) + .hours(20), next: end + .days(7) + .seconds(60)),
        Row(
            "between the old and the postponed end, checks become rarer",
            [month(), news(at: end + .hours(8), due: end + .days(7))], asked: end + .hours(8),
            next: end + .hours(16)),
        Row(
            "a minute after the old end, the next check of a postponed end is an hour later",
            [month(), news(at: end + .seconds(60), due: end + .days(7))],
            asked: end + .seconds(60), next: end + .hours(1) + .seconds(60)),
        Row(
            "after the postponed end, checks are due as after any end",
            [month(), news(at: end + .days(7) + .seconds(60), due: end + .days(7))],
            asked: end + .days(7) + .seconds(60), next: end + .days(7) + .seconds(120)),
        Row(
            "a change of product without a date is checked a minute after its arrival",
            [month(), undated(heard: start + .days(6))], asked: start + .days(5),
            next: start + .days(6) + .seconds(60)),
        Row(
            "a check at the arrival of an undated change is repeated a minute later",
            [month(), undated(heard: start + .days(6))], asked: start + .days(6),
            next: start + .days(6) + .seconds(60)),
        Row(
            "once an undated change was checked, the next check is due after the end",
            [month(), undated(heard: start + .days(6))],
            asked: start + .days(6) + .seconds(60), next: end + .seconds(60)),
        Row(
            "if later signed information is known, an undated change needs no check",
            [month(), undated(heard: start + .days(6)), news(at: start + .days(7))],
            asked: start + .days(5), next: end + .seconds(60)),
        Row(
            "an undated change that arrives after signed information is checked",
            [month(), undated(heard: start + .days(6)), news(at: start + .days(4))],
            asked: start + .days(5), next: start + .days(6) + .seconds(60)),
        Row(
            "a yearly period is checked a minute after its end",
            [month(days: 365), news(at: start)], asked: start + .days(20),
            next: start + .days(365) + .seconds(60)),
    ]

    init(_ name: String, _ facts: [Fact], asked: Instant, next: Instant) {
        testDescription = name
        self.facts = facts
        self.asked = asked
        self.next = next
    }
}

@Suite struct CheckTests {
    @Test(arguments: Row.all)
    fileprivate func `the next check is due when a missing notification could make access wrong`(
        row: Row
    ) {
        let timeline = Timeline(of: purchase, row.facts)
        let next = timeline.nextCheck(CheckHistory(knownAt: start, askedAt: row.asked))
        #expect(next == row.next, "\(next - row.asked) after the last, not \(row.next - row.asked)")
    }

    @Test func `an unchecked purchase is due for a check as soon as the server knows it`() {
        let timeline = Timeline(of: purchase, [month(), news(at: start)])
        #expect(timeline.nextCheck(CheckHistory(knownAt: start + .days(9))) == start + .days(9))
    }

    @Test func `a failing store is asked again after growing pauses, up to half an hour`() {
        let timeline = Timeline(of: purchase, [month(), news(at: start)])
        var history = CheckHistory(knownAt: start)
        var pauses: [Duration] = []
        for _ in 0..<8 {
            history = history.failed(at: start)
            pauses.append(timeline.nextCheck(history) - start)
        }
        #expect(pauses == [60, 120, 240, 480, 960, 1800, 1800, 1800].map { .seconds($0) })
        let answered = history.succeeded(at: start + .hours(1))
        #expect(timeline.nextCheck(answered) == end + .seconds(60))
    }

    @Test
    func `if a period's end is postponed by a week, fewer than ten checks are made until then`() {
        let later = end + .days(7)
        var timeline = Timeline(of: purchase, [month(), news(at: start, due: later)])
        var asked = start
        var count = 0
        while timeline.nextCheck(CheckHistory(knownAt: start, askedAt: asked)) < later {
            asked = timeline.nextCheck(CheckHistory(knownAt: start, askedAt: asked))
            count += 1
            timeline = timeline.adding([news(at: asked, due: later)])
        }
        #expect((1..<10).contains(count), "\(count) questions")
    }

    @Test func `a late response to a previous check does not set back the time of the last check`()
    {
        let asked = CheckHistory(knownAt: start, askedAt: end)
        #expect(asked.succeeded(at: start).askedAt == end)
    }

    @Test(arguments: RandomLife.seeds)
    func `the next check is always in the future, and two years need at most 140 checks`(
        seed: UInt64
    ) {
        var dice = Dice(seed: seed)
        let timeline = Timeline(of: RandomLife.purchase, RandomLife.facts(&dice))
        var asked = start + .days(Int.random(in: 0...300, using: &dice))
        let horizon = asked + .days(2 * 365)
        var count = 0
        while asked < horizon {
            let next = timeline.nextCheck(CheckHistory(knownAt: start, askedAt: asked))
            #expect(next > asked, "seed \(seed)")
            guard next > asked else { return }
            asked = next
            count += 1
        }
        // If the App Store has postponed an end, a notification can be missing after either of the
        // two ends.
        let isPutOff = timeline.renewal?.value.renewsAt != nil
        #expect(count <= (isPutOff ? 140 : 110), "seed \(seed)")
    }

    @Test func `the first check in each interval of thirty days is recognised`() {
        let days = [0, 3, 29, 30, 31, 59, 95, 100]
        var history = CheckHistory(knownAt: start)
        let first = days.map { day in
            let now = start + .days(day)
            defer { history = history.succeeded(at: now) }
            return history.isFirst(at: now, inEach: .days(30))
        }
        #expect(first == [true, false, false, true, false, false, true, false])
    }

    @Test func `if notifications arrive, each period is checked about once`() {
        for days in [7, 30, 365] {
            let periods = 730 / days
            var timeline = Timeline(of: purchase, [month(days: days), news(at: start)])
            var history = CheckHistory(knownAt: start, askedAt: start)
            var asked = 0
            for number in 1...periods {
                let turn = start + .days(days * number)
                while timeline.nextCheck(history) <= turn {
                    history = history.succeeded(at: timeline.nextCheck(history))
                    asked += 1
                }
                timeline = timeline.adding([month(number: number, days: days), news(at: turn)])
            }
            #expect(asked > 0, "\(days) days")
            #expect(Double(asked) <= 1.2 * Double(periods), "\(days) days: \(asked) questions")
        }
    }
}
