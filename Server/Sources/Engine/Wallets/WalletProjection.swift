import Ledger
import Storage

/// The wallets of a customer in one environment, computed from purchases and bookings, together
/// with the last reported balances.
struct WalletProjection {
    var customer: CustomerID
    var environment: Environment
    private(set) var reportedBalances: [CurrencyID: Int64]
    private let app: AppID
    private let rules: WalletRules
    private let bookings: [CurrencyID: [Booking]]
    private var timelines: [PurchaseID: Timeline] = [:]
    /// For each transaction, the number of payments in the timelines.
    private var transactions: [TransactionID: Int] = [:]
    /// Computed wallets, cached until a purchase changes.
    private var cache: [CurrencyID: CachedWallet] = [:]

    private struct CachedWallet {
        /// The computed wallet. Nil if only the balance is known.
        var wallet: Wallet?
        var balance: Int64
        var hasRefunds: Bool

        init(_ wallet: Wallet) {
            self.wallet = wallet
            balance = wallet.balance
            hasRefunds = wallet.entries.contains {
                if case .refund = $0.cause { true } else { false }
            }
        }
    }

    init(
        of customer: CustomerID, in app: AppID, _ environment: Environment, _ rules: WalletRules,
        _ contents: WalletContents
    ) {
        (self.customer, self.app, self.environment) = (customer, app, environment)
        (self.rules, bookings) = (rules, contents.bookings)
        reportedBalances = contents.reportedBalances
        for timeline in contents.timelines where self.timelines[timeline.purchase] == nil {
            setTimeline(timeline, of: timeline.purchase)
        }
    }

    /// The attributes that all events of one change have in common.
    struct EventContext {
        var cause: EventEntry.Cause
        var at: Instant
        /// The last reported status of the purchase that changed. Nil if no purchase changed, or if
        /// nothing was reported of it.
        var condition: PurchaseStatus? = nil
        var other: CustomerID? = nil
        /// The causes of individual refunds, by transaction.
        var refunds: [TransactionID: EventEntry.Cause] = [:]
    }

    /// Whether any part of a purchase's credits was spent. Ignores a refund of the purchase itself,
    /// because the refund may hide that credits were spent, and can be reversed.
    func hasSpent(of purchase: PurchaseID) -> Bool {
        guard let timeline = timelines[purchase] else { return false }
        var payments = timelines.values.filter { $0.purchase != purchase }
            .flatMap { $0.periods.map(\.payment) }
        for period in timeline.periods {
            var payment = period.payment
            payment.revocation = nil
            payments.append(payment)
        }
        return rules.currencies(of: timeline).contains { currency in
            let wallet = Wallet(of: currency, payments, bookings[currency] ?? [], rules: rules)
            return timeline.periods.contains {
                (wallet.spent(of: $0.payment.transaction)?.amount ?? 0) > 0
            }
        }
    }

    /// Removes a purchase without emitting an event. The caller must add the purchase again.
    mutating func removeSilently(_ purchase: PurchaseID) {
        if timelines[purchase] != nil { setTimeline(nil, of: purchase) }
    }

    /// Adds a purchase without emitting an event.
    mutating func addSilently(_ timeline: Timeline) { setTimeline(timeline, of: timeline.purchase) }

    private mutating func setTimeline(_ timeline: Timeline?, of purchase: PurchaseID) {
        for period in timelines[purchase]?.periods ?? [] {
            transactions[period.payment.transaction, default: 0] -= 1
        }
        for period in timeline?.periods ?? [] {
            transactions[period.payment.transaction, default: 0] += 1
        }
        timelines[purchase] = timeline
        cache = [:]
    }

    /// Applies the new timeline of a purchase, and returns the events to append.
    ///
    /// - Parameter later: nil if the purchase no longer belongs to the customer.
    mutating func apply(
        _ later: Timeline?, of purchase: PurchaseID, _ telling: EventContext
    ) -> [EventEntry] {
        let former = timelines[purchase]
        let currencies = [former, later].compactMap(\.self)
            .reduce(into: Set<CurrencyID>()) { $0.formUnion(rules.currencies(of: $1)) }.sorted()
        if former == nil, let later, let entries = applyNew(later, currencies, telling) {
            return entries
        }
        let before = currencies.map { wallet($0) }
        setTimeline(later, of: purchase)
        let news = later ?? former
        return zip(currencies, before).flatMap { currency, before in
            let after = wallet(currency)
            return balanceEvents(
                currency, from: before.balance, to: after.balance, about: news, telling
            ) {
                before.steps(to: after)
            }
        }
    }

