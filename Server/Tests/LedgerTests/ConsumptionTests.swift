import Ledger
import Testing

@Suite struct ConsumptionTests {
    private static let now = Instant(milliseconds: 1_800_000_000_000)

    private static func payment(
        _ id: String, day: Int, kind: ProductKind = .consumable, back: Int? = nil
    ) -> Payment {
        Payment(
            transaction: TransactionID(rawValue: id), product: "gems", kind: kind,
            from: now + .days(day), until: nil,
            revocation: back.map { Revocation(at: now + .days($0), kind: .refund) })
    }

    private static func used(
        _ id: String, _ payments: [Payment], spent: [(day: Int, amount: Int64)],
        _ refunds: WalletRules.Refunds = .toZero
    ) -> Int64? {
        let debits = spent.map { day, amount in
            Booking(
                .debit, id: BookingID(rawValue: "\(day)"), currency: "gems", amount: amount,
                reason: "",
                at: now + .days(day))
        }
        let wallet = Wallet(
            of: "gems", payments, debits,
            rules: WalletRules(
                credits: ["gems": ["gems": 100]],
                currencies: ["gems": .init(refunds: refunds)]))
        return wallet.usedShare(of: TransactionID(rawValue: id))
    }

    @Test func `consumables are spent in the order of their purchase`() {
        let three = [("1", 0), ("2", 1), ("3", 2)].map { Self.payment($0.0, day: $0.1) }
        for (spent, expected) in [
            (0, [0, 0, 0]), (40, [40, 0, 0]), (100, [100, 0, 0]), (130, [100, 30, 0]),
            (300, [100, 100, 100]),
        ] as [(Int64, [Int64])] {
            let debits = spent == 0 ? [] : [(day: 3, amount: spent)]
            let found = ["1", "2", "3"].map { Self.used($0, three, spent: debits) }
            #expect(found == expected.map { $0 * 1000 }, "\(spent)")
        }
        #expect(Self.used("4", three, spent: []) == nil)
    }

    @Test func `for a refunded purchase, only the amount spent before the refund counts`() {
        let payments = [Self.payment("1", day: 0, back: 2), Self.payment("2", day: 3)]
        // Sixty of the first purchase were spent, and then forty of the second.
        let spent: [(day: Int, amount: Int64)] = [(1, 60), (4, 40)]
        #expect(Self.used("2", payments, spent: spent) == 40_000)
        // If refunds debit nothing, the first purchase is spent before the second.
        #expect(Self.used("2", payments, spent: spent, .nothing) == 0)
    }

    @Test func `the consumed share of each term is its elapsed time`() {
        let rules = TermRules(
            products: ["gems": .init(length: Term.Length(months: 0, days: 10), chain: "c")],
            overlap: .extend)
        let timelines = [("1", 0), ("2", 1)].map { id, day in
            let payment = Self.payment(id, day: day, kind: .nonRenewing)
            let purchase = PurchaseID(payment.transaction, in: .production)
            return Timeline(
                of: purchase, [Fact(about: purchase, attestedAt: payment.from, .payment(payment))])
        }
        for (day, one, two) in [(0, 0, 0), (5, 50, 0), (10, 100, 0), (13, 100, 30), (99, 100, 100)]
            as [(Int, Int64, Int64)]
        {
            let then = Self.now + .days(day)
            #expect(rules.usedShare(of: "1", among: timelines, at: then) == one * 1000, "\(day)")
            #expect(rules.usedShare(of: "2", among: timelines, at: then) == two * 1000, "\(day)")
        }
        #expect(rules.usedShare(of: "3", among: timelines, at: Self.now) == nil)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var claim: String
        var kind = ProductKind.consumable
        var preference: RefundPreference?
        var used: Int64?
        var told: PurchaseUsage?
        var expected: ConsumptionResponse
        var testDescription: String { claim }
    }

    private static func answer(
        _ used: Int64?, _ preference: RefundPreference?, _ delivery: Delivery = .delivered
    ) -> ConsumptionResponse {
        ConsumptionResponse(
            delivery: delivery, used: used, hadSample: true, preference: preference)
    }

