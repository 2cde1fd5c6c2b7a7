import Ledger
import Testing

/// The effect of refunds and debits on manual credits, in every order of a few acts.
@Suite struct HandCreditTests {
    private enum Act: CaseIterable {
        case buy, give, spend, refund
    }

    /// The acts so far, one a day.
    private struct Story {
        var payments: [Payment] = []
        var bookings: [Booking] = []
        var days = 0

        private static let rules = WalletRules(credits: ["pack": ["gems": 100]])

        var wallet: Wallet { Wallet(of: "gems", payments, bookings, rules: Self.rules) }
        private var now: Instant { Instant(milliseconds: 0) + .days(days) }

        /// Returns false if the act is not possible: a server refuses such a debit.
        mutating func play(_ act: Act) -> Bool {
            days += 1
            switch act {
            case .buy:
                payments.append(
                    Payment(
                        transaction: TransactionID(rawValue: "\(days)"), product: "pack",
                        kind: .consumable, from: now, until: nil))
            case .give: book(.credit, 50)
            case .spend:
                guard wallet.balance >= 70 else { return false }
                book(.debit, 70)
            case .refund:
                guard let index = payments.firstIndex(where: { $0.revocation == nil }) else {
                    return false
                }
                payments[index].revocation = Revocation(at: now, kind: .refund)
            }
            return true
        }

        private mutating func book(_ kind: Booking.Kind, _ amount: Int64) {
            bookings.append(
                Booking(
                    kind, id: BookingID(rawValue: "\(days)"), currency: "gems", amount: amount,
                    reason: "", at: now))
        }

        var spent: Int64 { bookings.filter { $0.kind == .debit }.map(\.amount).reduce(0, +) }
        var added: Int64 { bookings.filter { $0.kind == .credit }.map(\.amount).reduce(0, +) }
    }

    private static let actsMax = 7

    /// Plays every sequence of acts, and checks the wallet after each act.
    private func playAll(
        after story: Story = Story(), _ check: (Act, _ before: Wallet, _ after: Story) -> Void
    ) {
        guard story.days < Self.actsMax else { return }
        for act in Act.allCases {
            var next = story
            guard next.play(act) else { continue }
            check(act, story.wallet, next)
            playAll(after: next, check)
        }
    }

    @Test
    func `a refund debits at most the purchase's credit, and leaves manual credits unchanged`() {
        var refunds = 0
        playAll { act, before, story in
            guard act == .refund else { return }
            let after = story.wallet
            refunds += 1
            #expect(before.balance - after.balance == min(100, before.balance - before.given))
            #expect(after.given == before.given)
        }
        #expect(refunds > 500)
    }

    @Test func `a debit uses manual credits only after the bought balance is used up`() {
        playAll { act, before, story in
            guard act == .spend else { return }
            let after = story.wallet
            let bought = before.balance - before.given
            #expect(after.balance == before.balance - 70)
            #expect(before.given - after.given == max(0, 70 - bought))
        }
    }

    @Test func `debits from purchases and from manual credits add up to the sum that was spent`() {
        playAll { _, _, story in
            let wallet = story.wallet
            #expect(wallet.given >= 0 && wallet.given <= wallet.balance)
            let ofPurchases = story.payments.compactMap {
                wallet.spent(of: $0.transaction)?.amount
            }.reduce(0, +)
            #expect(ofPurchases + story.added - wallet.given == story.spent)
        }
    }

    @Test func `if manual credits were spent before a purchase, the purchase is unused`()
        throws
    {
        var story = Story()
        var arePlayed = [Act.give, .give, .spend, .buy].map { story.play($0) }
        let pack = try #require(story.payments.first).transaction
        #expect(story.wallet.usedShare(of: pack) == 0)
        arePlayed.append(story.play(.spend))
        #expect(arePlayed.allSatisfy { $0 })
        #expect(story.wallet.usedShare(of: pack) == 70_000)
    }
}
