extension Product.SubscriptionInfo {
    public struct RenewalInfo: Sendable {
        public struct ExpirationReason: RawRepresentable, Equatable, Hashable, Sendable {
            public let rawValue: Int
            public init(rawValue: Int) { self.rawValue = rawValue }

            public static let autoRenewDisabled = Self(rawValue: 1)
            public static let billingError = Self(rawValue: 2)
            public static let didNotConsentToPriceIncrease = Self(rawValue: 3)
            public static let productUnavailable = Self(rawValue: 4)
            public static let unknown = Self(rawValue: 5)

            public var localizedDescription: String {
                switch self {
                case .autoRenewDisabled: "Auto-Renew Disabled"
                case .billingError: "Billing Error"
                case .didNotConsentToPriceIncrease: "Did Not Consent to Price Increase"
                case .productUnavailable: "Product Unavailable"
                default: "Unknown"
                }
            }
        }

        @frozen public enum PriceIncreaseStatus: Equatable, Hashable, Sendable, BitwiseCopyable {
            case noIncreasePending
            case pending
            case agreed

            public var localizedDescription: String {
                switch self {
                case .noIncreasePending: "No Increase Pending"
                case .pending: "Pending"
                case .agreed: "Agreed"
                }
            }
        }

        /// The commitment that follows the present one.
        public struct CommitmentInfo: Equatable, Hashable, Sendable {
            public let renewalDate: Date
            public let renewalPrice: Decimal
            public let willAutoRenew: Bool
            public let autoRenewPreference: String
            public let renewalBillingPlanType: BillingPlanType
        }

        public var jsonRepresentation: Data { document.payload }
        public let originalTransactionID: UInt64
        public let currentProductID: String
        public let willAutoRenew: Bool
        public let autoRenewPreference: String?
        public let expirationReason: ExpirationReason?
        public let priceIncreaseStatus: PriceIncreaseStatus
        public let isInBillingRetry: Bool
        public let gracePeriodExpirationDate: Date?
        public let offer: Transaction.Offer?
        public let environment: AppStore.Environment
        public let recentSubscriptionStartDate: Date
        public let renewalDate: Date?
        public let renewalPrice: Decimal?
        public let currency: Locale.Currency?
        public let eligibleWinBackOfferIDs: [String]
        public let deviceVerification: Data
        public let deviceVerificationNonce: UUID
        public let signedDate: Date
        /// The Advanced Commerce information. Always nil, because the simulator has no such
        /// information.
        public let advancedCommerceInfo: AdvancedCommerceInfo?
        public let appAccountToken: UUID?
        public let appTransactionID: String
        public let commitmentInfo: CommitmentInfo?
        /// The number of seats that is planned for the next period.
        public let renewalQuantity: Int?
        /// The seats of the next period. Nil unless the next period has several seats.
        public let multiSeatInfo: MultiSeatInfo?

        let document: SignedDocument
    }
}

extension Product.SubscriptionInfo.RenewalInfo: Equatable, Hashable {
    public static func == (left: Self, right: Self) -> Bool {
        left.document.payload == right.document.payload
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(document.payload) }
}

extension Product.SubscriptionInfo.RenewalInfo: CustomDebugStringConvertible {
    public var debugDescription: String { document.text }

    public var offerID: String? { offer?.id }
    public var offerType: Transaction.OfferType? { offer?.type }
    public var offerPaymentModeStringRepresentation: String? { offer?.paymentMode?.rawValue }
    public var offerPeriodStringRepresentation: String? { offer?.period?.iso8601 }
    public var environmentStringRepresentation: String { environment.rawValue }
    public var currencyCode: String? { currency?.identifier }
}

extension Product.SubscriptionInfo.RenewalInfo: SignedValue {
    struct Payload: Decodable {
        struct Commitment: Decodable {
            var commitmentRenewalDate: Double?
            var commitmentRenewalPrice: Int64?
            var commitmentAutoRenewStatus: Int?
            var commitmentAutoRenewProductId: String?
            var commitmentRenewalBillingPlanType: String?
        }

