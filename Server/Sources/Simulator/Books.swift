import AppStoreFormats

/// The simulator's own verdict on what an account may use: written from its state, without any of
/// the documents it has sent.
package struct Books: Hashable, Sendable {
    package var account: String
    package var now: AppStoreDate
    package var purchases: [BookedPurchase]
    /// Orders that wait for somebody, oldest first.
    package var pending: [BookedOrder] = []
    /// The account's family, where it is in one.
    package var family: BookedFamily?

    package var json: JSON {
        [
            "account": .string(account), "now": .string(RFC3339.text(now)),
            "purchases": .array(purchases.map(\.json)), "pending": .array(pending.map(\.json)),
            "family": family?.json ?? .null,
        ]
    }
}

/// One chain of renewals, or one thing bought once.
package struct BookedPurchase: Hashable, Sendable {
    package enum State: String, Hashable, Sendable, CaseIterable {
        case trial
        case offer
        case paid
        case grace
        case retry
        case expired
        case refunded
    }

    package var originalTransactionID: String
    /// The product in force; after a change at once, the new one.
    package var productID: String
    package var environment: SimulatedEnvironment
    package var state: State
    /// Whether the customer may use the product now.
    package var isOpen: Bool
    /// When use ends or ended, as far as is known now; nil where it does not end by time.
    package var until: AppStoreDate?
    package var willRenew: Bool
    /// Only of subscriptions.
    package var renewsTo: String?
    package var isRevoked: Bool
    package var isInGrace: Bool
    /// Payment is retried and grace does not, or no longer, apply.
    package var isInRetry: Bool
    package var graceUntil: AppStoreDate?
    /// The period in force, or the last; nil where the product has no end.
    package var period: Range<AppStoreDate>?
    package var ownership = OwnershipType.purchased
    /// Where the customer has promised months.
    package var commitment: BookedCommitment?
    /// A higher price that the customer was told of and has not paid yet.
    package var priceRise: PriceRise?
    /// What the next period will cost, in thousandths; nil where none follows.
    package var nextPrice: Int64?
    /// How often the renewal date was put off.
    package var extensionCount = 0
    /// All money taken and given back, oldest first.
    package var charges: [BookedCharge] = []

    package var json: JSON {
        func time(_ date: AppStoreDate?) -> JSON { date.map { .string(RFC3339.text($0)) } ?? .null }
        let span: JSON =
            period.map {
                ["from": time($0.lowerBound), "until": time($0.upperBound)]
            } ?? .null
        return [
            "original_transaction_id": .string(originalTransactionID),
            "product_id": .string(productID), "environment": .string(environment.rawValue),
            "state": .string(state.rawValue), "open": .bool(isOpen), "until": time(until),
            "will_renew": .bool(willRenew), "renews_to": renewsTo.map { .string($0) } ?? .null,
            "revoked": .bool(isRevoked), "in_grace": .bool(isInGrace),
            "in_retry": .bool(isInRetry), "grace_until": time(graceUntil), "period": span,
            "ownership": ownership.json, "commitment": commitment?.json ?? .null,
            "price_rise": priceRise?.json ?? .null,
            "next_price_milliunits": nextPrice.map { .integer($0) } ?? .null,
            "extensions": .integer(Int64(extensionCount)),
            "charges": .array(charges.map(\.json)),
        ]
    }
}

extension World {
    /// Everything an account has bought, in both environments, oldest first in each.
    func books(of name: String, at now: AppStoreDate) throws(StoreProblem) -> Books {
        let known = [SimulatedEnvironment.production, .sandbox].compactMap {
            accounts[Account.Key(name: name, environment: $0)]
        }
        guard !known.isEmpty else { throw .unknownAccount(name) }
        let purchases = known.flatMap { account in
            let chains = chains(of: account.key).sorted { $0.id < $1.id }
            let rest = account.oneTimePurchases.compactMap { oneTimePurchases[$0] }
            return chains.map { book($0, at: now) } + rest.map { book($0) }
        }
        return Books(
            account: name, now: now, purchases: purchases,
            pending: known.flatMap { bookedOrders(of: $0.key) },
            family: known.compactMap { $0.family.flatMap { families[$0]?.booked } }.first)
    }

