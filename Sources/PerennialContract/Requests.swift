/// What `POST /v1/purchases` takes: what a device holds, and whose it is. Harmless to repeat.
public struct PurchasesRequest: Hashable, Sendable, Codable {
    public var customerID: String
    /// Signed transactions as StoreKit 2 gives them (`VerificationResult.jwsRepresentation`).
    public var signedTransactions: [String]?
    /// Signed renewal information, likewise.
    public var signedRenewalInfos: [String]?
    /// The file at `Bundle.main.appStoreReceiptURL`, in Base64.
    public var appReceipt: String?
    /// What an app before iOS 7 has of one transaction, in Base64.
    public var transactionReceipt: String?
    /// `identifierForVendor`, or a Mac's network address: then the receipt must be for that device.
    public var deviceGUID: String?

    public init(
        customerID: String, signedTransactions: [String]? = nil,
        signedRenewalInfos: [String]? = nil, appReceipt: String? = nil,
        transactionReceipt: String? = nil, deviceGUID: String? = nil
    ) {
        self.customerID = customerID
        self.signedTransactions = signedTransactions
        self.signedRenewalInfos = signedRenewalInfos
        self.appReceipt = appReceipt
        self.transactionReceipt = transactionReceipt
        self.deviceGUID = deviceGUID
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case customerID = "customer_id"
        case signedTransactions = "signed_transactions"
        case signedRenewalInfos = "signed_renewal_infos"
        case appReceipt = "app_receipt"
        case transactionReceipt = "transaction_receipt"
        case deviceGUID = "device_guid"
    }
}

/// What `POST /v1/customers/{id}/aliases` takes: another id of the same customer. Harmless to
/// repeat.
public struct AliasRequest: Hashable, Sendable, Codable {
    public var customerID: String

    public init(customerID: String) { self.customerID = customerID }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case customerID = "customer_id"
    }
}
