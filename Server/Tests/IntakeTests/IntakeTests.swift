import AppStoreFormats
import Intake
import Ledger
import Testing

private let signed = AppStoreDate(milliseconds: 1_700_000_000_500)

private struct Unexpected: Error {}

private let whole: JSON = [
    "transactionId": "2", "originalTransactionId": "1", "webOrderLineItemId": "77",
    "bundleId": "com.example.birds", "productId": "pro.monthly",
    "subscriptionGroupIdentifier": "G", "purchaseDate": 1_700_000_000_000,
    "expiresDate": 1_702_592_000_000, "quantity": 1, "type": "Auto-Renewable Subscription",
    "appAccountToken": "ABCDEF00-0000-4000-8000-000000000001", "inAppOwnershipType": "PURCHASED",
    "environment": "Production", "storefront": "USA", "transactionReason": "RENEWAL",
    "price": 9990, "currency": "USD",
]

/// A transaction in Apple's form, with some fields changed or (null) removed.
private func transaction(_ changes: [String: JSON] = [:]) throws -> TransactionPayload {
    var members = try #require(whole.members).filter { changes[$0.key] == nil }
    members += changes.filter { $0.value != .null }.map { JSON.Member($0.key, $0.value) }
    return try #require(TransactionPayload(json: .object(members)))
}

private func payment(_ changes: [String: JSON] = [:]) throws -> Payment {
    let fact = try Intake.fact(of: try transaction(changes), signedAt: signed)
    guard case .payment(let payment) = fact.statement else {
        throw Unexpected()
    }
    return payment
}

private func renewal(_ fields: JSON) throws -> Renewal {
    let payload = try #require(RenewalPayload(json: fields))
    guard case .renewal(let renewal) = try Intake.fact(of: payload, signedAt: signed).statement
    else {
        throw Unexpected()
    }
    return renewal
}

@Suite struct IntakeTests {
    @Test func `a transaction attests a payment at the time of its signature`() throws {
        let fact = try Intake.fact(of: try transaction(), signedAt: signed)
        #expect(fact.purchase == PurchaseID("1", in: .production))
        #expect(fact.attestedAt == Instant(milliseconds: 1_700_000_000_500))
        let expected = Payment(
            transaction: "2", line: "77", product: "pro.monthly",
            from: Instant(milliseconds: 1_700_000_000_000),
            until: Instant(milliseconds: 1_702_592_000_000),
            price: Money(milliunits: 9990, currency: "USD"), isRenewal: true,
            accountToken: "abcdef00-0000-4000-8000-000000000001", group: "G", storefront: "USA")
        #expect(fact.statement == .payment(expected))
    }

    @Test func `a sandbox transaction attests a purchase of the sandbox`() throws {
        let fact = try Intake.fact(
            of: try transaction(["environment": "Sandbox"]), signedAt: signed)
        #expect(fact.purchase == PurchaseID("1", in: .sandbox))
    }

    private struct Obtained: Sendable {
        var type: Int64?
        var discount: String?
        var price: Int64 = 0
        var terms: Terms
    }

    private static let obtained: [Obtained] =
        [1, 2, 3, 4, 5, 99].map { Obtained(type: $0, discount: "FREE_TRIAL", terms: .trial) }
        + [1, 2, 3, 4, 5, 99].map { Obtained(type: $0, discount: "PAY_UP_FRONT", terms: .offer) }
        + [
            Obtained(discount: "FREE_TRIAL", terms: .trial),
            Obtained(type: 1, discount: "PAY_AS_YOU_GO", price: 990, terms: .offer),
            // Documents without a payment mode, or with an unknown one.
            Obtained(type: 3, terms: .trial), Obtained(type: 3, price: 990, terms: .offer),
            Obtained(type: 99, discount: "NOBODY_KNOWS", terms: .trial),
            Obtained(type: 99, discount: "NOBODY_KNOWS", price: 990, terms: .offer),
            // A price of 0 without an offer is an ordinary price.
            Obtained(terms: .full), Obtained(price: 990, terms: .full),
        ]

    @Test(arguments: obtained)
    private func `a period that is free because of any kind of offer is a trial`(
        obtained: Obtained
    ) throws {
        let payment = try payment([
            "offerType": obtained.type.map { .integer($0) } ?? .null,
            "offerDiscountType": obtained.discount.map { .string($0) } ?? .null,
            "price": .integer(obtained.price),
        ])
        #expect(payment.terms == obtained.terms)
    }

