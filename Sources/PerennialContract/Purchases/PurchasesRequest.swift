/// The body of `POST /v1/purchases`: the documents of a device, and the customer for whom they are
/// posted. Idempotent.
public struct PurchasesRequest: Hashable, Sendable, Codable {
    public var customerID: String
    /// Why the app posts. If the intent is set, a refused document does not prevent the other
    /// documents from being recorded.
    public var intent: PurchaseIntent?
    /// Signed transactions from StoreKit 2 (`VerificationResult.jwsRepresentation`).
    public var signedTransactions: [String]?
    /// Signed renewal infos from StoreKit 2 (`VerificationResult.jwsRepresentation`).
    public var signedRenewalInfos: [String]?
    /// The file at `Bundle.main.appStoreReceiptURL`, in Base64.
    public var appReceipt: String?
    /// The receipt of a single transaction, as apps had it before iOS 7, in Base64.
    public var transactionReceipt: String?
    /// The device's `identifierForVendor`, or a Mac's network address. If the value is set,
    /// receipts of other devices are refused.
    public var deviceGUID: String?
    /// The signed app transaction from StoreKit 2 (`AppTransaction.shared`, its
    /// `jwsRepresentation`). The app transaction may be posted alone, before the first purchase.
    public var signedAppTransaction: String?
    /// The placement at which the customer bought. If the intent is `purchase`, the server stores
    /// ``placement``, ``sdk`` and ``storefront`` with the signed transactions. None of these three
    /// affects access, and each is truncated to 100 characters.
    public var placement: String?
    /// The library that posts, with its version, such as `perennial-swift/0.1.0`.
    public var sdk: String?
    /// The country of the store account in three letters, as in StoreKit's
    /// `Storefront.countryCode`.
    public var storefront: String?

    public init(
        customerID: String, intent: PurchaseIntent? = nil, signedTransactions: [String]? = nil,
        signedRenewalInfos: [String]? = nil, appReceipt: String? = nil,
        transactionReceipt: String? = nil, deviceGUID: String? = nil,
        signedAppTransaction: String? = nil, placement: String? = nil, sdk: String? = nil,
        storefront: String? = nil
    ) {
        self.customerID = customerID
        self.intent = intent
        self.signedTransactions = signedTransactions
        self.signedRenewalInfos = signedRenewalInfos
        self.appReceipt = appReceipt
        self.transactionReceipt = transactionReceipt
        self.deviceGUID = deviceGUID
        self.signedAppTransaction = signedAppTransaction
        self.placement = placement
        self.sdk = sdk
        self.storefront = storefront
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case customerID = "customer_id"
        case intent
        case signedTransactions = "signed_transactions"
        case signedRenewalInfos = "signed_renewal_infos"
        case appReceipt = "app_receipt"
        case transactionReceipt = "transaction_receipt"
        case deviceGUID = "device_guid"
        case signedAppTransaction = "signed_app_transaction"
        case placement, sdk, storefront
    }
}

/// Why an app posts purchases.
public struct PurchaseIntent: ContractWord {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The customer has just bought.
    public static let purchase = Self(rawValue: "purchase")
    /// The customer asked for a restore.
    public static let restore = Self(rawValue: "restore")
    /// The app found the documents without a request by the customer, for example at launch. Such a
    /// posting takes nothing from another customer, and never fails with
    /// `purchase_belongs_to_another_customer`.
    public static let sync = Self(rawValue: "sync")

    public static let known: [Self] = [purchase, restore, sync]
}

/// The body of `POST /v1/customers/{id}/aliases`: another id of the same customer. Idempotent.
public struct AliasRequest: Hashable, Sendable, Codable {
    public var customerID: String

    public init(customerID: String) { self.customerID = customerID }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case customerID = "customer_id"
    }
}
