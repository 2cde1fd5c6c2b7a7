import Foundation
import Ledger
import Testing

@Suite struct WalletTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var claim: String
        var rules: WalletRules
        var happened: [String]
        var balances: [Int64]
        var balance: Int64
        var testDescription: String { claim }
    }

    /// The rows of the table of wallets. The table's file explains its format.
    static func rows() throws -> [Row] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Tables/wallets.txt")
        var rules = WalletRules.none
        var rows: [Row] = []
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("#") { continue }
            if line.hasPrefix("[") {
                let words = line.dropFirst().dropLast().split(separator: " ").map(String.init)
                let refunds = try #require(WalletRules.Refunds(rawValue: words[1]))
                rules = WalletRules(
                    credits: ["gems.100": ["gems": 100], "coins": ["coins": 7]],
                    currencies: ["gems": .init(refunds: refunds, allowsDebt: words.count > 2)])
                continue
            }
            let match = try #require(
                line.wholeMatch(of: #/([^:]+): (.*)=> ?(.*?);? ?(-?\d+)/#)?.output)
            rows.append(
                Row(
                    claim: String(match.1), rules: rules,
                    happened: match.2.split(separator: ",").map {
                        $0.trimmingCharacters(in: .whitespaces)
                    }.filter { !$0.isEmpty },
                    balances: match.3.split(separator: " ").compactMap { Int64($0) },
                    balance: try #require(Int64(match.4))))
        }
        return rows
    }

    private static let start = Instant(milliseconds: 1_700_000_000_000)

    /// The wallet of one product that credits some gems, and whose full refund debits all of them.
    private static func wallet(_ credit: Int64, _ payments: [Payment]) -> Wallet {
        let rules = WalletRules(
            credits: ["gems": ["gems": credit]], currencies: ["gems": .init(refunds: .belowZero)])
        return Wallet(of: "gems", payments, [], rules: rules)
    }

    private static func payment(quantity: Int = 1, back: Int64? = nil) -> Payment {
        Payment(
            transaction: "1", product: "gems", kind: .consumable, from: start, until: nil,
            quantity: quantity,
            revocation: back.map { Revocation(at: start, kind: .refund, percentage: $0) })
    }

    @Test func `no payment credits more than the largest amount`() {
        #expect(
            Self.wallet(Wallet.amountMax, [Self.payment(quantity: 2)]).balance == Wallet.amountMax)
        #expect(Self.wallet(1, [Self.payment(quantity: 1_000)]).balance == 100)
    }

    @Test(arguments: [(250_000, 0), (-5, 100), (25_000, 75)] as [(Int64, Int64)])
    func `a refund debits between nothing and the whole credit`(
        share: Int64, left: Int64
    ) {
        #expect(Self.wallet(100, [Self.payment(back: share)]).balance == left)
    }

    @Test func `if a transaction is in two purchases, it is credited once`() {
        let payments = [Self.payment(), Self.payment()]
        #expect(Self.wallet(100, payments).balance == 100)
        #expect(Self.wallet(100, [Self.payment(), Self.payment(back: 100_000)]).balance == 0)
    }

    private static func day(_ text: some StringProtocol) throws -> Instant {
        Instant(milliseconds: 1_700_000_000_000) + .days(try #require(Int(text)))
    }

    private static func read(_ row: Row) throws -> (payments: [Payment], bookings: [Booking]) {
        var result: (payments: [Payment], bookings: [Booking]) = ([], [])
        for (index, text) in row.happened.enumerated() {
            if let booked = text.wholeMatch(of: #/(\d+) (-|give )(\d+)/#)?.output {
                result.bookings.append(
                    Booking(
                        booked.2 == "-" ? .debit : .credit, id: BookingID(rawValue: "\(index)"),
                        currency: "gems", amount: try #require(Int64(booked.3)), reason: "",
                        at: try day(booked.1)))
                continue
            }
            let pattern = #/(\d+) \+(?:x(\d+))?(?: back (\d+)(?: (\d+)%)?)?/#
            let bought = try #require(text.wholeMatch(of: pattern)?.output, "\(text)")
            result.payments.append(
                Payment(
                    transaction: TransactionID(rawValue: "\(index)"), product: "gems.100",
                    kind: .consumable, from: try day(bought.1), until: nil,
                    quantity: bought.2.flatMap { Int($0) } ?? 1,
                    revocation: try bought.3.map {
                        Revocation(
                            at: try day($0), kind: .refund,
                            percentage: bought.4.flatMap { Int64($0) }.map { $0 * 1000 })
                    }))
        }
        return result
    }

    @Test func `the table of wallets has at least the expected number of rows`() throws {
        #expect(try Self.rows().count >= 45)
    }

    @Test(arguments: try rows()) func `a wallet has the balances in the table`(row: Row) throws {
        let (payments, bookings) = try Self.read(row)
        let wallet = Wallet(of: "gems", payments, bookings, rules: row.rules)
        #expect(wallet.entries.map(\.balance) == row.balances)
        #expect(wallet.balance == row.balance)
        #expect(wallet.entries.map(\.amount).reduce(0, +) == wallet.balance)
        let spent = -bookings.map(\.signedAmount).reduce(0, +)
        let alone = Wallet.balance(of: "gems", payments, spent: spent, rules: row.rules)
        let isRefunded = payments.contains { $0.revocation != nil }
        let matters = isRefunded && row.rules.currency("gems").refunds == .toZero
        #expect(alone == (matters ? nil : row.balance))
        let other = Wallet(of: "gems", payments.reversed(), bookings.reversed(), rules: row.rules)
        #expect(other == wallet)
        #expect((0...max(0, wallet.balance)).contains(wallet.given))
    }

    @Test func `the changes caused by single payments add up to the change of the whole wallet`()
        throws
    {
        let rules = WalletRules(
            credits: ["gems": ["gems": 5], "nothing": ["gems": 0], "coins": ["coins": 1]])
        func paid(_ id: TransactionID, _ product: ProductID, _ kind: ProductKind = .consumable)
            -> Payment
        {
            Payment(
                transaction: id, product: product, kind: kind,
                from: Self.start - .seconds(Int(id.rawValue) ?? 0), until: nil, quantity: 2)
        }
        let known = (10...20).map { paid(TransactionID(rawValue: "\($0)"), "gems") }
        let debit = Booking(
            .debit, id: "d", currency: "gems", amount: 70, reason: "", at: Self.start - .seconds(15)
        )
        let fresh = [
            paid("3", "gems"), paid("5", "coins"), paid("7", "gems", .nonConsumable),
            paid("30", "gems"), paid("4", "nothing"), paid("3", "gems"),
        ]
        let before = Wallet(of: "gems", known, [debit], rules: rules)
        let after = Wallet(of: "gems", known + fresh, [debit], rules: rules)
        let steps = try #require(Wallet.steps(adding: fresh, to: "gems", rules: rules))
        #expect(steps == before.steps(to: after) && steps.count == 2)
        #expect(steps.map(\.amount).reduce(before.balance, +) == after.balance)
        let back = Self.payment(back: 100_000)
        #expect(Wallet.steps(adding: fresh + [back], to: "gems", rules: rules) == nil)
    }

    @Test func `the table of wallets has exactly the expected number of rows`() throws {
        #expect(try Self.rows().count == 45)
    }

    @Test
    func `only a consumable credits a wallet, and only in the currencies that its rule names`() {
        let rules = WalletRules(credits: ["pack": ["gems": 5, "coins": 7]])
        let pack = Payment(
            transaction: "1", product: "pack", kind: .consumable, from: Instant(milliseconds: 0),
            until: nil)
        var kept = pack
        kept.kind = .nonConsumable
        #expect(Wallet(of: "gems", [pack], [], rules: rules).balance == 5)
        #expect(Wallet(of: "coins", [pack], [], rules: rules).balance == 7)
        #expect(Wallet(of: "stars", [pack], [], rules: rules).entries.isEmpty)
        #expect(Wallet(of: "gems", [kept], [], rules: rules).entries.isEmpty)
    }

    @Test(arguments: try rows())
    func `the steps between two wallet statements add up, for any set of new payments`(row: Row)
        throws
    {
        let (payments, bookings) = try Self.read(row)
        let whole = Wallet(of: "gems", payments, bookings, rules: row.rules)
        for index in payments.indices {
            var fewer = payments
            fewer.remove(at: index)
            let before = Wallet(of: "gems", fewer, bookings, rules: row.rules)
            for (from, to) in [(before, whole), (whole, before)] {
                let steps = from.steps(to: to)
                #expect(from.balance + steps.map(\.amount).reduce(0, +) == to.balance)
                #expect(steps.allSatisfy { $0.amount != 0 })
                var balance = from.balance
                for step in steps {
                    balance += step.amount
                    #expect(balance >= min(from.balance, to.balance))
                }
            }
        }
        #expect(whole.steps(to: whole) == [])
    }

    @Test func `a reversal is reported only if the refund of an existing payment becomes smaller`()
    {
        let refunded = Self.payment(back: 100_000)
        func kinds(_ one: [Payment], _ other: [Payment]) -> [Change.Kind] {
            Self.wallet(100, one).steps(to: Self.wallet(100, other)).map(\.kind)
        }
        #expect(kinds([refunded], [Self.payment()]) == [.walletRestored])
        #expect(kinds([refunded], [Self.payment(back: 40_000)]) == [.walletRestored])
        #expect(kinds([refunded], []) == [.walletAdjusted, .walletAdjusted])
        #expect(kinds([], [refunded]) == [.walletCredited, .walletClawedBack])
        // Another purchase is gone, so the refund can debit less.
        var other = Self.payment()
        other.transaction = "2"
        let rules = WalletRules(credits: ["gems": ["gems": 100]])
        let spent = Booking(
            .debit, id: "d", currency: "gems", amount: 150, reason: "", at: Self.start)
        let both = Wallet(of: "gems", [refunded, other], [spent], rules: rules)
        let one = Wallet(of: "gems", [refunded], [spent], rules: rules)
        #expect(both.steps(to: one).map(\.amount) == [50, -100])
        #expect(both.steps(to: one).map(\.kind) == [.walletAdjusted, .walletAdjusted])
    }

    @Test func `the kind of a step between two wallet statements follows from its cause`() {
        let rules = WalletRules(credits: ["gems.100": ["gems": 100]])
        func pack(_ name: TransactionID, refunded: Bool = false) -> Payment {
            Payment(
                transaction: name, product: "gems.100", kind: .consumable,
                from: Instant(milliseconds: 0), until: nil,
                revocation: refunded
                    ? Revocation(at: Instant(milliseconds: 9), kind: .refund) : nil)
        }
        func wallet(_ payments: Payment..., spent: Int64 = 0) -> Wallet {
            let debit = Booking(
                .debit, id: "d", currency: "gems", amount: spent, reason: "",
                at: Instant(milliseconds: 1))
            return Wallet(of: "gems", payments, spent > 0 ? [debit] : [], rules: rules)
        }
        func timeline(of payment: Payment) -> Timeline {
            let purchase = PurchaseID(payment.transaction, in: .production)
            return Timeline(
                of: purchase,
                [Fact(about: purchase, attestedAt: payment.from, .payment(payment))])
        }
        func steps(_ one: Wallet, _ other: Wallet) -> [String] {
            one.steps(to: other).map { "\($0.kind.rawValue) \($0.amount)" }
        }
        #expect(steps(wallet(), wallet(pack("a"))) == ["wallet_credited 100"])
        #expect(steps(wallet(pack("a")), wallet()) == ["wallet_adjusted -100"])
        #expect(
            steps(wallet(), wallet(pack("a", refunded: true)))
                == ["wallet_credited 100", "wallet_clawed_back -100"])
        #expect(
            steps(wallet(pack("a", refunded: true)), wallet(pack("a")))
                == ["wallet_restored 100"])
        #expect(steps(wallet(pack("a")), wallet(pack("a"), spent: 9)) == ["wallet_debited -9"])
        #expect(steps(wallet(pack("a"), spent: 9), wallet(pack("a"))) == ["wallet_adjusted 9"])
        // A non-consumable credits nothing, whatever the rules say.
        var kept = pack("k")
        #expect(rules.currencies(of: timeline(of: kept)) == ["gems"])
        kept.kind = .nonConsumable
        #expect(rules.currencies(of: timeline(of: kept)) == [])
        // The payment is reported again with other values.
        var two = pack("a")
        two.quantity = 2
        #expect(steps(wallet(pack("a")), wallet(two)) == ["wallet_adjusted 100"])
        // A refund that turns out to be partial.
        var half = pack("a", refunded: true)
        half.revocation?.percentage = 50_000
        #expect(
            steps(wallet(pack("a", refunded: true)), wallet(half)) == ["wallet_restored 50"])
        #expect(
            steps(wallet(half), wallet(pack("a", refunded: true))) == ["wallet_clawed_back -50"])
        // A refund that is dated before the purchase still comes after it.
        half.revocation?.at = Instant(milliseconds: -5)
        #expect(wallet(half).entries.map(\.balance) == [100, 50])
        // A late purchase covers what another purchase's refund could not debit.
        #expect(
            steps(
                wallet(pack("a", refunded: true), spent: 60),
                wallet(pack("a", refunded: true), pack("b"), spent: 60))
                == ["wallet_credited 100", "wallet_clawed_back -60"])
    }

    @Test func `a manual credit is a separate step in the wallet`() {
        let gift = Booking(
            .credit, id: "c", currency: "gems", amount: 7, reason: "", at: Instant(milliseconds: 2))
        let nothing = Wallet(of: "gems", [], [], rules: WalletRules(credits: [:]))
        let given = Wallet(of: "gems", [], [gift], rules: WalletRules(credits: [:]))
        func steps(_ one: Wallet, _ other: Wallet) -> [String] {
            one.steps(to: other).map { "\($0.kind.rawValue) \($0.amount)" }
        }
        #expect(steps(nothing, given) == ["wallet_credited_by_hand 7"])
        #expect(steps(given, nothing) == ["wallet_adjusted -7"])
    }
}
