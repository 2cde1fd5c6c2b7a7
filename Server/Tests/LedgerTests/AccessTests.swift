import Ledger
import Testing

private let start = Instant(milliseconds: 1_700_000_000_000)
private let end = start + .days(30)
private let purchase = PurchaseID("1000", in: .production)
private let minute = Duration.seconds(60)

/// Anna's month, with other facts about it.
private func timeline(
    terms: Terms = .full, offer: Offer.Kind? = nil, commitment: Commitment? = nil,
    kind: ProductKind = .autoRenewable, revokedAt: Instant? = nil, isUpgraded: Bool = false,
    renewal: (Renewal, at: Instant)? = nil, more: [Fact] = []
) -> Timeline {
    let payment = Payment(
        transaction: "1", line: "a", product: "pro.monthly", kind: kind, from: start, until: end,
        terms: terms, offer: offer.map { Offer($0) }, commitment: commitment,
        isUpgraded: isUpgraded, revocation: revokedAt.map { Revocation(at: $0, kind: .refund) })
    var facts = more + [Fact(about: purchase, attestedAt: start, .payment(payment))]
    if let renewal {
        facts.append(Fact(about: purchase, attestedAt: renewal.at, .renewal(renewal.0)))
    }
    return Timeline(of: purchase, facts)
}

private func renewed(from: Instant, product: ProductID = "pro.monthly") -> Fact {
    Fact(
        about: purchase, attestedAt: from,
        .payment(
            Payment(
                transaction: "2", line: "b", product: product, from: from, until: from + .days(30),
                isRenewal: true)))
}

private let on = Renewal(willRenew: true)
private let off = Renewal(willRenew: false, ending: .cancelled)
private let retrying = Renewal(willRenew: true, isRetrying: true, ending: .billing)
private let grace = Renewal(
    willRenew: true, isRetrying: true, graceUntil: end + .days(16), ending: .billing)

