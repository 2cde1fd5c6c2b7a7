import AppStoreFormats

/// One subscription, or one one-time purchase, as it was known at any moment of the past. Made from
/// the world's state, not from the documents that it has sent.
struct PurchaseHistory: Sendable {
    /// A charge, and its refunds.
    struct Charge: Sendable {
        let transaction: StoreTransaction
        /// When the customer was charged: at the beginning of the period, even if that was early;
        /// later if the payment succeeded in the grace period.
        let at: AppStoreDate
        /// The refunds of the charge, oldest first.
        let refunds: [Refund]
        /// The amount of refunded single seats that count as if they had not been charged.
        var unchargedSeats: Int64 = 0
        /// The number of refunded single seats that count as if they had not been charged.
        var unchargedSeatCount: Int64 = 0

        /// The amount that counts as charged, in thousandths of the currency's unit.
        var price: Int64 { transaction.price - unchargedSeats }
    }

    struct Refund: Hashable, Sendable {
        /// The date of the refund, or the date of the charge if that is later. A charge has the
        /// date at which its period begins.
        let at: AppStoreDate
        /// When the refund was actually made.
        let given: AppStoreDate
        /// The refunded amount, in thousandths of the currency's unit.
        let amount: Int64
        let reversed: AppStoreDate?
        /// The number of refunded seats if other seats are left, so that the period continues; 0
        /// otherwise.
        var seats: Int64 = 0

        var isOfSeats: Bool { seats > 0 }
    }

    /// The state of a subscription at a moment, with its charge.
    enum Standing: Sendable {
        /// The moment is within the period of this charge.
        case open(Charge)
        case grace(after: Charge)
        case retry(after: Charge)
    }

    /// The charges in the order of their periods.
    let charges: [Charge]
    /// The changes of phase and renewal. Empty for a one-time purchase.
    let steps: [ChainStep]
    /// The moments at which the renewal date was extended.
    let extensions: [AppStoreDate]

    /// The history as if payments collected in a grace period had been made at its beginning, and
    /// as if single seats that were refunded had not been charged. Documents do not say when a
    /// payment was collected, or when single seats were refunded.
    ///
    /// - Parameter isRestated: whether to leave out refunds that were reversed, as if they had
    ///   never been given.
    func asCollected(isRestated: Bool) -> Self {
        let known = charges.map { charge in
            let uncharged = charge.refunds.filter { $0.isOfSeats && $0.reversed == nil }
            return Charge(
                transaction: charge.transaction, at: charge.transaction.purchased,
                refunds: charge.refunds.filter {
                    !$0.isOfSeats && (!isRestated || $0.reversed == nil)
                },
                unchargedSeats: uncharged.reduce(0) { $0 + $1.amount },
                unchargedSeatCount: uncharged.reduce(0) { $0 + $1.seats })
        }
        return Self(charges: known, steps: steps, extensions: extensions)
    }

    /// The state of the subscription at a moment. Returns nil if nothing is open, in its grace
    /// period or being retried.
    func standing(at moment: AppStoreDate) -> Standing? {
        // The first transaction of a period stands for all transactions of the period.
        let open =
            charges.last { $0.isOpen(at: moment) && $0.transaction.beginsPeriod }
            ?? charges.last { $0.isOpen(at: moment) }
        if let open { return .open(open) }
        let last = charges.last { $0.at <= moment && !$0.transaction.isUpgraded }
        guard let last else { return nil }
        switch steps.last(where: { $0.at <= moment })?.stage {
        case .grace: return .grace(after: last)
        case .retry: return .retry(after: last)
        case .active, .ended, .revoked, nil: return nil
        }
    }
}

extension PurchaseHistory {
    /// The number of people for whom a subscription in a state is paid. This is one, unless the
    /// subscription was bought in seats. Zero if the period is free, or its payment is being
    /// retried.
    func seats(in standing: Standing, at moment: AppStoreDate) -> Int64 {
        let present: Charge
        switch standing {
        case .retry: return 0
        case .open(let charge), .grace(let charge): present = charge
        }
        guard present.transaction.offer?.discount != .freeTrial else { return 0 }
        return charges.filter { charge in
            guard charge.transaction.isPart(ofPeriodOf: present.transaction) else { return false }
            guard case .grace = standing else { return charge.isOpen(at: moment) }
            // All parts of a period end together, unless one of them was refunded earlier.
            return charge.at <= moment
                && !charge.isRefunded(at: charge.transaction.expires ?? moment)
        }.reduce(0) { $0 + $1.seats(at: moment) }
    }
}

extension PurchaseHistory.Charge {
    fileprivate func seats(at moment: AppStoreDate) -> Int64 {
        let given = refunds.filter { $0.at <= moment && $0.reversed.map { moment < $0 } ?? true }
        let bought = (transaction.seats?.count ?? 1) - unchargedSeatCount
        return given.reduce(bought) { $0 - $1.seats }
    }

