import AppStoreFormats
import Foundation

/// The app's consumption responses about purchases whose refund was requested.
enum ConsumptionEndpoints {
    static let all = [
        APIEndpoint(
            .put, "v2/transactions/consumption/{id}", perSecond: 50
        ) { simulator, call in
            try await receiveConsumption(call, in: simulator)
        },
        APIEndpoint(
            .put, "v1/transactions/consumption/{id}", perSecond: 50
        ) { simulator, call in
            try await receiveConsumptionV1(call, in: simulator)
        },
    ]
}

/// The validated body of a consumption call.
struct ConsumptionBody: Hashable, Sendable {
    let response: ConsumptionReply

    /// Validates a body as defined on the page "ConsumptionRequest".
    init(_ body: JSON, for type: ProductType) throws(APIError) {
        guard body["customerConsented"] == true else { throw .invalidCustomerConsented }
        guard body["sampleContentProvided"]?.bool != nil else {
            throw .invalidSampleContentProvided
        }
        let percentage = try Self.percentage(
            body["consumptionPercentage"], for: type,
            isDelivered: Self.isDelivered(body["deliveryStatus"]))
        let preference = try Self.preference(
            body["refundPreference"], for: type, percentage: percentage)
        response = ConsumptionReply(preference: preference, consumedPercentage: percentage)
    }

    private static func isDelivered(_ value: JSON?) throws(APIError) -> Bool {
        switch value?.string {
        case "DELIVERED"?: return true
        case "UNDELIVERED_QUALITY_ISSUE"?, "UNDELIVERED_WRONG_ITEM"?,
            "UNDELIVERED_SERVER_OUTAGE"?, "UNDELIVERED_OTHER"?:
            return false
        default: throw .invalidDeliveryStatus
        }
    }

    private static func percentage(
        _ value: JSON?, for type: ProductType, isDelivered: Bool
    ) throws(APIError) -> Int64? {
        guard let value, value != .null else { return nil }
        guard let percentage = value.integer, (0...RefundPercentage.whole).contains(percentage)
        else { throw .percentageOutOfRange }
        guard type != .autoRenewable else { throw .percentageOfSubscription }
        guard isDelivered || percentage == 0 else { throw .undeliveredButConsumed }
        return percentage
    }

    private static func preference(
        _ value: JSON?, for type: ProductType, percentage: Int64?
    ) throws(APIError) -> ConsumptionReply.Preference? {
        guard let value, value != .null else { return nil }
        guard let word = value.string,
            let preference = ConsumptionReply.Preference(rawValue: word)
        else { throw .invalidRefundPreference }
        // A partial refund needs a share: of the time for a subscription, of the consumption
        // otherwise.
        let isPart = (1..<RefundPercentage.whole).contains(percentage ?? 0)
        let hasShare = type == .autoRenewable || isPart
        guard preference != .grantProrated || hasShare else { throw .percentageOutOfRange }
        return preference
    }

    /// Validates a body as defined on the page "ConsumptionRequestV1", whose fields are all numbers
    /// on a scale.
    init(first body: JSON) throws(APIError) {
        guard body["customerConsented"] == true else { throw .invalidCustomerConsented }
        guard body["sampleContentProvided"]?.bool != nil else {
            throw .invalidSampleContentProvided
        }
        for (name, highest, error) in Self.scales {
            guard let value = body[name], value != .null else { continue }
            guard let number = value.integer, (0...highest).contains(number) else { throw error }
        }
        let token = body["appAccountToken"]?.string ?? ""
        guard token.isEmpty || UUID(uuidString: token) != nil else {
            throw .invalidAppAccountToken
        }
        switch body["refundPreference"]?.integer {
        case 1?: response = ConsumptionReply(preference: .grantFull)
        case 2?: response = ConsumptionReply(preference: .decline)
        default: response = ConsumptionReply()
        }
    }

    private static let scales: [(name: String, highest: Int64, error: APIError)] = [
        ("consumptionStatus", 3, .invalidConsumptionStatus),
        ("platform", 2, .invalidPlatform),
        ("deliveryStatus", 5, .invalidDeliveryStatus),
        ("accountTenure", 7, .invalidAccountTenure),
        ("playTime", 7, .invalidPlayTime),
        ("lifetimeDollarsRefunded", 7, .invalidDollarsRefunded),
        ("lifetimeDollarsPurchased", 7, .invalidDollarsPurchased),
        ("userStatus", 4, .invalidUserStatus),
        ("refundPreference", 3, .invalidRefundPreference),
    ]
}

extension ConsumptionEndpoints {
    private static func receiveConsumption(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) async throws -> APIResponse {
        let transaction = try simulator.world.transaction(
            call.parameter("id"), in: call.environment)
        try TransactionEndpoints.requirePurchased(transaction, in: simulator)
        let body = try ConsumptionBody(call.body(), for: transaction.product.type)
        return try recordConsumptionBody(body, call.body(), of: transaction, in: simulator)
    }

    /// Records a response of version 1, which is for consumables and subscriptions only.
    private static func receiveConsumptionV1(
        _ call: APICall, in simulator: isolated AppStoreSimulator
    ) async throws -> APIResponse {
        let transaction = try simulator.world.transaction(
            call.parameter("id"), in: call.environment)
        guard [.consumable, .autoRenewable].contains(transaction.product.type) else {
            throw APIError.invalidTransactionTypeNotSupported
        }
        try TransactionEndpoints.requirePurchased(transaction, in: simulator)
        return try recordConsumptionBody(
            ConsumptionBody(first: call.body()), call.body(), of: transaction, in: simulator)
    }

    /// Records a response. If several arrive, the last one counts.
    private static func recordConsumptionBody(
        _ body: ConsumptionBody, _ json: JSON, of transaction: StoreTransaction,
        in simulator: isolated AppStoreSimulator
    ) throws -> APIResponse {
        try simulator.record { world, now throws(SimulatorProblem) in
            try world.recordConsumption(body.response, of: transaction.id, body: json, at: now)
        }
        return APIResponse(202)
    }
}
