import AppStoreFormats

/// A number from Apple's page "Error codes". Only the codes that need special treatment have names.
struct ErrorCode: OpenEnumeration {
    let rawValue: Int64
    init(rawValue: Int64) { self.rawValue = rawValue }

    static let invalidAppIdentifier = Self(rawValue: 4_000_002)
    static let invalidRequestRevision = Self(rawValue: 4_000_005)
    static let invalidTransactionID = Self(rawValue: 4_000_006)
    static let invalidOriginalTransactionID = Self(rawValue: 4_000_008)
    static let startDateTooFarInPast = Self(rawValue: 4_000_012)
    static let invalidPaginationToken = Self(rawValue: 4_000_014)
    static let paginationTokenExpired = Self(rawValue: 4_000_017)
    static let invalidTestNotificationToken = Self(rawValue: 4_000_020)
    static let extensionIneligible = Self(rawValue: 4_030_004)
    static let extensionsUsedUp = Self(rawValue: 4_030_005)
    static let accountNotFound = Self(rawValue: 4_040_001)
    static let accountNotFoundRetryable = Self(rawValue: 4_040_002)
    static let appNotFound = Self(rawValue: 4_040_003)
    static let appNotFoundRetryable = Self(rawValue: 4_040_004)
    static let originalTransactionIDNotFound = Self(rawValue: 4_040_005)
    static let originalTransactionIDNotFoundRetryable = Self(rawValue: 4_040_006)
    static let notificationURLNotFound = Self(rawValue: 4_040_007)
    static let testNotificationNotFound = Self(rawValue: 4_040_008)
    static let transactionIDNotFound = Self(rawValue: 4_040_010)

    /// The codes for which Apple says to retry the request. Code 5000001 is missing because its
    /// HTTP status already says so.
    static let retryable: Set = [
        accountNotFoundRetryable, appNotFoundRetryable, originalTransactionIDNotFoundRetryable,
    ]

    /// The codes which mean that the App Store does not know the given id.
    static let unknownIDs: Set = [
        accountNotFound, originalTransactionIDNotFound, transactionIDNotFound,
    ]

    /// The codes after which a list must be read again from its beginning, because Apple no longer
    /// knows the position in the list.
    static let invalidCursors: Set = [
        invalidRequestRevision, invalidPaginationToken, paginationTokenExpired,
    ]

    /// What an operator can do about this code; nil if there is no specific advice.
    var remedy: String? {
        switch self {
        case .invalidAppIdentifier, .appNotFound: "Compare bundle_id with App Store Connect."
        case .startDateTooFarInPast: "Query at most 180 days, or 30 days in the sandbox."
        case .notificationURLNotFound:
            "Enter the notification URL in App Store Connect, for production and for the sandbox."
        case .testNotificationNotFound: "Send a new one: Apple stores them for six months."
        case .extensionIneligible: "Extend only active subscriptions that were paid for."
        case .extensionsUsedUp: "Apple allows at most two extensions in 365 days."
        default: nil
        }
    }
}

extension AppStoreFailure {
    /// Whether a list must be read again from its beginning.
    var requiresRestart: Bool {
        guard case .refused(let code, _) = self else { return false }
        return ErrorCode.invalidCursors.contains(ErrorCode(rawValue: code))
    }
}
