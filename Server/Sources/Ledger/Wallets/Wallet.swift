/// A currency of the app that customers use up, such as gems.
package struct CurrencyID: TextIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// The app's rules for its currencies.
package struct WalletRules: Hashable, Sendable {
    /// How much one unit of a product credits to each currency.
    package var credits: [ProductID: [CurrencyID: Int64]]
    /// Currencies with rules that differ from the default.
    package var currencies: [CurrencyID: Currency]

    package struct Currency: Hashable, Sendable {
        package var refunds = Refunds.toZero
        /// Whether spending may make the balance negative.
        package var allowsDebt = false
        package var spender = Spender.server
        /// How much an app may spend before this server has confirmed it. The app observes this
        /// limit; the server does not check it. Nil if the app may spend nothing.
        package var offlineMax: Int64?

        package init(
            refunds: Refunds = .toZero, allowsDebt: Bool = false, spender: Spender = .server,
            offlineMax: Int64? = nil
        ) {
            self.refunds = refunds
            self.allowsDebt = allowsDebt
            self.spender = spender
            self.offlineMax = offlineMax
        }
    }

    /// Who may debit a wallet.
    package enum Spender: String, Hashable, Sendable, CaseIterable {
        /// Only the app's server may debit, with a secret key.
        case server
        /// The app may also debit, with an app key, for the customer on whose behalf it sends
        /// requests.
        case app
    }

    /// The part of the purchase's credit that a refund deducts from the wallet.
    package enum Refunds: String, Hashable, Sendable, CaseIterable {
        /// The refund deducts the part that was not spent.
        case toZero = "to_zero"
        /// The refund deducts the whole credit. The part that was already spent becomes a debt,
        /// which the next purchase pays.
        case belowZero = "below_zero"
        /// The refund deducts nothing.
        case nothing
    }

    package static let none = WalletRules(credits: [:])

    package init(
        credits: [ProductID: [CurrencyID: Int64]], currencies: [CurrencyID: Currency] = [:]
    ) {
        self.credits = credits
        self.currencies = currencies
    }

    package func currency(_ id: CurrencyID) -> Currency { currencies[id] ?? Currency() }

    package var allCurrencies: Set<CurrencyID> { Set(credits.values.flatMap(\.keys)) }

    /// How much one unit of a payment's product credits to a currency. Returns nil if the product
    /// credits nothing to the currency, or if it is not a consumable.
    fileprivate func credit(by payment: Payment, to currency: CurrencyID) -> Int64? {
        payment.kind == .consumable ? credits[payment.product]?[currency] : nil
    }

    /// The payments that credit a currency, each transaction once, and how much one unit of each
    /// payment credits.
    fileprivate func credited(
        by payments: [Payment], to currency: CurrencyID
    ) -> [(Payment, Int64)] {
        payments.uniquedByTransaction({ $0 }).compactMap { payment in
            credit(by: payment, to: currency).map { (payment, $0) }
        }
    }
}

