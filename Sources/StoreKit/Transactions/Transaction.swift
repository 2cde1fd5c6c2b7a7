/// A purchase, or one period of a subscription.
public struct Transaction: Identifiable, Sendable {
    public var jsonRepresentation: Data { document.payload }
    public let id: UInt64
    public let originalID: UInt64
    public let webOrderLineItemID: String?
    public let productID: String
    public let subscriptionGroupID: String?
    public let appBundleID: String
    public let purchaseDate: Date
    public let originalPurchaseDate: Date
    public let expirationDate: Date?
    /// The number of units or seats that were bought. A member's transaction repeats the
    /// purchaser's number.
    public let purchasedQuantity: Int
    public let isUpgraded: Bool
    public let offer: Offer?
    public let revocationDate: Date?
    public let revocationReason: RevocationReason?
    public let revocationType: RevocationType?
    /// The refunded part in thousandths of a percent: 50000 means a half. Nil if nothing was
    /// refunded.
    public let revocationPercentage: Int?
    public let productType: Product.ProductType
    public let appAccountToken: UUID?
    public let environment: AppStore.Environment
    public let reason: Reason
    public let storefront: Storefront
    /// The price in units of the currency. For several seats, the average price of one seat. Do not
    /// use this price for accounting.
    public let price: Decimal?
    public let currency: Locale.Currency?
    public let appTransactionID: String
    public let deviceVerification: Data
    public let deviceVerificationNonce: UUID
    public let ownershipType: OwnershipType
    /// The product of the bundle that contains the subscription. The simulator has no bundles. So
    /// the value is nil, unless a document from elsewhere contains a bundle.
    public let bundleProductID: String?
    public let signedDate: Date
    /// The Advanced Commerce information. Always nil, because the simulator has no such
    /// information.
    public let advancedCommerceInfo: AdvancedCommerceInfo?
    public let billingPlanType: SubscriptionInfo.BillingPlanType?
    public let commitmentInfo: CommitmentInfo?
    /// The seats of the transaction. Nil unless several seats were bought.
    public let multiSeatInfo: MultiSeatInfo?
    /// Why the period has several transactions. Nil if the period has only one transaction.
    public let additionalTransactionReason: AdditionalTransactionReason?

    let document: SignedDocument

    /// Marks the transaction as finished: the app has delivered what the customer bought.
    public func finish() async {
        _ = try? await StoreClient(.current).post(
            "transactions/\(id)/finish", as: FinishAnswer.self)
    }

    private struct FinishAnswer: Decodable {}

    /// The status of the subscription to which the transaction belongs. Nil for other products.
    public var subscriptionStatus: Product.SubscriptionInfo.Status? {
        get async {
            guard let subscriptionGroupID else { return nil }
            let statuses = try? await Product.SubscriptionInfo.status(for: subscriptionGroupID)
            return statuses?.first {
                $0.transaction.unsafePayloadValue.originalID == originalID
            }
        }
    }
}

extension Transaction: Equatable, Hashable {
    public static func == (left: Self, right: Self) -> Bool {
        left.document.payload == right.document.payload
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(document.payload) }
}

extension Transaction: CustomDebugStringConvertible {
    public var debugDescription: String { document.text }

    public var offerType: OfferType? { offer?.type }
    public var offerID: String? { offer?.id }
    public var offerPaymentModeStringRepresentation: String? { offer?.paymentMode?.rawValue }
    public var offerPeriodStringRepresentation: String? { offer?.period?.iso8601 }
    public var environmentStringRepresentation: String { environment.rawValue }
    public var reasonStringRepresentation: String { reason.rawValue }
    public var storefrontCountryCode: String { storefront.countryCode }
    public var currencyCode: String? { currency?.identifier }
}

// MARK: - Reading the document

extension Transaction: SignedValue {
    struct Payload: Decodable {
        struct Commitment: Decodable {
            var billingPeriodNumber: UInt64?
            var totalBillingPeriods: UInt64?
            var commitmentExpiresDate: Double?
            var commitmentPrice: Int64?
        }

