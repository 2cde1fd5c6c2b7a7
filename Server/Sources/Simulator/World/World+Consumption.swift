import AppStoreFormats

// Refund requests: a customer asks for a refund, Apple sends a consumption request to the app, and
// Apple decides.

/// The app's response to a consumption request.
package struct ConsumptionReply: Hashable, Sendable {
    package enum Preference: String, Hashable, Sendable, CaseIterable {
        case decline = "DECLINE"
        case grantFull = "GRANT_FULL"
        case grantProrated = "GRANT_PRORATED"
    }

    /// The decision that the app prefers. Nil if it stated none.
    package var preference: Preference?
    /// The consumed share, in thousandths of a percent. Nil if the app stated none.
    package var consumedPercentage: Int64?

    package init(preference: Preference? = nil, consumedPercentage: Int64? = nil) {
        self.preference = preference
        self.consumedPercentage = consumedPercentage
    }
}

/// A consumption response about one purchase, as received.
package struct ReceivedConsumption: Hashable, Sendable {
    package let transactionID: String
    package let at: AppStoreDate
    package let body: JSON
    /// Whether the response was requested and arrived in time.
    package let counts: Bool

    /// Maximum number of stored responses; the oldest is removed first.
    static let countMax = 10_000
}

/// A customer's request for a refund of one transaction.
package struct RefundRequest: Hashable, Sendable {
    package enum Decision: String, Hashable, Sendable, CaseIterable {
        case granted
        case declined
    }

    /// The hours in which the app may respond.
    package static let responseHours: Int64 = 12

    package let transactionID: String
    package let reason: ConsumptionRequestReason
    package let requested: AppStoreDate
    /// When Apple decides, unless the request is decided before.
    package let decisionDue: AppStoreDate
    /// Whether the request for a refund has switched renewal off.
    package let switchedRenewalOff: Bool
    package internal(set) var response: ConsumptionReply?
    /// When the app is asked again if it has not responded. Nil if it is not asked again.
    var reminderDue: AppStoreDate?
}

extension World {
    /// Requests a refund: Apple sends a consumption request to the app, and the renewal of a
    /// subscription is switched off. Apple decides later, or now if a decision is given. A second
    /// call decides an open request.
    mutating func requestRefund(
        _ id: String, reason: ConsumptionRequestReason, decision: RefundRequest.Decision? = nil,
        at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        var notices: [NotificationDraft] = []
        if refundRequests[id] == nil {
            notices = try openRefundRequest(id, reason: reason, at: now)
        } else if decision == nil {
            throw .wrongState(
                "A refund of \(id) was already requested.",
                remedy: "Send {\"decision\": \"granted\"} or \"declined\", or advance the clock.")
        }
        if let decision { notices += decideRefund(of: id, decision, at: now) }
        return notices
    }

    private mutating func openRefundRequest(
        _ id: String, reason: ConsumptionRequestReason, at now: AppStoreDate
    ) throws(SimulatorProblem) -> [NotificationDraft] {
        let transaction = try transaction(id)
        try checkIsPurchased(transaction)
        guard transaction.revocation == nil, !transaction.isUpgraded else {
            throw .nothingTo("refund", id)
        }
        var notices = [consumptionRequest(about: transaction, reason: reason, at: now)]
        var switchesOff = false
        if var subscription = subscriptions[transaction.originalID] {
            let isPresent = id == subscription.latest.id || transaction.covers(now)
            // Switching renewal off while a payment is being retried would end the subscription at
            // once.
            switchesOff =
                isPresent && subscription.renews && !subscription.isOver
                && !subscription.isRetrying
            if switchesOff {
                subscription.renews = false
                notices.append(
                    draft(.didChangeRenewalStatus, .autoRenewDisabled, of: subscription, at: now))
                save(subscription, at: now)
            }
        }
        let wait = settings.refundDecisionHours * 3_600_000
        let decides = AppStoreDate(milliseconds: now.milliseconds + wait)
        refundRequests[id] = RefundRequest(
            transactionID: id, reason: reason, requested: now, decisionDue: decides,
            switchedRenewalOff: switchesOff)
        schedule(.refundDecision(transactionID: id), at: decides)
        if settings.has(.consumptionRequestRepeated) { scheduleReminder(of: id, at: now) }
        return notices
    }

    private mutating func scheduleReminder(of id: String, at now: AppStoreDate) {
        let wait = RefundRequest.responseHours * 3_600_000
        let next = AppStoreDate(milliseconds: now.milliseconds + wait)
        guard let request = refundRequests[id], next < request.decisionDue else { return }
        refundRequests[id]?.reminderDue = next
        schedule(.consumptionReminder(transactionID: id), at: next)
    }

