import Ledger
import Storage

/// A change of ownership by support: moves a purchase, or confirms its owner.
package struct OwnershipChange: Hashable, Sendable {
    package var purchase: PurchaseID
    package var reason: String

    package static let reasonBytesMax = 500

    package init(purchase: PurchaseID, reason: String) {
        self.purchase = purchase
        self.reason = reason
    }
}

/// Moves purchases between customers, blocks moves, and gives account tokens.
package struct OwnershipService: Sendable {
    let context: Context

    /// Moves a purchase to a customer on support's authority, or confirms that the customer has it.
    /// Ignores the restore policy. Idempotent: if the same change for the same reason is in effect,
    /// it is returned.
    package func transfer(
        _ order: OwnershipChange, to id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> StoredTransfer {
        let (app, _) = try context.app(appID)
        try id.requireValid()
        let now = context.now()
        return try await context.decide { tx in
            guard let timeline = try tx.purchases.timeline(of: order.purchase, in: appID) else {
                return .refused(.unknownPurchase(order.purchase))
            }
            if timeline.hasConsumables,
                try OwnershipDecisions(tx).isConsumedByErased(timeline, for: id, in: app)
            {
                return .refused(.belongsToAnotherCustomer(order.purchase, .usedUp))
            }
            let customer = try IdentityUpdates(tx).customer(id, in: appID, at: now).customer
            if try OwnershipUpdates(tx).beneficiary(of: order.purchase, in: appID) == customer {
                if let said = try tx.transfers.confirmation(
                    of: order.purchase, of: customer, reason: order.reason, in: appID)
                {
                    return .unchanged(said)
                }
                return .done(
                    try OwnershipUpdates(tx).confirm(
                        order.purchase, of: customer, reason: order.reason, in: appID, at: now))
            }
            return .done(
                try OwnershipUpdates(tx).move(
                    order.purchase, to: customer, by: .support, reason: order.reason, in: appID,
                    at: now))
        }
    }

    /// All transfers that moved purchases to or from a customer, or by which support confirmed an
    /// owner, in order.
    package func transfers(
        of id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> [StoredTransfer] {
        _ = try context.app(appID)
        return try await context.read { tx in
            guard let customer = try tx.customers.find(known: id, in: appID)?.customer else {
                return []
            }
            return try tx.transfers.all(of: customer, in: appID)
        }
    }

    /// Undoes a transfer, whatever caused it. The purchase then belongs to its earlier owner by
    /// support's authority, so that policies no longer move it. A customer who had a share in the
    /// purchase before gets the share back, if the policy is still `share`. Idempotent.
    package func undoTransfer(
        _ number: Int64, of id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> StoredTransfer {
        let (app, _) = try context.app(appID)
        let now = context.now()
        return try await context.decide { tx in
            let customer = try tx.customers.find(known: id, in: appID)?.customer
            guard let customer, let transfer = try tx.transfers.find(number, in: appID),
                transfer.customer == customer || transfer.former == customer
            else { return .refused(.unknownTransfer(number)) }
            guard transfer.undoneAt == nil else { return .unchanged(transfer) }
            guard try OwnershipDecisions(tx).isCurrent(transfer, in: appID) else {
                return .refused(.transferSuperseded(transfer.number))
            }
            try OwnershipUpdates(tx).undo(transfer, in: appID, at: now)
            let isShared =
                try transfer.former.map { try OwnershipDecisions(tx).isAnonymous($0, in: appID) }
                ?? false
            if isShared || app.restorePolicy(in: transfer.purchase.environment) == .share {
                try OwnershipUpdates(tx).restoreShare(transfer, in: appID, at: now)
            }
            var undone = transfer
            undone.undoneAt = now
            return .done(undone)
        }
    }

    /// Prevents a purchase from being moved away from its owner until it is unblocked. Idempotent.
    package func block(
        _ order: OwnershipChange, of id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) {
        let now = context.now()
        try await changeBlock(of: order.purchase, of: id, app: appID) { tx, owner in
            // The purchase belongs to the customer only because of the purchase's account token.
            // From now on the purchase stays with the customer, even if the token later identifies
            // someone else.
            if try tx.links.find(of: order.purchase, in: appID) == nil {
                try OwnershipUpdates(tx).link(
                    order.purchase, to: owner, by: .token, in: appID, at: now)
            }
            return try OwnershipUpdates(tx).block(
                order.purchase, of: owner, reason: order.reason, in: appID, at: now)
        }
    }

    /// Allows a purchase to be moved again. Idempotent.
    package func unblock(
        _ purchase: PurchaseID, of id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) {
        let now = context.now()
        try await changeBlock(of: purchase, of: id, app: appID) { tx, owner in
            try OwnershipUpdates(tx).unblock(purchase, of: owner, in: appID, at: now)
        }
    }

    /// The purchases of a customer that are blocked, in the order of the blocks.
    package func blockedPurchases(
        of id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> [PurchaseID] {
        _ = try context.app(appID)
        return try await context.read { tx in
            guard let owner = try tx.customers.find(known: id, in: appID)?.customer else {
                return []
            }
            return try tx.links.blockedPurchases(of: owner, in: appID, environment: environment)
        }
    }

    /// - Parameter body: makes the change, and returns whether it has changed anything.
    private func changeBlock(
        of purchase: PurchaseID, of id: CustomerID, app appID: AppID,
        _ body: @escaping @Sendable (DatabaseSession, CustomerID) throws -> Bool
    ) async throws(EngineFailure) {
        _ = try context.app(appID)
        let now = context.now()
        try await context.decide { tx -> Decision<Void> in
            guard
                let owner = try OwnershipDecisions(tx).beneficiary(
                    of: purchase, or: id, in: appID, at: now)
            else {
                return .refused(.unknownPurchase(purchase))
            }
            guard try tx.customers.find(known: id, in: appID)?.customer == owner else {
                return .refused(.belongsToAnotherCustomer(purchase, .kept))
            }
            return try body(tx, owner) ? .done(()) : .unchanged(())
        }
    }
}

extension Context {
    /// Runs a transaction that may reject the request. A rejection must not roll back other
    /// transactions of a shared commit, so it is returned and not thrown.
    ///
    /// - Parameter isErasing: see ``Context/transaction(isErasing:outcome:_:)``.
    func decide<Value: Sendable>(
        isErasing: Bool = false,
        _ body: @escaping @Sendable (DatabaseSession) throws -> Decision<Value>
    ) async throws(EngineFailure) -> Value {
        switch try await transaction(isErasing: isErasing, outcome: \.outcome, body) {
        case .done(let value), .unchanged(let value): return value
        case .refused(let failure): throw failure
        }
    }
}

/// What a transaction has decided about a request.
enum Decision<Value: Sendable>: Sendable {
    case done(Value)
    /// The request had been carried out before, and nothing was written. The value is the result of
    /// the earlier request.
    case unchanged(Value)
    case refused(EngineFailure)

    var outcome: ActOutcome {
        switch self {
        case .done: .done
        case .unchanged: .unchanged
        case .refused: .refused
        }
    }
}

extension AppSettings {
    /// The result of a claim under the app's policy.
    func verdict(on claim: OwnershipClaim, in environment: Environment) -> OwnershipClaim.Verdict {
        claim.verdict(under: restorePolicy(in: environment), sharing: shareRules(in: environment))
    }

    /// The result of a claim. The purchase of the app itself stays with its first owner: no policy
    /// moves it.
    func verdict(
        on claim: OwnershipClaim, about purchase: PurchaseID
    ) -> OwnershipClaim.Verdict {
        guard purchase.appTransaction == nil else {
            return claim.verdict(under: .keep, sharing: shareRules(in: purchase.environment))
        }
        return verdict(on: claim, in: purchase.environment)
    }
}
