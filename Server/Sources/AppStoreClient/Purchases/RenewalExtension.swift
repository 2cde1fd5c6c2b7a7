import AppStoreFormats

/// An extension of a renewal date ("ExtendRenewalDateRequest").
package struct RenewalExtension: Hashable, Sendable {
    package enum Reason: Int64, Hashable, Sendable, CaseIterable {
        case undeclared = 0
        case satisfaction = 1
        case other = 2
        case outage = 3
    }

    /// The number of days that Apple allows for one extension.
    package static let daysRange = 1...90

    package var days: Int
    package var reason: Reason
    /// A UUID that the caller chooses.
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
    /// Extends a subscription's renewal date: "Extend a Subscription Renewal Date". A call with
    /// another `requestID` extends the date again. Apple allows two extensions in 365 days.
    ///
    /// - Returns: the new renewal date.
    package func extend(
        _ originalTransactionID: String, by wish: RenewalExtension,
        in environment: StoreEnvironment
    ) async throws(AppStoreFailure) -> AppStoreDate {
        let id = try Self.validated(originalTransactionID, else: .invalidOriginalTransactionID)
        let answer = try await json(
            .renewalExtension, "/inApps/v1/subscriptions/extend/\(id)", body: wish.json,
            in: environment)
        guard let effective = answer["effectiveDate"].flatMap({ AppStoreDate(json: $0) }) else {
            throw .unreadable("effectiveDate must be a date")
        }
        return effective
    }
}
