/// Something that can go wrong in one layer, by the name that it has in `POST /_sim/faults`.
package protocol FaultKind: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
    /// What happens, in one sentence.
    var summary: String { get }
}

extension FaultKind {
    /// The document that none of Apple's is, where the fault is one: by the same name.
    var spoilage: Spoilage? { Spoilage(rawValue: rawValue) }
}

/// What can go wrong between the store that sends a notification and the server.
package enum NotificationFault: String, FaultKind {
    // When it comes, and how often. The first of these that strikes counts.
    case drop
    case burst
    case duplicate
    case reorder
    case delay
    // What it says.
    case otherTransactionID = "other_transaction_id"
    case unknownType = "unknown_type"
    case unknownSubtype = "unknown_subtype"
    case unknownStatus = "unknown_status"
    case unknownOfferType = "unknown_offer_type"
    case unknownValue = "unknown_value"
    // How much of it arrives.
    case truncate
    // What else comes with it: documents that are not Apple's, and must be refused.
    case forged
    case tampered
    case truncated
    case expired
    case wrongApp = "wrong_app"
    case wrongEnvironment = "wrong_environment"

    package var summary: String {
        switch self {
        case .drop: "It is never sent."
        case .burst: "It is sent six times at once, whatever the answer."
        case .duplicate: "It is sent twice."
        case .reorder: "It is held back until after the next one, or for an hour."
        case .delay: "It is sent later, by delay_seconds."
        case .otherTransactionID:
            "A renewal is told under another transactionId, with the same webOrderLineItemId."
        case .unknownType: "Its notificationType is one that nobody knows."
        case .unknownSubtype: "Its subtype is one that nobody knows."
        case .unknownStatus: "Its status is a number that nobody knows."
        case .unknownOfferType: "Its offerType and offerDiscountType are none that anybody knows."
        case .unknownValue: "It has fields, and a value of an enumeration, that nobody knows."
        case .truncate: "The body of the first attempt ends in the middle."
        case .forged, .tampered, .truncated, .expired, .wrongApp, .wrongEnvironment:
            spoilage?.summary ?? ""
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
        case .unauthorized: "401, though the token is good."
        case .notFound: "404 (4040010) for an id that exists."
        case .rateLimit: "429, with Retry-After in milliseconds since 1970."
        case .error: "500 (5000000): not to be tried again."
        case .retryableError: "500 (5000001): to be tried again."
        case .slow: "The answer comes late, by slow_seconds of real time."
        case .stale: "The answer is the one given to the same question at most stale_seconds ago."
        case .expiredToken: "A page's token has expired (4000017)."
        }
    }
}
