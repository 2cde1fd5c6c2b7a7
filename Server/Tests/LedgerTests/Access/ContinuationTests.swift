import Ledger
import Testing

private let start = Instant(milliseconds: 1_767_225_600_000)  // 2026-01-01
private let end = start + .days(31)  // 2026-02-01
private let grace = end + .days(16)  // 2026-02-17
private let purchase = PurchaseID("1000", in: .production)

/// `pro` comes from both products, `premium` only from the higher one.
private let products: [EntitlementID: Set<ProductID>] = [
    "premium": ["premium.monthly"], "pro": ["premium.monthly", "pro.monthly"],
]

private func period(_ change: (inout Payment) -> Void = { _ in }) -> Fact {
    var payment = Payment(
        transaction: "1000", line: "1", product: "premium.monthly", from: start, until: end)
    change(&payment)
    return Fact(about: purchase, attestedAt: start, .payment(payment))
}

private func news(
    _ renewal: Renewal, on moment: Instant = start, _ grade: Grade = .signed
) -> Fact {
    Fact(about: purchase, attestedAt: moment, grade: grade, .renewal(renewal))
}

private let renews = Renewal(willRenew: true, renewsTo: "premium.monthly", renewsAt: end)
private let downgrades = Renewal(willRenew: true, renewsTo: "pro.monthly", renewsAt: end)
private let cancelled = Renewal(willRenew: false, renewsTo: "premium.monthly", renewsAt: end)
private let inGrace = Renewal(
    willRenew: true, renewsTo: "premium.monthly", isRetrying: true, graceUntil: grace,
    ending: .billing)
/// Apple's renewal information after grace, which no longer names the grace period.
private let inRetry = Renewal(
    willRenew: true, renewsTo: "premium.monthly", isRetrying: true, ending: .billing)
private let gaveUp = Renewal(willRenew: false, renewsTo: "premium.monthly", ending: .billing)

/// The access of a customer at a moment: state, end, renewal and sentence.
private struct Row {
    var name: String
    var facts: [Fact]
    var at: Instant
    var entitlement: EntitlementID = "premium"
    var state: Access.State
    var until: Instant?
    var willRenew: Bool?
    var sentence: String
}

@Suite struct ContinuationTests {
    private static let rows = [
        Row(
            name: "a paid period whose renewal is on", facts: [period(), news(renews)],
            at: start + .days(3),
            state: .paid, until: end, willRenew: true,
            sentence: "Paid until 2026-02-01 00:00 UTC, then renews."),
        Row(
            name: "a paid period whose renewal is off", facts: [period(), news(cancelled)],
            at: start + .days(3),
            state: .paid, until: end, willRenew: false,
            sentence: "Paid until 2026-02-01 00:00 UTC, will not renew."),
        Row(
            name: "a paid period without renewal information", facts: [period()],
            at: start + .days(3), state: .paid,
            until: end, willRenew: nil, sentence: "Paid until 2026-02-01 00:00 UTC."),
        Row(
            name: "after a paid period, a downgrade ends the entitlement",
            facts: [period(), news(downgrades)],
            at: start + .days(3), state: .paid, until: end, willRenew: false,
            sentence: "Paid until 2026-02-01 00:00 UTC, then changes to pro.monthly."),
        Row(
            name: "after a paid period, a downgrade keeps the entitlement",
            facts: [period(), news(downgrades)],
            at: start + .days(3), entitlement: "pro", state: .paid, until: end, willRenew: true,
            sentence: "Paid until 2026-02-01 00:00 UTC, then renews as pro.monthly."),
        Row(
            name: "after a trial, a downgrade ends the entitlement",
            facts: [period { $0.terms = .trial }, news(downgrades)], at: start + .days(3),
            state: .trial, until: end, willRenew: false,
            sentence: "Free trial until 2026-02-01 00:00 UTC, then changes to pro.monthly."),
        Row(
            name: "a period with an offer whose renewal is on",
            facts: [
                period { ($0.terms, $0.offer) = (.offer, Offer(.code, id: "spring")) },
                news(renews),
            ], at: start + .days(3), state: .offer, until: end, willRenew: true,
            sentence: "On an offer code until 2026-02-01 00:00 UTC, then renews."),
        Row(
            name: "a failed payment in grace", facts: [period(), news(inGrace, on: end)],
            at: end + .days(3),
            state: .grace, until: grace, willRenew: true,
            sentence: "The App Store could not collect the renewal and grants a grace period "
                + "until 2026-02-17 00:00 UTC."),
        Row(
            name: "grace has ended, and no document reports this",
            facts: [period(), news(inGrace, on: end)],
            at: grace + .days(3), state: .retry, until: grace, willRenew: true,
            sentence: "The App Store could not collect the renewal of 2026-02-01 00:00 UTC, the "
                + "grace period ended on 2026-02-17 00:00 UTC, and the App Store keeps trying."),
        Row(
            name: "grace has ended, and a document reports this",
            facts: [period(), news(inGrace, on: end), news(inRetry, on: grace)],
            at: grace + .days(3), state: .retry, until: grace, willRenew: true,
            sentence: "The App Store could not collect the renewal of 2026-02-01 00:00 UTC, the "
                + "grace period ended on 2026-02-17 00:00 UTC, and the App Store keeps trying."),
        Row(
            name: "grace that a legacy document reported has ended",
            facts: [
                period(), news(inGrace, on: end, .legacy),
                news(inRetry, on: grace + .days(1)),
            ], at: grace + .days(3), state: .retry, until: grace, willRenew: true,
            sentence: "The App Store could not collect the renewal of 2026-02-01 00:00 UTC, the "
                + "grace period ended on 2026-02-17 00:00 UTC, and the App Store keeps trying."),
        Row(
            name: "a failed payment without grace", facts: [period(), news(inRetry, on: end)],
            at: end + .days(3),
            state: .retry, until: end, willRenew: true,
            sentence: "The App Store could not collect the renewal of 2026-02-01 00:00 UTC and "
                + "keeps trying."),
        Row(
            name: "the App Store gave up after grace",
            facts: [
                period(), news(inGrace, on: end), news(inRetry, on: grace),
                news(gaveUp, on: end + .days(60)),
            ], at: end + .days(70), state: .expired, until: grace, willRenew: false,
            sentence: "Ended because the App Store could not collect the renewal of "
                + "2026-02-01 00:00 UTC."),
        Row(
            name: "renewal was switched off in grace, without a reason",
            facts: [
                period(), news(inGrace, on: end), news(cancelled, on: end + .days(2)),
            ], at: end + .days(3), state: .expired, until: end + .days(2), willRenew: false,
            sentence: "Ended, as renewal was switched off, on 2026-02-03 00:00 UTC."),
        Row(
            name: "a cancelled subscription has ended",
            facts: [
                period(),
                news(
                    Renewal(willRenew: false, renewsTo: "premium.monthly", ending: .cancelled),
                    on: end),
            ], at: end + .days(1), state: .expired, until: end, willRenew: false,
            sentence: "Cancelled by the customer, and ended on 2026-02-01 00:00 UTC."),
        Row(
            name: "a change of product has ended the entitlement",
            facts: [
                period(), news(downgrades),
                period {
                    ($0.transaction, $0.line, $0.product) = ("1001", "2", "pro.monthly")
                    ($0.from, $0.until, $0.isRenewal) = (end, end + .days(28), true)
                },
            ], at: end + .days(1), state: .expired, until: end, willRenew: false,
            sentence: "Changed to pro.monthly on 2026-02-01 00:00 UTC."),
        Row(
            name: "a refunded period",
            facts: [
                period { $0.revocation = Revocation(at: start + .days(2), kind: .refund) },
                news(cancelled),
            ], at: start + .days(3), state: .refunded, until: start + .days(2), willRenew: false,
            sentence: "Refunded on 2026-01-03 00:00 UTC."),
    ]

