import AppStoreFormats
import Foundation

/// Calls about one transaction, and about the status of a customer's subscriptions.
enum TransactionEndpoints {
    static let all = [
        APIEndpoint(
            .get, "v1/transactions/appTransactions/{id}", perSecond: 50
        ) { simulator, call in
            try simulator.appTransactionInfo(call)
        },
        APIEndpoint(.get, "v1/transactions/{id}", perSecond: 50) { simulator, call in
            try simulator.transactionInfo(call)
        },
        APIEndpoint(.post, "v1/transactions/{id}/finish", perSecond: 50) { simulator, call in
            try simulator.finish(call)
        },
        APIEndpoint(
            .put, "v1/transactions/{id}/appAccountToken", perSecond: 20
        ) { simulator, call in
            try simulator.setAppAccountToken(call)
        },
        APIEndpoint(.get, "v1/subscriptions/{id}", perSecond: 50) { simulator, call in
            try simulator.subscriptionStatuses(call)
        },
    ]
}

extension AppStoreSimulator {
    fileprivate func transactionInfo(_ call: APICall) throws -> APIResponse {
        let transaction = try world.transaction(call.parameter("id"), in: call.environment)
        let payload = world.payload(of: transaction, at: clock.now)
        return .ok([.init("signedTransactionInfo", try sign(payload))])
    }

    fileprivate func appTransactionInfo(_ call: APICall) throws -> APIResponse {
        let account = try world.account(ofAny: call.parameter("id"), in: call.environment)
        let payload = try world.appTransaction(of: account, at: clock.now)
        return .ok([.init("signedAppTransactionInfo", try sign(payload))])
    }

    /// Idempotent.
    fileprivate func finish(_ call: APICall) throws -> APIResponse {
        let transaction = try world.transaction(call.parameter("id"), in: call.environment)
        world.finished.insert(transaction.id)
        return APIResponse(200)
    }

    /// Does not wait for a turn: a backend may call it while a notification of the purchase is
    /// being posted to it.
    fileprivate func setAppAccountToken(_ call: APICall) throws -> APIResponse {
        let transaction: StoreTransaction
        do throws(APIError) {
            transaction = try world.transaction(call.parameter("id"), in: call.environment)
        } catch {
            // Apple's documentation requires an original transaction id in this path.
            throw error == .transactionIDNotFound ? APIError.originalTransactionIDNotFound : error
        }
        guard transaction.originalID == transaction.id else {
            throw APIError.notOriginalTransactionID
        }
        try requirePurchased(transaction)
        let text = try call.body()["appAccountToken"]?.string
        guard let text, let token = UUID(uuidString: text) else {
            throw APIError.invalidAppAccountTokenUUID
        }
        let lowercased = token.uuidString.lowercased()
        try record { world, _ in world.setAppAccountToken(lowercased, of: transaction) }
        return APIResponse(200)
    }

    /// Throws if the transaction was purchased by another family member.
    func requirePurchased(_ transaction: StoreTransaction) throws(APIError) {
        let payload = world.payload(of: transaction, at: clock.now)
        guard payload.inAppOwnershipType != .assigned else {
            throw .assignedTransactionNotSupported
        }
        guard payload.inAppOwnershipType == .purchased else {
            throw .familyTransactionNotSupported
        }
    }

    fileprivate func subscriptionStatuses(_ call: APICall) throws -> APIResponse {
        let account = try world.account(ofAny: call.parameter("id"), in: call.environment)
        let wanted = try Self.statuses(call.values("status"))
        var groups: [String: [JSON]] = [:]
        for subscription in world.chains(of: account) {
            let status = subscription.status(at: clock.now)
            guard wanted.isEmpty || wanted.contains(status) else { continue }
            var json: JSON = [
                "status": status.json, "originalTransactionId": .string(subscription.id),
                "signedTransactionInfo": try sign(
                    world.payload(
                        of: subscription.lastPaid ?? subscription.latest, at: clock.now)),
            ]
            if subscription.latest.ownership != .assigned
                || !settings.has(.membersHaveNoRenewalInfo)
            {
                json = json.adding(
                    "signedRenewalInfo",
                    try sign(world.renewalPayload(of: subscription, at: clock.now)))
            }
            groups[subscription.groupID, default: []].append(json)
        }
        let lists = groups.keys.sorted().map { group -> JSON in
            [
                "subscriptionGroupIdentifier": .string(group),
                "lastTransactions": .array(groups[group] ?? []),
            ]
        }
        return .ok(appMembers(call.environment) + [.init("data", .array(lists))])
    }

    private static func statuses(_ texts: [String]) throws(APIError) -> Set<SubscriptionStatus> {
        var statuses: Set<SubscriptionStatus> = []
        for text in texts {
            guard let number = Int64(text), (1...5).contains(number) else { throw .invalidStatus }
            statuses.insert(SubscriptionStatus(rawValue: number))
        }
        return statuses
    }
}
