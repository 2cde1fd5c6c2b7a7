/// A version 1 notification (Apple: `responseBodyV1`, deprecated since 2023). It is not signed:
/// only the shared secret in it shows that it comes from Apple.
package struct V1Notification: WireObject {
    package var notificationType: V1NotificationType?
    /// The app's shared secret, in clear text. Do not log it.
    package var password: String?
    package var environment: V1Environment?
    package var autoRenewProductID: String?
    package var autoRenewAdamID: String?
    package var autoRenewStatus: Bool?
    /// When renewal was last switched on or off.
    package var autoRenewStatusChanged: AppStoreDate?
    /// Why the subscription expired. A number here, unlike in other documents.
    package var expirationIntent: ExpirationIntent?
    /// When the purchase was refunded. Only for a subscription.
    package var cancelled: AppStoreDate?
    package var webOrderLineItemID: String?
    /// A transaction receipt in Base64. Present until March 2021.
    package var latestReceipt: String?
    package var latest: TransactionReceipt?
    /// A transaction receipt in Base64. Replaces ``latestReceipt`` once the subscription has
    /// expired or was cancelled.
    package var latestExpiredReceipt: String?
    package var latestExpired: TransactionReceipt?
    /// The account's transactions. Present since November 2019.
    package var unifiedReceipt: V1UnifiedReceipt?
    package var bundleID: String?
    package var bundleVersion: String?
    /// The id of the subscription's first transaction. Present since 2021.
    package var originalTransactionID: UnquotedNumber?
    /// When version 1 was deprecated, as an HTTP date.
    package var deprecation: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("notification_type", &notificationType)
        fields.field("password", &password)
        fields.field("environment", &environment)
        fields.field("auto_renew_product_id", &autoRenewProductID)
        fields.quoted("auto_renew_adam_id", &autoRenewAdamID)
        fields.quoted("auto_renew_status", &autoRenewStatus)
        fields.dates("auto_renew_status_change_date", &autoRenewStatusChanged)
        fields.field("expiration_intent", &expirationIntent)
        fields.dates("cancellation_date", &cancelled)
        fields.quoted("web_order_line_item_id", &webOrderLineItemID)
        fields.field("latest_receipt", &latestReceipt)
        fields.field("latest_receipt_info", &latest)
        fields.field("latest_expired_receipt", &latestExpiredReceipt)
        fields.field("latest_expired_receipt_info", &latestExpired)
        fields.field("unified_receipt", &unifiedReceipt)
        fields.field("bid", &bundleID)
        fields.field("bvrs", &bundleVersion)
        fields.field("original_transaction_id", &originalTransactionID)
        fields.field("deprecation", &deprecation)
    }
}

/// The current state of the account in a version 1 notification: much of what verifyReceipt would
/// return.
package struct V1UnifiedReceipt: WireObject {
    package var status: VerifyReceiptStatus?
    package var environment: StoreEnvironment?
    /// The newest transactions, at most ``rowsMax``.
    package var latestRows: [VerifyReceiptRow]?
    /// An app receipt in Base64.
    package var latestReceipt: String?
    package var renewals: [VerifyReceiptRenewal]?
    package var unknown: [JSON.Member] = []

    package static let rowsMax = 100

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("status", &status)
        fields.field("environment", &environment)
        fields.field("latest_receipt_info", &latestRows)
        fields.field("latest_receipt", &latestReceipt)
        fields.field("pending_renewal_info", &renewals)
    }
}

/// An id that is a number in production and a string elsewhere. Written as a number.
package struct UnquotedNumber: WireValue {
    package var text: String

    package init(_ text: String) { self.text = text }

    package init?(json: JSON) {
        switch json {
        case .string(let string): text = string
        case .integer(let number): text = String(number)
        default: return nil
        }
    }

    package var json: JSON { Int64(text).map { .integer($0) } ?? .string(text) }
}

/// The environment in the words that version 1 notifications use outside the unified receipt.
package struct V1Environment: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let production = Self(rawValue: "PROD")
    package static let sandbox = Self(rawValue: "Sandbox")
}

package struct V1NotificationType: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let cancel = Self(rawValue: "CANCEL")
    package static let consumptionRequest = Self(rawValue: "CONSUMPTION_REQUEST")
    package static let didChangeRenewalPref = Self(rawValue: "DID_CHANGE_RENEWAL_PREF")
    package static let didChangeRenewalStatus = Self(rawValue: "DID_CHANGE_RENEWAL_STATUS")
    package static let didFailToRenew = Self(rawValue: "DID_FAIL_TO_RENEW")
    package static let didRecover = Self(rawValue: "DID_RECOVER")
    package static let didRenew = Self(rawValue: "DID_RENEW")
    package static let initialBuy = Self(rawValue: "INITIAL_BUY")
    package static let interactiveRenewal = Self(rawValue: "INTERACTIVE_RENEWAL")
    package static let priceIncreaseConsent = Self(rawValue: "PRICE_INCREASE_CONSENT")
    package static let refund = Self(rawValue: "REFUND")
    /// A subscription that had expired was renewed. Sent until March 2021.
    package static let renewal = Self(rawValue: "RENEWAL")
    package static let revoke = Self(rawValue: "REVOKE")
}
