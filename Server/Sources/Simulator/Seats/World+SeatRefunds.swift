import AppStoreFormats

// Refunds of single seats, and the consequences of any refund for a group.

extension StoreTransaction {
    /// Whether the transaction was refunded, in whole or in part.
    var isRefunded: Bool { revocation != nil || seats.map { $0.revoked > 0 } ?? false }
}

extension World {
    /// Refunds seats of the period in force. The transaction that was made last comes first,
    /// because its seats are the cheapest. A transaction of which no seat is left is refunded as a
    /// whole.
    mutating func refundSeats(
        _ id: String, _ count: Int64, reason: RevocationReason, of only: String?,
        at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        var subscription = try subscription(id)
        try checkIsPurchased(subscription.latest)
        guard subscription.group != nil, !subscription.isOver else { throw .noGroup(id) }
        let named = only.map { transactionIDs.canonicalID(of: $0) }
        let places = places(of: subscription, named, at: now)
        let left = places.reduce(0) { $0 + subscription.transactions[$1].seatsLeft }
        guard (1...max(1, left)).contains(count), left > 0 else {
            throw .badRequest(
                "\(count) seats cannot be refunded: there are \(left).",
                remedy: "Send `seats` from 1 to \(left).")
        }
        let touched = revoke(count, from: places, of: &subscription, reason, at: now)
        if let last = touched.last, subscription.isLastPart(last),
            subscription.transactions[last].revocation != nil
        {
            subscription.phase = .revoked
            subscription.renews = settings.has(.refundKeepsRenewalOn) && subscription.renews
        }
        var notices = touched.map { place in
            let transaction = subscription.transactions[place]
            return draft(
                .refund, transaction.revocation == nil ? .seats : nil, of: subscription,
                transaction: transaction, at: now)
        }
        if settings.has(.seatRefundToldOnce) { notices = Array(notices.suffix(1)) }
        notices += unclaimExcess(of: &subscription, at: now)
        save(subscription, at: now)
        return notices
    }

    /// The indices of the parts of the period in force, or of the named part only. The part that
    /// was made last comes first.
    private func places(
        of subscription: Subscription, _ named: String?, at now: AppStoreDate
    ) -> [Int] {
        let parts = subscription.parts(at: now).filter { named == nil || $0.id == named }
        return parts.sorted { ($0.purchased, $0.id) > ($1.purchased, $1.id) }.compactMap { part in
            subscription.transactions.firstIndex { $0.id == part.id }
        }
    }

    /// Refunds seats of the transactions at these indices. Returns the indices of the changed
    /// transactions.
    private func revoke(
        _ count: Int64, from places: [Int], of subscription: inout Subscription,
        _ reason: RevocationReason, at now: AppStoreDate
    ) -> [Int] {
        var rest = count
        var touched: [Int] = []
        for place in places where rest > 0 && subscription.transactions[place].seatsLeft > 0 {
            let transaction = subscription.transactions[place]
            let taken = min(rest, transaction.seatsLeft)
            rest -= taken
            touched.append(place)
            if taken == transaction.seatsLeft {
                revokeSeats(of: place, in: &subscription)
                subscription.transactions[place].revocation = revocation(
                    of: transaction, RefundOrder(reason: reason), at: now)
            } else {
                subscription.transactions[place].seats?.refunds.append(
                    refund(of: taken, transaction, at: now))
                subscription.plannedSeats = max(1, subscription.plannedSeats - taken)
            }
        }
        return touched
    }

    /// A refund of the cheapest seats. The choice of the cheapest is a guess, because Apple
    /// documents no amount.
    private func refund(
        of count: Int64, _ transaction: StoreTransaction, at now: AppStoreDate
    ) -> SeatsBought.Refund {
        let seats = transaction.seats
        let amount = seats?.tiers.cheapest(count, after: seats?.revoked ?? 0) ?? 0
        guard settings.has(.seatRefundNamesPercentage), transaction.price > 0 else {
            return SeatsBought.Refund(at: now, count: count, amount: amount, percentage: nil)
        }
        let earlier = seats?.percentage ?? 0
        let share = RefundPercentage.share(of: amount, in: transaction.price)
        let sum = RefundPercentage.part(earlier + share, of: transaction.price)
        return SeatsBought.Refund(
            at: now, count: count, amount: sum - (seats?.refunded ?? 0), percentage: share)
    }

    /// Plans the next period without the seats of a transaction that is about to be refunded.
    func revokeSeats(of index: Int, in subscription: inout Subscription) {
        let transaction = subscription.transactions[index]
        guard transaction.seats != nil, transaction.isPart(ofPeriodOf: subscription.latest) else {
            return
        }
        subscription.plannedSeats = max(1, subscription.plannedSeats - transaction.seatsLeft)
    }

    /// Reverses the last refund of a transaction's seats, and plans these seats again. If the whole
    /// transaction was refunded later, plans the seats that were left then; the caller reverses
    /// that refund.
    func reverseSeats(
        of index: Int, in subscription: inout Subscription, at now: AppStoreDate
    ) {
        let transaction = subscription.transactions[index]
        guard var seats = transaction.seats else { return }
        let back = transaction.revocation == nil ? seats.reverseRefund(at: now) : seats.left
        subscription.transactions[index].seats = seats
        guard transaction.isPart(ofPeriodOf: subscription.latest) else { return }
        // If the whole period was refunded, no seats are planned.
        let planned = subscription.isOver ? 0 : subscription.plannedSeats
        subscription.plannedSeats = max(1, planned + back)
    }

    // MARK: - Claims and members of what is left

    /// Ends the newest claims of an app's server if a refund leaves fewer seats than claims. Apple
    /// names these claims to the server.
    mutating func unclaimExcess(
        of subscription: inout Subscription, at now: AppStoreDate
    ) -> [NotificationDraft] {
        guard let group = subscription.group, group.invitations == .developer,
            !subscription.isOver
        else { return [] }
        let open = group.openClaims
        let excess = open.count - Int(claimableSeats(of: subscription, at: now))
        guard excess > 0 else { return [] }
        let ids = open.suffix(excess).map(\.id)
        closeClaims(ids, of: &subscription, at: now)
        guard !settings.has(.unclaimSeatsLost) else { return [] }
        var info = UnclaimInfo()
        let environment = subscription.account.environment
        info.environment = environment.storeEnvironment
        info.appAppleId = environment == .production ? settings.appAppleID : nil
        info.bundleId = settings.bundleID
        info.originalTransactionId = subscription.id
        info.unclaimSeatIds = ids
        return [
            draft(
                .unclaimSeats, nil, about: .unclaim(info), of: subscription.account,
                chain: subscription.id, status: nil, row: nil, at: now)
        ]
    }

    /// Removes the members who joined last from their seats, if there are fewer seats than members.
    mutating func unseatExcess(of source: Subscription, at now: AppStoreDate) {
        guard let seated = sharings[source.id]?.seated, !source.isOver else { return }
        let seats = max(0, memberSeats(of: source, at: now))
        if seated.count > seats { sharings[source.id]?.seated = Array(seated.prefix(Int(seats))) }
    }
}