    @Test func `a one-time purchase with a free offer is not a trial`() throws {
        let payment = try payment([
            "type": "Consumable", "expiresDate": .null, "offerType": 3, "price": 0,
            "offerDiscountType": "ONE_TIME",
        ])
        #expect(payment.terms == .offer)
    }

    @Test(arguments: [
        ("REFUND_FULL", "PURCHASED", Revocation.Kind.refund),
        ("REFUND_PRORATED", "FAMILY_SHARED", .refund),
        ("FAMILY_REVOKE", "FAMILY_SHARED", .sharingEnded),
        ("ASSIGNMENT_REVOKE", "ASSIGNED", .sharingEnded), ("", "PURCHASED", .refund),
        ("", "FAMILY_SHARED", .sharingEnded),
    ])
    func `a refund and the end of family sharing are different revocations`(
        type: String, ownership: String, kind: Revocation.Kind
    ) throws {
        let payment = try payment([
            "revocationDate": 1_700_500_000_000, "inAppOwnershipType": .string(ownership),
            "revocationType": type.isEmpty ? .null : .string(type),
        ])
        #expect(payment.revocation?.kind == kind)
        #expect(payment.revocation?.at == Instant(milliseconds: 1_700_500_000_000))
    }

    private static let day: Int64 = 1_700_500_000_000

    private struct Items: Sendable {
        var items: JSON
        /// When all items are revoked; nil if access stays open.
        var revokedAt: Int64?
        var percentage: Int64?
        var price: Int64
    }

    private static let givenBack: [Items] = [
        // No refunds.
        Items(items: [["SKU": "a", "price": 9990]], price: 9990),
        // A partial refund that does not revoke the item.
        Items(
            items: [["price": 9990, "refunds": [["refundAmount": 2990, "refundType": "CUSTOM"]]]],
            price: 7000),
        // Partial refunds of two items, one of which is revoked.
        Items(
            items: [
                [
                    "price": 4990, "refunds": [["refundType": "FULL"]],
                    "revocationDate": .integer(day),
                ],
                ["price": 5000],
            ], price: 5000),
        // Both items are revoked, one after the other.
        Items(
            items: [
                [
                    "price": 4990, "refunds": [["refundAmount": 1000, "refundType": "PRORATED"]],
                    "revocationDate": .integer(day),
                ],
                [
                    "price": 5000, "refunds": [["refundAmount": 1500], ["refundAmount": 830]],
                    "revocationDate": .integer(day + 1),
                ],
            ], revokedAt: day + 1, percentage: 33_334, price: 9990),
        // A full refund.
        Items(
            items: [
                [
                    "price": 9990, "refunds": [["refundType": "FULL"]],
                    "revocationDate": .integer(day),
                ]
            ], revokedAt: day, percentage: 100_000, price: 9990),
        // The item is revoked, and the amount of the refund is unknown.
        Items(
            items: [
                [
                    "price": 9990, "refunds": [["refundType": "PRORATED"]],
                    "revocationDate": .integer(day),
                ]
            ], revokedAt: day, price: 9990),
        // Refunds that exceed the price, or that overflow.
        Items(items: [["refunds": [["refundAmount": 20_000]]]], price: 0),
        Items(
            items: [["refunds": [["refundAmount": .integer(.max)], ["refundAmount": 1]]]],
            price: 9990),
        Items(items: [["refunds": [["refundAmount": -1]]]], price: 9990),
    ]

    @Test(arguments: givenBack.indices)
    func `the refund of an Advanced Commerce purchase is computed from its items`(row: Int) throws {
        let row = Self.givenBack[row]
        let payment = try payment(["advancedCommerceInfo": ["items": row.items]])
        #expect(payment.revocation?.at == row.revokedAt.map { Instant(milliseconds: $0) })
        #expect(payment.revocation?.percentage == row.percentage)
        #expect(payment.price == Money(milliunits: row.price, currency: "USD"))
    }

    @Test func `the net amount of an item is its price minus its refund`() throws {
        let payment = try payment([
            "revocationDate": .integer(Self.day),
            "advancedCommerceInfo": [
                "items": [["price": 9990, "refunds": [["refundAmount": 3333]]]]
            ],
        ])
        #expect(payment.revocation?.at == Instant(milliseconds: Self.day))
        #expect(payment.netAmount == Money(milliunits: 9990 - 3333, currency: "USD"))
    }