        var originalTransactionId: String
        var productId: String?
        var autoRenewProductId: String?
        var autoRenewStatus: Int?
        var expirationIntent: Int?
        var priceIncreaseStatus: Int?
        var isInBillingRetryPeriod: Bool?
        var gracePeriodExpiresDate: Double?
        var offerIdentifier: String?
        var offerType: Int?
        var offerDiscountType: String?
        var offerPeriod: String?
        var environment: String?
        var recentSubscriptionStartDate: Double?
        var renewalDate: Double?
        var renewalPrice: Int64?
        var currency: String?
        var eligibleWinBackOfferIds: [String]?
        var deviceVerification: String?
        var deviceVerificationNonce: String?
        var signedDate: Double?
        var appAccountToken: String?
        var appTransactionId: String?
        var commitmentInfo: Commitment?
        var renewalQuantity: Int?
        var multiSeatInfo: MultiSeatPayload?
    }

    init?(_ document: SignedDocument) {
        guard let json = try? JSONDecoder().decode(Payload.self, from: document.payload),
            let original = UInt64(json.originalTransactionId)
        else { return nil }
        self.document = document
        originalTransactionID = original
        currentProductID = json.productId ?? ""
        willAutoRenew = json.autoRenewStatus == 1
        autoRenewPreference = json.autoRenewProductId
        expirationReason = json.expirationIntent.map { .init(rawValue: $0) }
        priceIncreaseStatus =
            switch json.priceIncreaseStatus {
            case 0: .pending
            case 1: .agreed
            default: .noIncreasePending
            }
        isInBillingRetry = json.isInBillingRetryPeriod ?? false
        gracePeriodExpirationDate = Date(milliseconds: json.gracePeriodExpiresDate)
        offer = Transaction.Offer(
            id: json.offerIdentifier, type: json.offerType, mode: json.offerDiscountType,
            period: json.offerPeriod)
        environment = AppStore.Environment(rawValue: json.environment ?? "")
        recentSubscriptionStartDate =
            Date(milliseconds: json.recentSubscriptionStartDate) ?? .distantPast
        renewalDate = Date(milliseconds: json.renewalDate)
        renewalPrice = Decimal(milliunits: json.renewalPrice)
        currency = json.currency.map { Locale.Currency($0) }
        eligibleWinBackOfferIDs = json.eligibleWinBackOfferIds ?? []
        deviceVerification = Data(base64Encoded: json.deviceVerification ?? "") ?? Data()
        deviceVerificationNonce = UUID(lenient: json.deviceVerificationNonce)
        signedDate = Date(milliseconds: json.signedDate) ?? .distantPast
        advancedCommerceInfo = nil
        appAccountToken = json.appAccountToken.flatMap { UUID(uuidString: $0) }
        appTransactionID = json.appTransactionId ?? ""
        commitmentInfo = json.commitmentInfo.flatMap { CommitmentInfo($0) }
        renewalQuantity = json.renewalQuantity
        multiSeatInfo = json.multiSeatInfo.map { MultiSeatInfo($0) }
    }
}

extension Product.SubscriptionInfo.RenewalInfo.CommitmentInfo {
    /// Reads a commitment. Returns nil if the document lacks a field.
    fileprivate init?(_ json: Product.SubscriptionInfo.RenewalInfo.Payload.Commitment) {
        guard let date = Date(milliseconds: json.commitmentRenewalDate),
            let price = Decimal(milliunits: json.commitmentRenewalPrice),
            let product = json.commitmentAutoRenewProductId,
            let plan = json.commitmentRenewalBillingPlanType
        else { return nil }
        renewalDate = date
        renewalPrice = price
        willAutoRenew = json.commitmentAutoRenewStatus == 1
        autoRenewPreference = product
        renewalBillingPlanType = .init(rawValue: plan)
    }
}
