/// The body of `POST /v1/purchases`: the documents of a device, and whose they are. Idempotent.
public struct PurchasesRequest: Hashable, Sendable, Codable {
    public var customerID: String
    /// Signed transactions from StoreKit 2 (`VerificationResult.jwsRepresentation`).
    public var signedTransactions: [String]?
    /// Signed renewal infos from StoreKit 2 (`VerificationResult.jwsRepresentation`).
    public var signedRenewalInfos: [String]?
    /// The file at `Bundle.main.appStoreReceiptURL`, in Base64.
    public var appReceipt: String?
    /// The receipt of a single transaction, as apps had it before iOS 7, in Base64.
    public var transactionReceipt: String?
    /// The device's `identifierForVendor`, or a Mac's network address. If set, the receipt must
    /// have been issued for that device.
    public var deviceGUID: String?
    /// The signed app transaction from StoreKit 2 (`AppTransaction.shared`, its
    /// `jwsRepresentation`). It may be posted alone, before the first purchase.
    public var signedAppTransaction: String?

    public init(
        customerID: String, signedTransactions: [String]? = nil,
        signedRenewalInfos: [String]? = nil, appReceipt: String? = nil,
        transactionReceipt: String? = nil, deviceGUID: String? = nil,
        signedAppTransaction: String? = nil
    ) {
        self.customerID = customerID
        self.signedTransactions = signedTransactions
        self.signedRenewalInfos = signedRenewalInfos
        self.appReceipt = appReceipt
        self.transactionReceipt = transactionReceipt
        self.deviceGUID = deviceGUID
        self.signedAppTransaction = signedAppTransaction
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case customerID = "customer_id"
        case signedTransactions = "signed_transactions"
        case signedRenewalInfos = "signed_renewal_infos"
        case appReceipt = "app_receipt"
        case transactionReceipt = "transaction_receipt"
        case deviceGUID = "device_guid"
        case signedAppTransaction = "signed_app_transaction"
    }
}

/// The body of `POST /v1/customers/{id}/aliases`: another id of the same customer. Idempotent.
public struct AliasRequest: Hashable, Sendable, Codable {
    public var customerID: String

    public init(customerID: String) { self.customerID = customerID }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case customerID = "customer_id"
    }
}
