// A one-time purchase can have several transactions: a restore can make a new transaction, which
// names the first transaction as its original. All of them are one purchase: bought once, paid
// once, refunded once.

extension Timeline {
    /// What documents say about one transaction of a period.
    package struct Copy: Hashable, Sendable {
        package var sourced: Sourced<Payment>
        /// Whether an earlier document reported the transaction as revoked, but the latest document
        /// does not. This means that the refund was reversed.
        package var wasRevoked: Bool

        package init(_ sourced: Sourced<Payment>, wasRevoked: Bool = false) {
            self.sourced = sourced
            self.wasRevoked = wasRevoked
        }

        package var payment: Payment { sourced.value.value }
        package var attestedAt: Instant { sourced.value.at }

        /// Combines what two sets of documents say about the same transaction.
        fileprivate func adding(_ other: Self) -> Self {
            let joined = sourced.adding(other.sourced)
            let wasRevoked = [self, other].contains {
                $0.wasRevoked || $0.payment.revocation != nil
            }
            return Self(
                joined, wasRevoked: wasRevoked && joined.value.value.revocation == nil)
        }

        /// Whether this copy comes before another: the original transaction comes first, and then
        /// the other copies in the order in which they were restored.
        fileprivate func precedes(_ other: Self, of purchase: PurchaseID) -> Bool {
            let (one, two) = (payment, other.payment)
            let isFirst = one.transaction == purchase.original
            if isFirst != (two.transaction == purchase.original) { return isFirst }
            return (one.obtainedAt, one.transaction) < (two.obtainedAt, two.transaction)
        }
    }

    /// Whether the timeline has several copies of one purchase as separate periods.
    var hasSeparateCopies: Bool {
        guard periods.count > 1 else { return false }
        var ids: Set<String> = []
        for index in periods.indices where periods[index].payment.isBoughtOnce {
            guard ids.insert(periods[index].id).inserted else { return true }
        }
        return false
    }

    /// The periods of a timeline, with the copies of each purchase joined.
    static func joinedCopies(of timeline: Timeline) -> [Period] {
        var periods: [Period] = []
        for period in timeline.periods {
            if period.payment.isBoughtOnce,
                let index = periods.firstIndex(where: { $0.id == period.id })
            {
                let copies = periods[index].copies.adding(period.copies)
                periods[index] = Period(copies, of: timeline.purchase)
            } else {
                periods.append(period)
            }
        }
        return periods
    }
}

extension [Timeline.Copy] {
    /// The copies of two sets of documents, ordered by transaction.
    func adding(_ others: Self) -> Self {
        var copies = self
        for other in others {
            if let index = copies.firstIndex(where: {
                $0.payment.transaction == other.payment.transaction
            }) {
                copies[index] = copies[index].adding(other)
            } else {
                copies.append(other)
            }
        }
        return copies.sorted { $0.payment.transaction < $1.payment.transaction }
    }

    /// How the purchase was revoked. Nil if it was not revoked, or is no longer revoked.
    ///
    /// A refund that names any copy revokes every copy that existed when the refund was made. Two
    /// things undo the revocation: a later document in which a revoked copy is no longer revoked,
    /// and a copy that was obtained after the refund.
    fileprivate var revocation: Revocation? {
        let revoked = filter { $0.payment.revocation != nil }
        guard let last = revoked.max(by: { !$0.sourced.value.supersedes($1.sourced.value) }),
            let revocation = last.payment.revocation
        else { return nil }
        let isUndone = contains { copy in
            guard copy.payment.revocation == nil else { return false }
            return copy.wasRevoked && copy.attestedAt > last.attestedAt
                || copy.payment.obtainedAt > revocation.at
        }
        return isUndone ? nil : revocation
    }
}

extension Timeline.Period {
    /// The period that copies of one purchase describe. Its payment is the payment of the first
    /// transaction, and it begins at the earliest date of all copies.
    init(_ copies: [Timeline.Copy], of purchase: PurchaseID) {
        guard copies.count > 1 || copies[0].wasRevoked else {
            self.init(copies[0].sourced)
            return
        }
        let inOrder = copies.sorted { $0.precedes($1, of: purchase) }
        // Legacy documents contain neither a price nor a storefront.
        let fullest = inOrder.first { $0.sourced.sources.grade == .signed } ?? inOrder[0]
        var payment = fullest.payment
        payment.transaction = inOrder[0].payment.transaction
        payment.from = inOrder.map(\.payment.from).min() ?? payment.from
        payment.restoredAt = nil
        payment.revocation = copies.revocation
        payment.price = payment.price ?? inOrder.lazy.compactMap(\.payment.price).first
        if payment.kind == .unknown {
            let known = copies.map(\.payment.kind).filter { $0 != .unknown }
            payment.kind = known.max { $0.rawValue < $1.rawValue } ?? .unknown
        }
        let named = copies.filter { $0.payment.accountToken != nil }
        payment.accountToken =
            named.max { !$0.sourced.value.supersedes($1.sourced.value) }?.payment.accountToken
        let attestedAt = copies.map(\.attestedAt).max() ?? fullest.attestedAt
        self.init(
            Timeline.sourced(payment, at: attestedAt, fullest.sourced.sources), copies: copies)
    }

    /// Every number under which the period was reported. The first is the number of its payment.
    package var transactions: [TransactionID] {
        let others = copies.map(\.payment.transaction).filter { $0 != payment.transaction }
        return [payment.transaction] + others
    }
}

extension Payment {
    /// Whether the product is bought once, so that every transaction of its purchase is the same
    /// purchase. A legacy document that does not name the kind is about such a product if the
    /// document names no end.
    var isBoughtOnce: Bool {
        switch kind {
        case .nonConsumable, .consumable, .nonRenewing: true
        case .unknown: until == nil
        case .autoRenewable: false
        }
    }

    /// When the transaction was made: at the purchase, or at a restore.
    var obtainedAt: Instant { restoredAt ?? from }
}
