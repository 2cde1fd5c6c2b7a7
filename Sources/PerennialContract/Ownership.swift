/// What `POST /v1/purchases/preview` takes: what a device holds, and what may be bought with it.
/// Nothing is changed by asking.
public struct PreviewRequest: Hashable, Sendable, Codable {
    public var customerID: String
    public var signedTransactions: [String]?
    public var signedRenewalInfos: [String]?
    public var appReceipt: String?
    public var transactionReceipt: String?
    public var deviceGUID: String?
    /// The product that the customer is about to buy.
    public var productID: String?

    public init(
        customerID: String, signedTransactions: [String]? = nil,
        signedRenewalInfos: [String]? = nil, appReceipt: String? = nil,
        transactionReceipt: String? = nil, deviceGUID: String? = nil, productID: String? = nil
    ) {
        self.customerID = customerID
        self.signedTransactions = signedTransactions
        self.signedRenewalInfos = signedRenewalInfos
        self.appReceipt = appReceipt
        self.transactionReceipt = transactionReceipt
        self.deviceGUID = deviceGUID
        self.productID = productID
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case customerID = "customer_id"
        case signedTransactions = "signed_transactions"
        case signedRenewalInfos = "signed_renewal_infos"
        case appReceipt = "app_receipt"
        case transactionReceipt = "transaction_receipt"
        case deviceGUID = "device_guid"
        case productID = "product_id"
    }
}

/// Whose the purchases of a device are, what posting them would do, and whether to buy.
public struct PurchasePreview: Hashable, Sendable, Codable {
    public var customerID: String
    public var environment: StoreEnvironment
    public var purchases: [Shown]
    /// Nil where no product was named.
    public var product: Advice?

    public init(
        customerID: String, environment: StoreEnvironment, purchases: [Shown], product: Advice?
    ) {
        self.customerID = customerID
        self.environment = environment
        self.purchases = purchases
        self.product = product
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case customerID = "customer_id"
        case environment
        case purchases
        case product
    }

    public struct Shown: Hashable, Sendable, Codable {
        public var purchaseID: String
        public var originalTransactionID: String
        public var productID: String?
        /// It gives something now.
        public var active: Bool
        /// `customer`, `another`, `nobody`.
        public var owner: String
        /// Only for secret keys, and where it is another's.
        public var ownerID: String?
        /// What posting would do: `nothing`, `link`, `move`, `share`, `refuse`.
        public var outcome: String
        /// Why it would be refused.
        public var why: String?

        public init(
            purchaseID: String, originalTransactionID: String, productID: String?, active: Bool,
            owner: String, ownerID: String?, outcome: String, why: String?
        ) {
            self.purchaseID = purchaseID
            self.originalTransactionID = originalTransactionID
            self.productID = productID
            self.active = active
            self.owner = owner
            self.ownerID = ownerID
            self.outcome = outcome
            self.why = why
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case purchaseID = "purchase_id"
            case originalTransactionID = "original_transaction_id"
            case productID = "product_id"
            case active
            case owner
            case ownerID = "owner_id"
            case outcome
            case why
        }
    }

    public struct Advice: Hashable, Sendable, Codable {
        public var productID: String
        public var buy: Bool
        /// Why not: `term_runs`, `already_had`, `store_account_of_another`.
        public var why: String?

        public init(productID: String, buy: Bool, why: String?) {
            self.productID = productID
            self.buy = buy
            self.why = why
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case productID = "product_id"
            case buy
            case why
        }
    }
}

/// What moves a purchase to a customer, or lets nobody take it from them.
public struct OwnershipRequest: Hashable, Sendable, Codable {
    public var originalTransactionID: String
    public var reason: String

    public init(originalTransactionID: String, reason: String) {
        self.originalTransactionID = originalTransactionID
        self.reason = reason
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case originalTransactionID = "original_transaction_id"
        case reason
    }
}

/// A purchase that came to a customer from another; or of which support said that it stays theirs.
public struct Transfer: Hashable, Sendable, Codable {
    /// Nil where it stayed theirs: there is nothing to take back.
    public var transferID: String?
    public var originalTransactionID: String
    public var environment: StoreEnvironment
    /// `moved` or `shared`; nil where it stayed theirs.
    public var kind: String?
    /// Nil where it was nobody's, or stayed theirs.
    public var from: String?
    public var to: String
    /// `device`, `token`, `support`.
    public var evidence: String?
    public var reason: String?
    public var at: Timestamp?
    public var undoneAt: Timestamp?

    public init(
        transferID: String?, originalTransactionID: String, environment: StoreEnvironment,
        to: String
    ) {
        self.transferID = transferID
        self.originalTransactionID = originalTransactionID
        self.environment = environment
        self.to = to
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case transferID = "transfer_id"
        case originalTransactionID = "original_transaction_id"
        case environment
        case kind
        case from
        case to
        case evidence
        case reason
        case at
        case undoneAt = "undone_at"
    }
}

public struct TransferList: Hashable, Sendable, Codable {
    public var items: [Transfer]

    public init(items: [Transfer]) { self.items = items }
}

/// A purchase that nobody may take from its owner, or may again.
public struct Block: Hashable, Sendable, Codable {
    public var originalTransactionID: String
    public var blocked: Bool

    public init(originalTransactionID: String, blocked: Bool) {
        self.originalTransactionID = originalTransactionID
        self.blocked = blocked
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case originalTransactionID = "original_transaction_id"
        case blocked
    }
}
