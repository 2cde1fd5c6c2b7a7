extension Product {
    public struct SubscriptionOffer: Equatable, Hashable, Sendable {
        public struct OfferType: RawRepresentable, Equatable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let introductory = Self(rawValue: "IntroOffer")
            public static let promotional = Self(rawValue: "AdhocOffer")
            public static let winBack = Self(rawValue: "WinbackOffer")

            public var localizedDescription: String {
                switch self {
                case .introductory: "Introductory"
                case .promotional: "Promotional"
                case .winBack: "Win-Back"
                default: rawValue
                }
            }
        }

        public struct PaymentMode: RawRepresentable, Equatable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let payAsYouGo = Self(rawValue: "PayAsYouGo")
            public static let payUpFront = Self(rawValue: "PayUpFront")
            public static let freeTrial = Self(rawValue: "FreeTrial")

            public var localizedDescription: String {
                switch self {
                case .payAsYouGo: "Pay As You Go"
                case .payUpFront: "Pay Up Front"
                case .freeTrial: "Free Trial"
                default: rawValue
                }
            }
        }

        /// The older form of a promotional offer's signature.
        public struct Signature: Equatable, Hashable, Sendable {
            public var keyID: String
            public var nonce: UUID
            /// The time of the signature in milliseconds since 1970.
            public var timestamp: Int
            public var signature: Data

            public init(keyID: String, nonce: UUID, timestamp: Int, signature: Data) {
                self.keyID = keyID
                self.nonce = nonce
                self.timestamp = timestamp
                self.signature = signature
            }
        }

        /// The offer's id. Nil for introductory offers.
        public let id: String?
        public let type: OfferType
        public let price: Decimal
        public let displayPrice: String
        public let period: SubscriptionPeriod
        public let periodCount: Int
        public let paymentMode: PaymentMode
        /// The billing plan of the offer. Nil if the offer belongs to no plan.
        let billingPlan: SubscriptionInfo.BillingPlanType?

        /// Creates an offer from the product's JSON. Returns nil if the price or the length cannot
        /// be read.
        init?(_ discount: ProductPayload.Discount) {
            guard let price = Decimal(string: discount.price),
                let period = SubscriptionPeriod(iso8601: discount.recurringSubscriptionPeriod)
            else { return nil }
            id = discount.id
            type = OfferType(rawValue: discount.type)
            self.price = price
            displayPrice = discount.priceFormatted
            self.period = period
            periodCount = discount.numOfPeriods
            paymentMode = PaymentMode(rawValue: discount.modeType)
            billingPlan = discount.billingPlanType.map { .init(rawValue: $0) }
        }
    }
}

extension Product.SubscriptionOffer.Signature {
    /// The signature in the simulator's form.
    var fields: [String: any Sendable] {
        [
            "key_id": keyID, "nonce": nonce.uuidString.lowercased(), "timestamp": timestamp,
            "signature": signature.base64EncodedString(),
        ]
    }
}
