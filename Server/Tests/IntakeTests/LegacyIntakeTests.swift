import AppStoreFormats
import Intake
import Ledger
import Testing

private let asked = AppStoreDate(milliseconds: 1_700_000_000_500)
private let start: Int64 = 1_700_000_000_000
private let day: Int64 = 86_400_000

/// A row as Apple writes it: every value is a text.
private func row(_ id: String, from: Int64 = start, days: Int64? = 30, _ more: [String: JSON] = [:])
    -> JSON
{
    var members: [String: JSON] = [
        "transaction_id": .string(id), "original_transaction_id": "1", "product_id": "pro.monthly",
        "quantity": "1", "purchase_date_ms": .string("\(from)"),
        "original_purchase_date_ms": .string("\(start)"),
        "web_order_line_item_id": .string("l\(id)"),
        "is_trial_period": "false",
    ]
    if let days { members["expires_date_ms"] = .string("\(from + days * day)") }
    for (key, value) in more { members[key] = value == .null ? nil : value }
    return .object(members.sorted { $0.key < $1.key }.map { JSON.Member($0.key, $0.value) })
}

private func facts(_ answer: JSON, kinds: [String: ProductKind] = [:]) throws -> LegacyFacts {
    try Intake.facts(
        of: try #require(VerifyReceiptResponse(json: answer)), in: .production, answeredAt: asked,
        kinds: kinds)
}

private func payments(_ rows: JSON..., kinds: [String: ProductKind] = [:]) throws -> [Payment] {
    try facts(["status": 0, "latest_receipt_info": .array(rows)], kinds: kinds).facts.compactMap {
        if case .payment(let payment) = $0.statement { payment } else { nil }
    }
}

private func renewals(of facts: LegacyFacts) -> [Renewal] {
    facts.facts.compactMap { if case .renewal(let renewal) = $0.statement { renewal } else { nil } }
}

@Suite struct LegacyIntakeTests {
    @Test func `a row of verifyReceipt attests a payment at the time of the request`() throws {
        let found = try facts(["status": 0, "latest_receipt_info": [row("2")]])
        let fact = try #require(found.facts.first)
        #expect(fact.grade == .legacy && fact.purchase == PurchaseID("1", in: .production))
        #expect(fact.attestedAt == Instant(milliseconds: asked.milliseconds))
        let expected = Payment(
            transaction: "2", line: "l2", product: "pro.monthly",
            from: Instant(milliseconds: start), until: Instant(milliseconds: start + 30 * day))
        #expect(fact.statement == .payment(expected))
        #expect(found.shortcomings.isEmpty)
    }

    @Test func `a row of the account overrides the receipt's row of the same transaction`() throws {
        let found = try facts([
            "status": 0, "receipt": ["in_app": [row("2")]],
            "latest_receipt_info": [
                row("2", ["cancellation_date_ms": .string("\(start + day)")])
            ],
        ])
        #expect(found.facts.count == 1)
        guard case .payment(let payment)? = found.facts.first?.statement else {
            Issue.record("no payment")
            return
        }
        #expect(payment.revocation?.at == Instant(milliseconds: start + day))
    }

    @Test func `a row that lacks a required field is reported, and the other rows are used`() throws
    {
        for key in ["transaction_id", "product_id", "purchase_date_ms"] {
            let found = try facts([
                "status": 0, "latest_receipt_info": [row("2", [key: .null]), row("3")],
            ])
            #expect(found.facts.count == 1 && found.shortcomings.count == 1, "\(key)")
        }
    }

    @Test func `the id of an offer decides its kind, and the trial flag decides if it is free`()
        throws
    {
        let cases: [([String: JSON], Terms, Offer?)] = [
            ([:], .full, nil),
            (["is_trial_period": "true"], .trial, Offer(.introductory)),
            (["is_in_intro_offer_period": "true"], .offer, Offer(.introductory)),
            (
                ["promotional_offer_id": "back", "is_trial_period": "true"], .trial,
                Offer(.promotional, id: "back")
            ),
            (["offer_code_ref_name": "spring"], .offer, Offer(.code, id: "spring")),
        ]
        for (more, terms, offer) in cases {
            let payment = try payments(row("2", more)).first
            #expect(payment?.terms == terms && payment?.offer == offer, "\(more)")
        }
    }