@Suite struct AccessTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var claim: String
        var timeline: Timeline
        var now: Instant
        var state: Access.State
        var until: Instant?
        var testDescription: String { claim }
    }

    static let rows: [Row] = [
        Row(
            claim: "a period is open from its first moment", timeline: timeline(), now: start,
            state: .paid, until: end),
        Row(
            claim: "a period is open until its last millisecond", timeline: timeline(),
            now: Instant(milliseconds: end.milliseconds - 1), state: .paid, until: end),
        Row(
            claim: "a trial is open", timeline: timeline(terms: .trial), now: start, state: .trial,
            until: end),
        Row(
            claim: "a period with an offer is open", timeline: timeline(terms: .offer), now: start,
            state: .offer,
            until: end),
        Row(
            claim: "after an early renewal access lasts until the end of the next period",
            timeline: timeline(more: [renewed(from: end)]), now: end - minute, state: .paid,
            until: end + .days(30)),
        Row(
            claim: "a cancelled period stays open until its end",
            timeline: timeline(renewal: (off, start + .days(2))),
            now: end - minute, state: .paid, until: end),
        Row(
            claim: "a cancelled period is closed at its end",
            timeline: timeline(renewal: (off, start + .days(2))),
            now: end, state: .expired, until: end),
        Row(
            claim: "if no renewal is reported at the end, access is held open",
            timeline: timeline(renewal: (on, start)),
            now: end, state: .unconfirmed, until: end + .hours(24)),
        Row(
            claim: "without any renewal information, access is also held open at the end",
            timeline: timeline(), now: end,
            state: .unconfirmed, until: end + .hours(24)),
        Row(
            claim: "the hold at the end of a period lasts a day",
            timeline: timeline(renewal: (on, start)),
            now: end + .hours(24), state: .expired, until: end),
        Row(
            claim: "a reported renewal without its payment is held open until the next date",
            timeline: timeline(
                renewal: (Renewal(willRenew: true, renewsAt: end + .days(30)), end + minute)),
            now: end + .days(5), state: .unconfirmed, until: end + .days(30)),
        Row(
            claim: "access is open during grace", timeline: timeline(renewal: (grace, end)),
            now: end + .days(1),
            state: .grace, until: end + .days(16)),
        Row(
            claim: "access is closed after grace", timeline: timeline(renewal: (grace, end)),
            now: end + .days(16), state: .retry, until: end + .days(16)),
        Row(
            claim: "a charge that fails before the end closes nothing before the end",
            timeline: timeline(renewal: (retrying, end - .hours(5))), now: end - minute,
            state: .paid,
            until: end),
        Row(
            claim: "access is closed during retry without grace",
            timeline: timeline(renewal: (retrying, end)),
            now: end, state: .retry, until: end),
        Row(
            claim: "retry ends after sixty days", timeline: timeline(renewal: (retrying, end)),
            now: end + .days(60), state: .expired, until: end),
        Row(
            claim: "the end of grace in an earlier period is ignored",
            timeline: timeline(
                renewal: (Renewal(willRenew: true, graceUntil: start), end)),
            now: end + minute, state: .unconfirmed, until: end + .hours(24)),
        Row(
            claim: "renewal information from before the period says nothing about its end",
            timeline: timeline(renewal: (grace, start - .days(1))), now: end, state: .unconfirmed,
            until: end + .hours(24)),
        Row(
            claim: "a refund closes access at the time of the refund",
            timeline: timeline(revokedAt: start + .days(3)), now: start + .days(3),
            state: .refunded,
            until: start + .days(3)),
        Row(
            claim: "before the refund, access was open",
            timeline: timeline(revokedAt: start + .days(3)),
            now: start + .days(3) - minute, state: .paid, until: start + .days(3)),
        Row(
            claim: "a refund of a past period leaves the current period open",
            timeline: timeline(revokedAt: end + .days(2), more: [renewed(from: end)]),
            now: end + .days(3), state: .paid, until: end + .days(30)),
        Row(
            claim: "a refund of the renewal paid ahead leaves the current period open",
            timeline: timeline(more: [revokedRenewal]), now: end - minute, state: .paid,
            until: end),
        Row(
            claim: "a refund of the renewal paid ahead closes access when its period would begin",
            timeline: timeline(more: [revokedRenewal]),
            now: end, state: .refunded, until: end),
        Row(
            claim: "after an upgrade to a product that is not known yet, access is held open",
            timeline: timeline(isUpgraded: true), now: start + .days(1), state: .unconfirmed,
            until: end),
        Row(
            claim: "after an upgrade the new product is open",
            timeline: timeline(
                isUpgraded: true, more: [renewed(from: start + .days(9), product: "premium")]),
            now: start + .days(9), state: .paid, until: start + .days(39)),
        Row(
            claim: "after a refund and an upgrade to an unknown product, access is held open",
            timeline: timeline(revokedAt: start + .days(1), isUpgraded: true),
            now: start + .days(2), state: .unconfirmed, until: end),
        Row(
            claim: "an upgrade before a renewal that was charged ahead is open",
            timeline: timeline(more: [renewed(from: end), upgradedEarly]), now: end + .days(1),
            state: .paid, until: end + .days(29)),
        Row(
            claim: "a renewal charged ahead and marked as upgraded does not extend the upgrade",
            timeline: timeline(more: [givenBack, upgradedEarly]), now: end + .days(29),
            state: .unconfirmed, until: end + .days(30)),
        Row(
            claim: "if renewal is cancelled after a charge ahead, access ends with that period",
            timeline: timeline(
                renewal: (
                    Renewal(willRenew: false, renewsAt: end + .days(30)), end - .hours(1)
                ), more: [renewed(from: end)]), now: end + .days(30), state: .expired,
            until: end + .days(30)),
        Row(
            claim: "if the store postpones an end, access is held open until the later date",
            timeline: timeline(
                renewal: (Renewal(willRenew: true, renewsAt: end + .days(9)), start + .days(3))),
            now: end + .days(8), state: .unconfirmed, until: end + .days(9)),
        Row(
            claim: "at the postponed end, access is held open as at any end",
            timeline: timeline(
                renewal: (Renewal(willRenew: true, renewsAt: end + .days(9)), start + .days(3))),
            now: end + .days(9), state: .unconfirmed, until: end + .days(9) + .hours(24)),
        Row(
            claim: "the hold after a postponed end also lasts a day",
            timeline: timeline(
                renewal: (Renewal(willRenew: true, renewsAt: end + .days(9)), start + .days(3))),
            now: end + .days(10), state: .expired, until: end + .days(9)),
        Row(
            claim: "a postponed end also holds for a customer who has cancelled",
            timeline: timeline(
                renewal: (Renewal(willRenew: false, renewsAt: end + .days(9)), start + .days(3))),
            now: end + .days(8), state: .unconfirmed, until: end + .days(9)),
        Row(
            claim: "at the postponed end, a cancelled subscription is closed",
            timeline: timeline(
                renewal: (Renewal(willRenew: false, renewsAt: end + .days(9)), start + .days(3))),
            now: end + .days(9), state: .expired, until: end + .days(9)),
        Row(
            claim: "a subscription that the store reports as ended is closed before a later date",
            timeline: timeline(
                renewal: (
                    Renewal(willRenew: false, ending: .cancelled, renewsAt: end + .days(9)),
                    end + minute
                )), now: end + .days(1), state: .expired, until: end),
        Row(
            claim: "the payment of a committed month is retried for ninety days",
            timeline: timeline(
                commitment: Commitment(month: 2, months: 12), renewal: (retrying, end)),
            now: end + .days(89), state: .retry, until: end),
        Row(
            claim: "the retry of a committed month ends after ninety days",
            timeline: timeline(
                commitment: Commitment(month: 2, months: 12), renewal: (retrying, end)),
            now: end + .days(90), state: .expired, until: end),
        Row(
            claim: "grace is open even if the retry flag is missing",
            timeline: timeline(renewal: (unflagged, end)),
            now: end + .days(15), state: .grace, until: end + .days(16)),
        Row(
            claim: "a product of an unknown type is open during its period",
            timeline: timeline(kind: .unknown),
            now: end - minute, state: .paid, until: end),
        Row(
            claim: "access is open if our clock is slightly behind the store's",
            timeline: timeline(),
            now: start - minute, state: .paid, until: end),
    ]

    private static let unflagged = Renewal(
        willRenew: true, graceUntil: end + .days(16), ending: .billing)

    /// This product was bought a day before the first month ended, after the renewal was charged.
    private static let upgradedEarly = Fact(
        about: purchase, attestedAt: end - .days(1),
        .payment(
            Payment(
                transaction: "3", line: "c", product: "premium", from: end - .days(1),
                until: end + .days(29))))

    private static let givenBack: Fact = {
        var fact = renewed(from: end)
        guard case .payment(var payment) = fact.statement else { return fact }
        payment.isUpgraded = true
        payment.revocation = Revocation(at: end - .days(1), kind: .refund, percentage: 100_000)
        fact.statement = .payment(payment)
        return fact
    }()

    private static let revokedRenewal: Fact = {
        var payment = Payment(
            transaction: "2", line: "b", product: "pro.monthly", from: end, until: end + .days(30))
        payment.revocation = Revocation(at: end - .hours(2), kind: .refund)
        return Fact(about: purchase, attestedAt: end - .hours(2), .payment(payment))
    }()

    @Test(arguments: rows)
    func `access follows from the periods, the renewal information and the time`(row: Row) throws {
        let access = try #require(row.timeline.access(at: row.now))
        #expect(access.state == row.state, "\(row.claim): \(access.reason.sentence)")
        #expect(access.until == row.until, "\(row.claim): \(access.reason.sentence)")
    }

    @Test func `before the first period there is no access`() {
        #expect(timeline().access(at: start - .days(1)) == nil)
    }

    @Test func `consumables, and terms without an end, give no access by themselves`() {
        for kind in [ProductKind.consumable, .nonRenewing, .unknown] {
            let payment = Payment(
                transaction: "1", product: "gems", kind: kind, from: start, until: nil)
            let facts = [Fact(about: purchase, attestedAt: start, .payment(payment))]
            #expect(Timeline(of: purchase, facts).access(at: start + .days(1)) == nil)
        }
    }

    @Test func `a non-consumable is owned until it is revoked`() throws {
        var payment = Payment(
            transaction: "1", product: "map", kind: .nonConsumable, from: start, until: nil)
        let bought = Fact(about: purchase, attestedAt: start, .payment(payment))
        payment.revocation = Revocation(at: start + .days(2), kind: .sharingEnded)
        let ended = Fact(about: purchase, attestedAt: start + .days(2), .payment(payment))
        let owned = try #require(Timeline(of: purchase, [bought]).access(at: start + .days(900)))
        #expect(owned.state == .owned)
        #expect(owned.until == nil)
        let lost = try #require(
            Timeline(of: purchase, [bought, ended]).access(at: start + .days(3)))
        #expect(lost.state == .revoked)
    }

    @Test func `unconfirmed access stays open for the hour that the rules set, and then closes`()
        throws
    {
        let rules = AccessRules(unconfirmedHold: .hours(1))
        let open = try #require(timeline().access(at: end + minute, rules: rules))
        #expect(open.isOpen)
        let shut = try #require(timeline().access(at: end + .hours(1), rules: rules))
        #expect(!shut.isOpen)
    }

    @Test func `an ended subscription does not renew, whatever the renewal switch says`() throws {
        let ended = Renewal(willRenew: true, ending: .billing)
        let access = try #require(timeline(renewal: (ended, end)).access(at: end))
        #expect(access.state == .expired)
        #expect(access.willRenew == false)
    }

    @Test(arguments: [
        (Int64?.none, "Refunded on 2023-11-17 22:13 UTC."),
        (100_000, "Refunded on 2023-11-17 22:13 UTC."),
        (50_000, "Refunded in part (50 %) on 2023-11-17 22:13 UTC."),
        (25_500, "Refunded in part (25.5 %) on 2023-11-17 22:13 UTC."),
    ])
    func `the reason for access after a partial refund states the refunded share`(
        share: Int64?, sentence: String
    ) {
        #expect(Reason.refunded(at: start + .days(3), share).sentence == sentence)
    }

    @Test func `each kind of offer has a separate reason for access`() throws {
        let sentences = try Offer.Kind.allCases.map { kind in
            try #require(timeline(terms: .offer, offer: kind).access(at: start)).reason.sentence
        }
        #expect(Set(sentences).count == sentences.count)
        #expect(sentences.allSatisfy { $0.hasPrefix("On a") && $0.hasSuffix(" UTC.") })
    }

    @Test func `the reason of a failed renewal names the renewal's due date, also after grace`() {
        for (renewal, hadGrace) in [(retrying, false), (grace, true)] {
            let sentence = timeline(renewal: (renewal, end)).access(at: end + .days(20))?.reason
                .sentence
            #expect(sentence?.contains(end.minute) == true, "\(sentence ?? "none")")
            #expect(sentence?.contains((end + .days(16)).minute) == hadGrace)
        }
        let ended = Renewal(willRenew: false, graceUntil: end + .days(16), ending: .billing)
        let over = timeline(renewal: (ended, end + .days(60))).access(at: end + .days(61))
        #expect(over?.state == .expired && over?.reason == .ended(at: end, .billing))
    }

    @Test func `every reason for access is one sentence`() throws {
        for row in Self.rows {
            let sentence = try #require(row.timeline.access(at: row.now)).reason.sentence
            #expect(sentence.hasSuffix(".") && !sentence.contains("  "), "\(sentence)")
            #expect(sentence.first?.isUppercase == true, "\(sentence)")
        }
    }
}

