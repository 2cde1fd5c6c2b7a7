import AppStoreFormats

/// An act on a subscription from outside, with its parameters. It makes one change of the world.
/// Simulated customers, scenarios and tests use the same acts as the routes.
package struct SubscriptionAct: Sendable, CustomStringConvertible {
    /// The verb, and the parameters that differ from their defaults, in words.
    package let description: String
    fileprivate let change: Change

    /// Changes a world. Takes the original transaction id and the time, and returns the
    /// notifications of the change.
    typealias Change =
        @Sendable (inout World, String, AppStoreDate) throws(SimulatorProblem) ->
        [NotificationDraft]

    init(_ description: String, _ change: @escaping Change) {
        self.description = description
        self.change = change
    }
}

/// A parameter as the end of a description. Empty if the parameter has its default.
private func described(_ words: String, _ parameter: String?) -> String {
    parameter.map { "\(words) \($0)" } ?? ""
}

extension RefundOrder {
    /// The end of the description of a refund. Empty for a refund of the whole price.
    var described: String {
        switch share {
        case .whole: ""
        case .prorated(let share?): " \(share) thousandths of a percent"
        case .prorated(nil): " prorated"
        }
    }
}

extension World {
    /// Applies an act to a subscription, by its original transaction id.
    mutating func apply(
        _ act: SubscriptionAct, to id: String, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        try act.change(&self, id, now)
    }
}

// MARK: - The customer decides

extension SubscriptionAct {
    package static let cancel = Self("cancel") { world, id, now throws(SimulatorProblem) in
        try world.cancel(id, at: now)
    }

    package static let resume = Self("resume") { world, id, now throws(SimulatorProblem) in
        try world.resume(id, at: now)
    }

    package static func changeProduct(_ productID: String) -> Self {
        Self("change-product \(productID)") { world, id, now throws(SimulatorProblem) in
            try world.changeProduct(id, to: productID, at: now)
        }
    }

    package static let consent = Self("consent") { world, id, now throws(SimulatorProblem) in
        try world.consent(id, at: now)
    }

    package static let decline = Self("decline") { world, id, now throws(SimulatorProblem) in
        try world.decline(id, at: now)
    }

    /// Redeems a code for a subscription that is active or over.
    ///
    /// - Parameters:
    ///   - offer: the code's reference name.
    ///   - productID: nil for the product that the subscription would renew as.
    package static func redeemCode(offer: String, productID: String? = nil) -> Self {
        Self("redeem-code \(offer)" + described(", product", productID)) {
            world, id, now throws(SimulatorProblem) in
            try world.redeemCode(id, offerID: offer, productID: productID, at: now)
        }
    }

    /// Accepts a win-back offer for a subscription that is over.
    ///
    /// - Parameters:
    ///   - offer: nil for the first offer.
    ///   - productID: nil for the product that the subscription would renew as.
    package static func winBack(offer: String? = nil, productID: String? = nil) -> Self {
        Self("win-back" + described(" offer", offer) + described(", product", productID)) {
            world, id, now throws(SimulatorProblem) in
            try world.winBack(id, offerID: offer, productID: productID, at: now)
        }
    }
}

// MARK: - Payments

extension SubscriptionAct {
    package static let failBilling = Self("fail-billing") { world, id, _ throws(SimulatorProblem) in
        try world.failBilling(id)
    }

    package static let recoverBilling = Self("recover-billing") {
        world, id, now throws(SimulatorProblem) in
        try world.recoverBilling(id, at: now)
    }

    package static let renewNow = Self("renew-now") { world, id, now throws(SimulatorProblem) in
        try world.renewNow(id, at: now)
    }

    /// - Parameter transactionID: the transaction to refund; nil for the latest that is not
    ///   refunded.
    package static func refund(
        _ order: RefundOrder = RefundOrder(), of transactionID: String? = nil
    ) -> Self {
        Self("refund" + order.described + described(" of", transactionID)) {
            world, id, now throws(SimulatorProblem) in
            let chosen = try world.target(transactionID, of: id, isRefunded: false)
            return try world.refund(chosen, order, at: now)
        }
    }

