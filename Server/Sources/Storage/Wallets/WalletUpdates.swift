import Ledger

/// Books debits and credits, links spent purchases to the customer who spent them, and emits
/// events.
package struct WalletUpdates: RowGroup {
    package let tx: DatabaseSession

    /// Records a debit or a credit by hand of a known customer, emits an event, and links the
    /// purchases that were spent to the customer. Not idempotent: check first whether it exists.
    ///
    /// - Parameter key: the idempotency key of the request.
    package func book(
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
        // A credit by hand spends nothing.
        guard booking.kind == .debit else { return }
        try linkSpent(by: kept.customer, in: app, kept.environment, at: now)
    }

    /// Emits wallet events for purchases that count in a customer's wallets from now on.
    ///
    /// - Parameter purchases: purchases without a wallet event for this customer so far.
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
            // The documents are the cause, unless another customer had the purchase before.
            if other == nil { try setCauses(of: known.timeline, in: app, &telling) }
            entries += wallet.apply(known.timeline, of: purchase, telling)
        }
        try tx.wallets.save(wallet, in: app)
        walletCache.checkIn(wallet, in: app)
        try tx.events.append(entries)
    }

    /// Emits wallet events after a purchase moved from one customer to another, or lost its owner.
    /// Call it after the rows have been updated.
    func emitEvents(
        of purchase: PurchaseID, from former: CustomerID?, to customer: CustomerID?,
        in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        var walletCache = WalletProjectionCache()
        try emitEvents(
            of: purchase, from: former, to: customer, in: app, at: now, &walletCache)
    }

    /// Emits wallet events after a purchase moved from one customer to another, or lost its owner.
    /// Call it after the rows have been updated.
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
            try tx.wallets.save(wallet, in: app)
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

    /// Emits `wallet_adjusted` for each currency whose balance differs from the last one reported.
    func emitAdjustments(
        of customer: CustomerID, in app: AppID, from cause: EventEntry.Cause,
        other: CustomerID? = nil, at now: Instant
    ) throws(StorageFailure) {
        for environment in Environment.allCases {
            guard var wallet = try tx.wallets.projection(of: customer, in: app, environment) else {
                return
            }
            let entries = wallet.adjustments(
                WalletProjection.EventContext(cause: cause, at: now, other: other))
            guard !entries.isEmpty else { continue }
            try tx.wallets.save(wallet, in: app)
            try tx.events.append(entries)
        }
    }

    /// Sets the cause of the wallet events: the first document that attests the purchase and, for
    /// each refund, the first document that attests its present state.
    private func setCauses(
        of timeline: Timeline, in app: AppID, _ telling: inout WalletProjection.EventContext
    ) throws(StorageFailure) {
        if let document = try document(attesting: timeline.purchase, in: app) {
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

    private func document(
        attesting purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [UInt8]? {
        try connection.firstRow(
            "SELECT document FROM facts WHERE app = $1 AND environment = $2 AND purchase = $3 "
                + "ORDER BY attested_at_ms, subject, document LIMIT 1",
            PurchaseRows.key(of: purchase, in: app)
        ) { row throws(StorageFailure) in try row.bytes() }
    }
}

extension Change {
    /// The event's data about a debit or a credit by hand.
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
    /// another transaction, or attests that it is not revoked.
    fileprivate func revocation(of transaction: TransactionID) -> Revocation? {
        guard case .payment(let payment) = statement, payment.transaction == transaction else {
            return nil
        }
        return payment.revocation
    }
}