    @Test(
        arguments: [
            ("7", "Production", PurchaseID("7", in: .production)),
            ("7", "Sandbox", PurchaseID("7", in: .sandbox)),
            // Nothing was replaced: an equal id, no id, or an environment outside the App Store.
            ("1", "Production", nil), (nil, "Production", nil), ("7", "Xcode", nil),
        ] as [(String?, String, PurchaseID?)])
    func `a transaction contains the id of the earlier purchase that it replaces`(
        previous: String?, environment: String, from: PurchaseID?
    ) throws {
        let found = Intake.succession(
            of: try transaction([
                "previousOriginalTransactionId": previous.map { .string($0) } ?? .null,
                "environment": .string(environment),
            ]))
        #expect(found?.from == from)
        #expect(found?.to == from.map { PurchaseID("1", in: $0.environment) })
    }

    @Test func `a product of an unknown type is kept and gives no access`() throws {
        #expect(try payment(["type": "Lifetime Lease"]).kind == .unknown)
    }

    @Test(arguments: [
        "transactionId", "originalTransactionId", "productId", "purchaseDate", "environment",
    ])
    func `a transaction without a required field is refused`(field: String) throws {
        let lacking = try transaction([field: .null])
        #expect(throws: IntakeFailure.self) { try Intake.fact(of: lacking, signedAt: signed) }
    }