@Suite struct EntitlementTests {
    private func access(
        _ products: Set<ProductID>, _ timelines: [Timeline], at now: Instant
    ) -> Access? {
        Entitlement.access(through: products, of: timelines, at: now, rules: AccessRules())
    }

    private func other(_ product: ProductID, until: Instant) -> Timeline {
        let id = PurchaseID(TransactionID(rawValue: product.rawValue), in: .production)
        let payment = Payment(transaction: "x", product: product, from: start, until: until)
        let off = Fact(about: id, attestedAt: start, .renewal(off))
        return Timeline(of: id, [Fact(about: id, attestedAt: start, .payment(payment)), off])
    }

    @Test func `an entitlement that the customer never bought is absent`() {
        #expect(access(["gold"], [timeline()], at: start) == nil)
    }

    @Test func `if one of several purchases is open, access is open, in any order of purchases`()
        throws
    {
        let shut = other("pro.weekly", until: start + .days(7))
        for timelines in [[shut, timeline()], [timeline(), shut]] {
            let found = try #require(
                access(["pro.weekly", "pro.monthly"], timelines, at: start + .days(8)))
            #expect(found.isOpen)
        }
    }

    @Test func `if two purchases are open, the one that lasts longer decides about access`() throws
    {
        let longer = other("pro.yearly", until: start + .days(365))
        let found = try #require(
            access(["pro.yearly", "pro.monthly"], [longer, timeline()], at: start + .days(1)))
        #expect(found.product == "pro.yearly")
    }

    @Test func `if two purchases are closed, the one that closed last decides about access`() throws
    {
        let earlier = other("pro.weekly", until: start + .days(7))
        let later = other("pro.yearly", until: start + .days(9))
        let found = try #require(
            access(["pro.yearly", "pro.weekly"], [earlier, later], at: start + .days(20)))
        #expect(found.product == "pro.yearly")
    }

    @Test func `after a change of product, the old product no longer gives access`() throws {
        let moved = timeline(more: [renewed(from: start + .days(9), product: "premium")])
        let left = try #require(access(["pro.monthly"], [moved], at: start + .days(10)))
        #expect(!left.isOpen)
        #expect(left.reason.sentence.hasPrefix("Changed to premium on "))
        let now = try #require(access(["premium"], [moved], at: start + .days(10)))
        #expect(now.isOpen)
    }
}