    /// - Parameters:
    ///   - count: how many seats.
    ///   - transactionID: nil for the latest transaction that is not refunded.
    package static func refundSeats(
        _ count: Int64, reason: RevocationReason = .other, of transactionID: String? = nil
    ) -> Self {
        Self("refund of \(count) seats" + described(" of", transactionID)) {
            world, id, now throws(SimulatorProblem) in
            try world.refundSeats(id, count, reason: reason, of: transactionID, at: now)
        }
    }

    /// - Parameter transactionID: nil for the latest transaction that is refunded.
    package static func reverseRefund(of transactionID: String? = nil) -> Self {
        Self("reverse-refund" + described(" of", transactionID)) {
            world, id, now throws(SimulatorProblem) in
            try world.reverseRefund(
                world.target(transactionID, of: id, isRefunded: true), at: now)
        }
    }

    /// - Parameters:
    ///   - decision: nil if the App Store decides later.
    ///   - transactionID: nil for the latest transaction that is not refunded.
    package static func requestRefund(
        _ reason: ConsumptionRequestReason = .unintendedPurchase,
        _ decision: RefundRequest.Decision? = nil, of transactionID: String? = nil
    ) -> Self {
        let text = "request-refund" + described(",", decision?.rawValue)
        return Self(text + described(" of", transactionID)) {
            world, id, now throws(SimulatorProblem) in
            let chosen = try world.target(transactionID, of: id, isRefunded: false)
            return try world.requestRefund(chosen, reason: reason, decision: decision, at: now)
        }
    }
}

extension World {
    fileprivate func target(
        _ transactionID: String?, of id: String, isRefunded: Bool
    ) throws(SimulatorProblem) -> String {
        guard let transactionID else { return try refundable(id, isRefunded: isRefunded) }
        guard transactionIDs.chain(of: transactionID) == id else {
            throw .unknownTransaction(transactionID)
        }
        return transactionIDs.canonicalID(of: transactionID)
    }
}

// MARK: - The developer and the App Store decide

extension SubscriptionAct {
    package static func raisePrice(_ order: PriceRise.Order) -> Self {
        Self("raise-price to \(order.price) thousandths\(order.needsConsent ? ", consent" : "")") {
            world, id, now throws(SimulatorProblem) in
            try world.raisePrice(id, order, at: now)
        }
    }

    package static func extend(_ order: ExtensionOrder) -> Self {
        Self("extend by \(order.days) days") { world, id, now throws(SimulatorProblem) in
            try world.extend(id, by: order, at: now).notices
        }
    }

    package static let removeFromSale = Self("remove-from-sale") {
        world, id, _ throws(SimulatorProblem) in
        try world.removeFromSale(id)
    }

    package static let expire = Self("expire") { world, id, now throws(SimulatorProblem) in
        try world.expire(id, at: now)
    }

    package static func advancedCommerce(_ change: AdvancedCommerceChange) -> Self {
        Self("advanced-commerce \(change.kind.rawValue)") {
            world, id, now throws(SimulatorProblem) in
            [try world.changeAdvancedCommerce(id, change, at: now)]
        }
    }
}

// MARK: - Seats

extension SubscriptionAct {
    /// - Parameter seats: the number of seats of the next period.
    package static func changeSeats(_ seats: Int64) -> Self {
        Self("change-seats to \(seats)") { world, id, now throws(SimulatorProblem) in
            try world.changeSeats(id, to: seats, at: now)
        }
    }

    /// - Parameter account: the account that gets a seat.
    package static func joinGroup(_ account: String) -> Self {
        Self("join-group \(account)") { world, id, now throws(SimulatorProblem) in
            try world.joinGroup(id, account, at: now)
        }
    }

    /// - Parameter account: the account that loses its seat.
    package static func leaveGroup(_ account: String) -> Self {
        Self("leave-group \(account)") { world, id, _ throws(SimulatorProblem) in
            try world.leaveGroup(id, account)
        }
    }
}
