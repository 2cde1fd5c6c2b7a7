/// An error of the App Store Server API: a code that Apple's clients know, and a message. The first
/// three digits of the code are the HTTP status.
struct APIError: Error, Hashable, Sendable {
    let code: Int64
    let message: String

    init(_ code: Int64, _ message: String) {
        self.code = code
        self.message = message
    }

    var status: Int { Int(code / 10_000) }
}

// Apple's names and codes: "Error codes" in the documentation of the App Store Server API. The
// messages are Apple's if a sample is known, and similar otherwise: clients read only the code.

extension APIError {
    static let badRequest = Self(4_000_000, "Bad request.")
    static let invalidRequestRevision = Self(4_000_005, "Invalid request revision.")
    static let invalidTransactionID = Self(4_000_006, "Invalid transaction id.")
    static let invalidOriginalTransactionID = Self(4_000_008, "Invalid original transaction id.")
    static let invalidExtendByDays = Self(4_000_009, "Invalid extend by days value.")
    static let invalidExtendReasonCode = Self(4_000_010, "Invalid extend reason code.")
    static let invalidRequestIdentifier = Self(4_000_011, "Invalid request identifier.")
    static let startDateTooFarInPast = Self(4_000_012, "Start date is too far in the past.")
    static let startDateAfterEndDate = Self(4_000_013, "Start date is after end date.")
    static let invalidPaginationToken = Self(4_000_014, "Invalid pagination token.")
    static let invalidStartDate = Self(4_000_015, "Invalid start date.")
    static let invalidEndDate = Self(4_000_016, "Invalid end date.")
    static let paginationTokenExpired = Self(4_000_017, "Pagination token expired.")
    static let invalidNotificationType = Self(
        4_000_018, "Invalid notification type or subtype.")
    static let multipleFiltersSupplied = Self(4_000_019, "Multiple filters supplied.")
    static let invalidTestNotificationToken = Self(4_000_020, "Invalid test notification token.")
    static let invalidSort = Self(4_000_021, "Invalid sort.")
    static let invalidProductType = Self(4_000_022, "Invalid product type.")
    static let invalidProductID = Self(4_000_023, "Invalid product id.")
    static let invalidSubscriptionGroup = Self(
        4_000_024, "Invalid subscription group identifier.")
    static let invalidExcludeRevoked = Self(4_000_025, "Invalid exclude revoked.")
    static let invalidOwnershipType = Self(4_000_026, "Invalid in app ownership type.")
    static let emptyStorefrontList = Self(4_000_027, "Invalid empty storefront country code list.")
    static let invalidStorefront = Self(4_000_028, "Invalid storefront country code.")
    static let invalidRevoked = Self(4_000_030, "Invalid revoked.")
    static let invalidStatus = Self(4_000_031, "Invalid status.")
    static let invalidTransactionTypeNotSupported = Self(
        4_000_047, "Invalid request. The transaction type isn't supported.")
    static let appTransactionIDNotSupported = Self(
        4_000_048, "Invalid request. App transaction ids aren't supported by this endpoint.")
    static let invalidAppAccountTokenUUID = Self(
        4_000_183, "Invalid request. The app account token field must be a valid UUID.")
    static let familyTransactionNotSupported = Self(
        4_000_185,
        "Invalid request. Family Sharing transactions aren't supported by this endpoint.")
    static let notOriginalTransactionID = Self(
        4_000_187,
        "Invalid request. The transaction ID provided is not an original transaction ID.")
}

// MARK: - Consumption

extension APIError {
    static let invalidAccountTenure = Self(4_000_032, "Invalid account tenure.")
    static let invalidAppAccountToken = Self(4_000_033, "Invalid app account token.")
    static let invalidConsumptionStatus = Self(4_000_034, "Invalid consumption status.")
    static let invalidCustomerConsented = Self(4_000_035, "Invalid customer consented.")
    static let invalidDeliveryStatus = Self(4_000_036, "Invalid delivery status.")
    static let invalidDollarsPurchased = Self(4_000_037, "Invalid lifetime dollars purchased.")
    static let invalidDollarsRefunded = Self(4_000_038, "Invalid lifetime dollars refunded.")
    static let invalidPlatform = Self(4_000_039, "Invalid platform.")
    static let invalidPlayTime = Self(4_000_040, "Invalid play time.")
    static let invalidSampleContentProvided = Self(4_000_041, "Invalid sample content provided.")
    static let invalidUserStatus = Self(4_000_042, "Invalid user status.")
    static let invalidRefundPreference = Self(4_000_044, "Invalid refund preference.")
    static let percentageOutOfRange = Self(4_000_207, "Consumption percentage is out of range.")
    static let undeliveredButConsumed = Self(
        4_000_208, "Consumption percentage must be zero for what was not delivered.")
    static let percentageOfSubscription = Self(
        4_000_209, "Auto-renewable subscriptions have no consumption percentage.")
}

