import AppStoreFormats

/// Something done to a subscription from outside, with all its parameters.
package enum SubscriptionAct: Hashable, Sendable {
    case cancel
    case resume
    /// The product to change to.
    case changeProduct(String)
    case failBilling
    case recoverBilling
    /// `of` is a transaction id. Without it, the latest transaction for which the act is possible.
    /// The same applies to the cases below.
    case refund(RefundOrder = RefundOrder(), of: String? = nil)
    case reverseRefund(of: String? = nil)
    case requestRefund(
        ConsumptionRequestReason = .unintendedPurchase, RefundRequest.Decision? = nil,
        of: String? = nil)
    case raisePrice(PriceRise.Order)
    case consent
    case decline
    case extend(ExtensionOrder)
    case removeFromSale
    case expire
    case renewNow
    case advancedCommerce(AdvancedCommerceChange)
    /// The number of seats of the next period.
    case changeSeats(Int64)
    /// The number of seats to refund.
    case refundSeats(Int64, reason: RevocationReason = .other, of: String? = nil)
    /// The account that gets a seat.
    case joinGroup(String)
    case leaveGroup(String)
}

/// Something done to one transaction.
package enum TransactionAct: Hashable, Sendable {
    case refund(RefundOrder = RefundOrder())
    case reverseRefund
    case requestRefund(
        ConsumptionRequestReason = .unintendedPurchase, RefundRequest.Decision? = nil)
}

extension World {
    /// Applies an act to a subscription, by its original transaction id.
    mutating func apply(
        _ act: SubscriptionAct, to id: String, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        switch act {
        case .cancel: return try cancel(id, at: now)
        case .resume: return try resume(id, at: now)
        case .changeProduct(let productID): return try changeProduct(id, to: productID, at: now)
        case .failBilling: return try failBilling(id)
        case .recoverBilling: return try recoverBilling(id, at: now)
        case .refund(let order, let transactionID):
            let chosen = try target(transactionID, of: id, isRefunded: false)
            return try refund(chosen, order, at: now)
        case .reverseRefund(let transactionID):
            return try reverseRefund(target(transactionID, of: id, isRefunded: true), at: now)
        case .requestRefund(let reason, let decision, let transactionID):
            let chosen = try target(transactionID, of: id, isRefunded: false)
            return try requestRefund(chosen, reason: reason, decision: decision, at: now)
        case .raisePrice(let order): return try raisePrice(id, order, at: now)
        case .consent: return try consent(id, at: now)
        case .decline: return try decline(id, at: now)
        case .extend(let order): return try extend(id, by: order, at: now).notices
        case .removeFromSale: return try removeFromSale(id)
        case .expire: return try expire(id, at: now)
        case .renewNow: return try renewNow(id, at: now)
        case .advancedCommerce(let change):
            return [try changeAdvancedCommerce(id, change, at: now)]
        case .changeSeats(let seats): return try changeSeats(id, to: seats, at: now)
        case .refundSeats(let count, let reason, let transactionID):
            return try refundSeats(id, count, reason: reason, of: transactionID, at: now)
        case .joinGroup(let account): return try joinGroup(id, account, at: now)
        case .leaveGroup(let account): return try leaveGroup(id, account)
        }
    }

    /// Applies an act to one transaction, of a subscription or not.
    mutating func apply(
        _ act: TransactionAct, toTransaction id: String, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        let id = canonicalID(of: id)
        switch act {
        case .refund(let order): return try refund(id, order, at: now)
        case .reverseRefund: return try reverseRefund(id, at: now)
        case .requestRefund(let reason, let decision):
            return try requestRefund(id, reason: reason, decision: decision, at: now)
        }
    }

    private func target(
        _ transactionID: String?, of id: String, isRefunded: Bool
    ) throws(SimulatorProblem) -> String {
        guard let transactionID else { return try refundable(id, isRefunded: isRefunded) }
        guard chainOfTransaction[transactionID] == id else {
            throw .unknownTransaction(transactionID)
        }
        return canonicalID(of: transactionID)
    }
}
