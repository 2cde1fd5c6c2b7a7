package import PerennialContract

extension StoreEvidence {
    /// Records a document about one transaction. If there are two documents about the same
    /// transaction, the document that was signed last counts. If both were signed at the same time,
    /// a refund counts.
    ///
    /// Idempotent. The order of the documents does not matter, with one exception: a purchase stays
    /// with the customer for whom its first document was recorded.
    package mutating func record(_ transaction: StoreTransaction) {
        var new = transaction
        let relatives = transactions.values.filter { $0.originalID == new.originalID }
        if let first = relatives.first { new.firstSeenFor = first.firstSeenFor }
        if relatives.allSatisfy({ $0.signedAt < new.signedAt }) {
            // The document is newer than the list that did not contain the purchase.
            absent.remove(new.originalID)
            missing[new.originalID] = nil
        }
        guard let old = transactions[new.id] else {
            transactions[new.id] = new
            return
        }
        var winner = new.outranks(old) ? new : old
        winner.isHeld = old.isHeld && new.isHeld
        if old.signedAt == new.signedAt, old.revokedAt == new.revokedAt {
            winner.isAcknowledged = old.isAcknowledged || new.isAcknowledged
        }
        transactions[new.id] = winner
    }

    /// Records that the server has a document. A newer document of the same transaction, such as a
    /// refund, must still be posted.
    package mutating func acknowledge(_ transaction: StoreTransaction) {
        guard let kept = transactions[transaction.id], kept.hasSameContent(as: transaction) else {
            return
        }
        transactions[transaction.id]?.isAcknowledged = true
    }

    /// Records what the App Store says about the renewal of one subscription. The renewal info that
    /// was signed last counts. If the same renewal info arrives with several states, the state that
    /// was seen last counts.
    ///
    /// Sets `isConfirmed`: a lapse is confirmed if it is seen again 30 seconds after it was first
    /// seen, or in another launch. States other than a lapse need no confirmation.
    ///
    /// - Parameters:
    ///   - now: the reckoned time.
    ///   - launch: a number that differs in each process.
    package mutating func record(_ status: StoreStatus, at now: Timestamp, launch: Int) {
        var new = status
        new.isConfirmed = true
        new.firstLapse = nil
        let old = statuses[new.originalID]
        if let old, new.signedAt < old.signedAt { return }
        if new.state == .expired {
            let first = old?.firstLapse ?? Sighting(seenAt: now, launch: launch)
            new.firstLapse = first
            new.isConfirmed =
                old?.firstLapse != nil && old?.isConfirmed == true
                || first.isConfirmed(at: now, launch: launch)
        }
        statuses[new.originalID] = new
    }

    /// Records which purchases the App Store lists as current. An empty list is ignored. A purchase
    /// counts as absent if it is not listed now, and is still not listed 30 seconds later or in
    /// another launch.
    ///
    /// - Parameters:
    ///   - currentIDs: the original transaction ids of all current entitlements.
    ///   - now: the reckoned time.
    ///   - launch: a number that differs in each process.
    package mutating func recordList(of currentIDs: Set<String>, at now: Timestamp, launch: Int) {
        guard !currentIDs.isEmpty else { return }
        answeredAt = max(answeredAt ?? now, now)
        for (id, transaction) in transactions where currentIDs.contains(transaction.originalID) {
            transactions[id]?.isHeld = false
        }
        for purchase in Set(transactions.values.filter(\.kind.isListed).map(\.originalID)) {
            guard !currentIDs.contains(purchase) else {
                absent.remove(purchase)
                missing[purchase] = nil
                continue
            }
            let first = missing[purchase] ?? Sighting(seenAt: now, launch: launch)
            missing[purchase] = first
            if first.isConfirmed(at: now, launch: launch) { absent.insert(purchase) }
        }
    }
}

extension Sighting {
    /// For how many milliseconds a device may report a false state while it renews a subscription.
    package static let confirmationMilliseconds: Int64 = 30_000

    fileprivate func isConfirmed(at now: Timestamp, launch: Int) -> Bool {
        launch != self.launch
            || now.milliseconds - seenAt.milliseconds >= Self.confirmationMilliseconds
    }
}

extension StoreTransaction {
    /// Whether two documents have the same meaning for the server. StoreKit occasionally signs the
    /// same content again.
    package func hasSameContent(as other: Self) -> Bool {
        expiresAt == other.expiresAt && revokedAt == other.revokedAt
            && isUpgraded == other.isUpgraded && seats == other.seats
    }

    fileprivate func outranks(_ other: Self) -> Bool {
        if signedAt != other.signedAt { return signedAt > other.signedAt }
        return revokedAt != nil && other.revokedAt == nil
    }
}

extension StoreTransaction.Kind {
    /// Whether the App Store lists a purchase of this kind as long as it is current. Terms and
    /// consumables are different: the App Store lists only the latest term of a product, and never
    /// lists consumables.
    fileprivate var isListed: Bool { self == .renewing || self == .nonConsumable }
}
