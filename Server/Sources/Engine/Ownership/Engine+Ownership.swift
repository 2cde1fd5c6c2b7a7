import Ledger
import Storage

package typealias StoredTransfer = Storage.Transfer

/// A change of ownership by support: moves a purchase, or confirms where it is.
package struct OwnershipChange: Hashable, Sendable {
    package var purchase: PurchaseID
    package var reason: String

    package static let reasonBytesMax = 500

    package init(purchase: PurchaseID, reason: String) {
        self.purchase = purchase
        self.reason = reason
    }
}

extension Engine {
    /// Moves a purchase to a customer on support's authority, whatever the policy says, or confirms
    /// that it stays with them. Idempotent: if the same change for the same reason is in effect, it
    /// is returned.
    package func transfer(
        _ order: OwnershipChange, to id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> StoredTransfer {
        let (app, _) = try app(appID)
        try id.requireValid()
        let now = now()
        return try await decide { tx in
            guard let timeline = try tx.timeline(of: order.purchase, in: appID) else {
                return .refused(.unknownPurchase(order.purchase))
            }
            if timeline.hasConsumables, try tx.isConsumedByErased(timeline, for: id, in: app) {
                return .refused(.belongsToAnotherCustomer(order.purchase, .usedUp))
            }
            let customer = try tx.customer(id, in: appID, at: now).customer
            if try tx.beneficiary(of: order.purchase, in: appID) == customer {
                if let said = try tx.confirmation(
                    of: order.purchase, of: customer, reason: order.reason, in: appID)
                {
                    return .unchanged(said)
                }
                return .done(
                    try tx.confirm(
                        order.purchase, of: customer, reason: order.reason, in: appID, at: now))
            }
            return .done(
                try tx.move(
                    order.purchase, to: customer, by: .support, reason: order.reason, in: appID,
                    at: now))
        }
    }

    /// All transfers that moved purchases to or from a customer, or that confirmed by support that
    /// they stay, in order.
    package func transfers(
        of id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> [StoredTransfer] {
        _ = try app(appID)
        return try await read { tx in
            guard let customer = try tx.customer(known: id, in: appID)?.customer else { return [] }
            return try tx.transfers(of: customer, in: appID)
        }
    }

    /// Undoes a transfer, whatever caused it. The purchase is then where it was on support's
    /// authority: no policy moves it any more. A customer who had a share in it before gets the
    /// share back, if the policy still is to share. Idempotent.
    package func undoTransfer(
        _ number: Int64, of id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> StoredTransfer {
        let (app, _) = try app(appID)
        let now = now()
        return try await decide { tx in
            let customer = try tx.customer(known: id, in: appID)?.customer
            guard let customer, let transfer = try tx.transfer(number, in: appID),
                transfer.customer == customer || transfer.former == customer
            else { return .refused(.unknownTransfer(number)) }
            guard transfer.undoneAt == nil else { return .unchanged(transfer) }
            guard try tx.isCurrent(transfer, in: appID) else {
                return .refused(.transferSuperseded(transfer.number))
            }
            try tx.undo(transfer, in: appID, at: now)
            let isShared = try transfer.former.map { try tx.isAnonymous($0, in: appID) } ?? false
            if isShared || app.restorePolicy(in: transfer.purchase.environment) == .share {
                try tx.restoreShare(transfer, in: appID, at: now)
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
        let now = now()
        try await changeBlock(of: order.purchase, of: id, app: appID) { tx, owner in
            // The purchase belongs to the customer only by its account token. From now on it does
            // so whatever the token comes to mean.
            if try tx.link(of: order.purchase, in: appID) == nil {
                try tx.link(order.purchase, to: owner, by: .token, in: appID, at: now)
            }
            return try tx.block(order.purchase, of: owner, reason: order.reason, in: appID, at: now)
        }
    }

    /// Allows a purchase to be moved again. Idempotent.
    package func unblock(
        _ purchase: PurchaseID, of id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) {
        let now = now()
        try await changeBlock(of: purchase, of: id, app: appID) { tx, owner in
            try tx.unblock(purchase, of: owner, in: appID, at: now)
        }
    }

    /// The purchases of a customer that are blocked, in the order of the blocks.
    package func blockedPurchases(
        of id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> [PurchaseID] {
        _ = try app(appID)
        return try await read { tx in
            guard let owner = try tx.customer(known: id, in: appID)?.customer else { return [] }
            return try tx.blockedPurchases(of: owner, in: appID, environment: environment)
        }
    }

    /// - Parameter body: returns whether it has changed anything.
    private func changeBlock(
        of purchase: PurchaseID, of id: CustomerID, app appID: AppID,
        _ body: @escaping @Sendable (DatabaseSession, CustomerID) throws -> Bool
    ) async throws(EngineFailure) {
        _ = try app(appID)
        let now = now()
        try await decide { tx -> Decision<Void> in
            guard let owner = try tx.beneficiary(of: purchase, or: id, in: appID, at: now) else {
                return .refused(.unknownPurchase(purchase))
            }
            guard try tx.customer(known: id, in: appID)?.customer == owner else {
                return .refused(.belongsToAnotherCustomer(purchase, .kept))
            }
            return try body(tx, owner) ? .done(()) : .unchanged(())
        }
    }

    /// Runs a transaction that may reject the request. A rejection must not roll back other
    /// transactions of a shared commit, so it is returned and not thrown.
    ///
    /// - Parameter isErasing: see ``transaction(isErasing:outcome:_:)``.
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
    /// It had been done before, and nothing was written. The value is that of the first time.
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

    /// The result of a claim. The app itself stays with whom it was first: no policy moves it.
    func verdict(
        on claim: OwnershipClaim, about purchase: PurchaseID
    ) -> OwnershipClaim.Verdict {
        guard purchase.appTransaction == nil else {
            return claim.verdict(under: .keep, sharing: shareRules(in: purchase.environment))
        }
        return verdict(on: claim, in: purchase.environment)
    }
}

extension DatabaseSession {
    /// Whether a purchase stays with an erased customer, because nobody is left who could owe what
    /// was spent of it. Returns false if it names the customer, and nothing of it was spent.
    fileprivate func isConsumedByErased(
        _ timeline: Timeline, for id: CustomerID, in app: AppSettings
    ) throws -> Bool {
        guard let owner = try link(of: timeline.purchase, in: app.id)?.customer,
            try isPseudonym(owner, in: app.id)
        else { return false }
        let known = try customer(known: id, in: app.id)
        let named = try identified(by: timeline.accountToken, or: known?.ids ?? [id], in: app.id)
        guard let named, named == known?.customer ?? id else { return true }
        return try !isUnspent(timeline, of: owner, in: app)
    }

    /// Whether nothing has happened to the purchase since the transfer, not even that it came back.
    fileprivate func isCurrent(_ transfer: StoredTransfer, in app: AppID) throws -> Bool {
        switch transfer.kind {
        case .moved:
            try link(of: transfer.purchase, in: app)?.customer == transfer.customer
                && !transfer.stays
                && !transfers(of: transfer.customer, in: app).contains {
                    $0.purchase == transfer.purchase && $0.kind == .moved
                        && $0.number > transfer.number && $0.undoneAt == nil && !$0.stays
                }
        case .shared:
            try hasShare(in: transfer.purchase, transfer.customer, in: app)
        }
    }

    /// The customer that a purchase belongs to. If it has no owner but names the given unknown id,
    /// that id becomes a customer.
    fileprivate func beneficiary(
        of purchase: PurchaseID, or id: CustomerID, in app: AppID, at now: Instant
    ) throws -> CustomerID? {
        if let holder = try beneficiary(of: purchase, in: app) { return holder }
        let token = try timeline(of: purchase, in: app)?.accountToken
        guard try identified(by: token, or: [id], in: app) == id else { return nil }
        return try customer(id, in: app, at: now).customer
    }
}