    @Test func `a cancellation within a minute of another product's purchase is an upgrade`()
        throws
    {
        let cancelled: [String: JSON] = ["cancellation_date_ms": .string("\(start + day + 2000)")]
        let next = row("3", from: start + day, ["product_id": "premium"])
        #expect(try payments(row("2", cancelled), next).map(\.isUpgraded) == [true, false])
        let later = row("3", from: start + day + 90_000, ["product_id": "premium"])
        #expect(try payments(row("2", cancelled), later).map(\.isUpgraded) == [false, false])
        #expect(try payments(row("2", cancelled)).map(\.isUpgraded) == [false])
        #expect(try payments(row("2", ["is_upgraded": "true"])).map(\.isUpgraded) == [true])
        // If two rows have no original transaction, they are not of one chain.
        let alone: [String: JSON] = ["original_transaction_id": .null]
        let stranger = row(
            "3", from: start + day, alone.merging(["product_id": "premium"]) { $1 })
        let both = try payments(row("2", cancelled.merging(alone) { $1 }), stranger)
        #expect(both.map(\.isUpgraded) == [false, false])
    }

    @Test func `a period is a renewal if it begins at the end of another period`() throws {
        let found = try payments(row("2"), row("3", from: start + 30 * day))
        #expect(found.map(\.isRenewal) == [false, true])
    }