// MARK: - Forbidden, absent, too often, broken

extension APIError {
    static let extensionIneligible = Self(
        4_030_004, "Forbidden - subscription state ineligible for extension.")
    static let extensionsUsedUp = Self(
        4_030_005, "Forbidden - subscription has reached maximum extension count.")
    static let familyExtensionIneligible = Self(
        4_030_007, "Forbidden - family shared subscriptions are extended with their purchaser's.")
    static let originalTransactionIDNotFound = Self(
        4_040_005, "Original transaction id not found.")
    static let notificationURLNotFound = Self(4_040_007, "Server notification URL not found.")
    static let testNotificationNotFound = Self(4_040_008, "Test notification not found.")
    static let statusRequestNotFound = Self(4_040_009, "Status request not found.")
    static let transactionIDNotFound = Self(4_040_010, "Transaction id not found.")
    static let rateLimitExceeded = Self(4_290_000, "Rate limit exceeded.")
    static let generalInternal = Self(5_000_000, "An unknown error occurred.")
    static let generalInternalRetryable = Self(
        5_000_001, "An unknown error occurred. Please try again.")
}

// MARK: - Advanced Commerce

extension APIError {
    static let nullRequestInfo = Self(4_000_079, "Request info is missing.")
    static let nullRequestReferenceID = Self(4_000_080, "Request reference id is missing.")
    static let invalidRequestReferenceID = Self(4_000_081, "Invalid request reference id.")
    static let negativePrice = Self(4_000_086, "Price is negative.")
    static let descriptionTooLong = Self(4_000_088, "Description is too long.")
    static let displayNameTooLong = Self(4_000_089, "Display name is too long.")
    static let repeatedRequestReferenceID = Self(
        4_000_097, "Request reference id was used before.")
    static let nullItems = Self(4_000_101, "Items are missing.")
    static let nullPrice = Self(4_000_109, "Price is missing.")
}

// MARK: - Retention messaging

extension APIError {
    static let invalidImage = Self(4_000_161, "Invalid image.")
    static let headerTooLong = Self(4_000_162, "Header text is too long.")
    static let bodyTooLong = Self(4_000_163, "Body text is too long.")
    static let invalidLocale = Self(4_000_164, "Invalid locale.")
    static let altTextTooLong = Self(4_000_175, "Alternative text is too long.")
    static let invalidPerformanceTest = Self(4_000_211, "Invalid performance test request.")
    static let invalidRequestID = Self(4_000_212, "Invalid request id.")
    static let invalidRealtimeURL = Self(4_000_215, "Invalid realtime URL.")
    static let invalidImageSize = Self(4_000_216, "Invalid image size.")
    static let tooManyBulletPoints = Self(4_000_218, "Too many bullet points.")
    static let bulletPointTooLong = Self(4_000_219, "Bullet point text is too long.")
    static let aboveImageWithoutImage = Self(
        4_000_224, "A header above the image requires an image.")
    static let imagesUsedUp = Self(4_030_014, "Maximum number of images reached.")
    static let messagesUsedUp = Self(4_030_016, "Maximum number of messages reached.")
    static let messageNotApproved = Self(4_030_017, "Message isn't approved.")
    static let imageNotApproved = Self(4_030_018, "Image isn't approved.")
    static let imageInUse = Self(4_030_019, "Image is in use.")
    static let noPassingTest = Self(
        4_030_026, "A passed performance test is required before a production URL.")
    static let imageNotFound = Self(4_040_014, "Image not found.")
    static let messageNotFound = Self(4_040_015, "Message not found.")
    static let performanceTestNotFound = Self(4_040_018, "Performance test run not found.")
    static let defaultMessageNotFound = Self(4_040_020, "Default message not found.")
    static let realtimeURLNotFound = Self(4_040_021, "Realtime URL not found.")
    static let imageAlreadyExists = Self(4_090_000, "Image already exists.")
    static let messageAlreadyExists = Self(4_090_001, "Message already exists.")
}
