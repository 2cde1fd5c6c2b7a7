internal import PerennialContract

/// All documents of the App Store on this device about one purchase, and the documents among them
/// that count.
struct StorePurchase {
    /// The id of the purchase: the original transaction id or, for a term, the term's own
    /// transaction id.
    var id: String
    /// All documents, sorted by time of purchase, including those that the server's answer has
    /// replaced.
    var all: [StoreTransaction]
    /// The documents that count in addition to the server's answer.
    var counting: [StoreTransaction]
    /// The store's status of the purchase. Nil if there is no status, or if the server's answer has
    /// replaced it.
    var status: StoreStatus?
    /// Whether the store's lists do not contain the purchase.
    var isAbsent: Bool
    /// When the purchase was first missing from the store's lists. Nil if the lists contain it.
    var missingSince: Timestamp?
    /// The end of the purchase that the server reports. Nil unless it is later than every end in
    /// the documents.
    var serverEnd: End?

    enum End: Equatable, Comparable {
        case at(Timestamp)
        case never
    }

    /// - Parameters:
    ///   - ends: ends of terms, by transaction id.
    ///   - gives: whether a product gives the entitlement.
    ///   - hold: how long to hold the entitlement open after an end.
    func finding(
        at now: Timestamp, ends: [String: Timestamp], gives: (String) -> Bool,
        hold: (Timestamp) -> HoldTime
    ) -> Finding? {
        let giving = counting.filter {
            gives($0.productID) && !$0.isUpgraded && $0.paidEnd(ends) != nil
        }
        let valid = giving.filter { !isRevoked($0) }
        var finding: Finding?
        if let open = open(valid, at: now, ends) {
            finding = open
        } else if let revoked = revoked(among: giving, after: valid) {
            return revoked
        } else {
            finding = lapsed(valid, at: now, ends, gives: gives, hold: hold)
        }
        return isAbsent ? finding.map(absent) : finding
    }

    /// Whether a document or a later status has revoked the access that the transaction paid for.
    func isRevoked(_ transaction: StoreTransaction) -> Bool {
        if transaction.revokedAt != nil { return true }
        guard let status, status.state == .revoked else { return false }
        return status.signedAt >= transaction.signedAt
    }

    // MARK: - Open

    /// The finding about the periods that were bought and still run. The first of these periods
    /// gives the state, and the latest end counts.
    private func open(
        _ valid: [StoreTransaction], at now: Timestamp, _ ends: [String: Timestamp]
    ) -> Finding? {
        let open = valid.filter { transaction in
            transaction.paidEnd(ends).map { $0 > .at(now) } ?? false
        }
        guard let current = open.first else { return nil }
        let last = open.compactMap { $0.paidEnd(ends) }.max() ?? .never
        return finding(
            about: current, isOpen: true, state: current.openState(ends), until: last.time, rule: 2,
            text: "\(current.productID) is paid \(last.phrase).")
    }

    // MARK: - Shut

    private func revoked(
        among giving: [StoreTransaction], after valid: [StoreTransaction]
    ) -> Finding? {
        // After a refund of added seats, a person who has paid for the other seats of the period
        // keeps access.
        let isWholly = { (refund: StoreTransaction) in
            isRevoked(refund) && !valid.contains { $0.isLeft(ofPeriodOf: refund) }
        }
        guard let revoked = giving.last(where: isWholly),
            valid.last.map({ $0.purchasedAt <= revoked.purchasedAt }) ?? true
        else { return nil }
        let isRefund = revoked.revokedAt != nil && !revoked.isRevokedByFamily
        let at = revoked.revokedAt ?? status?.signedAt ?? revoked.signedAt
        return finding(
            about: revoked, isOpen: false, state: isRefund ? .refunded : .revoked,
            until: min(at, revoked.expiresAt ?? at), rule: 4,
            text: isRefund
                ? "\(revoked.productID) was refunded at \(at)."
                : "\(revoked.productID) is not shared any more since \(at).")
    }

