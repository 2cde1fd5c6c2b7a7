import Ledger
import Storage

package typealias StoredBooking = Storage.StoredBooking

/// A request to debit a wallet, or to credit it by hand.
package struct NewBooking: Hashable, Sendable {
    package var kind: Booking.Kind
    package var currency: CurrencyID
    package var amount: Int64
    package var reason: String
    /// The caller's idempotency key: a request with the same key is the same booking. If nil, every
    /// request is a new debit. A credit by hand needs one.
    package var key: String?
    /// Who makes the request: the app's server, or the app itself.
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

extension Engine {
    /// Debits a customer's wallet if its balance is sufficient, or credits it by hand. Idempotent
    /// with a key: repeats return the first result. A credit needs a key. An app may debit a
    /// currency only if the configuration allows it, and only with a key; it can never credit.
    ///
    /// The balance is computed from what was bought and booked, within the transaction that records
    /// the booking: of two concurrent ones, one sees the other.
    package func book(
        _ order: NewBooking, of id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> StoredBooking {
        let (app, _) = try app(appID)
        try id.requireValid()
        guard app.wallets.allCurrencies.contains(order.currency) else {
            throw .unknownCurrency(order.currency, known: app.wallets.allCurrencies.sorted())
        }
        try order.requirePermission(of: app.wallets.currency(order.currency))
        let now = now()
        // The id is chosen before the transaction, which may run several times but is one booking.
        let name = order.bookingID
        return try await decide { tx in
            try tx.book(order, named: name, of: id, in: app, environment: environment, at: now)
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
        let bookings =
            try customer.map {
                try self.bookings(of: $0, currency, in: app.id, environment: environment)
            } ?? []
        return Wallet(of: currency, payments, bookings, rules: app.wallets)
    }

    fileprivate func payments(
        of known: StoredCustomer?, or id: CustomerID, in app: AppSettings,
        environment: Environment
    ) throws -> [Payment] {
        try ownTimelines(of: known, known?.ids ?? [id], in: app.id, environment: environment)
            .flatMap { $0.periods.map(\.payment) }
    }

    fileprivate func book(
        _ order: NewBooking, named name: BookingID, of id: CustomerID, in app: AppSettings,
        environment: Environment, at now: Instant
    ) throws -> Decision<StoredBooking> {
        let known = try customer(known: id, in: app.id)
        if let kept = try booking(name, in: app.id) {
            let isSame =
                kept.customer == known?.customer && kept.environment == environment
                && kept.booking.matches(order)
            return isSame ? .unchanged(kept) : .refused(.idempotencyKeyReused)
        }
        let currency = order.currency
        let payments = try payments(of: known, or: id, in: app, environment: environment)
        let balance =
            try balances(of: known?.customer, payments, in: app, environment: environment)[
                currency] ?? 0
        if order.kind == .debit {
            guard balance >= order.amount || app.wallets.currency(currency).allowsDebt else {
                return .refused(.insufficientBalance(currency, balance: balance))
            }
        }
        let owner = try customer(id, in: app.id, at: now).customer
        let lastBooked = try spendings(of: owner, in: app.id, environment: environment)[currency]
        let moments = payments.filter { Wallet.credits($0, currency, rules: app.wallets) }
            .map { payment in
                payment.revocation.map { max($0.at, payment.from) + .milliseconds(1) }
                    ?? payment.from
            }
        // Never earlier than the last entry of the wallet, whichever server's clock is ahead; and
        // later than each refund, because of one moment a refund counts last.
        let at = (moments + [lastBooked?.lastAt ?? now]).reduce(now, max)
        let booking = Booking(
            order.kind, id: name, currency: currency, amount: order.amount, reason: order.reason,
            at: at)
        let kept = StoredBooking(
            booking, of: owner, in: environment, balance: balance + booking.signedAmount)
        try book(kept, key: order.key, in: app.id, at: now)
        return .done(kept)
    }
}

extension NewBooking {
    /// The number of characters of a booking's id.
    private static let idCharacters = 32

    /// No key of a server contains a line end, because no header field does.
    private static let keyPrefixOfApps = "app\n"

    /// The same id for the same key, of a debit or a credit. The keys of apps are apart from those
    /// of servers: everybody can extract an app key, and could otherwise use up the key of a
    /// server's next debit.
    fileprivate var bookingID: BookingID {
        let whole = key.map { spender == .app ? Self.keyPrefixOfApps + $0 : $0 }
        return BookingID(rawValue: IdempotencyKey.digits(for: whole, count: Self.idCharacters))
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
    fileprivate func matches(_ order: NewBooking) -> Bool {
        kind == order.kind && currency == order.currency && amount == order.amount
            && reason == order.reason
    }
}
