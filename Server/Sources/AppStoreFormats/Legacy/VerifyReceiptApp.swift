/// `receipt` in a response about an app receipt: the decoded content of the submitted receipt. This
/// object never contains later purchases.
package struct VerifyReceiptApp: WireObject {
    package var receiptType: ReceiptType?
    /// The app's Apple id. 0 in the sandbox.
    package var adamID: Int64?
    package var appItemID: Int64?
    package var bundleID: String?
    package var applicationVersion: String?
    /// The id of the download. Null in some production responses, where it remains in `unknown`.
    package var downloadID: Int64?
    package var versionExternalIdentifier: Int64?
    package var created: AppStoreDate?
    /// When the receipt was submitted. The only date in milliseconds.
    package var requested: AppStoreDate?
    package var originallyPurchased: AppStoreDate?
    package var originalApplicationVersion: String?
    package var purchases: [VerifyReceiptRow]?
    /// When the licence for the app ends. Only for volume purchases.
    package var expires: AppStoreDate?
    package var preordered: AppStoreDate?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("receipt_type", &receiptType)
        fields.field("adam_id", &adamID)
        fields.field("app_item_id", &appItemID)
        fields.field("bundle_id", &bundleID)
        fields.field("application_version", &applicationVersion)
        fields.field("download_id", &downloadID)
        fields.field("version_external_identifier", &versionExternalIdentifier)
        fields.dates("receipt_creation_date", &created)
        fields.dates("request_date", &requested)
        fields.dates("original_purchase_date", &originallyPurchased)
        fields.field("original_application_version", &originalApplicationVersion)
        fields.field("in_app", &purchases)
        fields.dates("expiration_date", &expires)
        fields.dates("preorder_date", &preordered)
    }
}

extension VerifyReceiptApp {
    /// Creates Apple's response for a receipt that is submitted at a moment.
    package init(_ receipt: AppReceipt, at now: AppStoreDate) {
        self.init()
        receiptType = receipt[.receiptType]?.text.map { ReceiptType(rawValue: $0) }
        adamID = receipt[.appAppleID]?.integer
        appItemID = adamID
        bundleID = receipt[.bundleID]?.text
        applicationVersion = receipt[.applicationVersion]?.text
        downloadID = receipt[.downloadID]?.integer
        versionExternalIdentifier = receipt[.versionExternalIdentifier]?.integer
        created = receipt[.created]?.date
        requested = now
        originallyPurchased = receipt[.originallyPurchased]?.date
        originalApplicationVersion = receipt[.originalApplicationVersion]?.text
        purchases = receipt.purchases.map { VerifyReceiptRow($0) }
        expires = receipt[.expires]?.date
        preordered = receipt[.preordered]?.date
    }
}