    /// Repeats the consumption request if the app has not responded.
    mutating func repeatConsumptionRequest(_ id: String, at now: AppStoreDate)
        -> [NotificationDraft]
    {
        guard let request = refundRequests[id], request.response == nil,
            let transaction = try? transaction(id)
        else { return [] }
        scheduleReminder(of: id, at: now)
        return [consumptionRequest(about: transaction, reason: request.reason, at: now)]
    }

    private mutating func consumptionRequest(
        about transaction: StoreTransaction, reason: ConsumptionRequestReason, at now: AppStoreDate
    ) -> NotificationDraft {
        guard let subscription = subscriptions[transaction.originalID] else {
            return draft(.consumptionRequest, of: transaction, reason: reason, at: now)
        }
        return draft(
            .consumptionRequest, of: subscription, transaction: transaction, reason: reason, at: now
        )
    }

    /// Records the app's response to a consumption request. A response that arrives after twelve
    /// hours, or was not requested, is accepted and has no effect.
    mutating func recordConsumption(
        _ answer: ConsumptionReply, of transactionID: String, body: JSON = .null,
        at now: AppStoreDate
    ) throws(SimulatorProblem) {
        _ = try transaction(transactionID)
        let patience = RefundRequest.responseHours * 3_600_000
        let counts =
            refundRequests[transactionID].map {
                now.milliseconds - $0.requested.milliseconds <= patience
            } ?? false
        if consumptionReceived.count == ReceivedConsumption.countMax {
            consumptionReceived.removeFirst()
        }
        consumptionReceived.append(
            ReceivedConsumption(
                transactionID: transactionID, at: now, body: body, counts: counts))
        if counts { refundRequests[transactionID]?.response = answer }
    }

    /// Decides a refund request: as given, otherwise as the app prefers, otherwise in favour of the
    /// customer. If the request is declined, renewal of the subscription stays off.
    mutating func decideRefund(
        of id: String, _ decision: RefundRequest.Decision? = nil, at now: AppStoreDate
    ) -> [NotificationDraft] {
        guard let request = refundRequests.removeValue(forKey: id),
            let transaction = try? transaction(id), transaction.revocation == nil
        else { return [] }
        let preference = request.response?.preference
        let decision = decision ?? (preference == .decline ? .declined : .granted)
        switch decision {
        case .granted: return grant(request, of: transaction, at: now)
        case .declined: return decline(request, of: transaction, at: now)
        }
    }

    private mutating func grant(
        _ request: RefundRequest, of transaction: StoreTransaction, at now: AppStoreDate
    ) -> [NotificationDraft] {
        let share: RefundOrder.Share
        if request.response?.preference == .grantProrated {
            let consumed = request.response?.consumedPercentage
            share = .prorated(consumed.map { RefundPercentage.whole - $0 })
        } else {
            share = .whole
        }
        let row: LifecycleRow? = transaction.expires == nil ? nil : .refundRequestGranted
        do throws(SimulatorProblem) {
            return try refund(request.transactionID, RefundOrder(share), row: row, at: now)
        } catch {
            // An upgrade has replaced the period meanwhile, and refunded the rest.
            return []
        }
    }

    private mutating func decline(
        _ request: RefundRequest, of transaction: StoreTransaction, at now: AppStoreDate
    ) -> [NotificationDraft] {
        guard var subscription = subscriptions[transaction.originalID] else {
            return [draft(.refundDeclined, of: transaction, at: now)]
        }
        var notices = [
            draft(.refundDeclined, of: subscription, transaction: transaction, at: now)
        ]
        let restores = settings.has(.declinedRefundRestoresRenewal) && request.switchedRenewalOff
        if restores, !subscription.isOver, !subscription.renews {
            subscription.renews = true
            notices.append(
                draft(.didChangeRenewalStatus, .autoRenewEnabled, of: subscription, at: now))
            save(subscription, at: now)
        }
        return notices
    }

    /// A transaction of any kind, by its id.
    func transaction(_ id: String) throws(SimulatorProblem) -> StoreTransaction {
        let id = transactionIDs.canonicalID(of: id)
        if let once = oneTimePurchases[id] { return once }
        let chain = transactionIDs.chain(of: id).flatMap { subscriptions[$0] }
        guard let found = chain?.transactions.last(where: { $0.id == id }) else {
            throw .unknownTransaction(id)
        }
        return found
    }
}
