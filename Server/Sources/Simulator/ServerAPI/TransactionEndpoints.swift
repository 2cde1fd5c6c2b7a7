import AppStoreFormats
import Foundation

/// Calls about one transaction, and about the status of a customer's subscriptions.
enum TransactionEndpoints {
    static let all = [
        APIEndpoint(
            .get, "v1/transactions/appTransactions/{id}", perSecond: 50
        ) { simulator, call in
            try appTransactionInfo(call, in: simulator)
        },
        APIEndpoint(.get, "v1/transactions/{id}", perSecond: 50) { simulator, call in
            try transactionInfo(call, in: simulator)
        },
        APIEndpoint(.post, "v1/transactions/{id}/finish", perSecond: 50) { simulator, call in
            try finish(call, in: simulator)
        },
        APIEndpoint(
            .put, "v1/transactions/{id}/appAccountToken", perSecond: 20
        ) { simulator, call in
            try setAppAccountToken(call, in: simulator)
        },
        APIEndpoint(.get, "v1/subscriptions/{id}", perSecond: 50) { simulator, call in
            try subscriptionStatuses(call, in: simulator)
        },
    ]
}

extension TransactionEndpoints {
    private static func transactionInfo(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let transaction = try simulator.world.transaction(
            call.parameter("id"), in: call.environment)
        let payload = simulator.world.payload(of: transaction, at: simulator.clock.now)
        return .ok([.init("signedTransactionInfo", try simulator.sign(payload))])
    }

    private static func appTransactionInfo(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let account = try simulator.world.account(ofAny: call.parameter("id"), in: call.environment)
        let payload = try simulator.world.appTransaction(of: account, at: simulator.clock.now)
        return .ok([.init("signedAppTransactionInfo", try simulator.sign(payload))])
    }

    /// Marks a transaction as finished. Idempotent.
    private static func finish(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let transaction = try simulator.world.transaction(
            call.parameter("id"), in: call.environment)
        simulator.world.finished.insert(transaction.id)
        return APIResponse(200)
    }

    /// Sets the app account token of a purchase. Does not wait for a turn: a backend may call it
    /// while a notification of the purchase is being posted to it.
    private static func setAppAccountToken(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let transaction: StoreTransaction
        do throws(APIError) {
            transaction = try simulator.world.transaction(
                call.parameter("id"), in: call.environment)
        } catch {
            // Apple's documentation requires an original transaction id in this path.
            throw error == .transactionIDNotFound ? APIError.originalTransactionIDNotFound : error
        }
        guard transaction.originalID == transaction.id else {
            throw APIError.notOriginalTransactionID
        }
        try requirePurchased(transaction, in: simulator)
        let text = try call.body()["appAccountToken"]?.string
        guard let text, let token = UUID(uuidString: text) else {
            throw APIError.invalidAppAccountTokenUUID
        }
        let lowercased = token.uuidString.lowercased()
        try simulator.record { world, _ in world.setAppAccountToken(lowercased, of: transaction) }
        return APIResponse(200)
    }

    /// Throws if the transaction was purchased by another family member.
    static func requirePurchased(
        _ transaction: StoreTransaction, in simulator: isolated AppStoreSimulator
    ) throws(APIError) {
        let payload = simulator.world.payload(of: transaction, at: simulator.clock.now)
        guard payload.inAppOwnershipType != .assigned else {
            throw .assignedTransactionNotSupported
        }
        guard payload.inAppOwnershipType == .purchased else {
            throw .familyTransactionNotSupported
        }
    }

    private static func subscriptionStatuses(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        let account = try simulator.world.account(ofAny: call.parameter("id"), in: call.environment)
        let wanted = try Self.statuses(call.values("status"))
        var groups: [String: [JSON]] = [:]
        for subscription in simulator.world.chains(of: account) {
            let status = subscription.status(at: simulator.clock.now)
            guard wanted.isEmpty || wanted.contains(status) else { continue }
            var json: JSON = [
                "status": status.json, "originalTransactionId": .string(subscription.id),
                "signedTransactionInfo": try simulator.sign(
                    simulator.world.payload(
                        of: subscription.lastPaid ?? subscription.latest, at: simulator.clock.now)),
            ]
            if subscription.latest.ownership != .assigned
                || !simulator.settings.has(.membersHaveNoRenewalInfo)
            {
                json = json.adding(
                    "signedRenewalInfo",
                    try simulator.sign(
                        simulator.world.renewalPayload(of: subscription, at: simulator.clock.now)))
            }
            groups[subscription.groupID, default: []].append(json)
        }
        let lists = groups.keys.sorted().map { group -> JSON in
            [
                "subscriptionGroupIdentifier": .string(group),
                "lastTransactions": .array(groups[group] ?? []),
            ]
        }
        return .ok(simulator.appMembers(call.environment) + [.init("data", .array(lists))])
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