    @Test func `the end of family sharing is not a refund`() throws {
        let cancelled: JSON = .string("\(start + day)")
        let shared = try payments(
            row(
                "2",
                ["in_app_ownership_type": "FAMILY_SHARED", "cancellation_date_ms": cancelled]))
        #expect(shared.first?.revocation?.kind == .sharingEnded)
        #expect(shared.first?.ownership == .familyShared)
        #expect(
            try payments(row("2", ["cancellation_date_ms": cancelled])).first?.revocation?.kind
                == .refund)
    }

    @Test func `a restored purchase begins at its original purchase date`() throws {
        let restored = row(
            "2", from: start + 9 * day, days: nil, ["web_order_line_item_id": .null])
        let kept = try payments(restored, kinds: ["pro.monthly": .nonConsumable]).first
        #expect(kept?.from == Instant(milliseconds: start) && kept?.until == nil)
        let unknown = try payments(restored).first
        #expect(unknown?.kind == .unknown, "nothing says what it is")
        // This subscription was restored after its end, as in 2014, so the period is empty.
        let late = row(
            "2", from: start + 40 * day, days: nil,
            ["expires_date_ms": .string("\(start + 30 * day)")])
        let period = try payments(late).first
        #expect(period?.from == period?.until)
    }

    @Test func `pending renewal information attests a renewal for each subscription`() throws {
        let found = try facts([
            "status": 0,
            "pending_renewal_info": [
                [
                    "original_transaction_id": "1", "auto_renew_status": "1",
                    "auto_renew_product_id": "premium", "is_in_billing_retry_period": "1",
                    "expiration_intent": "2",
                    "grace_period_expires_date_ms": .string("\(start + 3 * day)"),
                    "price_consent_status": "0",
                ],
                ["original_transaction_id": "9", "auto_renew_status": "0"],
                ["original_transaction_id": "8"],
            ],
        ])
        let first = Renewal(
            willRenew: true, renewsTo: "premium", isRetrying: true,
            graceUntil: Instant(milliseconds: start + 3 * day), ending: .billing,
            priceRise: .waiting)
        #expect(renewals(of: found) == [first, Renewal(willRenew: false)])
        #expect(found.facts.map(\.purchase.original) == ["1", "9"])
    }

    @Test func `a response in the style of iOS 6 attests two payments and the renewal`() throws {
        let answer: JSON = [
            "status": 21006, "auto_renew_status": 0, "expiration_intent": "1",
            "receipt": [
                "bid": "com.example.birds", "transaction_id": "2", "original_transaction_id": "1",
                "product_id": "pro.monthly", "purchase_date_ms": .string("\(start)"),
                "expires_date": .string("\(start + 30 * day)"), "web_order_line_item_id": "l2",
            ],
            "latest_expired_receipt_info": [
                "bid": "com.example.birds", "transaction_id": "3", "original_transaction_id": "1",
                "product_id": "pro.monthly", "purchase_date_ms": .string("\(start + 30 * day)"),
                "expires_date": .string("\(start + 60 * day)"), "web_order_line_item_id": "l3",
            ],
        ]
        let found = try Intake.facts(
            of: try #require(VerifyReceiptTransactionResponse(json: answer)), in: .sandbox,
            answeredAt: asked)
        #expect(found.facts.count == 3)
        #expect(renewals(of: found) == [Renewal(willRenew: false, ending: .cancelled)])
        #expect(found.facts.allSatisfy { $0.purchase == PurchaseID("1", in: .sandbox) })
    }

    @Test func `a receipt of the environment Xcode is refused`() {
        #expect(throws: IntakeFailure.self) {
            try Intake.facts(of: AppReceipt(), in: .xcode, createdAt: asked)
        }
    }

    private typealias Field = InAppReceipt.Field

    @Test(
        arguments: [
            (0, ProductKind.nonConsumable), (1, .consumable), (2, .nonRenewing),
            (3, .autoRenewable),
            (4, .nonConsumable), (77, .unknown),
        ] as [(Int64, ProductKind)])
    func `an app receipt names the kind of each product`(number: Int64, kind: ProductKind) throws {
        let purchase = InAppReceipt(attributes: [
            .text(Field.transactionID, "2"), .text(Field.originalTransactionID, "1"),
            .text(Field.productID, "gems"), .integer(Field.kind, number),
            .date(Field.purchased, AppStoreDate(milliseconds: start)), .date(Field.expires, nil),
            .integer(Field.webOrderLineItemID, 0),
        ])
        let receipt = AppReceipt(purchases: [purchase])
        let found = try Intake.facts(of: receipt, in: .production, createdAt: asked)
        guard case .payment(let payment)? = found.facts.first?.statement else {
            Issue.record("no payment")
            return
        }
        #expect(payment.kind == kind && payment.line == nil)
        #expect(Intake.kinds(in: receipt) == ["gems": kind])
    }
}

@Suite struct V1IntakeTests {
    private func facts(_ notification: JSON) throws -> LegacyFacts {
        let notification = try #require(V1Notification(json: notification))
        return try Intake.facts(
            of: notification, in: .production,
            attestedAt: notification.moment(receivedAt: asked), receivedAt: asked)
    }