    static let rows = [
        Row(
            claim: "without a report by the app, the share that we know is sent", used: 7,
            expected: answer(7, nil)),
        Row(
            claim: "the share that the app reported takes precedence", used: 7,
            told: PurchaseUsage(transaction: "1", delivery: .delivered, used: 9),
            expected: answer(9, nil)),
        Row(
            claim: "if the app reported no share, the share that we know is sent", used: 7,
            told: PurchaseUsage(transaction: "1", delivery: .delivered, used: nil),
            expected: answer(7, nil)),
        Row(
            claim: "of an item that was not delivered, nothing was used", preference: .decline,
            used: 7,
            told: PurchaseUsage(transaction: "1", delivery: .other, used: 9),
            expected: answer(0, .decline, .other)),
        Row(
            claim: "for a subscription no share is sent", kind: .autoRenewable,
            preference: .grantProrated,
            used: 7, expected: answer(nil, .grantProrated)),
        Row(
            claim: "a partial refund is preferred for an item used in part",
            preference: .grantProrated, used: 7,
            expected: answer(7, .grantProrated)),
        Row(
            claim: "a full refund is preferred for an unused item", preference: .grantProrated,
            used: 0,
            expected: answer(0, .grantFull)),
        Row(
            claim: "no refund is preferred for an item that was used up",
            preference: .grantProrated, used: 100_000,
            expected: answer(100_000, .decline)),
        Row(
            claim: "no partial refund is preferred if the share is unknown", kind: .nonConsumable,
            preference: .grantProrated, expected: answer(nil, nil)),
    ]

    @Test(arguments: rows)
    func `the consumption response follows from the product's kind, the usage and the preference`(
        row: Row
    ) {
        let rules = ConsumptionRules(
            policy: .withConsent, hasSample: true, preference: row.preference)
        let payment = Self.payment("1", day: 0, kind: row.kind)
        #expect(
            rules.response(about: payment, used: row.used, told: row.told, hadSample: nil)
                == row.expected)
        let without = rules.response(
            about: payment, used: row.used, told: row.told, hadSample: false)
        #expect(!without.hadSample)
    }

    private static func month(_ id: TransactionID, _ line: String?, day: Int = 0) -> Payment {
        Payment(
            transaction: id, line: line, product: "pro.monthly", from: now + .days(day),
            until: now + .days(day + 30))
    }

    @Test func `a payment and its reported usage are found by each of its transaction ids`() {
        let purchase = PurchaseID("1", in: .production)
        let told: [(payment: Payment, hour: Int, grade: Grade)] = [
            (Self.month("1", "l1"), 0, .signed), (Self.month("2", "l1"), 1, .signed),
            // A receipt has another transaction id.
            (Self.month("3", nil), 2, .legacy), (Self.month("9", "l2", day: 30), 3, .signed),
        ]
        let facts = told.map { told in
            Fact(
                about: purchase, attestedAt: Self.now + .hours(told.hour), grade: told.grade,
                .payment(told.payment))
        }
        let timeline = Timeline(of: purchase, facts)
        for (number, numbers) in [
            ("1", ["1", "2", "3"]), ("2", ["2", "1", "3"]), ("3", ["3", "2", "1"]), ("9", ["9"]),
        ] as [(TransactionID, [TransactionID])] {
            let asked = timeline.payment(askedAboutBy: number, among: facts)
            #expect(asked?.numbers == numbers)
            #expect(asked?.payment.transaction == (number == "9" ? "9" : "2"), "by \(number)")
            for each in ["1", "2", "3", "9"] as [TransactionID] {
                let use = PurchaseUsage(transaction: each, delivery: .other, used: nil)
                let isOfIt = numbers.contains(each)
                #expect(asked?.usage(among: [use]) == (isOfIt ? use : nil), "\(number), \(each)")
            }
        }
        #expect(timeline.payment(askedAboutBy: "7", among: facts) == nil)
    }

    @Test func `if usage reports differ, the report under the requested transaction id is used`() {
        let asked = InquiredPayment(payment: Self.month("2", "l1"), numbers: ["3", "2", "1"])
        let uses = ["1", "2", "3"].map {
            PurchaseUsage(transaction: TransactionID(rawValue: $0), delivery: .other, used: nil)
        }
        #expect(asked.usage(among: uses) == uses[2])
        #expect(asked.usage(among: Array(uses.prefix(2))) == uses[1])
        #expect(asked.usage(among: []) == nil)
    }
}