    /// Applies a new purchase without computing the wallets again. This is possible if the purchase
    /// only adds entries to wallets. Returns nil and changes nothing if the purchase may also
    /// affect other entries.
    private mutating func applyNew(
        _ later: Timeline, _ currencies: [CurrencyID], _ telling: EventContext
    ) -> [EventEntry]? {
        let payments = later.periods.map(\.payment)
        guard payments.allSatisfy({ transactions[$0.transaction, default: 0] == 0 }) else {
            return nil
        }
        var credits: [[Wallet.Step]] = []
        for currency in currencies {
            guard !cachedWallet(currency).hasRefunds,
                let steps = Wallet.steps(adding: payments, to: currency, rules: rules)
            else { return nil }
            credits.append(steps)
        }
        let before = cache
        setTimeline(later, of: later.purchase)
        cache = before
        return zip(currencies, credits).flatMap { currency, steps in
            let former = cachedWallet(currency).balance
            let balance = steps.reduce(former) { $0 + $1.amount }
            cache[currency]?.wallet = nil
            cache[currency]?.balance = balance
            return balanceEvents(currency, from: former, to: balance, about: later, telling) {
                steps
            }
        }
    }

    /// Returns a `wallet_adjusted` event for each currency whose balance differs from the last
    /// reported balance.
    mutating func adjustments(_ telling: EventContext) -> [EventEntry] {
        rules.allCurrencies.sorted().flatMap { currency in
            let balance = cachedWallet(currency).balance
            return balanceEvents(currency, from: balance, to: balance, about: nil, telling) { [] }
        }
    }

    private mutating func cachedWallet(_ currency: CurrencyID) -> CachedWallet {
        if let known = cache[currency] { return known }
        let fresh = CachedWallet(makeWallet(currency))
        cache[currency] = fresh
        return fresh
    }

    private mutating func wallet(_ currency: CurrencyID) -> Wallet {
        if let known = cachedWallet(currency).wallet { return known }
        let wallet = makeWallet(currency)
        cache[currency] = CachedWallet(wallet)
        return wallet
    }

    private func makeWallet(_ currency: CurrencyID) -> Wallet {
        Wallet(
            of: currency, timelines.values.flatMap { $0.periods.map(\.payment) },
            bookings[currency] ?? [], rules: rules)
    }

    /// Returns the events that lead to a new balance. The first event starts from the last reported
    /// balance, and the last event ends with the balance of the wallet. If the last reported
    /// balance is not the balance before the change, for example after a change of the
    /// configuration, one `wallet_adjusted` event leads to the new balance.
    private mutating func balanceEvents(
        _ currency: CurrencyID, from before: Int64, to after: Int64, about timeline: Timeline?,
        _ telling: EventContext, by steps: () -> [Wallet.Step]
    ) -> [EventEntry] {
        var balance = reportedBalances[currency] ?? 0
        guard balance == before else {
            guard balance != after else { return [] }
            reportedBalances[currency] = after
            let change = WalletChange(currency, in: environment, before: balance, after: after)
            return [entry(.walletAdjusted, at: telling.at, change, nil, nil, telling)]
        }
        return steps().map { step in
            let change = WalletChange(
                currency, in: environment, before: balance, after: balance + step.amount)
            balance += step.amount
            reportedBalances[currency] = balance
            // The entry has the date of its purchase or refund. But no document contains the time
            // of a reversal or of a change of owner, so the event has the present time.
            let isUndated = step.kind == .walletRestored || step.kind == .walletAdjusted
            let moment = isUndated ? telling.at : step.at
            return entry(step.kind, at: moment, change, step.cause, timeline, telling)
        }
    }

    private func entry(
        _ kind: Change.Kind, at moment: Instant, _ wallet: WalletChange, _ cause: Wallet.Cause?,
        _ timeline: Timeline?, _ telling: EventContext
    ) -> EventEntry {
        var change = Change(kind, at: moment)
        change.wallet = wallet
        var (purchase, origin): (PurchaseID?, EventEntry.Cause) = (nil, telling.cause)
        if case .purchase(let transaction, let product)? = cause {
            (change.transaction, change.product) = (transaction, product)
        } else if case .refund(let transaction, let product)? = cause {
            (change.transaction, change.product) = (transaction, product)
            origin = telling.refunds[transaction] ?? origin
        }
        // If the change affects the refund of another purchase, the event is not about this
        // purchase.
        if let timeline, let transaction = change.transaction,
            timeline.periods.contains(where: { $0.payment.transaction == transaction })
        {
            purchase = timeline.purchase
            (change.before, change.after) = (telling.condition, telling.condition)
        }
        return EventEntry(
            app: app, customer: customer, purchase: purchase, change: change,
            knownAt: telling.at, cause: origin, other: telling.other)
    }
}
