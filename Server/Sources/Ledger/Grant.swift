/// A right that was given by hand.
package struct Grant: Hashable, Sendable {
    package var id: GrantID
    package var entitlement: EntitlementID
    package var from: Instant
    /// Nil: until it is taken back.
    package var until: Instant?
    /// For those who look later; never told to the customer.
    package var reason: String
    /// When it was taken back by hand.
    package var withdrawnAt: Instant?

    package init(
        id: GrantID, entitlement: EntitlementID, from: Instant, until: Instant?, reason: String,
        withdrawnAt: Instant? = nil
    ) {
        self.id = id
        self.entitlement = entitlement
        self.from = from
        self.until = until
        self.reason = reason
        self.withdrawnAt = withdrawnAt
    }

    /// Where it ends, or ended.
    package var end: Instant? {
        guard let withdrawnAt else { return until }
        return until.map { min($0, withdrawnAt) } ?? withdrawnAt
    }

    package func isOpen(at now: Instant) -> Bool { end.map { now < $0 } ?? true }
}

package struct GrantID: TextIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// What answers for an entitlement: a purchase, or what was given by hand.
package struct Right: Hashable, Sendable {
    package var state: Access.State
    /// Open: where it ends if nothing else happens, nil for never. Shut: since when.
    package var until: Instant?
    package var reason: Reason
    /// Nil where the store has not told us.
    package var willRenew: Bool?
    package var source: Source

    package enum Source: Hashable, Sendable {
        case purchase(PurchaseID, ProductID)
        case grant(GrantID)
    }

    package init(_ access: Access) {
        state = access.state
        until = access.until
        reason = access.reason
        willRenew = access.willRenew
        source = .purchase(access.purchase, access.product)
    }

    package init(_ grant: Grant, at now: Instant) {
        until = grant.end
        willRenew = false
        source = .grant(grant.id)
        if grant.isOpen(at: now) {
            (state, reason) = (.granted, .granted(until: grant.end))
        } else {
            let end = grant.end ?? now
            let isWithdrawn = grant.withdrawnAt.map { $0 <= end } ?? false
            (state, reason) = (isWithdrawn ? .revoked : .expired, .grantEnded(at: end))
        }
    }

    package var isOpen: Bool { state.isOpen }

    package var product: ProductID? {
        if case .purchase(_, let product) = source { product } else { nil }
    }

    package var purchase: PurchaseID? {
        if case .purchase(let purchase, _) = source { purchase } else { nil }
    }

    package var grant: GrantID? {
        if case .grant(let id) = source { id } else { nil }
    }

    /// What a purchase and grants give together. As of purchases, open beats shut, and what stays
    /// open longest answers; where nothing else tells them apart the purchase does.
    package static func answer(
        _ access: Access?, _ grants: [Grant], at now: Instant
    ) -> Right? {
        var answer = access.map { Right($0) }
        for grant in grants {
            let right = Right(grant, at: now)
            if answer.map({ right.outranks($0) }) ?? true { answer = right }
        }
        return answer
    }

    private func outranks(_ other: Right) -> Bool {
        if isOpen != other.isOpen { return isOpen }
        guard until != other.until else {
            guard let mine = grant, let theirs = other.grant else { return false }
            return mine < theirs
        }
        guard let until else { return isOpen }
        guard let theirs = other.until else { return !isOpen }
        return until > theirs
    }
}
