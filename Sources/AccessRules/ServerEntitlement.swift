internal import PerennialContract

/// The server's statement about one entitlement. It replaces a part of the store's evidence.
struct ServerEntitlement {
    var evidence: ServerEvidence
    var right: ServerEvidence.Right?
    /// Whether later evidence of the store revokes the purchase that gives the entitlement.
    private var isOverthrown = false
    /// Whether later evidence of the store says that the entitlement must not be held open after
    /// its end.
    private var isOverthrownAtEnd = false
    /// What the store said about the entitlement's purchase after the server's answer.
    var status: StoreStatus?

    /// - Parameters:
    ///   - documents: the store's documents that count for the customer, by purchase, sorted by
    ///     time of purchase.
    ///   - gives: whether a product gives the entitlement.
    init(
        _ evidence: ServerEvidence, on right: ServerEvidence.Right?, beside store: StoreEvidence,
        documents: [[StoreTransaction]], gives: (String) -> Bool
    ) {
        self.evidence = evidence
        self.right = right
        guard let right, right.isActive, store.isTrusted, let id = right.originalTransactionID
        else { return }
        status = store.statuses[id].flatMap { $0.counts(beside: evidence.asOf) ? $0 : nil }
        let own = documents.joined().filter { $0.originalID == id }
        if let status, status.state == .revoked {
            isOverthrown = own.allSatisfy {
                $0.revokedAt != nil || $0.signedAt <= status.signedAt
            }
        }
        let isTerm = own.first?.kind == .nonRenewing
        let refunds = (isTerm ? Array(documents.joined()) : own).filter {
            $0.revokedAt != nil && $0.counts(beside: evidence.asOf)
                && (gives($0.productID) || $0.productID == right.productID)
        }
        for refund in refunds where right.isTakenBack(by: refund, own) {
            isOverthrownAtEnd = true
            if right.until.map({ refund.purchasedAt < $0 }) ?? true { isOverthrown = true }
        }
    }

    /// Whether the store has revoked the entitlement's purchase since the server's answer.
    private func isOverthrown(at now: Timestamp) -> Bool {
        isOverthrown || isOverthrownAtEnd && right?.until.map { $0 <= now } == true
    }

    /// Whether the offline limit of this entitlement has passed.
    func isSilent(at now: Timestamp) -> Bool {
        guard let right, right.isActive, let limit = evidence.offlineUntil, now >= limit else {
            return false
        }
        guard let until = right.until else { return true }
        return right.originalTransactionID == nil && until > limit
    }

    /// Whether the server's answer replaces the store's evidence about a purchase, because the
    /// answer is later and knows the purchase.
    func replaces(_ purchase: String, at now: Timestamp) -> Bool {
        if let right, right.isActive, isOverthrown(at: now) || isSilent(at: now) { return false }
        return evidence.verdicts[purchase] == .theirs || right?.originalTransactionID == purchase
    }

    /// What the server's evidence says about the entitlement. Returns nil if the evidence does not
    /// contain the entitlement.
    func finding(at now: Timestamp, hold: (Timestamp) -> HoldTime) -> Finding? {
        guard let right else { return nil }
        if isOverthrown(at: now) { return revoked }
        guard right.isActive else {
            return finding(
                isOpen: false, right.state, until: right.until, rule: 7,
                "The server says that it is \(right.state.rawValue).")
        }
        if isSilent(at: now) {
            return silent(since: evidence.offlineUntil ?? evidence.asOf)
        }
        if right.isCollecting, let status, status.isDecisive {
            let end = min(status.saidAt, right.until ?? status.saidAt)
            return outcome(since: end, at: now, hold: hold)
        }
        guard let until = right.until, until <= now else {
            return finding(
                isOpen: true, right.state, until: right.until, rule: 2,
                "The server says that it is \(right.state.rawValue) "
                    + "\(right.until.map { "until \($0)" } ?? "for ever").")
        }
        return outcome(since: until, at: now, hold: hold)
    }

