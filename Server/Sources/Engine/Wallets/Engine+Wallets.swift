import Ledger
import Storage

package typealias StoredDebit = Storage.StoredDebit

/// A request to debit a wallet.
package struct NewDebit: Hashable, Sendable {
    package var currency: CurrencyID
    package var amount: Int64
    package var reason: String
    /// The caller's idempotency key: a request with the same key is the same debit. If nil, every
    /// request is a new debit.
    package var key: String?
    /// Who makes the request: the app's server, or the app itself.
    package var spender: WalletRules.Spender

    package static let reasonBytesMax = 500

    package init(
        currency: CurrencyID, amount: Int64, reason: String, key: String?,
        by spender: WalletRules.Spender = .server
    ) {
        self.spender = spender
        self.currency = currency
        self.amount = amount
        self.reason = reason
        self.key = key
    }
}

extension Engine {
    /// Debits a customer's wallet if its balance is sufficient. Idempotent with a key: repeats
    /// return the first result. An app may debit a currency only if the configuration allows it,
    /// and only with a key.
    ///
    /// The balance is computed from what was bought and spent, within the transaction that records
    /// the debit: of two concurrent debits, one sees the other.
    package func debit(
        _ order: NewDebit, of id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> StoredDebit {
        let (app, _) = try app(appID)
        try id.requireValid()
        guard app.wallets.allCurrencies.contains(order.currency) else {
            throw .unknownCurrency(order.currency, known: app.wallets.allCurrencies.sorted())
        }
        try order.requirePermission(of: app.wallets.currency(order.currency))
        let now = now()
        // The id is chosen before the transaction, which may run several times but is one debit.
        let name = order.debitID
        return try await decide { tx in
            try tx.debit(order, named: name, of: id, in: app, environment: environment, at: now)
        }
    }

    /// A customer's wallet, with all its entries.
    package func wallet(
        _ currency: CurrencyID, of id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> Wallet {
        let (app, _) = try app(appID)
        try id.requireValid()
        guard app.wallets.allCurrencies.contains(currency) else {
            throw .unknownCurrency(currency, known: app.wallets.allCurrencies.sorted())
        }
        return try await read { tx in
            let known = try tx.customer(known: id, in: appID)
            return try tx.wallet(
                currency, of: known?.customer,
                try tx.payments(of: known, or: id, in: app, environment: environment), in: app,
                environment: environment)
        }
    }
}

extension DatabaseSession {
    /// The balance of each currency that has ever had an entry. The payments are evaluated only if
    /// the app has wallets.
    func balances(
        of customer: CustomerID?, _ payments: @autoclosure () -> [Payment], in app: AppSettings,
        environment: Environment
    ) throws -> [CurrencyID: Int64] {
        let currencies = app.wallets.allCurrencies
        guard !currencies.isEmpty else { return [:] }
        let payments = payments()
        let spendings = try customer.map {
            try self.spendings(of: $0, in: app.id, environment: environment)
        }
        var balances: [CurrencyID: Int64] = [:]
        for currency in currencies {
            let spent = spendings?[currency]?.amount
            let isUsed = payments.contains {
                Wallet.credits($0, currency, rules: app.wallets)
            }
            guard isUsed || spent != nil else { continue }
            balances[currency] =
                try Wallet.balance(of: currency, payments, spent: spent ?? 0, rules: app.wallets)
                ?? wallet(currency, of: customer, payments, in: app, environment: environment)
                .balance
        }
        return balances
    }

    func wallet(
        _ currency: CurrencyID, of customer: CustomerID?, _ payments: [Payment],
        in app: AppSettings, environment: Environment
    ) throws -> Wallet {
        let debits =
            try customer.map {
                try self.debits(of: $0, currency, in: app.id, environment: environment)
            } ?? []
        return Wallet(of: currency, payments, debits, rules: app.wallets)
    }

    fileprivate func payments(
        of known: StoredCustomer?, or id: CustomerID, in app: AppSettings,
        environment: Environment
    ) throws -> [Payment] {
        try ownTimelines(of: known, known?.ids ?? [id], in: app.id, environment: environment)
            .flatMap { $0.periods.map(\.payment) }
    }

    fileprivate func debit(
        _ order: NewDebit, named name: DebitID, of id: CustomerID, in app: AppSettings,
        environment: Environment, at now: Instant
    ) throws -> Result<StoredDebit, EngineFailure> {
        let known = try customer(known: id, in: app.id)
        if let kept = try debit(name, in: app.id) {
            let isSame =
                kept.customer == known?.customer && kept.environment == environment
                && kept.debit.matches(order)
            return isSame ? .success(kept) : .failure(.idempotencyKeyReused)
        }
        let currency = order.currency
        let payments = try payments(of: known, or: id, in: app, environment: environment)
        let balance =
            try balances(of: known?.customer, payments, in: app, environment: environment)[
                currency] ?? 0
        guard balance >= order.amount || app.wallets.currency(currency).allowsDebt else {
            return .failure(.insufficientBalance(currency, balance: balance))
        }
        let owner = try customer(id, in: app.id, at: now).customer
        let lastSpent = try spendings(of: owner, in: app.id, environment: environment)[currency]
        let moments = payments.filter { Wallet.credits($0, currency, rules: app.wallets) }
            .flatMap { [$0.from, $0.revocation?.at ?? $0.from] }
        // Never earlier than the last entry of the wallet, whichever server's clock is ahead.
        let at = (moments + [lastSpent?.lastAt ?? now]).reduce(now, max)
        let debit = Debit(
            id: name, currency: currency, amount: order.amount, reason: order.reason, at: at)
        let kept = StoredDebit(debit, of: owner, in: environment, balance: balance - order.amount)
        try spend(kept, key: order.key, in: app.id, at: now)
        return .success(kept)
    }
}

extension NewDebit {
    /// The number of characters of a debit's id.
    private static let idCharacters = 32

    /// No key of a server contains a line end, because no header field does.
    private static let keyPrefixOfApps = "app\n"

    /// The same id for the same key. The keys of apps are apart from those of servers: everybody
    /// can extract an app key, and could otherwise use up the key of a server's next debit.
    fileprivate var debitID: DebitID {
        let whole = key.map { spender == .app ? Self.keyPrefixOfApps + $0 : $0 }
        return DebitID(rawValue: IdempotencyKey.digits(for: whole, count: Self.idCharacters))
    }

    fileprivate func requirePermission(
        of currency: WalletRules.Currency
    ) throws(EngineFailure) {
        guard spender == .app else { return }
        guard currency.spender == .app else { throw .spendingNotAllowed(self.currency) }
        guard key != nil else { throw .idempotencyKeyMissing }
    }
}

extension Debit {
    fileprivate func matches(_ order: NewDebit) -> Bool {
        currency == order.currency && amount == order.amount && reason == order.reason
    }
}
