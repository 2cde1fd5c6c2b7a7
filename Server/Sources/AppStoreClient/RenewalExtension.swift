import AppStoreFormats

/// A renewal date that is to be put off ("ExtendRenewalDateRequest").
package struct RenewalExtension: Hashable, Sendable {
    package enum Reason: Int64, Hashable, Sendable, CaseIterable {
        case undeclared = 0
        case satisfaction = 1
        case other = 2
        case outage = 3
    }

    /// That Apple allows in one extension.
    package static let daysRange = 1...90

    package var days: Int
    package var reason: Reason
    /// A UUID of ours.
    package var requestID: String

    package init(days: Int, reason: Reason, requestID: String) {
        self.days = days
        self.reason = reason
        self.requestID = requestID
    }

    var json: JSON {
        [
            "extendByDays": .integer(Int64(days)), "extendReasonCode": .integer(reason.rawValue),
            "requestIdentifier": .string(requestID),
        ]
    }
}

extension AppStoreClient {
    /// Puts off a subscription's renewal: "Extend a Subscription Renewal Date". A repeat with
    /// another `requestID` is another extension, of which Apple allows two in 365 days.
    ///
    /// - Returns: when it will renew.
    package func extend(
        _ originalTransactionID: String, by wish: RenewalExtension,
        in environment: StoreEnvironment
    ) async throws(AppStoreFailure) -> AppStoreDate {
        let id = try Self.checked(originalTransactionID, else: .invalidOriginalTransactionID)
        let answer = try await json(
            .renewalExtension, "/inApps/v1/subscriptions/extend/\(id)", body: wish.json,
            in: environment)
        guard let effective = answer["effectiveDate"].flatMap({ AppStoreDate(json: $0) }) else {
            throw .unreadable("effectiveDate is no date")
        }
        return effective
    }
}
