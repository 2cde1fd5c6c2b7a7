/// A change of a wallet's balance, as reported by an event.
package struct WalletChange: Hashable, Sendable {
    package var currency: CurrencyID
    package var environment: Environment
    /// The balance as last reported before this change. 0 if none was reported.
    package var before: Int64
    /// The balance that this change reports. The next change of the wallet begins with this
    /// balance.
    package var after: Int64
    /// The id of the debit, if the change is a debit.
    package var debit: BookingID?
    /// The id of the manual credit, if the change is a manual credit.
    package var credit: BookingID?
    /// The reason of a debit or a manual credit, and the caller's idempotency key.
    package var reason: String?
    package var key: String?

    package init(
        _ currency: CurrencyID, in environment: Environment, before: Int64, after: Int64,
        debit: BookingID? = nil, credit: BookingID? = nil, reason: String? = nil,
        key: String? = nil
    ) {
        self.currency = currency
        self.environment = environment
        self.before = before
        self.after = after
        self.debit = debit
        self.credit = credit
        self.reason = reason
        self.key = key
    }

    /// The amount by which the balance changed; negative for a deduction.
    package var amount: Int64 { after - before }
}

extension Wallet {
    /// One difference between an earlier and a later statement.
    package struct Step: Hashable, Sendable {
        package var kind: Change.Kind
        package var at: Instant
        package var cause: Cause
        /// The amount by which the balance changes: negative for a deduction, never 0.
        package var amount: Int64
    }

    /// All differences between this statement and a later statement: new entries, entries whose
    /// amount differs, and entries that no longer exist. Their amounts add up to the difference of
    /// the balances. Credits come before deductions, so that no balance in between is lower than
    /// both the first and the last balance.
    ///
    /// New facts about one purchase may change the amount that the refund of another purchase
    /// deducts. That is a separate step. A refund counts as reversed only if its purchase still
    /// exists, and the refund no longer exists or is smaller. A refund was not reversed if it
    /// deducts less for another reason, or if its purchase no longer exists.
    package func steps(to later: Wallet) -> [Step] {
        let former = Dictionary(entries.map { ($0.cause, $0) }) { one, _ in one }
        let known = Set(later.entries.map(\.cause))
        let present = later.entries.compactMap { entry in
            Step(entry, after: former[entry.cause])
        }
        let gone = entries.filter { !known.contains($0.cause) }.compactMap { entry in
            Step(gone: entry, isReversed: entry.cause.refunded.map { known.contains($0) } ?? false)
        }
        let steps = present + gone
        return steps.filter { $0.amount > 0 } + steps.filter { $0.amount < 0 }
    }
}

extension Wallet.Cause {
    /// The purchase that a refund belongs to. Nil for other causes.
    fileprivate var refunded: Wallet.Cause? {
        switch self {
        case .refund(let transaction, let product): .purchase(transaction, product)
        case .purchase, .debit, .credit: nil
        }
    }
}

extension Wallet.Step {
    /// The difference between two versions of an entry. Returns nil if the entry's amount did not
    /// change.
    fileprivate init?(_ entry: Wallet.Entry, after former: Wallet.Entry?) {
        let amount = entry.amount - (former?.amount ?? 0)
        guard amount != 0 else { return nil }
        let isLessGivenBack = entry.whole > (former?.whole ?? 0)
        let kind: Change.Kind =
            switch entry.cause {
            case .purchase: former == nil ? .walletCredited : .walletAdjusted
            case .refund where amount < 0: .walletClawedBack
            case .refund: isLessGivenBack ? .walletRestored : .walletAdjusted
            case .debit: former == nil ? .walletDebited : .walletAdjusted
            case .credit: former == nil ? .walletCreditedByHand : .walletAdjusted
            }
        self.init(kind: kind, at: entry.at, cause: entry.cause, amount: amount)
    }

    /// - Parameter isReversed: whether the entry is a refund whose purchase still exists.
    fileprivate init?(gone entry: Wallet.Entry, isReversed: Bool) {
        guard entry.amount != 0 else { return nil }
        self.init(
            kind: isReversed ? .walletRestored : .walletAdjusted, at: entry.at, cause: entry.cause,
            amount: -entry.amount)
    }
}

extension Timeline {
    /// Whether any consumable was bought.
    package var hasConsumables: Bool { periods.contains { $0.payment.kind == .consumable } }
}

extension WalletRules {
    /// The currencies that a purchase credits.
    package func currencies(of timeline: Timeline) -> Set<CurrencyID> {
        let payments = timeline.periods.lazy.map(\.payment).filter { $0.kind == .consumable }
        return Set(payments.flatMap { credits[$0.product].map { Array($0.keys) } ?? [] })
    }
}