    @Test func `top-level fields of early notifications attest a renewal`() throws {
        let found = try facts([
            "notification_type": "DID_FAIL_TO_RENEW", "auto_renew_status": "true",
            "auto_renew_product_id": "pro.monthly",
            "latest_expired_receipt_info": [
                "transaction_id": "2", "original_transaction_id": "1",
                "product_id": "pro.monthly", "purchase_date_ms": .string("\(start - 30 * day)"),
                "expires_date": .string("\(start)"),
            ],
        ])
        #expect(
            renewals(of: found) == [
                Renewal(willRenew: true, renewsTo: "pro.monthly", isRetrying: true)
            ])
        #expect(found.facts.count == 2)
    }

    @Test func `a version 1 notification names the refunded transaction by its line item`() throws {
        let found = try facts([
            "notification_type": "CANCEL", "web_order_line_item_id": "l2",
            "cancellation_date_ms": .string("\(start - day)"),
            "unified_receipt": ["latest_receipt_info": [row("2"), row("3")]],
        ])
        let revoked = found.facts.compactMap { fact -> TransactionID? in
            guard case .payment(let payment) = fact.statement, payment.revocation != nil else {
                return nil
            }
            return payment.transaction
        }
        #expect(revoked == ["2"])
        #expect(found.facts.allSatisfy { $0.attestedAt.milliseconds == start - day })
    }

    private static let switched = start - 5 * day
    private static let renewed = start - 9 * day

    @Test(
        arguments: [
            ("DID_CHANGE_RENEWAL_STATUS", switched), ("DID_RENEW", renewed),
            ("INITIAL_BUY", renewed), ("DID_CHANGE_RENEWAL_PREF", switched + 1),
            ("PRICE_INCREASE_CONSENT", switched + 1), ("DID_FAIL_TO_RENEW", asked.milliseconds),
            ("A_TYPE_OF_TOMORROW", switched + 1),
        ] as [(String, Int64)])
    func `an event gets its own date, or the moment after the newest date in its notification`(
        type: String, expected: Int64
    ) throws {
        let found = try facts([
            "notification_type": .string(type), "auto_renew_status": "false",
            "auto_renew_status_change_date_ms": .string("\(Self.switched)"),
            "unified_receipt": ["latest_receipt_info": [row("2", from: Self.renewed)]],
        ])
        for fact in found.facts {
            // A notification about a later attempt does not date its transactions later.
            let isRow = fact.isPayment && expected > Self.switched
            #expect(fact.attestedAt.milliseconds == (isRow ? Self.switched : expected))
        }
        #expect(Set(found.facts.map(\.isPayment)) == [true, false])
        let isUndated = expected == Self.switched + 1
        let heard = isUndated ? Instant(milliseconds: asked.milliseconds) : nil
        #expect(renewals(of: found).map(\.receivedAt) == [heard])
    }

    @Test func `a notification without dates and transactions gets the date of its arrival`() throws
    {
        let found = try facts([
            "notification_type": "DID_CHANGE_RENEWAL_PREF", "auto_renew_status": "true",
            "original_transaction_id": 1,
        ])
        let came = Instant(milliseconds: asked.milliseconds)
        #expect(found.facts.map(\.attestedAt) == [came])
        #expect(renewals(of: found).map(\.receivedAt) == [came])
    }

    @Test
    func `a notification is never dated after its arrival, even if a transaction begins later`()
        throws
    {
        let found = try facts([
            "notification_type": "DID_CHANGE_RENEWAL_PREF", "auto_renew_status": "true",
            "original_transaction_id": 1,
            "unified_receipt": ["latest_receipt_info": [row("2", from: .max, days: nil)]],
        ])
        let moments = Set(found.facts.map(\.attestedAt.milliseconds))
        #expect(moments == [asked.milliseconds])
    }

    @Test func `a failed payment gets the date of the paid period's end, not of its arrival`()
        throws
    {
        let found = try facts([
            "notification_type": "DID_FAIL_TO_RENEW", "original_transaction_id": 1,
            "unified_receipt": [
                "latest_receipt_info": [
                    row("2", from: start - 33 * day),
                    row("3", from: start - 9 * day, ["original_transaction_id": "9"]),
                ],
                "pending_renewal_info": [
                    [
                        "original_transaction_id": "1", "auto_renew_status": "1",
                        "is_in_billing_retry_period": "1",
                    ]
                ],
            ],
        ])
        let failures = found.facts.filter { !$0.isPayment }
        #expect(failures.map(\.attestedAt.milliseconds) == [start - 3 * day])
        #expect(failures.map(\.purchase) == [PurchaseID("1", in: .production)])
    }

    @Test
    func `a notification about a renewal that was charged ahead gets the date of its arrival`()
        throws
    {
        let found = try facts([
            "notification_type": "DID_RENEW",
            "unified_receipt": ["latest_receipt_info": [row("2", from: start + day)]],
        ])
        #expect(found.facts.map(\.attestedAt.milliseconds) == [asked.milliseconds])
    }
}

extension Fact {
    fileprivate var isPayment: Bool {
        if case .payment = statement { true } else { false }
    }
}
