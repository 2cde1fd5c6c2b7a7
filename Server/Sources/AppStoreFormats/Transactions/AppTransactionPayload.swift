/// The payload of a signed app transaction: which app was bought, when, and in which version.
package struct AppTransactionPayload: WireObject {
    /// The environment, which has another name in other documents.
    package var receiptType: StoreEnvironment?
    /// The app's Apple id. Absent in the sandbox and from Xcode.
    package var appAppleId: Int64?
    package var bundleId: String?
    package var applicationVersion: String?
    package var originalApplicationVersion: String?
    package var versionExternalIdentifier: Int64?
    /// When the document was signed. Has the role that `signedDate` has in other documents.
    package var receiptCreationDate: AppStoreDate?
    package var originalPurchaseDate: AppStoreDate?
    package var preorderDate: AppStoreDate?
    package var deviceVerification: String?
    package var deviceVerificationNonce: String?
    package var appTransactionId: String?
    package var originalPlatform: OriginalPlatform?
    package var storeType: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("receiptType", &receiptType)
        fields.field("appAppleId", &appAppleId)
        fields.field("bundleId", &bundleId)
        fields.field("applicationVersion", &applicationVersion)
        fields.field("originalApplicationVersion", &originalApplicationVersion)
        fields.field("versionExternalIdentifier", &versionExternalIdentifier)
        fields.field("receiptCreationDate", &receiptCreationDate)
        fields.field("originalPurchaseDate", &originalPurchaseDate)
        fields.field("preorderDate", &preorderDate)
        fields.field("deviceVerification", &deviceVerification)
        fields.field("deviceVerificationNonce", &deviceVerificationNonce)
        fields.field("appTransactionId", &appTransactionId)
        fields.field("originalPlatform", &originalPlatform)
        fields.field("storeType", &storeType)
    }
}