    @Test func `a field of the wrong type counts as missing`() throws {
        let odd = try transaction(["purchaseDate": "yesterday"])
        let failure = #expect(throws: IntakeFailure.self) {
            try Intake.fact(of: odd, signedAt: signed)
        }
        #expect(failure?.field == "purchaseDate")
    }

    @Test func `renewal information attests the next renewal that the App Store plans`() throws {
        let renewal = try renewal([
            "originalTransactionId": "1", "productId": "pro.monthly", "environment": "Production",
            "autoRenewProductId": "plus.monthly", "autoRenewStatus": 1,
            "isInBillingRetryPeriod": true, "gracePeriodExpiresDate": 1_702_600_000_000,
            "expirationIntent": 2, "renewalDate": 1_702_592_000_000, "renewalPrice": 4990,
            "currency": "USD",
        ])
        let expected = Renewal(
            willRenew: true, renewsTo: "plus.monthly", isRetrying: true,
            graceUntil: Instant(milliseconds: 1_702_600_000_000), ending: .billing,
            renewsAt: Instant(milliseconds: 1_702_592_000_000),
            price: Money(milliunits: 4990, currency: "USD"))
        #expect(renewal == expected)
    }

    @Test(
        arguments: [
            (["subtype": "GRACE_PERIOD"], true), (["data": ["status": 4]], true),
            (["data": ["status": 3]], false), ([:], false),
            (["notificationType": "GRACE_PERIOD_EXPIRED", "data": ["status": 4]], false),
        ] as [(JSON, Bool)])
    func `if a notification reports grace without an end, grace lasts three days`(
        notification: JSON, isGrace: Bool
    ) throws {
        let due = Int64(1_702_592_000_000)
        func grace(_ end: JSON) throws -> Instant? {
            let fields: JSON = [
                "originalTransactionId": "1", "environment": "Production", "autoRenewStatus": 1,
                "isInBillingRetryPeriod": true, "renewalDate": .integer(due),
                "gracePeriodExpiresDate": end,
            ]
            let payload = try #require(RenewalPayload(json: fields))
            let within = try #require(NotificationPayload(json: notification))
            let fact = try Intake.fact(of: payload, in: within, signedAt: signed)
            guard case .renewal(let renewal) = fact.statement else { throw Unexpected() }
            return renewal.graceUntil
        }
        let least = Instant(milliseconds: due) + .days(3)
        #expect(try grace(.null) == (isGrace ? least : nil))
        #expect(try grace(.integer(due + 1)) == Instant(milliseconds: due + 1))
    }

    @Test(arguments: [(0, 3), (2, 3), (3, 6), (10, 16), (16, 28), (27, 28), (40, 28)])
    func `grace without an end lasts 3, 6, 16 or 28 days, the shortest that ends after the report`(
        toldDay: Int, days: Int
    ) throws {
        let due = Instant(milliseconds: 1_702_592_000_000)
        let payload = try #require(RenewalPayload(json: Self.grace(due, until: nil)))
        let within = try #require(NotificationPayload(json: ["data": ["status": 4]]))
        let told = AppStoreDate(milliseconds: (due + .days(toldDay)).milliseconds)
        let fact = try Intake.fact(of: payload, in: within, signedAt: told)
        guard case .renewal(let renewal) = fact.statement else { throw Unexpected() }
        #expect(renewal.graceUntil == due + .days(days))
    }

    @Test(arguments: [
        (Int64(4), false, false), (4, true, true), (3, false, true), (1, false, true),
        (99, false, true),
    ])
    func `if the status is grace, renewal information without the end of grace is incomplete`(
        status: Int64, namesEnd: Bool, isWhole: Bool
    ) throws {
        let due = Instant(milliseconds: 1_702_592_000_000)
        let fields = Self.grace(due, until: namesEnd ? due + .days(16) : nil)
        let payload = try #require(RenewalPayload(json: fields))
        let fact = try Intake.fact(of: payload, signedAt: signed)
        #expect(Intake.isComplete(fact, beside: SubscriptionStatus(rawValue: status)) == isWhole)
        let paid = try Intake.fact(of: try transaction(), signedAt: signed)
        #expect(Intake.isComplete(paid, beside: SubscriptionStatus(rawValue: status)))
    }

    /// Renewal information of a customer whose payment failed.
    private static func grace(_ due: Instant, until end: Instant?) -> JSON {
        [
            "originalTransactionId": "1", "environment": "Production", "autoRenewStatus": 1,
            "isInBillingRetryPeriod": true, "renewalDate": .integer(due.milliseconds),
            "gracePeriodExpiresDate": end.map { JSON.integer($0.milliseconds) } ?? .null,
        ]
    }

    @Test(arguments: [
        (Int64(1), Renewal.Ending.cancelled), (2, .billing), (3, .priceNotAgreed),
        (4, .productUnavailable),
        (5, .other), (77, .other),
    ])
    func `an expiration intent is read as a reason`(intent: Int64, ending: Renewal.Ending) throws {
        let renewal = try renewal([
            "originalTransactionId": "1", "environment": "Sandbox", "autoRenewStatus": 0,
            "expirationIntent": .integer(intent),
        ])
        #expect(renewal.ending == ending)
        #expect(!renewal.willRenew)
    }

    @Test(arguments: [
        (Int64(1), Offer.Kind.introductory), (2, .promotional), (3, .code), (4, .winBack),
        (5, .retention), (99, .unknown),
    ])
    func `known and unknown kinds of offers are read`(
        type: Int64, kind: Offer.Kind
    ) throws {
        let attested = try payment(["offerType": .integer(type), "offerIdentifier": "spring"])
        #expect(attested.offer == Offer(kind, id: "spring"))
        let next = try renewal([
            "originalTransactionId": "1", "environment": "Production", "autoRenewStatus": 1,
            "offerType": .integer(type),
        ])
        #expect(next.offer == Offer(kind))
        #expect(try payment().offer == nil)
    }

    @Test func `a payment of a commitment has its month and says whether it renews`() throws {
        let month = try payment([
            "commitmentInfo": [
                "billingPeriodNumber": 2, "totalBillingPeriods": 12, "commitmentPrice": 99_960,
                "commitmentExpiresDate": 1_731_536_000_000,
            ]
        ])
        let expected = Commitment(
            month: 2, months: 12, until: Instant(milliseconds: 1_731_536_000_000),
            price: Money(milliunits: 99_960, currency: "USD"))
        #expect(month.commitment == expected)
        let renewal = try renewal([
            "originalTransactionId": "1", "environment": "Production", "autoRenewStatus": 1,
            "commitmentInfo": ["commitmentAutoRenewStatus": 0],
        ])
        #expect(renewal.willRenew && renewal.commitmentRenews == false)
    }

    @Test(arguments: [(Int64(0), Renewal.PriceRise?.some(.waiting)), (1, .agreed), (7, nil)])
    func `a price increase is pending or accepted`(status: Int64, rise: Renewal.PriceRise?) throws {
        let renewal = try renewal([
            "originalTransactionId": "1", "environment": "Production", "autoRenewStatus": 1,
            "priceIncreaseStatus": .integer(status),
        ])
        #expect(renewal.priceRise == rise)
    }

    @Test func `an unknown renewal status does not mean that renewal is off`() throws {
        let renewal = try renewal([
            "originalTransactionId": "1", "environment": "Production", "autoRenewStatus": 7,
        ])
        #expect(renewal.willRenew)
    }

    @Test(arguments: [(JSON.integer(3), 3), (.null, 1), (0, 1), (.integer(-4), 1)])
    func `a transaction's quantity is read and is at least one`(quantity: JSON, count: Int) throws {
        #expect(try payment(["quantity": quantity]).quantity == count)
    }

    @Test func `renewal information without a renewal status is refused`() throws {
        let silent: JSON = ["originalTransactionId": "1", "environment": "Production"]
        #expect(throws: IntakeFailure.self) { try renewal(silent) }
    }
}
