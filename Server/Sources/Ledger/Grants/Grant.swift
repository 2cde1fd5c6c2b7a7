/// An entitlement that was granted manually.
package struct Grant: Hashable, Sendable {
    package var id: GrantID
    package var entitlement: EntitlementID
    package var from: Instant
    /// When the grant ends by itself. Nil if it lasts until it is withdrawn.
    package var until: Instant?
    /// A note for people who review the grant later. It is never shown to the customer.
    package var reason: String
    /// When the grant was withdrawn manually. Nil if it was not.
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

    /// When the grant ends or has ended: by itself, or because it was withdrawn. Nil if it has no
    /// end.
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

/// The source that decides an entitlement: a purchase, or a manual grant.
package struct EntitlementStatus: Hashable, Sendable {
    package var state: Access.State
    /// If the entitlement is open, the time when it ends unless something else happens; nil if it
    /// never ends. If the entitlement is shut, the time since which it is shut.
    package var until: Instant?
    package var reason: Reason
    /// Whether the next renewal continues the access. False for grants. Nil if the App Store has
    /// not reported it.
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

    /// The status that a purchase and grants give together. Open access wins over shut access, and
    /// if several are open, the access that stays open longest wins. If all are shut, a purchase
    /// whose payment is still being collected wins, because it may open again. If nothing else
    /// distinguishes a purchase and a grant, the purchase wins.
    package static func strongest(
        _ access: Access?, _ grants: [Grant], at now: Instant
    ) -> EntitlementStatus? {
        var answer = access.map { EntitlementStatus($0) }
        for grant in grants {
            let right = EntitlementStatus(grant, at: now)
            if answer.map({ right.outranks($0) }) ?? true { answer = right }
        }
        return answer
    }

    private func outranks(_ other: EntitlementStatus) -> Bool {
        if isOpen != other.isOpen { return isOpen }
        if (state == .retry) != (other.state == .retry) { return state == .retry }
        guard until != other.until else {
            guard let mine = grant, let theirs = other.grant else { return false }
            return mine < theirs
        }
        guard let until else { return isOpen }
        guard let theirs = other.until else { return !isOpen }
        return until > theirs
    }
}