    /// The verdict on one purchase, by its original transaction id or any transaction id.
    func book(_ id: String, at now: AppStoreDate) throws(StoreProblem) -> BookedPurchase {
        if let once = oneTimePurchases[id] { return book(once) }
        return book(try subscription(chainOfTransaction[id] ?? id), at: now)
    }

    private func book(_ transaction: StoreTransaction) -> BookedPurchase {
        let revoked = transaction.revocation
        return BookedPurchase(
            originalTransactionID: transaction.originalID, productID: transaction.product.id,
            environment: transaction.account.environment, state: revoked == nil ? .paid : .refunded,
            isOpen: revoked == nil, until: revoked?.at, willRenew: false, renewsTo: nil,
            isRevoked: revoked != nil, isInGrace: false, isInRetry: false, graceUntil: nil,
            period: nil, ownership: transaction.ownership, charges: transaction.charges)
    }

    private func book(_ subscription: Subscription, at now: AppStoreDate) -> BookedPurchase {
        // A renewal charged early waits for its turn: what counts is the period that covers now.
        let current = subscription.transactions.last { $0.covers(now) }
        let shown = current ?? subscription.begun(by: now) ?? subscription.latest
        var graceUntil: AppStoreDate?
        if case .grace(let until, _) = subscription.phase { graceUntil = until }
        let state = subscription.state(covering: current, at: now)
        return BookedPurchase(
            originalTransactionID: subscription.id, productID: shown.product.id,
            environment: subscription.account.environment, state: state,
            isOpen: current != nil || graceUntil != nil,
            until: until(subscription, covering: current, graceUntil: graceUntil),
            willRenew: subscription.willRenew, renewsTo: subscription.upcomingProduct.value.id,
            isRevoked: state == .refunded,
            isInGrace: state == .grace, isInRetry: state == .retry, graceUntil: graceUntil,
            period: shown.expires.map { shown.purchased..<max(shown.purchased, $0) },
            ownership: shown.ownership, commitment: subscription.bookedCommitment,
            priceRise: subscription.isOver ? nil : subscription.announcedRise,
            nextPrice: subscription.willRenew ? subscription.nextPrice : nil,
            extensionCount: subscription.extensions.count,
            // By number, as a reversed refund may have moved the transactions.
            charges: subscription.transactions.flatMap(\.charges)
                .sorted { $0.transactionID < $1.transactionID })
    }

    /// The end of the paid time that goes on without a gap, of grace, or of what was.
    private func until(
        _ subscription: Subscription, covering current: StoreTransaction?,
        graceUntil: AppStoreDate?
    ) -> AppStoreDate? {
        if let graceUntil { return graceUntil }
        guard let current, var end = current.expires else {
            let latest = subscription.latest
            return latest.revocation?.at ?? latest.expires
        }
        for next in subscription.transactions where next.purchased == end && next.covers(end) {
            end = next.expires ?? end
        }
        return end
    }
}

extension Subscription {
    /// Whether another period will be charged, if the bank plays along.
    fileprivate var willRenew: Bool {
        switch phase {
        case .active, .grace, .retry: goesOn
        case .revoked: renews
        case .ended: false
        }
    }

    fileprivate func state(
        covering current: StoreTransaction?, at now: AppStoreDate
    ) -> BookedPurchase.State {
        if let current {
            switch current.offer?.discount {
            case nil: return .paid
            case .freeTrial?: return .trial
            default: return .offer
            }
        }
        switch phase {
        case .grace: return .grace
        case .retry: return .retry
        case .revoked: return .refunded
        // Also where a renewal was tried after a refund, and failed to the last.
        case .ended(.billingError): return .expired
        case .active, .ended: return isRefunded(at: now) ? .refunded : .expired
        }
    }

    /// Whether the period that would be in force, or was last, was given back: the next may be
    /// charged already, and wait for its turn.
    private func isRefunded(at now: AppStoreDate) -> Bool {
        begun(by: now)?.revocation != nil
    }

    /// The period that began last, whatever became of it.
    fileprivate func begun(by now: AppStoreDate) -> StoreTransaction? {
        transactions.last { !$0.isUpgraded && $0.purchased <= now }
    }
}
