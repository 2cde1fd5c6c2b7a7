import Ledger
import Storage

/// Books debits and credits, links spent purchases to the customer who spent them, and emits
/// events.
struct WalletUpdates {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    var rules: DatabaseRules { tx.rules }

    /// Records a debit or a manual credit of a known customer, emits an event, and links the spent
    /// purchases to the customer. Not idempotent: the caller must check first that the booking does
    /// not exist.
    ///
    /// - Parameter key: the idempotency key of the request.
    func book(
        _ kept: StoredBooking, key: String?, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try tx.bookings.insert(kept, in: app)
        let booking = kept.booking
        let before = kept.balanceBefore
        let told = try tx.wallets.reportedBalances(of: kept.customer, in: app, kept.environment)[
            booking.currency]
        var entries: [EventEntry] = []
        if (told ?? 0) != before {
            var change = Change(.walletAdjusted, at: now)
            change.wallet = WalletChange(
                booking.currency, in: kept.environment, before: told ?? 0, after: before)
            entries.append(
                EventEntry(
                    app: app, customer: kept.customer, purchase: nil, change: change, knownAt: now,
                    cause: .request))
        }
        entries.append(
            EventEntry(
                app: app, customer: kept.customer, purchase: nil,
                change: Change(kept, key: key), knownAt: now, cause: .request))
        try tx.wallets.save(
            [booking.currency: kept.balance], of: kept.customer, in: app, kept.environment)
        try tx.events.append(entries)
        // A manual credit spends nothing.
        guard booking.kind == .debit else { return }
        try linkSpent(by: kept.customer, in: app, kept.environment, at: now)
    }

    /// Emits wallet events for purchases that count in a customer's wallets from now on.
    ///
    /// - Parameter purchases: purchases for which this customer has no wallet event yet.
    private func emitEvents(
        receiving purchases: [PurchaseID], by customer: CustomerID, in app: AppID,
        _ environment: Environment, other: CustomerID? = nil, at now: Instant,
        _ walletCache: inout WalletProjectionCache
    ) throws(StorageFailure) {
        guard !purchases.isEmpty,
            var wallet = try walletCache.checkOut(of: customer, in: app, environment, tx)
        else { return }
        for purchase in purchases { wallet.removeSilently(purchase) }
        var entries: [EventEntry] = []
        for purchase in purchases {
            guard let known = try tx.purchases.reported(purchase, in: app) else { continue }
            var telling = WalletProjection.EventContext(
                cause: .request, at: now, condition: known.reportedState?.status, other: other)
            // The documents are the cause of the events, unless another customer had the purchase
            // before.
            if other == nil { try setCauses(of: known.timeline, in: app, &telling) }
            entries += wallet.apply(known.timeline, of: purchase, telling)
        }
        try save(wallet, in: app)
        walletCache.checkIn(wallet, in: app)
        try tx.events.append(entries)
    }

    /// Emits wallet events after a purchase moved from one customer to another, or lost its owner.
    /// The rows must have been updated before.
    func emitEvents(
        of purchase: PurchaseID, from former: CustomerID?, to customer: CustomerID?,
        in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        var walletCache = WalletProjectionCache()
        try emitEvents(
            of: purchase, from: former, to: customer, in: app, at: now, &walletCache)
    }

    /// Emits wallet events after a purchase moved from one customer to another, or lost its owner.
    /// The rows must have been updated before.
    ///
    /// - Parameter walletCache: the cached wallets, including all writes up to the change of owner.
    func emitEvents(
        of purchase: PurchaseID, from former: CustomerID?, to customer: CustomerID?,
        in app: AppID, at now: Instant, _ walletCache: inout WalletProjectionCache
    ) throws(StorageFailure) {
        guard let rules = rules.wallets[app], former != customer,
            let known = try tx.purchases.reported(purchase, in: app),
            !rules.currencies(of: known.timeline).isEmpty
        else { return }
        if let former,
            var wallet = try walletCache.checkOut(of: former, in: app, purchase.environment, tx)
        {
            wallet.addSilently(known.timeline)
            let entries = wallet.apply(
                nil, of: purchase,
                WalletProjection.EventContext(
                    cause: .request, at: now, condition: known.reportedState?.status,
                    other: customer))
            try save(wallet, in: app)
            walletCache.checkIn(wallet, in: app)
            try tx.events.append(entries)
        }
        if let customer {
            try emitEvents(
                receiving: [purchase], by: customer, in: app, purchase.environment, other: former,
                at: now, &walletCache)
        }
    }

