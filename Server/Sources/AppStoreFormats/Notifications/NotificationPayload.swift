/// The payload of a version 2 notification (Apple: `ResponseBodyV2DecodedPayload`). Exactly one of
/// `data`, `summary`, `externalPurchaseToken`, `appData`, and `unclaimInfo` is present, or else a
/// part that this version does not know.
package struct NotificationPayload: WireObject {
    package var notificationType: NotificationType?
    package var subtype: NotificationSubtype?
    /// The id of the notification, the same in every retry.
    package var notificationUUID: String?
    package var version: String?
    package var signedDate: AppStoreDate?
    package var data: NotificationData?
    package var summary: NotificationSummary?
    package var externalPurchaseToken: ExternalPurchaseToken?
    package var appData: NotificationAppData?
    package var unclaimInfo: UnclaimInfo?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("notificationType", &notificationType)
        fields.field("subtype", &subtype)
        fields.field("notificationUUID", &notificationUUID)
        fields.field("version", &version)
        fields.field("signedDate", &signedDate)
        fields.field("data", &data)
        fields.field("summary", &summary)
        fields.field("externalPurchaseToken", &externalPurchaseToken)
        fields.field("appData", &appData)
        fields.field("unclaimInfo", &unclaimInfo)
    }
}

extension NotificationPayload {
    /// The names of the unknown parts, if the notification has no known part.
    package var unknownParts: [String] {
        guard data == nil, summary == nil, externalPurchaseToken == nil, appData == nil,
            unclaimInfo == nil
        else { return [] }
        return unknown.map(\.key)
    }
}

/// The part of most notifications: one purchase as of the moment at which the notification was
/// signed.
package struct NotificationData: WireObject {
    /// The app's Apple id. Absent in the sandbox.
    package var appAppleId: Int64?
    package var bundleId: String?
    package var bundleVersion: String?
    package var environment: StoreEnvironment?
    package var signedTransactionInfo: String?
    /// The signed renewal info. Present only for auto-renewable subscriptions.
    package var signedRenewalInfo: String?
    package var status: SubscriptionStatus?
    package var consumptionRequestReason: ConsumptionRequestReason?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("appAppleId", &appAppleId)
        fields.field("bundleId", &bundleId)
        fields.field("bundleVersion", &bundleVersion)
        fields.field("environment", &environment)
        fields.field("signedTransactionInfo", &signedTransactionInfo)
        fields.field("signedRenewalInfo", &signedRenewalInfo)
        fields.field("status", &status)
        fields.field("consumptionRequestReason", &consumptionRequestReason)
    }
}

/// The result of a mass extension of renewal dates.
package struct NotificationSummary: WireObject {
    package var environment: StoreEnvironment?
    package var appAppleId: Int64?
    package var bundleId: String?
    package var productId: String?
    package var requestIdentifier: String?
    package var storefrontCountryCodes: [String]?
    package var succeededCount: Int64?
    package var failedCount: Int64?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("environment", &environment)
        fields.field("appAppleId", &appAppleId)
        fields.field("bundleId", &bundleId)
        fields.field("productId", &productId)
        fields.field("requestIdentifier", &requestIdentifier)
        fields.field("storefrontCountryCodes", &storefrontCountryCodes)
        fields.field("succeededCount", &succeededCount)
        fields.field("failedCount", &failedCount)
    }
}

/// A token of a purchase outside the App Store.
package struct ExternalPurchaseToken: WireObject {
    /// The token's id. The id begins with `SANDBOX` in the sandbox, which is the only sign of the
    /// environment in this part.
    package var externalPurchaseId: String?
    package var tokenCreationDate: AppStoreDate?
    package var tokenExpirationDate: AppStoreDate?
    package var tokenType: String?
    package var appAppleId: Int64?
    package var bundleId: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("externalPurchaseId", &externalPurchaseId)
        fields.field("tokenCreationDate", &tokenCreationDate)
        fields.field("tokenExpirationDate", &tokenExpirationDate)
        fields.field("tokenType", &tokenType)
        fields.field("appAppleId", &appAppleId)
        fields.field("bundleId", &bundleId)
    }
}

/// The part of a RESCIND_CONSENT notification, which is about the app as a whole.
package struct NotificationAppData: WireObject {
    package var appAppleId: Int64?
    package var bundleId: String?
    package var environment: StoreEnvironment?
    package var signedAppTransactionInfo: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("appAppleId", &appAppleId)
        fields.field("bundleId", &bundleId)
        fields.field("environment", &environment)
        fields.field("signedAppTransactionInfo", &signedAppTransactionInfo)
    }
}

/// The part of an `UNCLAIM_SEATS` notification: Apple has ended claims on seats of a group whose
/// members the app invites. Apple always sends the ids of the claims, and does not document which
/// other fields it always sends.
package struct UnclaimInfo: WireObject {
    package var environment: StoreEnvironment?
    package var appAppleId: Int64?
    package var bundleId: String?
    package var originalTransactionId: String?
    /// The ids of the claims, as `Claim Seat` returned them: UUIDs.
    package var unclaimSeatIds: [String]?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("environment", &environment)
        fields.field("appAppleId", &appAppleId)
        fields.field("bundleId", &bundleId)
        fields.field("originalTransactionId", &originalTransactionId)
        fields.field("unclaimSeatIds", &unclaimSeatIds)
    }
}

/// The body that Apple posts.
package struct NotificationBody: WireObject {
    package var signedPayload: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("signedPayload", &signedPayload)
    }
}

extension NotificationBody {
    /// The signed payload of a body that has Apple's exact form: `{"signedPayload":"…"}`, with only
    /// base64url characters and dots in the second text. Returns nil for any other body, even if it
    /// has the same meaning. Such a body must be parsed.
    package static func plainPayload(of body: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard body.count > head.count + tail.count,
            body.prefix(head.count).elementsEqual(head), body.suffix(tail.count).elementsEqual(tail)
        else { return nil }
        let payload = UnsafeRawBufferPointer(
            rebasing: body[head.count..<body.count - tail.count])
        // Written without branches, so that the compiler can vectorize it. No byte between the
        // quotes may need an escape or end the text.
        var odd: UInt8 = 0
        for byte in payload {
            odd |= (byte == UInt8(ascii: "\"") ? 1 : 0) | (byte == UInt8(ascii: "\\") ? 1 : 0)
            odd |= (byte < 0x20 ? 1 : 0) | (byte & 0x80)
        }
        return odd == 0 ? payload : nil
    }

    private static let head = Array(#"{"signedPayload":""#.utf8)
    private static let tail = Array(#""}"#.utf8)
}
