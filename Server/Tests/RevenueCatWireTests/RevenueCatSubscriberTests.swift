import Ledger
import RevenueCatWebhooks
import Testing

@testable import RevenueCatWire

/// The answers that RevenueCat's SDK decodes: their members, and the values of each state.
@Suite struct RevenueCatSubscriberTests {
    private static let day = Duration.days(1)
    static let start = Instant(milliseconds: 1_767_268_800_000)
    static let number: TransactionID = "2000000123456789"

    private static let subscriberKeys = [
        "entitlements", "first_seen", "last_seen", "management_url", "non_subscriptions",
        "original_app_user_id", "original_application_version", "original_purchase_date",
        "other_purchases", "subscriptions",
    ]
    private static let subscriptionKeys = [
        "auto_resume_date", "billing_issues_detected_at", "display_name", "expires_date",
        "grace_period_expires_date", "is_sandbox", "management_url", "original_purchase_date",
        "ownership_type", "period_type", "price", "purchase_date", "refunded_at", "store",
        "store_transaction_id", "unsubscribe_detected_at",
    ]
    private static let oneTimeKeys = [
        "display_name", "id", "is_sandbox", "original_purchase_date", "price", "purchase_date",
        "store", "store_transaction_id",
    ]
    private static let entitlementKeys = [
        "expires_date", "grace_period_expires_date", "product_identifier", "purchase_date",
    ]

    private static func month(_ change: (inout Payment) -> Void = { _ in }) -> Payment {
        var payment = Payment(
            transaction: number, product: "pro.monthly", from: start, until: start + .days(30),
            price: Ledger.Money(milliunits: 9_990, currency: "USD"))
        change(&payment)
        return payment
    }

    /// What the SDK reads at a moment, of a customer with one purchase of "pro".
    static func answer(
        _ payment: Payment, _ renewal: Renewal? = nil, at now: Instant,
        in environment: Ledger.Environment = .production, grants: [Grant] = []
    ) -> RevenueCatValue {
        let purchase = PurchaseID(payment.transaction, in: environment)
        var facts = [Fact(about: purchase, attestedAt: payment.from, .payment(payment))]
        if let renewal {
            facts.append(Fact(about: purchase, attestedAt: now - .hours(1), .renewal(renewal)))
        }
        let timeline = Timeline(of: purchase, facts)
        let access = timeline.access(at: now)
        let status = EntitlementStatus.strongest(access, grants, at: now)
        return RevenueCatSubscriber(
            of: "anna", in: environment, at: now, purchases: [.init(timeline, access)],
            grants: grants, entitlements: status.map { ["pro": $0] } ?? [:]
        ).value
    }

    private static func check(
        _ answer: RevenueCatValue, _ expected: [String: RevenueCatValue], _ name: String
    ) {
        for (path, value) in expected {
            #expect(answer[path] == value, "\(name): \(path)")
        }
    }

    private static let subscription = "subscriber/subscriptions/pro.monthly"
    private static let right = "subscriber/entitlements/pro"

    @Test func `every member of the response is present, and null if its value is unknown`() {
        let answer = Self.answer(Self.month(), at: Self.start + Self.day)
        #expect(answer.keys == ["request_date", "request_date_ms", "subscriber"])
        #expect(answer["subscriber"]?.keys == Self.subscriberKeys)
        #expect(answer[Self.subscription]?.keys == Self.subscriptionKeys)
        #expect(answer[Self.right]?.keys == Self.entitlementKeys)
        let coins = Payment(
            transaction: "7", product: "coins", kind: .consumable, from: Self.start, until: nil)
        let bought = Self.answer(coins, at: Self.start + Self.day)
        let list = bought["subscriber/non_subscriptions/coins"]
        #expect(list?.elements.map(\.keys) == [Self.oneTimeKeys])
        #expect(bought["subscriber/subscriptions"] == .object([]))
        #expect(bought["subscriber/management_url"] == .null)
    }

