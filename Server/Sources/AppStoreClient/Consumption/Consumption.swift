import AppStoreFormats

/// What the app reports about a purchase whose customer requests a refund ("ConsumptionRequest").
/// The report may be sent only for customers who have consented.
package struct Consumption: Hashable, Sendable {
    package enum Delivery: Hashable, Sendable {
        /// How much of the purchase was used, in thousandths of a percent; nil for a subscription,
        /// which has no such number.
        case delivered(consumedMilliunits: Int64?)
        case undelivered(Reason)

        package enum Reason: String, Hashable, Sendable, CaseIterable {
            case qualityIssue = "UNDELIVERED_QUALITY_ISSUE"
            case wrongProduct = "UNDELIVERED_WRONG_ITEM"
            case serverOutage = "UNDELIVERED_SERVER_OUTAGE"
            case other = "UNDELIVERED_OTHER"
        }
    }

    package enum Preference: String, Hashable, Sendable, CaseIterable {
        case decline = "DECLINE"
        case grantFull = "GRANT_FULL"
        case grantProrated = "GRANT_PRORATED"
    }

    package var delivery: Delivery
    /// Whether the customer could try the content before buying.
    package var hadSample: Bool
    package var preference: Preference?

    package init(delivery: Delivery, hadSample: Bool, preference: Preference? = nil) {
        self.delivery = delivery
        self.hadSample = hadSample
        self.preference = preference
    }

    var json: JSON {
        var members = [
            JSON.Member("customerConsented", true),
            .init("sampleContentProvided", .bool(hadSample)),
        ]
        switch delivery {
        case .delivered(let consumed):
            members.append(.init("deliveryStatus", "DELIVERED"))
            if let consumed {
                members.append(.init("consumptionPercentage", .integer(consumed)))
            }
        case .undelivered(let reason):
            members.append(.init("deliveryStatus", .string(reason.rawValue)))
        }
        if let preference {
            members.append(.init("refundPreference", .string(preference.rawValue)))
        }
        return .object(members)
    }
}

extension AppStoreClient {
    /// Responds to a CONSUMPTION_REQUEST, within twelve hours: "Send Consumption Information". If
    /// several responses are sent, the last one counts.
    package func sendConsumption(
        _ consumption: Consumption, of transactionID: String, in environment: StoreEnvironment
    ) async throws(AppStoreFailure) {
        let path = "/inApps/v2/transactions/consumption/\(try Self.validated(transactionID))"
        _ = try await perform(.consumption, path, body: consumption.json, in: environment)
    }
}
