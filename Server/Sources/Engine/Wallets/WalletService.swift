import Ledger
import Storage

/// A request for a debit of a wallet, or for a manual credit.
package struct NewBooking: Hashable, Sendable {
    package var kind: Booking.Kind
    package var currency: CurrencyID
    package var amount: Int64
    package var reason: String
    /// The caller's idempotency key: requests with the same key make one booking. If nil, every
    /// request makes a new debit. A manual credit needs a key.
    package var key: String?
    /// The sender of the request: the app's server, or the app itself.
    package var spender: WalletRules.Spender

    package static let reasonBytesMax = 500

    package init(
        _ kind: Booking.Kind, currency: CurrencyID, amount: Int64, reason: String, key: String?,
        by spender: WalletRules.Spender = .server
    ) {
        self.kind = kind
        self.spender = spender
        self.currency = currency
        self.amount = amount
        self.reason = reason
        self.key = key
    }
}

/// Reads customers' wallets, and books debits and credits.
package struct WalletService: Sendable {
    let context: Context

    /// Debits a customer's wallet if its balance is sufficient, or makes a manual credit.
    /// Idempotent if the request has a key: repeated requests return the first result. A credit
    /// needs a key. An app may debit a currency only if the configuration allows that, and only
    /// with a key. An app can never credit.
    ///
    /// The balance is computed from purchases and bookings, within the transaction that records the
    /// booking. So if two bookings are concurrent, the balance of the later booking includes the
    /// earlier booking.
    package func book(
        _ order: NewBooking, of id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> StoredBooking {
        let (app, _) = try context.app(appID)
        try id.requireValid()
        guard app.wallets.allCurrencies.contains(order.currency) else {
            throw .unknownCurrency(order.currency, known: app.wallets.allCurrencies.sorted())
        }
        try order.requirePermission(of: app.wallets.currency(order.currency))
        let now = context.now()
        // The id is chosen before the transaction, so that a transaction that runs several times
        // makes only one booking.
        let name = order.bookingID
        return try await context.decide { tx in
            try WalletDecisions(tx).book(
                order, named: name, of: id, in: app, environment: environment, at: now)
        }
    }

    /// A customer's wallet, with all its entries.
    package func find(
        _ currency: CurrencyID, of id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> Wallet {
        let (app, _) = try context.app(appID)
        try id.requireValid()
        guard app.wallets.allCurrencies.contains(currency) else {
            throw .unknownCurrency(currency, known: app.wallets.allCurrencies.sorted())
        }
        return try await context.read { tx in
            let known = try tx.customers.find(known: id, in: appID)
            return try WalletDecisions(tx).wallet(
                currency, of: known?.customer,
                try WalletDecisions(tx).payments(
                    of: known, or: id, in: app, environment: environment), in: app,
                environment: environment)
        }
    }
}

extension NewBooking {
    /// The number of characters of a booking's id.
    private static let idCharacters = 32

    /// The prefix of the keys of apps. No key of a server contains a line break, because no header
    /// field does.
    private static let keyPrefixOfApps = "app\n"

    /// The id of the booking, a debit or a credit: the same for the same idempotency key. The
    /// idempotency keys of apps are separate from the idempotency keys of servers. Otherwise anyone
    /// could extract an app's API key, and use up the idempotency key of a server's next debit.
    var bookingID: BookingID {
        Self.bookingID(ofKey: key.map { spender == .app ? Self.keyPrefixOfApps + $0 : $0 })
    }

    /// The id of a server's booking. Without an idempotency key, the id is new.
    static func bookingID(ofKey key: String?) -> BookingID {
        BookingID(rawValue: IdempotencyKey.digits(for: key, count: idCharacters))
    }

    fileprivate func requirePermission(
        of currency: WalletRules.Currency
    ) throws(EngineFailure) {
        if spender == .app {
            guard kind == .debit, currency.spender == .app else {
                throw .spendingNotAllowed(self.currency)
            }
        }
        if kind == .credit || spender == .app {
            guard key != nil else { throw .idempotencyKeyMissing }
        }
    }
}

extension Booking {
    func matches(_ order: NewBooking) -> Bool {
        kind == order.kind && currency == order.currency && amount == order.amount
            && reason == order.reason
    }
}
