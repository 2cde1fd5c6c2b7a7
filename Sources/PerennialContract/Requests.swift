/// What `POST /v1/purchases` takes: what a device holds, and whose it is. Harmless to repeat.
public struct PurchasesRequest: Hashable, Sendable, Codable {
    public var customerID: String
    /// Signed transactions as StoreKit 2 gives them (`VerificationResult.jwsRepresentation`).
    public var signedTransactions: [String]?
    /// Signed renewal information, likewise.
    public var signedRenewalInfos: [String]?

    public init(
        customerID: String, signedTransactions: [String]? = nil, signedRenewalInfos: [String]? = nil
    ) {
        self.customerID = customerID
        self.signedTransactions = signedTransactions
        self.signedRenewalInfos = signedRenewalInfos
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case customerID = "customer_id"
        case signedTransactions = "signed_transactions"
        case signedRenewalInfos = "signed_renewal_infos"
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