    /// Emits wallet events for purchases with an account token, when the token becomes the id of a
    /// customer.
    func emitEvents(
        named id: CustomerID, by customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        guard let rules = rules.wallets[app], id.accountToken != nil else { return }
        var walletCache = WalletProjectionCache()
        for environment in Environment.allCases {
            let named = try tx.accountTokens.timelines([id], in: app, environment: environment)
                .filter { !rules.currencies(of: $0).isEmpty }
            try emitEvents(
                receiving: named.map(\.purchase), by: customer, in: app, environment, at: now,
                &walletCache)
        }
    }

    /// Emits `wallet_adjusted` for each currency whose balance differs from the last reported
    /// balance.
    func emitAdjustments(
        of customer: CustomerID, in app: AppID, from cause: EventEntry.Cause,
        other: CustomerID? = nil, at now: Instant
    ) throws(StorageFailure) {
        for environment in Environment.allCases {
            guard var wallet = try projection(of: customer, in: app, environment) else {
                return
            }
            let entries = wallet.adjustments(
                WalletProjection.EventContext(cause: cause, at: now, other: other))
            guard !entries.isEmpty else { continue }
            try save(wallet, in: app)
            try tx.events.append(entries)
        }
    }

    /// Sets the cause of the wallet events: the first document that attests the purchase and, for
    /// each refund, the first document that attests its present state.
    private func setCauses(
        of timeline: Timeline, in app: AppID, _ telling: inout WalletProjection.EventContext
    ) throws(StorageFailure) {
        if let document = try tx.facts.firstDocument(about: timeline.purchase, in: app) {
            telling.cause = .document(document)
        }
        let refunded = timeline.periods.map(\.payment).filter { $0.revocation != nil }
        guard !refunded.isEmpty else { return }
        let attested = try tx.facts.all(about: timeline.purchase, in: app)
        for payment in refunded {
            let saying = attested.first {
                $0.fact.revocation(of: payment.transaction) == payment.revocation
            }
            if let saying { telling.refunds[payment.transaction] = .document(saying.document) }
        }
    }

    // MARK: - Wallets

    /// The customer in whose wallets a purchase counts, according to the stored rows. Returns nil
    /// if the app has no wallets.
    func customer(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        guard rules.wallets[app] != nil, let known = try tx.purchases.reported(purchase, in: app)
        else {
            return nil
        }
        return try OwnershipUpdates(tx).beneficiary(
            known.customer, token: known.timeline.accountToken, in: app)
    }

    /// Computes a customer's wallets from the stored rows. Returns nil if the app has no wallets.
    func projection(
        of customer: CustomerID, in app: AppID, _ environment: Environment
    ) throws(StorageFailure) -> WalletProjection? {
        guard let rules = rules.wallets[app] else { return nil }
        let contents = try tx.wallets.contents(
            of: customer, in: app, environment, rules.allCurrencies)
        return WalletProjection(of: customer, in: app, environment, rules, contents)
    }

    /// Saves the last reported balances of a customer's wallets.
    func save(_ wallet: WalletProjection, in app: AppID) throws(StorageFailure) {
        try tx.wallets.save(
            wallet.reportedBalances, of: wallet.customer, in: app, wallet.environment)
    }
}

extension Change {
    /// The event's data about a debit or a manual credit.
    fileprivate init(_ kept: StoredBooking, key: String?) {
        let booking = kept.booking
        let isDebit = booking.kind == .debit
        self.init(isDebit ? .walletDebited : .walletCreditedByHand, at: booking.at)
        wallet = WalletChange(
            booking.currency, in: kept.environment, before: kept.balanceBefore,
            after: kept.balance, debit: isDebit ? booking.id : nil,
            credit: isDebit ? nil : booking.id, reason: booking.reason, key: key)
    }
}

extension Fact {
    /// The revocation that the fact attests for a transaction. Returns nil if the fact is about
    /// another transaction, or attests that the transaction is not revoked.
    fileprivate func revocation(of transaction: TransactionID) -> Revocation? {
        guard case .payment(let payment) = statement, payment.transaction == transaction else {
            return nil
        }
        return payment.revocation
    }
}
