/// The body of `POST /v1/purchases/preview`: the documents of a device, and the product that may be
/// bought. The request changes nothing.
public struct PreviewRequest: Hashable, Sendable, Codable {
    public var customerID: String
    /// The intent with which the purchases would be posted: see ``PurchasesRequest/intent``.
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
    /// `jwsRepresentation`).
    public var signedAppTransaction: String?
    /// The product that the customer is about to buy.
    public var productID: String?

    public init(
        customerID: String, intent: PurchaseIntent? = nil, signedTransactions: [String]? = nil,
        signedRenewalInfos: [String]? = nil, appReceipt: String? = nil,
        transactionReceipt: String? = nil, deviceGUID: String? = nil, productID: String? = nil,
        signedAppTransaction: String? = nil
    ) {
        self.customerID = customerID
        self.intent = intent
        self.signedTransactions = signedTransactions
        self.signedRenewalInfos = signedRenewalInfos
        self.appReceipt = appReceipt
        self.transactionReceipt = transactionReceipt
        self.deviceGUID = deviceGUID
        self.productID = productID
        self.signedAppTransaction = signedAppTransaction
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
        case productID = "product_id"
    }
}

/// Who owns the purchases of a device, what posting them would do, and whether the customer should
/// buy.
public struct PurchasePreview: Hashable, Sendable, Codable {
    public var customerID: String
    public var environment: StoreEnvironment
    public var purchases: [Shown]
    /// Whether to buy the product that the request named. Nil if the request named no product.
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

    /// One purchase of the device.
    public struct Shown: Hashable, Sendable, Codable {
        public var purchaseID: String
        public var originalTransactionID: String
        public var productID: String?
        /// Whether the purchase gives access now.
        public var active: Bool
        /// The owner of the purchase: `customer`, `another` or `nobody`.
        public var owner: String
        /// Whether the owner is a person or an anonymous customer. Nil if there is no owner.
        public var ownerKind: OwnerKind?
        /// The id of the owner. Set only for secret keys, and only if another customer owns the
        /// purchase.
        public var ownerID: String?
        /// A hint for the person at the device: the other customer's mail address with most letters
        /// hidden, such as `a…@e…`. Nil if none of that customer's ids is a mail address, or if no
        /// other customer owns the purchase.
        public var ownerHint: String?
        /// What posting would do: `nothing`, `link`, `move`, `share` or `refuse`.
        public var outcome: String
        /// Why posting would be refused. Nil if posting would not be refused.
        public var why: String?

        public init(
            purchaseID: String, originalTransactionID: String, productID: String?, active: Bool,
            owner: String, ownerKind: OwnerKind? = nil, ownerID: String?,
            ownerHint: String? = nil, outcome: String,
            why: String?
        ) {
            self.purchaseID = purchaseID
            self.originalTransactionID = originalTransactionID
            self.productID = productID
            self.active = active
            self.owner = owner
            self.ownerKind = ownerKind
            self.ownerID = ownerID
            self.ownerHint = ownerHint
            self.outcome = outcome
            self.why = why
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case purchaseID = "purchase_id"
            case originalTransactionID = "original_transaction_id"
            case productID = "product_id"
            case active
            case owner
            case ownerKind = "owner_kind"
            case ownerID = "owner_id"
            case ownerHint = "owner_hint"
            case outcome
            case why
        }
    }

    /// Whether the customer should buy the product.
    public struct Advice: Hashable, Sendable, Codable {
        public var productID: String
        public var buy: Bool
        /// Why the customer should not buy: `term_runs`, `already_had` or
        /// `store_account_of_another`. Nil if ``buy`` is true.
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

/// The body of a request that moves a purchase to a customer, or that blocks every move of a
/// customer's purchase to another customer.
public struct OwnershipRequest: Hashable, Sendable, Codable {
    public var originalTransactionID: String
    /// Why the request is made, for support staff: up to 500 bytes of UTF-8.
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

/// A purchase that was moved to a customer or shared with them, or that support confirmed as
/// theirs.
public struct Transfer: Hashable, Sendable, Codable {
    /// The id by which the transfer can be undone. Nil if the purchase stayed with its customer:
    /// then there is nothing to undo.
    public var transferID: String?
    public var originalTransactionID: String
    public var environment: StoreEnvironment
    /// How the customer got the purchase: `moved` or `shared`. Nil if the purchase stayed with its
    /// customer.
    public var kind: String?
    /// The previous owner. Nil if the purchase had no owner before, or stayed with its customer.
    public var from: String?
    public var to: String
    /// What proved the claim: `device`, `token` or `support`.
    public var evidence: String?
    public var reason: String?
    public var at: Timestamp?
    /// When the transfer was undone. Nil if it was not undone.
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

/// The response of `GET /v1/customers/{id}/transfers`.
public struct TransferList: Hashable, Sendable, Codable {
    public var items: [Transfer]

    public init(items: [Transfer]) { self.items = items }
}

/// Whether a purchase is blocked: a blocked purchase cannot be moved away from its owner.
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
