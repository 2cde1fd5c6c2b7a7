import Ledger
import Storage

/// Determines the balances of a customer's wallets, and decides which bookings are allowed.
struct WalletDecisions {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

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
            try tx.bookings.spendings(of: $0, in: app.id, environment: environment)
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
                try tx.bookings.all(of: $0, currency, in: app.id, environment: environment)
            } ?? []
        return Wallet(of: currency, payments, bookings, rules: app.wallets)
    }

    func payments(
        of known: StoredCustomer?, or id: CustomerID, in app: AppSettings,
        environment: Environment
    ) throws -> [Payment] {
        try CustomerReader(tx).ownTimelines(
            of: known, known?.ids ?? [id], in: app.id, environment: environment
        )
        .flatMap { $0.periods.map(\.payment) }
    }

    func book(
        _ order: NewBooking, named name: BookingID, of id: CustomerID, in app: AppSettings,
        environment: Environment, at now: Instant
    ) throws -> Decision<StoredBooking> {
        let known = try tx.customers.find(known: id, in: app.id)
        if let kept = try tx.bookings.find(name, in: app.id) {
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
        let owner = try IdentityUpdates(tx).customer(id, in: app.id, at: now).customer
        let lastBooked = try tx.bookings.spendings(of: owner, in: app.id, environment: environment)[
            currency]
        let moments = payments.filter { Wallet.credits($0, currency, rules: app.wallets) }
            .map { payment in
                payment.revocation.map { max($0.at, payment.from) + .milliseconds(1) }
                    ?? payment.from
            }
        // The booking is never earlier than the last entry of the wallet, because another server's
        // clock may be ahead. The booking is also later than each refund, because a refund of the
        // same moment is counted last.
        let at = (moments + [lastBooked?.lastAt ?? now]).reduce(now, max)
        let booking = Booking(
            order.kind, id: name, currency: currency, amount: order.amount, reason: order.reason,
            at: at)
        let kept = StoredBooking(
            booking, of: owner, in: environment, balance: balance + booking.signedAmount)
        try WalletUpdates(tx).book(kept, key: order.key, in: app.id, at: now)
        return .done(kept)
    }
}
