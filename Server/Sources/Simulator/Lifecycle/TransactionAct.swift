import AppStoreFormats

/// An act on one transaction of a subscription, or on a one-time purchase. It makes one change of
/// the world.
package struct TransactionAct: Sendable, CustomStringConvertible {
    /// The verb, and the parameters that differ from their defaults, in words.
    package let description: String
    fileprivate let change: SubscriptionAct.Change

    init(_ description: String, _ change: @escaping SubscriptionAct.Change) {
        self.description = description
        self.change = change
    }
}

extension World {
    /// Applies an act to one transaction, by any of its ids.
    mutating func apply(
        _ act: TransactionAct, toTransaction id: String, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        try act.change(&self, transactionIDs.canonicalID(of: id), now)
    }
}

extension TransactionAct {
    package static func refund(_ order: RefundOrder = RefundOrder()) -> Self {
        Self("refund" + order.described) { world, id, now throws(SimulatorProblem) in
            try world.refund(id, order, at: now)
        }
    }

    package static let reverseRefund = Self("reverse-refund") {
        world, id, now throws(SimulatorProblem) in
        try world.reverseRefund(id, at: now)
    }

    /// - Parameter decision: nil if the App Store decides later.
    package static func requestRefund(
        _ reason: ConsumptionRequestReason = .unintendedPurchase,
        _ decision: RefundRequest.Decision? = nil
    ) -> Self {
        Self("request-refund" + (decision.map { ", \($0.rawValue)" } ?? "")) {
            world, id, now throws(SimulatorProblem) in
            try world.requestRefund(id, reason: reason, decision: decision, at: now)
        }
    }
}
