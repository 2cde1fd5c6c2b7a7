/// A fault of one layer. Its raw value is its name in `POST /_sim/faults`.
package protocol FaultKind: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
    /// What happens, in one sentence.
    var summary: String { get }
}

extension FaultKind {
    /// The kind of invalid document that the fault sends, if a kind has the same name as the fault.
    var defect: DocumentDefect? { DocumentDefect(rawValue: rawValue) }
}

/// What can go wrong with a notification on its way from the App Store to the server.
package enum NotificationFault: String, FaultKind {
    // When the notification arrives, and how many times. The first of these faults that occurs
    // counts.
    case drop
    case burst
    case duplicate
    case reorder
    case delay
    // What the notification contains.
    case otherTransactionID = "other_transaction_id"
    case unknownType = "unknown_type"
    case unknownSubtype = "unknown_subtype"
    case unknownStatus = "unknown_status"
    case unknownOfferType = "unknown_offer_type"
    case unknownValue = "unknown_value"
    // How much of the notification arrives.
    case truncate
    // Documents that are sent with the notification, that Apple did not sign, and that a server
    // must refuse.
    case forged
    case tampered
    case truncated
    case expired
    case wrongApp = "wrong_app"
    case wrongEnvironment = "wrong_environment"

    package var summary: String {
        switch self {
        case .drop: "It is never sent."
        case .burst: "It is sent six times at once, whatever the response."
        case .duplicate: "It is sent twice."
        case .reorder: "It is held until after the next one, or for an hour."
        case .delay: "It is sent later, by delay_seconds."
        case .otherTransactionID:
            "A renewal has another transactionId, with the same webOrderLineItemId."
        case .unknownType: "Its notificationType is unknown."
        case .unknownSubtype: "Its subtype is unknown."
        case .unknownStatus: "Its status is an unknown number."
        case .unknownOfferType: "Its offerType and offerDiscountType are unknown."
        case .unknownValue: "It has unknown fields, and an unknown value of an enumeration."
        case .truncate: "The body of the first attempt is truncated."
        case .forged, .tampered, .truncated, .expired, .wrongApp, .wrongEnvironment:
            defect?.summary ?? ""
        }
    }
}

/// What can go wrong with a request to the App Store Server API.
package enum APIFault: String, FaultKind {
    case unauthorized
    case notFound = "not_found"
    case rateLimit = "rate_limit"
    case error
    case retryableError = "retryable_error"
    case slow
    case stale
    case expiredToken = "expired_token"

    package var summary: String {
        switch self {
        case .unauthorized: "401, although the token is valid."
        case .notFound: "404 (4040010) for an id that exists."
        case .rateLimit: "429, with Retry-After in milliseconds since 1970."
        case .error: "500 (5000000): not retryable."
        case .retryableError: "500 (5000001): retryable."
        case .slow: "The response is delayed by slow_seconds of real time."
        case .stale: "The response is that to the same request at most stale_seconds ago."
        case .expiredToken: "A page's token has expired (4000017)."
        }
    }
}