    private func outcome(
        since end: Timestamp, at now: Timestamp, hold: (Timestamp) -> HoldTime
    ) -> Finding? {
        guard let right else { return nil }
        let isAboutEnd =
            status.map {
                $0.saidAt >= end.adding(-EndedPeriod.collectedAheadMax) || right.isCollecting
            } ?? false
        let ended = EndedPeriod(
            end: end, status: isAboutEnd ? status : nil,
            mayRenew: right.mayRenew && !right.isCollecting && status?.willRenew != false,
            hold: hold(end))
        let outcome = ended.outcome(at: now)
        var finding = finding(
            isOpen: outcome.isOpen, outcome.state, until: outcome.until, rule: outcome.rule,
            outcome.text())
        finding.isSilent = outcome.isSilent
        if outcome.isByStatus, let status {
            finding.basis = .store
            finding.asOf = status.saidAt
        } else if right.isCollecting {
            finding.state = right.state == .grace ? .retry : .expired
            finding.text = { "The server held it open until \(end), and that time is over." }
        } else if !right.mayRenew {
            finding.text = { "It ended at \(end), and it does not renew." }
        }
        return finding
    }

    /// The finding that the store has revoked the purchase. Nil if the store's status does not
    /// report a revocation. If the store has documents about the purchase, their findings say more.
    private var revoked: Finding? {
        guard let status, status.state == .revoked else { return nil }
        var finding = finding(
            isOpen: false, .revoked, until: status.signedAt, rule: 4,
            "The App Store on this device says that it was revoked.")
        (finding.basis, finding.asOf, finding.willRenew) = (.store, status.signedAt, false)
        return finding
    }

    private func silent(since limit: Timestamp) -> Finding {
        var finding = finding(
            isOpen: false, .expired, until: limit, rule: 9,
            "The server has not confirmed it since \(evidence.asOf), and that counts until "
                + "\(limit)."
        )
        finding.isSilent = true
        return finding
    }

    private func finding(
        isOpen: Bool, _ state: AccessState, until: Timestamp?, rule: Int,
        _ text: @escaping @autoclosure () -> String
    ) -> Finding {
        Finding(
            isOpen: isOpen, state: state, until: until, willRenew: right?.willRenew,
            productID: right?.productID, basis: basis, asOf: evidence.asOf, rule: rule,
            originalTransactionID: right?.originalTransactionID, text: text)
    }

    /// The end of the entitlement, if the given purchase gives it and the server's answer still
    /// counts.
    func lastMoment(of purchase: String, at now: Timestamp) -> StorePurchase.End? {
        guard let right, right.isActive, right.originalTransactionID == purchase, !isOverthrown,
            !isOverthrownAtEnd, !isSilent(at: now)
        else { return nil }
        return right.until.map { .at($0) } ?? .never
    }

    var basis: AccessDecision.Basis { evidence.isLive ? .server : .token }
}

extension StoreStatus {
    /// Whether the status proves that a due payment was collected, or that it was not.
    fileprivate var isDecisive: Bool {
        switch state {
        case .subscribed: false
        case .expired: isReliable
        case .grace: graceUntil != nil
        case .retry, .revoked: true
        }
    }
}

extension ServerEvidence.Right {
    /// Whether a refunded document is about the purchase that gives the entitlement.
    ///
    /// - Parameter own: all documents about the entitlement's purchase, sorted by time of purchase.
    fileprivate func isTakenBack(
        by refund: StoreTransaction, _ own: [StoreTransaction]
    ) -> Bool {
        switch refund.kind {
        case .consumable: return false
        case .nonRenewing: return true
        case .nonConsumable: return own.allSatisfy { $0.revokedAt != nil }
        case .renewing:
            guard !refund.isUpgraded || refund.isRevokedByFamily else { return false }
            // After the refund of added seats, the other seats of the period may remain.
            guard !own.contains(where: { $0.isLeft(ofPeriodOf: refund) }) else {
                return false
            }
            guard let until, let end = refund.expiresAt else { return true }
            return isCollecting ? refund == own.last : end >= until
        }
    }

    /// Whether ``until`` is the end of a wait for a payment, not of a paid period.
    var isCollecting: Bool { state == .grace || state == .unconfirmed }
}

extension StoreTransaction {
    /// Whether this transaction pays for the same period as a refunded transaction, and is itself
    /// not refunded.
    func isLeft(ofPeriodOf refund: StoreTransaction) -> Bool {
        id != refund.id && isPart(ofPeriodOf: refund) && revokedAt == nil && !isUpgraded
    }
}