    @Test func `a paid month has the dates, the price and the id of its transaction`() {
        Self.check(
            Self.answer(Self.month(), at: Self.start + Self.day),
            [
                "request_date": "2026-01-02T12:00:00Z",
                "request_date_ms": .integer(1_767_355_200_000),
                "subscriber/first_seen": "2026-01-01T12:00:00Z",
                "subscriber/original_app_user_id": "anna",
                "subscriber/management_url": "https://apps.apple.com/account/subscriptions",
                "\(Self.subscription)/expires_date": "2026-01-31T12:00:00Z",
                "\(Self.subscription)/purchase_date": "2026-01-01T12:00:00Z",
                "\(Self.subscription)/period_type": "normal",
                "\(Self.subscription)/ownership_type": "PURCHASED",
                "\(Self.subscription)/store_transaction_id": "2000000123456789",
                "\(Self.subscription)/is_sandbox": .bool(false),
                "\(Self.subscription)/price": .object([
                    .init("amount", .number(9.99)), .init("currency", "USD"),
                ]),
                "\(Self.right)/expires_date": "2026-01-31T12:00:00Z",
                "\(Self.right)/product_identifier": "pro.monthly",
            ], "paid")
    }

    @Test func `each state of a subscription is spelled by RevenueCat's rules`() {
        let (end, now) = (Self.start + .days(30), Self.start + .days(31))
        let told: RevenueCatValue = "2026-02-01T11:00:00Z"
        let grace = Self.answer(
            Self.month(),
            Renewal(willRenew: true, isRetrying: true, graceUntil: end + .days(16)), at: now)
        Self.check(
            grace,
            [
                "\(Self.subscription)/expires_date": "2026-02-16T12:00:00Z",
                "\(Self.subscription)/grace_period_expires_date": "2026-02-16T12:00:00Z",
                "\(Self.subscription)/billing_issues_detected_at": told,
                "\(Self.subscription)/unsubscribe_detected_at": .null,
                "\(Self.right)/expires_date": "2026-02-16T12:00:00Z",
                "\(Self.right)/grace_period_expires_date": "2026-02-16T12:00:00Z",
            ], "grace")
        Self.check(
            Self.answer(Self.month(), Renewal(willRenew: true, isRetrying: true), at: now),
            [
                "\(Self.subscription)/expires_date": "2026-01-31T12:00:00Z",
                "\(Self.subscription)/billing_issues_detected_at": told,
                "\(Self.right)/expires_date": "2026-01-31T12:00:00Z",
                "subscriber/management_url": .null,
            ], "retry")
        Self.check(
            Self.answer(Self.month(), Renewal(willRenew: false), at: Self.start + Self.day),
            [
                "\(Self.subscription)/unsubscribe_detected_at": "2026-01-02T11:00:00Z",
                "\(Self.subscription)/expires_date": "2026-01-31T12:00:00Z",
            ], "cancelled")
        let refund = Revocation(at: Self.start + .days(3), kind: .refund)
        Self.check(
            Self.answer(Self.month { $0.revocation = refund }, at: Self.start + .days(5)),
            [
                "\(Self.subscription)/refunded_at": "2026-01-04T12:00:00Z",
                "\(Self.subscription)/expires_date": "2026-01-04T12:00:00Z",
                "\(Self.right)/expires_date": "2026-01-04T12:00:00Z",
            ], "refunded")
        let family = Self.month {
            $0.ownership = .familyShared
            $0.terms = .trial
        }
        Self.check(
            Self.answer(family, at: Self.start + Self.day, in: .sandbox),
            [
                "\(Self.subscription)/ownership_type": "FAMILY_SHARED",
                "\(Self.subscription)/period_type": "trial",
                "\(Self.subscription)/is_sandbox": .bool(true),
                "\(Self.subscription)/price/amount": .number(0),
            ], "family")
    }

