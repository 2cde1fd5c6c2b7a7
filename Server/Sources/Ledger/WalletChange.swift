/// What went into a wallet or out of it, as it is told.
package struct WalletChange: Hashable, Sendable {
    package var currency: CurrencyID
    package var environment: Environment
    /// The balance that was told last; 0 where none was.
    package var before: Int64
    /// The balance that is told now. The next change of the wallet begins with it.
    package var after: Int64
    /// Of a debit: which, what for, and the asker's own name for it.
    package var debit: DebitID?
    package var reason: String?
    package var key: String?

    package init(
        _ currency: CurrencyID, in environment: Environment, before: Int64, after: Int64,
        debit: DebitID? = nil, reason: String? = nil, key: String? = nil
    ) {
        self.currency = currency
        self.environment = environment
        self.before = before
        self.after = after
        self.debit = debit
        self.reason = reason
        self.key = key
    }

    /// Signed.
    package var amount: Int64 { after - before }
}

extension Wallet {
    /// One way in which a later statement is another than an earlier one.
    package struct Step: Hashable, Sendable {
        package var kind: Change.Kind
        package var at: Instant
        package var cause: Cause
        /// Signed, and never 0.
        package var amount: Int64
    }

    /// All ways in which a later statement is another than this one: its lines that are new, those
    /// that move another amount, and those that are gone. Their amounts add up to the difference of
    /// the balances. What adds comes before what takes, so that no balance between is below both.
    ///
    /// News of one purchase may change what the refund of another took: that is a step of its own.
    /// Only what was given back and is no more, or is less, is restored. A refund that takes less
    /// for any other reason, or is gone together with its purchase, was not reversed.
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
    /// What a refund is of; nil for all else.
    fileprivate var refunded: Wallet.Cause? {
        switch self {
        case .refund(let transaction, let product): .purchase(transaction, product)
        case .purchase, .debit: nil
        }
    }
}

extension Wallet.Step {
    /// Nil where nothing changed.
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
            }
        self.init(kind: kind, at: entry.at, cause: entry.cause, amount: amount)
    }

    /// - Parameter isReversed: it is a refund, whose purchase is still there.
    fileprivate init?(gone entry: Wallet.Entry, isReversed: Bool) {
        guard entry.amount != 0 else { return nil }
        self.init(
            kind: isReversed ? .walletRestored : .walletAdjusted, at: entry.at, cause: entry.cause,
            amount: -entry.amount)
    }
}

extension Timeline {
    /// Whether anything that is used up was bought.
    package var hasConsumables: Bool { periods.contains { $0.payment.kind == .consumable } }
}

extension WalletRules {
    /// The currencies that a purchase puts something into.
    package func currencies(of timeline: Timeline) -> Set<CurrencyID> {
        let payments = timeline.periods.lazy.map(\.payment).filter { $0.kind == .consumable }
        return Set(payments.flatMap { credits[$0.product].map { Array($0.keys) } ?? [] })
    }
}