/// A customer's balance of one currency, with its statement: a pure function of the customer's
/// purchases and bookings (debits and manual credits).
///
/// Each payment credits only once, even if several documents report it: a restored purchase cannot
/// credit twice.
///
/// Credits from purchases are spent first, manual credits last. So a refund that deducts the
/// remaining part never deducts manual credits.
package struct Wallet: Hashable, Sendable {
    package private(set) var balance: Int64 = 0
    /// The entries of the statement, sorted by time.
    package private(set) var entries: [Entry] = []
    /// The part of the balance that is from manual credits: between 0 and the balance; 0 if the
    /// balance is negative.
    package private(set) var given: Int64 = 0

    package struct Entry: Hashable, Sendable {
        package var at: Instant
        package var cause: Cause
        /// The amount by which the entry changes the balance; negative for a deduction.
        package var amount: Int64
        /// The amount before the refund rules apply. These rules may deduct less than was refunded.
        var whole: Int64
        /// The balance after this entry.
        package var balance: Int64
    }

    package enum Cause: Hashable, Sendable {
        case purchase(TransactionID, ProductID)
        case refund(TransactionID, ProductID)
        case debit(BookingID, reason: String)
        /// Added manually, without a purchase.
        case credit(BookingID, reason: String)
    }

    /// The maximum amount that one purchase credits, and the maximum of one debit or manual credit.
    /// With this limit, the sum of any realistic number of amounts stays far from the limits of
    /// Int64.
    package static let amountMax: Int64 = 1_000_000_000_000

    /// - Parameters:
    ///   - payments: the customer's payments. Payments for products that credit other currencies
    ///     are ignored.
    ///   - bookings: debits and manual credits of this currency.
    package init(
        of currency: CurrencyID, _ payments: [Payment], _ bookings: [Booking],
        rules: WalletRules
    ) {
        var movements = bookings.map(Movement.init)
        for (payment, credit) in rules.credited(by: payments, to: currency) {
            movements += Movement.movements(of: payment, crediting: credit)
        }
        let rules = rules.currency(currency)
        for movement in movements.sorted(by: { $0.precedes($1) }) { apply(movement, rules) }
    }

    /// The balance, computed from the sum of bookings, without the entries of the statement.
    /// Returns nil if the times of the bookings matter, because a refund deducts only the part that
    /// was left at its time.
    ///
    /// - Parameter spent: the sum of the debits minus the sum of the manual credits.
    package static func balance(
        of currency: CurrencyID, _ payments: [Payment], spent: Int64,
        rules: WalletRules
    ) -> Int64? {
        let refunds = rules.currency(currency).refunds
        var balance = -spent
        for (payment, credit) in rules.credited(by: payments, to: currency) {
            if payment.revocation != nil && refunds == .toZero { return nil }
            for movement in Movement.movements(of: payment, crediting: credit) {
                if case .refund = movement.cause, refunds == .nothing { continue }
                balance += movement.amount
            }
        }
        return balance
    }

    /// Whether a payment credits this currency.
    package static func credits(
        _ payment: Payment, _ currency: CurrencyID, rules: WalletRules
    ) -> Bool {
        rules.credit(by: payment, to: currency) != nil
    }

    /// The steps that add payments to a wallet. The wallet must contain none of these payments, and
    /// no refunds, so that all other entries stay unchanged. Returns nil if one of the payments was
    /// revoked.
    package static func steps(
        adding payments: [Payment], to currency: CurrencyID, rules: WalletRules
    ) -> [Step]? {
        guard payments.allSatisfy({ $0.revocation == nil }) else { return nil }
        let movements = rules.credited(by: payments, to: currency).flatMap { payment, credit in
            Movement.movements(of: payment, crediting: credit)
        }
        return movements.filter { $0.amount != 0 }.sorted { $0.precedes($1) }.map {
            Step(kind: .walletCredited, at: $0.at, cause: $0.cause, amount: $0.amount)
        }
    }

    private mutating func apply(_ movement: Movement, _ rules: WalletRules.Currency) {
        switch movement.cause {
        case .purchase: append(movement.at, movement.cause, movement.amount)
        case .credit:
            given += movement.amount
            append(movement.at, movement.cause, movement.amount)
        case .debit:
            if rules.refunds == .toZero && !rules.allowsDebt {
                reduceRefunds(upTo: -(balance + movement.amount))
            }
            append(movement.at, movement.cause, movement.amount)
        case .refund where rules.refunds == .nothing: break
        case .refund:
            append(movement.at, movement.cause, movement.amount)
            // A debt from before the refund remains.
            let most = rules.allowsDebt ? -movement.amount : .max
            if rules.refunds == .toZero { reduceRefunds(upTo: min(given - balance, most)) }
        }
        // A debit uses manual credits only after everything else. A manual credit pays a debt
        // first.
        given = min(given, max(0, balance))
    }

    private mutating func append(_ at: Instant, _ cause: Cause, _ amount: Int64) {
        balance += amount
        entries.append(
            Entry(at: at, cause: cause, amount: amount, whole: amount, balance: balance))
    }

    /// Reduces refunds in the statement, the latest first, so that they leave no debt. A refund
    /// that becomes known late must not leave a debt either, so amounts that were spent since the
    /// refund count as spent before it.
    private mutating func reduceRefunds(upTo missing: Int64) {
        var rest = max(0, missing)
        for index in entries.indices.reversed() where rest > 0 {
            guard case .refund = entries[index].cause else { continue }
            let given = min(rest, -entries[index].amount)
            entries[index].amount += given
            for later in index..<entries.count { entries[later].balance += given }
            balance += given
            rest -= given
        }
    }
}

/// A change of a balance, before the refund rules apply.
private struct Movement {
    var at: Instant
    var cause: Wallet.Cause
    var amount: Int64

    init(_ booking: Booking) {
        at = booking.at
        switch booking.kind {
        case .debit: cause = .debit(booking.id, reason: booking.reason)
        case .credit: cause = .credit(booking.id, reason: booking.reason)
        }
        amount = booking.signedAmount
    }

    private init(_ at: Instant, _ cause: Wallet.Cause, _ amount: Int64) {
        self.at = at
        self.cause = cause
        self.amount = amount
    }

    static func movements(of payment: Payment, crediting credit: Int64) -> [Movement] {
        let count = Int64(min(payment.quantity, TermRules.quantityMax))
        let amount = min(credit * count, Wallet.amountMax)
        let bought = Movement(payment.from, .purchase(payment.transaction, payment.product), amount)
        guard let revocation = payment.revocation else { return [bought] }
        let back = Percentage.part(revocation.percentage, of: amount)
        let at = max(revocation.at, payment.from)
        return [bought, Movement(at, .refund(payment.transaction, payment.product), -back)]
    }

    /// Whether this movement comes before another movement: by time. At the same moment, credits
    /// come first, then debits, then refunds.
    func precedes(_ other: Movement) -> Bool {
        (at, rank, id) < (other.at, other.rank, other.id)
    }

    private var rank: Int {
        switch cause {
        case .purchase: 0
        case .credit: 1
        case .debit: 2
        case .refund: 3
        }
    }

    private var id: String {
        switch cause {
        case .purchase(let transaction, _), .refund(let transaction, _): transaction.rawValue
        case .debit(let id, _), .credit(let id, _): id.rawValue
        }
    }
}
