import AppStoreFormats

/// A number of Apple's page "Error codes". Only those that we treat by themselves have names.
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

    /// To be tried again, as Apple says; with 5000001, which its status says already.
    static let retryable: Set = [
        accountNotFoundRetryable, appNotFoundRetryable, originalTransactionIDNotFoundRetryable,
    ]

    /// The store does not know what was asked about.
    static let unknownIDs: Set = [
        accountNotFound, originalTransactionIDNotFound, transactionIDNotFound,
    ]

    /// A list must be read from its beginning: the place we came to is no longer known.
    static let lostPlace: Set = [
        invalidRequestRevision, invalidPaginationToken, paginationTokenExpired,
    ]

    /// What can be done about it, where that is more than to look it up.
    var remedy: String? {
        switch self {
        case .invalidAppIdentifier, .appNotFound: "Compare bundle_id with App Store Connect."
        case .startDateTooFarInPast: "Ask for 180 days at most, in the sandbox for 30."
        case .notificationURLNotFound:
            "Enter the notification URL in App Store Connect, for production and for the sandbox."
        case .testNotificationNotFound: "Send a new one: it is kept for six months."
        case .extensionIneligible: "Extend active subscriptions that were paid for, and no others."
        case .extensionsUsedUp: "Two extensions in 365 days are all that Apple allows."
        default: nil
        }
    }
}

extension AppStoreFailure {
    /// Whether a list must be read from its beginning.
    var hasLostPlace: Bool {
        guard case .refused(let code, _) = self else { return false }
        return ErrorCode.lostPlace.contains(ErrorCode(rawValue: code))
    }
}