    @Test func `access that ended earlier in the same second as the answer is not active`() {
        let end = Self.start + .days(30) + .milliseconds(100)
        let month = Self.month { $0.until = end }
        let ending = Renewal(willRenew: false, ending: .cancelled)
        let shut = Self.answer(month, ending, at: end + .milliseconds(800))
        #expect(shut["request_date"] == "2026-01-31T12:00:00Z")
        #expect(shut["\(Self.right)/expires_date"] == "2026-01-31T11:59:59Z")
        let open = Self.answer(month, ending, at: end - .milliseconds(1))
        #expect(open["\(Self.right)/expires_date"] == "2026-01-31T12:00:00Z")
    }

    @Test func `a one-time purchase has no end, and a refund removes it with its entitlement`() {
        let guide = Payment(
            transaction: "8", product: "guide", kind: .nonConsumable, from: Self.start, until: nil)
        let owned = Self.answer(guide, at: Self.start + Self.day)
        #expect(owned["\(Self.right)/expires_date"] == .null)
        #expect(owned["\(Self.right)/product_identifier"] == "guide")
        var refunded = guide
        refunded.revocation = Revocation(at: Self.start + .hours(1), kind: .refund)
        let gone = Self.answer(refunded, at: Self.start + Self.day)
        #expect(gone["subscriber/non_subscriptions"] == .object([]))
        #expect(gone["subscriber/entitlements"] == .object([]))
    }

    @Test func `a grant is a promotional subscription, and product_identifier is its key`() {
        let end = Self.start + .days(90)
        let grant = Grant(
            id: "g", entitlement: "pro", from: Self.start, until: end, reason: "ticket 7")
        let answer = Self.answer(Self.month(), at: Self.start + Self.day, grants: [grant])
        let key = "subscriber/subscriptions/rc_promo_pro_custom"
        #expect(answer[key]?.keys == Self.subscriptionKeys)
        let sandboxed = Self.answer(
            Self.month(), at: Self.start + Self.day, in: .sandbox, grants: [grant])
        #expect(sandboxed["\(key)/is_sandbox"] == .bool(true))
        Self.check(
            answer,
            [
                "\(key)/is_sandbox": .bool(false), "\(key)/store": "promotional",
                "\(key)/expires_date": "2026-04-01T12:00:00Z",
                "\(key)/store_transaction_id": .null,
                "\(Self.right)/product_identifier": "rc_promo_pro_custom",
                "\(Self.right)/expires_date": "2026-04-01T12:00:00Z",
            ], "grant")
    }

    @Test func `payments for one product are listed oldest first`() {
        let purchases = [3, 1, 2].map { number -> RevenueCatSubscriber.Purchase in
            let payment = Payment(
                transaction: TransactionID(rawValue: "\(number)"), product: "coins",
                kind: .consumable, from: Self.start + .days(number), until: nil)
            let purchase = PurchaseID(payment.transaction, in: .production)
            let fact = Fact(about: purchase, attestedAt: payment.from, .payment(payment))
            return .init(Timeline(of: purchase, [fact]), nil)
        }
        let answer = RevenueCatSubscriber(
            of: "anna", in: .production, at: Self.start + .days(9), purchases: purchases,
            grants: [], entitlements: [:]
        ).value
        let numbers = answer["subscriber/non_subscriptions/coins"]?.elements
            .map { $0["store_transaction_id"] }
        #expect(numbers == ["1", "2", "3"])
    }
}

extension RevenueCatValue: ExpressibleByStringLiteral {
    package init(stringLiteral value: String) { self = .string(value) }
}

extension RevenueCatValue {
    /// The value at a path of members, separated by slashes.
    subscript(path: String) -> RevenueCatValue? {
        path.split(separator: "/").reduce(self as RevenueCatValue?) { value, key in
            guard case .object(let members)? = value else { return nil }
            return members.first { $0.key == key }?.value
        }
    }

    var keys: [String] {
        if case .object(let members) = self { members.map(\.key) } else { [] }
    }

    var elements: [RevenueCatValue] {
        if case .list(let values) = self { values } else { [] }
    }
}
