import Ledger
import Storage

/// A grant that support makes to a customer.
package struct NewGrant: Hashable, Sendable {
    package var entitlement: EntitlementID
    /// When the grant ends by itself. If nil, the grant lasts until it is withdrawn.
    package var until: Instant?
    package var reason: String
    /// The caller's idempotency key: requests with the same key are for the same grant.
    package var key: String?

    package static let reasonBytesMax = 500

    package init(
        entitlement: EntitlementID, until: Instant? = nil, reason: String, key: String? = nil
    ) {
        self.entitlement = entitlement
        self.until = until
        self.reason = reason
        self.key = key
    }
}

/// Entitlements that support grants manually.
package struct GrantService: Sendable {
    let context: Context

    /// Grants a customer an entitlement. Idempotent if the request has a key: repeated requests
    /// return the first result.
    package func add(
        _ order: NewGrant, to id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> StoredGrant {
        let (app, _) = try context.app(appID)
        try id.requireValid()
        guard app.entitlements[order.entitlement] != nil else {
            throw .unknownEntitlement(
                order.entitlement, known: app.entitlements.keys.sorted())
        }
        let now = context.now()
        let name = order.grantID
        return try await context.decide { tx in
            if let kept = try tx.grants.find(name, in: appID) {
                let known = try tx.customers.find(known: id, in: appID)?.customer
                let isSame =
                    kept.customer == known && kept.environment == environment
                    && kept.grant.matches(order)
                return isSame ? .unchanged(kept) : .refused(.idempotencyKeyReused)
            }
            if let until = order.until, until <= now {
                return .refused(.grantAlreadyExpired(until))
            }
            let customer = try IdentityUpdates(tx).customer(id, in: appID, at: now).customer
            let kept = StoredGrant(
                Grant(
                    id: name, entitlement: order.entitlement, from: now, until: order.until,
                    reason: order.reason),
                to: customer, in: environment)
            try GrantUpdates(tx).add(kept, in: appID)
            return .done(kept)
        }
    }

    /// Withdraws a grant. Idempotent. A grant that has ended is not changed.
    package func withdraw(
        _ grantID: GrantID, of id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> StoredGrant {
        _ = try context.app(appID)
        let now = context.now()
        return try await context.decide { tx in
            guard let kept = try tx.grants.find(grantID, in: appID),
                try tx.customers.find(known: id, in: appID)?.customer == kept.customer
            else { return .refused(.unknownGrant(grantID)) }
            guard kept.grant.isOpen(at: now) else { return .unchanged(kept) }
            try GrantUpdates(tx).withdraw(kept, in: appID, at: now)
            var withdrawn = kept
            withdrawn.grant.withdrawnAt = now
            return .done(withdrawn)
        }
    }

    /// All grants of a customer, in order of time.
    package func all(
        of id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> [Grant] {
        _ = try context.app(appID)
        return try await context.read { tx in
            guard let known = try tx.customers.find(known: id, in: appID) else { return [] }
            return try tx.grants.all(of: known.customer, in: appID, environment: environment)
        }
    }
}

extension NewGrant {
    /// The number of characters of a grant's id after its prefix.
    private static let idCharacters = 24

    /// The grant's id: derived from the idempotency key, so that a repeated request gets the same
    /// id; random without a key.
    fileprivate var grantID: GrantID {
        let digits = IdempotencyKey.digits(
            for: key.map { "grant \($0)" }, count: Self.idCharacters)
        return GrantID(rawValue: "grt_\(digits)")
    }
}

extension Grant {
    fileprivate func matches(_ order: NewGrant) -> Bool {
        entitlement == order.entitlement && until == order.until && reason == order.reason
    }
}
