import AppStoreFormats

/// A purchase that waits for a parent's or the customer's decision.
struct PendingPurchase: Hashable, Sendable {
    enum Reason: String, Hashable, Sendable, CaseIterable {
        case askToBuy = "ask_to_buy"
        case interrupted
    }

    /// The id by which the purchase is approved, declined or resolved. The transaction of an
    /// approved purchase has a different id.
    let id: String
    let order: PurchaseOrder
    let deviceID: String
    let account: Account.Key
    let storefront: Storefront
    let reason: Reason
    let since: AppStoreDate
}

/// The result of an order.
enum OrderResult: Sendable {
    case purchased(StoreTransaction)
    case pending(PendingPurchase)
    case cancelled
    /// The order failed. The value is StoreKit's name for the error.
    case failed(String)
}

// Ask to Buy, interrupted purchases, and purchases that fail.

extension World {
    /// Maximum number of pending purchases in one world.
    static let pendingMax = 10_000

    /// Processes an order as the App Store's payment sheet does: it is paid, pending, cancelled or
    /// fails. An order that can never be bought is refused before anyone is asked.
    mutating func place(
        _ order: PurchaseOrder, on deviceID: String, at now: AppStoreDate
    ) throws(SimulatorProblem) -> (OrderResult, [NotificationDraft]) {
        let device = try device(deviceID)
        let account = device.account
        orderingDevice = deviceID
        orderIsInView = order.isInView
        var reason: PendingPurchase.Reason?
        switch order.choice {
        case .cancel: return (.cancelled, [])
        case .fail: return (.failed("unknown"), [])
        case .ask: reason = .askToBuy
        case .confirm:
            if settings.rules.failsPurchases { return (.failed("unknown"), []) }
            let asks = accounts[account]?.asksToBuy ?? settings.rules.asksToBuy
            if settings.rules.interruptsPurchases { reason = .interrupted }
            if asks { reason = .askToBuy }
        }
        guard let reason else {
            let (transaction, notices) = try purchase(order, on: deviceID, at: now)
            return (.purchased(transaction), notices)
        }
        guard pendingPurchases.count < Self.pendingMax else { throw .full }
        var rehearsal = self
        _ = try rehearsal.purchase(order, on: deviceID, at: now)
        let pending = PendingPurchase(
            id: numbers.newID(), order: order, deviceID: deviceID, account: account,
            storefront: device.storefront, reason: reason, since: now)
        pendingPurchases[pending.id] = pending
        let fails = reason == .interrupted && settings.has(.interruptedPurchaseFails)
        return (fails ? .failed("unknown") : .pending(pending), [])
    }

    /// Approves, declines or resolves a pending purchase.
    ///
    /// - Returns: the transaction; nil if no purchase is made.
    mutating func resolve(
        pending id: String, _ verb: PendingVerb, at now: AppStoreDate
    ) throws(SimulatorProblem) -> (StoreTransaction?, [NotificationDraft]) {
        guard let pending = pendingPurchases[id] else {
            if verb == .resolve, let chain = transactionIDs.chain(of: id) {
                // As in SKTestSession, the issue of a chain is the payment that is being retried.
                let notices = try recoverBilling(chain, at: now)
                return (try subscription(chain).latest, notices)
            }
            throw SimulatorProblem(
                "unknown_pending_purchase", status: 404, "There is no pending purchase \(id).",
                remedy: "GET /_sim/truth/{account} lists what is pending.")
        }
        guard verb.reason == pending.reason else {
            throw .wrongState(
                "The purchase \(id) is pending for another reason: \(pending.reason.rawValue).",
                remedy: pending.reason == .askToBuy
                    ? "POST …/approve or …/decline." : "POST …/resolve.")
        }
        let isBought = verb != .decline || settings.has(.declinedPurchaseArrives)
        guard isBought else {
            pendingPurchases[id] = nil
            return (nil, [])
        }
        // The buyer is the account that asked, even if another account is signed in on the device
        // by now.
        var buyer = try device(pending.deviceID)
        buyer.account = pending.account
        buyer.storefront = pending.storefront
        let (transaction, notices) = try sell(pending.order, to: buyer, at: now)
        pendingPurchases[id] = nil
        return (transaction, notices)
    }
}

/// What can be done to a pending purchase.
package enum PendingVerb: String, Hashable, Sendable, CaseIterable {
    case approve
    case decline
    case resolve

    fileprivate var reason: PendingPurchase.Reason {
        switch self {
        case .approve, .decline: .askToBuy
        case .resolve: .interrupted
        }
    }
}
