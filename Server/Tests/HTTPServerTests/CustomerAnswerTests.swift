import Foundation
import Ledger
import PerennialContract
import Testing

@testable import Engine
@testable import HTTPServer

/// A customer's purchases as the HTTP API shows them.
@Suite struct CustomerAnswerTests {
    static let now = TestServer.now
    static let monthAgo = now - .days(10)
    static let monthEnd = now + .days(20)

    private func answer(
        _ facts: [Ledger.Fact.Statement], at now: Instant = now, rules: TermRules = .none
    ) -> Customer {
        let purchase = PurchaseID("2000001", in: .production)
        let timeline = Timeline(
            of: purchase,
            facts.map { Fact(about: purchase, attestedAt: Self.monthAgo, $0) })
        let access = timeline.access(at: now)
        return Customer(
            CustomerState(
                id: "anna", aliases: ["device-1"], environment: .production, asOf: now,
                entitlements: access.map { ["pro": EntitlementStatus($0)] } ?? [:],
                purchases: [PurchaseState(timeline: timeline, access: access)],
                terms: rules.terms(of: [timeline]), displayedTerms: rules.terms(of: [timeline]),
                termsWithoutLength: rules.paymentsWithoutLength(of: [timeline]), grants: [],
                balances: [:], clock: rules.clock))
    }

    private func month(
        _ revocation: Revocation? = nil, kind: ProductKind = .autoRenewable
    ) -> Payment {
        Payment(
            transaction: "2000001", product: "pro.monthly", kind: kind, from: Self.monthAgo,
            until: kind == .autoRenewable ? Self.monthEnd : nil,
            price: Ledger.Money(milliunits: 9990, currency: "USD"), revocation: revocation)
    }

    @Test func `a paid month gives an active entitlement and is listed as a subscription`() throws {
        let renewal = Renewal(willRenew: true, renewsTo: "pro.yearly")
        let customer = answer([.payment(month()), .renewal(renewal)])
        let pro = try #require(customer.entitlements["pro"])
        #expect(pro.active && pro.state == .paid && pro.willRenew == true)
        #expect(pro.until == Timestamp(Self.monthEnd))
        #expect(pro.purchaseID == "production:2000001")
        let subscription = try #require(customer.subscriptions.first)
        #expect(subscription.originalTransactionID == "2000001")
        #expect(subscription.period.from == Timestamp(Self.monthAgo))
        #expect(subscription.renewsTo == "pro.yearly")
        #expect(subscription.price?.amount == "9.99")
        #expect(subscription.graceUntil == nil)
    }

    @Test func `a subscription that will not renew has no next product`() {
        let renewal = Renewal(willRenew: false, renewsTo: "pro.monthly")
        let customer = answer([.payment(month()), .renewal(renewal)])
        #expect(customer.subscriptions.first?.renewsTo == nil)
        #expect(customer.subscriptions.first?.willRenew == false)
    }

    @Test func `a subscription in grace says when the grace period ends`() {
        let grace = Self.monthEnd + .days(16)
        let renewal = Renewal(willRenew: true, isRetrying: true, graceUntil: grace)
        let later = answer([.payment(month()), .renewal(renewal)], at: Self.monthEnd + .days(1))
        #expect(later.subscriptions.first?.state == .grace)
        #expect(later.subscriptions.first?.graceUntil == Timestamp(grace))
        #expect(later.subscriptions.first?.period.until == Timestamp(Self.monthEnd))
        let before = answer([.payment(month()), .renewal(renewal)])
        #expect(before.subscriptions.first?.graceUntil == nil)
    }

    @Test func `a refunded entitlement is closed, and the answer still lists the entitlement`() {
        let refund = Revocation(at: Self.now - .days(1), kind: .refund)
        let customer = answer([.payment(month(refund))])
        #expect(customer.entitlements["pro"]?.active == false)
        #expect(customer.entitlements["pro"]?.state == .refunded)
        #expect(customer.entitlements["pro"]?.reason.hasPrefix("Refunded") == true)
    }

    @Test func `a one-time purchase is not listed as a subscription`() {
        let refund = Revocation(at: Self.now, kind: .refund)
        let kept = answer([.payment(month(kind: .nonConsumable))])
        #expect(kept.subscriptions.isEmpty)
        #expect(kept.oneTime.first?.purchasedAt == Timestamp(Self.monthAgo))
        #expect(kept.oneTime.first?.revokedAt == nil)
        let refunded = answer([.payment(month(refund, kind: .consumable))])
        #expect(refunded.oneTime.first?.revokedAt == Timestamp(Self.now))
        let season = answer([.payment(month(kind: .nonRenewing))])
        #expect(season.nonRenewing.count == 1 && season.oneTime.isEmpty)
    }

    @Test func `a refunded term ends at the refund`() {
        let refund = Revocation(at: Self.now - .days(1), kind: .refund)
        let season = answer([.payment(month(refund, kind: .nonRenewing))])
        #expect(season.nonRenewing.first?.until == Timestamp(refund.at))
        #expect(season.nonRenewing.first?.daysRemaining == 0)
        let kept = answer([.payment(month(kind: .nonRenewing))])
        #expect(kept.nonRenewing.first?.until == nil)
    }