    /// Whether the period includes a moment, and was paid and not refunded at that moment.
    func isOpen(at moment: AppStoreDate) -> Bool {
        guard transaction.purchased <= moment, at <= moment, !isRefunded(at: moment) else {
            return false
        }
        return transaction.expires.map { moment < $0 } ?? true
    }

    /// Whether the period has begun or will begin. A period that was charged early may have been
    /// refunded or replaced by another product before its beginning.
    var begins: Bool {
        !refunds.contains {
            $0.reversed == nil && $0.given < transaction.purchased && !$0.isOfSeats
        }
    }

    /// Whether the period had been refunded, or replaced by another product, at a moment.
    func isRefunded(at moment: AppStoreDate) -> Bool {
        refunds.contains { refund in
            refund.at <= moment && !refund.isOfSeats
                && refund.reversed.map { moment < $0 } ?? true
        }
    }
}

extension TrueBooks {
    /// The production purchases of all accounts whose purchases the App Store reports: first
    /// subscriptions, then one-time purchases. Omits purchases that are shared by Family Sharing.
    var purchaseHistories: [PurchaseHistory] {
        let chains = world.subscriptions.all.filter { $0.sharedBy == nil && isReported($0.account) }
        let once = world.oneTimePurchases.values
            .filter { $0.ownership == .purchased && isReported($0.account) }
            .sorted { $0.id < $1.id }
        return chains.map(history) + once.map(history)
    }

    private func isReported(_ account: Account.Key) -> Bool {
        account.environment == .production && !world.unreportedAccounts.contains(account.name)
    }

    private func history(of chain: Subscription) -> PurchaseHistory {
        let charges = chain.transactions.filter { !isExtension($0) }
            .sorted { ($0.purchased, $0.id) < ($1.purchased, $1.id) }
            .map { charge($0, at: chain.moneyMoment(of: $0)) }
        return PurchaseHistory(
            charges: charges, steps: chain.steps, extensions: chain.extensions)
    }

    private func history(of transaction: StoreTransaction) -> PurchaseHistory {
        PurchaseHistory(
            charges: [charge(transaction, at: transaction.purchased)], steps: [], extensions: [])
    }

    /// Whether a transaction stands only for time that the developer has added for free.
    private func isExtension(_ transaction: StoreTransaction) -> Bool {
        world.settings.has(.extensionMakesTransaction) && transaction.reason == .renewal
            && transaction.price == 0 && transaction.offer == nil
    }

    private func charge(
        _ transaction: StoreTransaction, at moment: AppStoreDate
    ) -> PurchaseHistory.Charge {
        let reversed = (world.reversedRefunds[transaction.id] ?? []).map {
            transaction.refund($0.revocation, reversed: $0.reversed, of: moment)
        }
        let present = transaction.revocation.map {
            transaction.refund($0, reversed: nil, of: moment)
        }
        return PurchaseHistory.Charge(
            transaction: transaction, at: moment,
            refunds: transaction.seatRefunds(of: moment) + reversed + [present].compactMap(\.self))
    }
}

extension Subscription {
    /// The maximum rounding difference in milliseconds: a period that is paid in grace begins when
    /// grace began.
    static let sameMomentMillisecondsMax: Int64 = 1_000

    /// When a period was charged: normally at its beginning; at the end of a grace period if one
    /// began with the period.
    fileprivate func moneyMoment(of transaction: StoreTransaction) -> AppStoreDate {
        let start = transaction.purchased
        // The period was charged early and refunded before it began. So the grace period belongs to
        // the period that replaced it.
        if let revocation = transaction.revocation, revocation.at < start { return start }
        let unpaid = steps.firstIndex {
            $0.stage == .grace
                && abs($0.at.milliseconds - start.milliseconds) <= Self.sameMomentMillisecondsMax
        }
        guard let unpaid else { return start }
        return steps[unpaid...].first { $0.stage != .grace }?.at ?? start
    }
}

extension StoreTransaction {
    fileprivate func refund(
        _ revocation: Revocation, reversed: AppStoreDate?, of charge: AppStoreDate
    ) -> PurchaseHistory.Refund {
        PurchaseHistory.Refund(
            at: max(revocation.at, charge), given: revocation.at,
            amount: amount(of: revocation), reversed: reversed)
    }

    fileprivate func seatRefunds(of charge: AppStoreDate) -> [PurchaseHistory.Refund] {
        (seats?.refunds ?? []).map { refund in
            PurchaseHistory.Refund(
                at: max(refund.at, charge), given: refund.at, amount: refund.amount,
                reversed: refund.reversed, seats: refund.count)
        }
    }
}