        var transactionId: String
        var originalTransactionId: String
        var webOrderLineItemId: String?
        var bundleId: String?
        var productId: String
        var subscriptionGroupIdentifier: String?
        var purchaseDate: Double
        var originalPurchaseDate: Double?
        var expiresDate: Double?
        var quantity: Int?
        var type: String?
        var appAccountToken: String?
        var inAppOwnershipType: String?
        var signedDate: Double?
        var revocationReason: Int?
        var revocationDate: Double?
        var revocationType: String?
        var revocationPercentage: Int?
        var isUpgraded: Bool?
        var offerType: Int?
        var offerIdentifier: String?
        var offerDiscountType: String?
        var offerPeriod: String?
        var environment: String?
        var storefront: String?
        var storefrontId: String?
        var transactionReason: String?
        var price: Int64?
        var currency: String?
        var appTransactionId: String?
        var deviceVerification: String?
        var deviceVerificationNonce: String?
        var bundleProductId: String?
        var billingPlanType: String?
        var commitmentInfo: Commitment?
        var multiSeatInfo: MultiSeatPayload?
        var additionalTransactionReason: String?
    }

    init?(_ document: SignedDocument) {
        guard let json = try? JSONDecoder().decode(Payload.self, from: document.payload),
            let id = UInt64(json.transactionId), let original = UInt64(json.originalTransactionId),
            let purchased = Date(milliseconds: json.purchaseDate)
        else { return nil }
        self.document = document
        self.id = id
        originalID = original
        webOrderLineItemID = json.webOrderLineItemId
        productID = json.productId
        subscriptionGroupID = json.subscriptionGroupIdentifier
        appBundleID = json.bundleId ?? ""
        purchaseDate = purchased
        originalPurchaseDate = Date(milliseconds: json.originalPurchaseDate) ?? purchased
        expirationDate = Date(milliseconds: json.expiresDate)
        purchasedQuantity = json.quantity ?? 1
        isUpgraded = json.isUpgraded ?? false
        offer = Offer(
            id: json.offerIdentifier, type: json.offerType, mode: json.offerDiscountType,
            period: json.offerPeriod)
        revocationDate = Date(milliseconds: json.revocationDate)
        revocationReason = json.revocationReason.map { .init(rawValue: $0) }
        revocationType = json.revocationType.map { .init(rawValue: $0) }
        revocationPercentage = json.revocationPercentage
        productType = Product.ProductType(rawValue: json.type ?? "")
        appAccountToken = json.appAccountToken.flatMap { UUID(uuidString: $0) }
        environment = AppStore.Environment(rawValue: json.environment ?? "")
        reason = Reason(rawValue: json.transactionReason ?? Reason.purchase.rawValue)
        price = Decimal(milliunits: json.price)
        currency = json.currency.map { Locale.Currency($0) }
        storefront = Storefront(
            countryCode: json.storefront ?? "", id: json.storefrontId ?? "", currency: currency)
        appTransactionID = json.appTransactionId ?? ""
        deviceVerification = Data(base64Encoded: json.deviceVerification ?? "") ?? Data()
        deviceVerificationNonce = UUID(lenient: json.deviceVerificationNonce)
        ownershipType = json.inAppOwnershipType.map { .init(rawValue: $0) } ?? .purchased
        bundleProductID = json.bundleProductId
        signedDate = Date(milliseconds: json.signedDate) ?? .distantPast
        advancedCommerceInfo = nil
        billingPlanType = json.billingPlanType.map { .init(rawValue: $0) }
        commitmentInfo = json.commitmentInfo.flatMap { CommitmentInfo($0) }
        multiSeatInfo = json.multiSeatInfo.map { MultiSeatInfo($0) }
        additionalTransactionReason = json.additionalTransactionReason.map { .init(rawValue: $0) }
    }
}