    private func lapsed(
        _ valid: [StoreTransaction], at now: Timestamp, _ ends: [String: Timestamp],
        gives: (String) -> Bool, hold: (Timestamp) -> HoldTime
    ) -> Finding? {
        guard
            let latest = valid.max(by: {
                ($0.paidEnd(ends) ?? .never) < ($1.paidEnd(ends) ?? .never)
            }),
            let end = latest.paidEnd(ends)?.time
        else { return graceAlone(at: now, gives: gives, hold: hold) }
        guard latest.kind == .renewing else {
            return ended(latest, at: end, "\(latest.productID) ended at \(end).")
        }
        let bought = valid.map(\.purchasedAt).max() ?? latest.purchasedAt
        if let next = counting.last(where: { !isRevoked($0) && !$0.isUpgraded }),
            next.purchasedAt > bought, !gives(next.productID)
        {
            return ended(latest, at: end, "It was changed to \(next.productID).")
        }
        if let serverEnd, serverEnd > .at(end) {
            return ended(latest, at: end, "The server knows a later period.")
        }
        let status = status.flatMap { isAbout(end, from: bought, $0) ? $0 : nil }
        let isOff = self.status.map { $0.willRenew == false && $0.signedAt >= bought } ?? false
        let ended = EndedPeriod(end: end, status: status, mayRenew: !isOff, hold: hold(end))
        return finding(about: latest, ended.outcome(at: now))
    }

    /// The finding if the store has reported only a grace period since the server's answer. The
    /// documents of the period before the grace period are older than that answer.
    private func graceAlone(
        at now: Timestamp, gives: (String) -> Bool, hold: (Timestamp) -> HoldTime
    ) -> Finding? {
        guard let status, status.state == .grace, let until = status.graceUntil,
            let last = all.last, last.kind == .renewing, gives(last.productID), !isRevoked(last),
            let end = last.expiresAt, end <= now, isAbout(end, from: last.purchasedAt, status)
        else { return nil }
        let ended = EndedPeriod(
            end: min(end, until), status: status, mayRenew: true, hold: hold(end))
        return finding(about: last, ended.outcome(at: now))
    }

    private func isAbout(_ end: Timestamp, from start: Timestamp, _ status: StoreStatus) -> Bool {
        let half = max(0, (end.milliseconds - start.milliseconds) / 2)
        return status.saidAt >= end.adding(-min(EndedPeriod.collectedAheadMax, half))
    }

    /// The finding if the App Store is known not to list the purchase: an open finding becomes
    /// shut.
    private func absent(_ finding: Finding) -> Finding {
        var shut = finding
        if finding.isOpen {
            shut.isOpen = false
            shut.state = finding.state == .unconfirmed ? .expired : .revoked
            shut.until = missingSince
        }
        shut.rule = 5
        shut.isSilent = false
        shut.text = { "The App Store on this device does not list it any more." }
        return shut
    }

    // MARK: - Creating findings

    private func ended(
        _ last: StoreTransaction, at end: Timestamp, _ text: @escaping @autoclosure () -> String
    ) -> Finding {
        finding(
            about: last, isOpen: false, state: .expired, until: end, rule: 7, text: text())
    }

    private func finding(about last: StoreTransaction, _ outcome: EndedPeriod.Outcome) -> Finding {
        var finding = finding(
            about: last, isOpen: outcome.isOpen, state: outcome.state, until: outcome.until,
            rule: outcome.rule, text: outcome.text())
        finding.isSilent = outcome.isSilent
        if outcome.isByStatus, let status { finding.asOf = status.saidAt }
        return finding
    }

    private func finding(
        about transaction: StoreTransaction, isOpen: Bool, state: AccessState, until: Timestamp?,
        rule: Int, text: @escaping @autoclosure () -> String
    ) -> Finding {
        Finding(
            isOpen: isOpen, state: state, until: until, willRenew: willRenew(after: transaction),
            productID: transaction.productID, basis: transaction.isHeld ? .held : .store,
            asOf: transaction.signedAt, rule: rule, originalTransactionID: transaction.originalID,
            text: text)
    }

    private func willRenew(after transaction: StoreTransaction) -> Bool? {
        guard transaction.kind == .renewing else { return false }
        guard let status, status.isAbout(transaction) else { return nil }
        return status.state == .expired && status.isReliable ? false : status.willRenew
    }
}

extension StorePurchase.End {
    /// The time of the end. Nil if access never ends.
    var time: Timestamp? { if case .at(let time) = self { time } else { nil } }

    fileprivate var phrase: String { time.map { "until \($0)" } ?? "for ever" }
}

extension StoreTransaction {
    /// When the paid time of the transaction is over, if it is not revoked. Nil if the transaction
    /// gives no access.
    func paidEnd(_ terms: [String: Timestamp]) -> StorePurchase.End? {
        switch kind {
        case .renewing: expiresAt.map { .at($0) } ?? .never
        case .nonConsumable: .never
        case .nonRenewing: terms[id].map { .at($0) }
        case .consumable: nil
        }
    }

    fileprivate func openState(_ terms: [String: Timestamp]) -> AccessState {
        if paidEnd(terms) == .never { return .owned }
        switch offer {
        case .none: return .paid
        case .trial: return .trial
        case .other: return .offer
        }
    }
}
