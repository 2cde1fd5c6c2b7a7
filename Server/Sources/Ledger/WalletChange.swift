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
    package func steps(to later: Wallet) -> [Step] {
        let former = Dictionary(
            entries.map { ($0.cause, $0.amount) }, uniquingKeysWith: { $0 + $1 })
        let known = Set(later.entries.map(\.cause))
        let present = later.entries.compactMap { entry in
            Step(entry, after: former[entry.cause])
        }
        let gone = entries.filter { !known.contains($0.cause) }.compactMap(Step.init(gone:))
        let steps = present + gone
        return steps.filter { $0.amount > 0 } + steps.filter { $0.amount < 0 }
    }
}

extension Wallet.Step {
    /// Nil where nothing changed.
    fileprivate init?(_ entry: Wallet.Entry, after former: Int64?) {
        let amount = entry.amount - (former ?? 0)
        guard amount != 0 else { return nil }
        let kind: Change.Kind =
            switch entry.cause {
            case .purchase: former == nil ? .walletCredited : .walletAdjusted
            case .refund: amount < 0 ? .walletClawedBack : .walletRestored
            case .debit: former == nil ? .walletDebited : .walletAdjusted
            }
        self.init(kind: kind, at: entry.at, cause: entry.cause, amount: amount)
    }

    fileprivate init?(gone entry: Wallet.Entry) {
        guard entry.amount != 0 else { return nil }
        let kind: Change.Kind =
            switch entry.cause {
            case .purchase, .debit: .walletAdjusted
            case .refund: .walletRestored
            }
        self.init(kind: kind, at: entry.at, cause: entry.cause, amount: -entry.amount)
    }
}

extension WalletRules {
    /// The currencies that a purchase puts something into.
    package func currencies(of timeline: Timeline) -> Set<CurrencyID> {
        let payments = timeline.periods.lazy.map(\.payment).filter { $0.kind == .consumable }
        return Set(payments.flatMap { credits[$0.product].map { Array($0.keys) } ?? [] })
    }
}
