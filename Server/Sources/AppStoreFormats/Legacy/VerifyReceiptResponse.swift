/// The response of verifyReceipt about an app receipt (Apple: `responseBody`, deprecated since
/// 2023).
package struct VerifyReceiptResponse: WireObject {
    /// The environment of the receipt. Absent if the receipt could not be read or belongs to the
    /// other environment.
    package var environment: StoreEnvironment?
    package var receipt: VerifyReceiptApp?
    /// The account's current transactions, oldest first.
    package var latestRows: [VerifyReceiptRow]?
    /// A new receipt in Base64.
    package var latestReceipt: String?
    package var renewals: [VerifyReceiptRenewal]?
    package var status: VerifyReceiptStatus?
    /// Whether to send the request again. Present if the status is 21100 to 21199, and sometimes if
    /// it is 21010.
    package var isRetryable: Bool?
    package var unknown: [JSON.Member] = []

    package init() {}

    package init(_ status: VerifyReceiptStatus, environment: StoreEnvironment? = nil) {
        self.status = status
        self.environment = environment
    }

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("environment", &environment)
        fields.field("receipt", &receipt)
        fields.field("latest_receipt_info", &latestRows)
        fields.field("latest_receipt", &latestReceipt)
        fields.field("pending_renewal_info", &renewals)
        fields.field("status", &status)
        // The documentation spells the key with a dash; Apple's response with 21010 has an
        // underscore.
        let isUnderscored = status == .unknownAccount
        fields.flag(isUnderscored ? "is_retryable" : "is-retryable", &isRetryable)
        if isRetryable == nil {
            fields.flag(isUnderscored ? "is-retryable" : "is_retryable", &isRetryable)
        }
    }
}

/// The result of a request to verifyReceipt. The HTTP status is always 200.
package struct VerifyReceiptStatus: OpenEnumeration {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// The receipt is valid. The status does not say whether a subscription has expired.
    package static let valid = Self(rawValue: 0)
    /// The request is not a POST, or its body is not JSON.
    package static let unreadable = Self(rawValue: 21000)
    /// `receipt-data` is not a receipt, or the service had a temporary problem.
    package static let malformed = Self(rawValue: 21002)
    package static let notAuthentic = Self(rawValue: 21003)
    package static let wrongSecret = Self(rawValue: 21004)
    package static let unavailable = Self(rawValue: 21005)
    /// The subscription has expired. Returned only for transaction receipts. The response is
    /// complete nevertheless.
    package static let expired = Self(rawValue: 21006)
    package static let sandboxReceipt = Self(rawValue: 21007)
    package static let productionReceipt = Self(rawValue: 21008)
    package static let internalError = Self(rawValue: 21009)
    /// The account does not exist, or no longer exists.
    package static let unknownAccount = Self(rawValue: 21010)

    /// All statuses of Apple's errors.
    package static let range: ClosedRange<Int64> = 21000...21199
    /// The statuses of internal errors, whose responses say whether to send the request again.
    package static let internalRange: ClosedRange<Int64> = 21100...21199
}