    @Test(arguments: rows.indices)
    func `the reason for access names the product that the subscription continues with`(
        number: Int
    ) throws {
        let row = Self.rows[number]
        for facts in [row.facts, row.facts.reversed()] {
            let access = try #require(
                Entitlement.access(
                    through: products[row.entitlement] ?? [],
                    of: [Timeline(of: purchase, facts)], at: row.at, rules: AccessRules()),
                "\(row.name)")
            #expect(access.state == row.state, "\(row.name)")
            #expect(access.until == row.until, "\(row.name)")
            #expect(access.willRenew == row.willRenew, "\(row.name)")
            #expect(access.reason.sentence == row.sentence, "\(row.name)")
        }
    }

    @Test func `a failing payment takes precedence over a withdrawn grant and a refunded purchase`()
        throws
    {
        let failing = Timeline(of: purchase, [period(), news(inRetry, on: end)])
        let other = Timeline(
            of: PurchaseID("2000", in: .production),
            [
                Fact(
                    about: PurchaseID("2000", in: .production), attestedAt: start,
                    .payment(
                        Payment(
                            transaction: "2000", product: "premium.monthly",
                            kind: .nonConsumable, from: start, until: nil,
                            revocation: Revocation(at: end + .days(2), kind: .refund))))
            ])
        let now = end + .days(3)
        let access = Entitlement.access(
            through: ["premium.monthly"], of: [failing, other], at: now, rules: AccessRules())
        #expect(access?.state == .retry)
        let grant = Grant(
            id: "g", entitlement: "premium", from: end, until: nil, reason: "",
            withdrawnAt: end + .days(2))
        let status = EntitlementStatus.strongest(access, [grant], at: now)
        #expect(status?.state == .retry && status?.purchase == purchase)
        // Open access takes precedence over shut access, as for purchases.
        let open = Grant(id: "h", entitlement: "premium", from: end, until: nil, reason: "")
        #expect(EntitlementStatus.strongest(access, [grant, open], at: now)?.state == .granted)
    }

    @Test func `a period that was paid after a grace period has no grace period itself`() throws {
        let timeline = Timeline(
            of: purchase, [period(), news(inGrace, on: end), news(inRetry, on: grace)])
        let failed = try #require(timeline.periods.last)
        #expect(timeline.graceEnd(after: failed) == grace)
        let recovered = timeline.adding([
            period {
                ($0.transaction, $0.line, $0.isRenewal) = ("1001", "2", true)
                ($0.from, $0.until) = (grace + .days(4), grace + .days(34))
            }
        ])
        let paid = try #require(recovered.periods.last)
        #expect(recovered.graceEnd(after: paid) == nil)
    }
}
