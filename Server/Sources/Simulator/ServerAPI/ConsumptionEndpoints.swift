import AppStoreFormats
import Foundation

/// What the app says about a purchase whose refund the customer asks for.
enum ConsumptionEndpoints {
    static let all = [
        APIEndpoint(
            .put, "v2/transactions/consumption/{id}", perSecond: 50
        ) { simulator, call in
            try simulator.takeConsumption(call)
        },
        APIEndpoint(
            .put, "v1/transactions/consumption/{id}", perSecond: 50
        ) { simulator, call in
            try simulator.takeFirstConsumption(call)
        },
    ]
}

/// The app's answer to a consumption request, and when it came.
struct ConsumptionStatement: Hashable, Sendable {
    /// What the app would like to happen.
    enum Preference: Hashable, Sendable {
        case none
        case decline
        case grantFull
        case grantProrated
    }

    /// Thousandths of a percent.
    static let wholePercentage: Int64 = 100_000

    let at: AppStoreDate
    let preference: Preference
    /// How much of it the customer has used, in thousandths of a percent.
    let percentage: Int64?
    let isDelivered: Bool

    /// By the page "ConsumptionRequest".
    init(_ body: JSON, for type: ProductType, at now: AppStoreDate) throws(APIError) {
        guard body["customerConsented"] == true else { throw .invalidCustomerConsented }
        guard body["sampleContentProvided"]?.bool != nil else {
            throw .invalidSampleContentProvided
        }
        isDelivered = try Self.isDelivered(body["deliveryStatus"])
        percentage = try Self.percentage(
            body["consumptionPercentage"], for: type, isDelivered: isDelivered)
        preference = try Self.preference(
            body["refundPreference"], for: type, percentage: percentage)
        at = now
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
        guard let percentage = value.integer, (0...wholePercentage).contains(percentage) else {
            throw .percentageOutOfRange
        }
        guard type != .autoRenewable else { throw .percentageOfSubscription }
        guard isDelivered || percentage == 0 else { throw .undeliveredButConsumed }
        return percentage
    }

    private static func preference(
        _ value: JSON?, for type: ProductType, percentage: Int64?
    ) throws(APIError) -> Preference {
        switch value {
        case nil, .null?: return .none
        case "DECLINE"?: return .decline
        case "GRANT_FULL"?: return .grantFull
        case "GRANT_PRORATED"?:
            // How much to give back follows from the time for a subscription, and from the use for
            // all else.
            guard type == .autoRenewable || (1..<wholePercentage).contains(percentage ?? 0) else {
                throw .percentageOutOfRange
            }
            return .grantProrated
        default: throw .invalidRefundPreference
        }
    }

    /// By the page "ConsumptionRequestV1", whose fields are all numbers of a scale.
    init(first body: JSON, at now: AppStoreDate) throws(APIError) {
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
        isDelivered = (body["deliveryStatus"]?.integer ?? 0) == 0
        percentage = nil
        switch body["refundPreference"]?.integer {
        case 1?: preference = .grantFull
        case 2?: preference = .decline
        default: preference = .none
        }
        at = now
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

extension AppStoreSimulator {
    fileprivate func takeConsumption(_ call: APICall) throws -> APIAnswer {
        let transaction = try world.transaction(call.parameter("id"), in: call.environment)
        try requirePurchased(transaction)
        let answer = try ConsumptionStatement(
            call.body(), for: transaction.product.type, at: clock.now)
        return try keep(answer, of: transaction)
    }

    /// The first version is for consumables and subscriptions only.
    fileprivate func takeFirstConsumption(_ call: APICall) throws -> APIAnswer {
        let transaction = try world.transaction(call.parameter("id"), in: call.environment)
        guard [.consumable, .autoRenewable].contains(transaction.product.type) else {
            throw APIError.invalidTransactionTypeNotSupported
        }
        return try keep(
            ConsumptionStatement(first: call.body(), at: clock.now), of: transaction)
    }

    /// Of several answers the last counts.
    private func keep(
        _ statement: ConsumptionStatement, of transaction: StoreTransaction
    ) throws -> APIAnswer {
        api.consumption[transaction.id] = statement
        try world.consumption(statement.answer, of: transaction.id, at: clock.now)
        return APIAnswer(202)
    }
}

extension ConsumptionStatement {
    /// What of it can sway Apple's decision.
    fileprivate var answer: ConsumptionAnswer {
        let preference: ConsumptionAnswer.Preference?
        switch self.preference {
        case .none: preference = nil
        case .decline: preference = .decline
        case .grantFull: preference = .grantFull
        case .grantProrated: preference = .grantProrated
        }
        return ConsumptionAnswer(preference: preference, consumedPercentage: percentage)
    }
}