    @Test func `a term with a configured length has an end and remaining days`() {
        let rules = TermRules(products: [
            "pro.monthly": .init(length: Term.Length(months: 0, days: 14), chain: "pro")
        ])
        let terms = answer([.payment(month(kind: .nonRenewing))], rules: rules).nonRenewing
        #expect(terms.map(\.until) == [Timestamp(Self.monthAgo + .days(14))])
        #expect(terms.map(\.daysRemaining) == [4])
    }

    @Test func `the remaining days are counted in the configured time zone`() {
        let summer = WallClock.Change(at: Self.now + .days(1), seconds: 3600)
        let rules = TermRules(
            products: [
                "pro.monthly": .init(length: Term.Length(months: 0, days: 14), chain: "pro")
            ], clock: WallClock(name: "Here", secondsAtFirst: 0, changes: [summer]))
        let terms = answer([.payment(month(kind: .nonRenewing))], rules: rules).nonRenewing
        #expect(terms.map(\.until) == [Timestamp(Self.monthAgo + .days(14) - .hours(1))])
        #expect(terms.map(\.daysRemaining) == [4])
    }

    @Test func `an answer has the month of a commitment, and says whether the commitment renews`() {
        var payment = month()
        payment.commitment = Commitment(month: 2, months: 12, until: Self.monthEnd + .days(300))
        let off = Renewal(willRenew: true, commitmentRenews: false)
        let commitment = answer([.payment(payment), .renewal(off)]).subscriptions.first?.commitment
        let expected = Subscription.Commitment(
            month: 2, months: 12, until: Timestamp(Self.monthEnd + .days(300)), renews: false)
        #expect(commitment == expected)
        #expect(answer([.payment(month())]).subscriptions.first?.commitment == nil)
    }

    @Test func `the contract has the same access states as the ledger`() {
        let states = Set(Access.State.allCases.map { AccessState($0).rawValue })
        #expect(states == Set(Access.State.allCases.map(\.rawValue)))
    }

    @Test func `an answer decodes to the same value, whether or not its text is indented`()
        throws
    {
        for customer in [Self.full, Self.bare, Self.long, answer([.payment(month())])] {
            for isIndented in [false, true] {
                let text = String(buffer: try JSONResponse.json(customer, isIndented: isIndented))
                #expect(text.hasSuffix("}\n"))
                let read = try JSONDecoder().decode(Customer.self, from: Data(text.utf8))
                #expect(read == customer)
            }
        }
    }

    /// A customer whose answer exceeds the first buffer and has many characters to escape.
    private static let long = Customer(
        customerID: "carl",
        aliases: (1...100).map { "\u{1}\u{7F}\"" + String(repeating: "a", count: $0) },
        environment: .production, asOf: Timestamp(now))

    private static let bare = Customer(
        customerID: "ben \"b\" \\ \u{1}\u{1F}\n\r\t\u{8}\u{C} /é\u{1F426}", environment: .sandbox,
        asOf: Timestamp(milliseconds: 0))

    /// A customer that has every member. Lists have two elements where possible, and some have
    /// nulls beside values.
    private static let full = Customer(
        customerID: "anna", aliases: ["device-1", "device-2"], environment: .production,
        asOf: Timestamp(now),
        entitlements: [
            "pro": Entitlement(
                active: true, until: Timestamp(monthEnd), state: .paid, reason: "Paid.",
                willRenew: true, productID: "pro.monthly", purchaseID: "production:2000001"),
            "lite": Entitlement(
                active: false, until: nil, state: .expired, reason: "Over.", willRenew: nil,
                productID: "lite", purchaseID: "production:2000002"),
        ],
        subscriptions: [
            Subscription(
                purchaseID: "production:2000001", productID: "pro.monthly",
                originalTransactionID: "2000001", state: .grace,
                period: .init(from: Timestamp(monthAgo), until: Timestamp(monthEnd)),
                willRenew: false, renewsTo: "pro.yearly", graceUntil: Timestamp(monthEnd),
                price: PerennialContract.Money(milliunits: 9990, currency: "USD"),
                commitment: .init(
                    month: 2, months: 12, until: Timestamp(monthEnd), renews: true),
                ownership: .purchased, environment: .production),
            Subscription(
                purchaseID: "sandbox:2000002", productID: "lite", originalTransactionID: "2000002",
                state: .paid, period: .init(from: Timestamp(monthAgo), until: nil), willRenew: nil,
                renewsTo: nil, graceUntil: nil, price: nil, ownership: .familyShared,
                environment: .sandbox),
        ],
        nonRenewing: [
            NonRenewing(
                productID: "term", from: Timestamp(monthAgo), until: Timestamp(monthEnd),
                daysRemaining: 20),
            NonRenewing(
                productID: "term", from: Timestamp(monthAgo), until: nil, daysRemaining: nil),
        ],
        oneTime: [
            OneTimePurchase(
                productID: "book", purchasedAt: Timestamp(monthAgo), revokedAt: Timestamp(now)),
            OneTimePurchase(productID: "gems", purchasedAt: Timestamp(monthAgo), revokedAt: nil),
        ],
        wallets: ["gems": Wallet(balance: 40), "coins": Wallet(balance: -1)], token: "a.b.c")
}
