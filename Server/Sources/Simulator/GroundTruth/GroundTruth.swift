import AppStoreFormats

/// What an account may truly use, according to the simulator. Computed from the world's state, not
/// from the documents that it has sent.
package struct GroundTruth: Hashable, Sendable {
    package var account: String
    package var now: AppStoreDate
    package var purchases: [TruePurchase]
    /// Orders that wait for a decision, oldest first.
    package var pending: [TruePendingOrder] = []
    /// The account's family. Nil if the account is in no family.
    package var family: TrueFamily?
    /// Seats that an app's server has claimed for the account.
    package var claimedSeats: [TrueClaimedSeat] = []

    package var json: JSON {
        let json: JSON = [
            "account": .string(account), "now": .string(RFC3339.text(now)),
            "purchases": .array(purchases.map(\.json)), "pending": .array(pending.map(\.json)),
            "family": family?.json ?? .null,
        ]
        guard !claimedSeats.isEmpty else { return json }
        return json.adding("claimed_seats", .array(claimedSeats.map(\.json)))
    }
}

/// One chain of renewals, or one one-time purchase.
package struct TruePurchase: Hashable, Sendable {
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
    /// The product in force. After an immediate change of product, this is the new product.
    package var productID: String
    package var environment: SimulatedEnvironment
    package var state: State
    /// Whether the customer may use the product now.
    package var isOpen: Bool
    /// When access ends or ended, as known now. Nil if access never ends by itself.
    package var until: AppStoreDate?
    package var willRenew: Bool
    /// The product of the next period. Nil if the subscription does not renew, or the purchase is
    /// no subscription.
    package var renewsTo: String?
    package var isRevoked: Bool
    package var isInGrace: Bool
    /// Whether a failed payment is being retried outside a grace period.
    package var isInRetry: Bool
    package var graceUntil: AppStoreDate?
    /// The current period, or the last one. Nil if the product has no end.
    package var period: Range<AppStoreDate>?
    /// When a period begins that is paid for and has not begun. Nil if there is no such period.
    package var nextBegins: AppStoreDate?
    package var ownership = OwnershipType.purchased
    /// The state of a twelve-month commitment. Nil without a commitment.
    package var commitment: TrueCommitment?
    /// A higher price that was announced to the customer and is not paid yet.
    package var priceRise: PriceRise?
    /// What the next period will cost, in thousandths of the currency unit. Nil if no period
    /// follows.
    package var nextPrice: Int64?
    /// The number of times that the renewal date was extended.
    package var extensionCount = 0
    /// All charges and refunds, oldest first.
    package var charges: [TrueCharge] = []
    /// The seats of a subscription that was bought for several people. Nil for an ordinary
    /// purchase.
    package var seats: TrueSeats?

    package var json: JSON {
        func time(_ date: AppStoreDate?) -> JSON { date.map { .string(RFC3339.text($0)) } ?? .null }
        let span: JSON =
            period.map {
                ["from": time($0.lowerBound), "until": time($0.upperBound)]
            } ?? .null
        let json: JSON = [
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
        return seats.map { json.adding("seats", $0.json) } ?? json
    }
}

/// The true state of a world, which does not depend on its documents.
struct TrueBooks: Sendable {
    let world: World

    init(_ world: World) { self.world = world }
}

extension TrueBooks {
    /// Everything an account has bought: production first, then sandbox, each oldest first.
    func groundTruth(of name: String, at now: AppStoreDate) throws(SimulatorProblem) -> GroundTruth
    {
        let known = [SimulatedEnvironment.production, .sandbox].compactMap {
            world.accounts[Account.Key(name: name, environment: $0)]
        }
        guard !known.isEmpty else { throw .unknownAccount(name) }
        let purchases = known.flatMap { account in
            let chains = world.chains(of: account.key).sorted { $0.id < $1.id }
            let rest = account.oneTimePurchases.compactMap { world.oneTimePurchases[$0] }
            return chains.map { truePurchase($0, at: now) } + rest.map { truePurchase($0) }
        }
        return GroundTruth(
            account: name, now: now, purchases: purchases,
            pending: known.flatMap { pendingOrders(of: $0.key) },
            family: known.compactMap { $0.family.flatMap { world.families[$0]?.trueFamily } }.first,
            claimedSeats: known.flatMap { claimedSeats(of: $0, at: now) })
    }

    /// The true state of one purchase, by its original transaction id or any transaction id.
    func truePurchase(_ id: String, at now: AppStoreDate) throws(SimulatorProblem) -> TruePurchase {
        if let once = world.oneTimePurchases[world.transactionIDs.canonicalID(of: id)] {
            return truePurchase(once)
        }
        return truePurchase(
            try world.subscription(world.transactionIDs.chain(of: id) ?? id), at: now)
    }

    private func truePurchase(_ transaction: StoreTransaction) -> TruePurchase {
        let revoked = transaction.revocation
        return TruePurchase(
            originalTransactionID: transaction.originalID, productID: transaction.product.id,
            environment: transaction.account.environment, state: revoked == nil ? .paid : .refunded,
            isOpen: revoked == nil, until: revoked?.at, willRenew: false, renewsTo: nil,
            isRevoked: revoked != nil, isInGrace: false, isInRetry: false, graceUntil: nil,
            period: nil, ownership: transaction.ownership, charges: transaction.charges)
    }

    private func truePurchase(_ subscription: Subscription, at now: AppStoreDate) -> TruePurchase {
        // A renewal that was charged early has not begun: the period that covers `now` counts.
        let current = subscription.transactions.last { $0.covers(now) }
        let shown = current ?? subscription.begun(by: now) ?? subscription.latest
        var graceUntil: AppStoreDate?
        if case .grace(let until, _) = subscription.phase { graceUntil = until }
        let state = subscription.state(covering: current, at: now)
        return TruePurchase(
            originalTransactionID: subscription.id, productID: shown.product.id,
            environment: subscription.account.environment, state: state,
            isOpen: current != nil || graceUntil != nil,
            until: until(subscription, covering: current, graceUntil: graceUntil),
            willRenew: subscription.willRenew, renewsTo: subscription.upcomingProduct.value.id,
            isRevoked: state == .refunded,
            isInGrace: state == .grace, isInRetry: state == .retry, graceUntil: graceUntil,
            period: shown.expires.map { shown.purchased..<max(shown.purchased, $0) },
            nextBegins: subscription.transactions.first {
                now < $0.purchased && $0.revocation == nil && !$0.isUpgraded
            }?.purchased,
            ownership: shown.ownership, commitment: subscription.trueCommitment,
            priceRise: subscription.isOver ? nil : subscription.announcedRise,
            nextPrice: subscription.willRenew
                ? subscription.nextTotal(world.settings.rules.seats) : nil,
            extensionCount: subscription.extensions.count,
            // Sorted by id, because a reversed refund may have reordered the transactions.
            charges: subscription.transactions.flatMap(\.charges)
                .sorted { $0.transactionID < $1.transactionID },
            seats: trueSeats(of: subscription, at: now))
    }

    /// The end of the paid time that continues without a gap, of the grace period, or of past
    /// access.
    private func until(
        _ subscription: Subscription, covering current: StoreTransaction?,
        graceUntil: AppStoreDate?
    ) -> AppStoreDate? {
        if let graceUntil { return graceUntil }
        guard let current, var end = current.expires else {
            let latest = subscription.lastPaid ?? subscription.latest
            return latest.revocation?.at ?? subscription.graceEnded ?? latest.expires
        }
        for next in subscription.transactions where next.purchased == end && next.covers(end) {
            end = next.expires ?? end
        }
        return end
    }
}

extension Subscription {
    /// Whether another period will be charged, provided the payment succeeds.
    var willRenew: Bool {
        switch phase {
        case .active, .grace, .retry: continuesRenewing
        case .revoked: renews
        case .ended: false
        }
    }

    fileprivate func state(
        covering current: StoreTransaction?, at now: AppStoreDate
    ) -> TruePurchase.State {
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
        // Also applies if a renewal was attempted after a refund and all retries failed.
        case .ended(.billingError): return .expired
        case .active, .ended: return isRefunded(at: now) ? .refunded : .expired
        }
    }

    /// Whether the present or the last period was refunded together with all seats that were added
    /// to it. Ignores a next period that was charged early and has not begun.
    private func isRefunded(at now: AppStoreDate) -> Bool {
        guard let last = begun(by: now), last.revocation != nil else { return false }
        return !transactions.contains {
            $0.id != last.id && $0.isPart(ofPeriodOf: last) && $0.seatsLeft > 0
        }
    }

    /// When the grace period after the latest period ended without a payment. Nil if there was no
    /// grace period.
    fileprivate var graceEnded: AppStoreDate? {
        let began = latest.purchased.milliseconds + Self.sameMomentMillisecondsMax
        guard let grace = steps.lastIndex(where: { $0.stage == .grace }),
            steps[grace].at.milliseconds > began
        else { return nil }
        return steps[grace...].first { $0.stage != .grace }?.at
    }

    /// The period that began last, whatever its state. The period that replaced a member's last
    /// period may not be in the member's own chain.
    fileprivate func begun(by now: AppStoreDate) -> StoreTransaction? {
        transactions.last {
            $0.purchased <= now && (!$0.isUpgraded || sharedBy != nil && $0.id == latest.id)
        }
    }
}
