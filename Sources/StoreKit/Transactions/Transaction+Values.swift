extension Transaction {
    public struct Reason: RawRepresentable, Equatable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let purchase = Self(rawValue: "PURCHASE")
        public static let renewal = Self(rawValue: "RENEWAL")
    }

    public struct RevocationReason: RawRepresentable, Equatable, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let developerIssue = Self(rawValue: 1)
        public static let other = Self(rawValue: 0)

        public var localizedDescription: String {
            self == .developerIssue ? "Developer Issue" : "Other"
        }
    }

    public struct RevocationType: RawRepresentable, Equatable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let fullRefund = Self(rawValue: "REFUND_FULL")
        public static let proratedRefund = Self(rawValue: "REFUND_PRORATED")
        public static let familyRevocation = Self(rawValue: "FAMILY_REVOKE")
        /// The purchaser or an organization took the seat back, or the member gave the seat up.
        public static var assignmentRevocation: Self { Self(rawValue: "ASSIGNMENT_REVOKE") }
    }

    public struct OfferType: RawRepresentable, Equatable, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let introductory = Self(rawValue: 1)
        public static let promotional = Self(rawValue: 2)
        public static let code = Self(rawValue: 3)
        public static var winBack: Self { Self(rawValue: 4) }

        public var localizedDescription: String {
            switch self {
            case .introductory: "Introductory"
            case .promotional: "Promotional"
            case .code: "Offer Code"
            case .winBack: "Win-Back"
            default: "\(rawValue)"
            }
        }
    }

    public struct OwnershipType: RawRepresentable, Equatable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let purchased = Self(rawValue: "PURCHASED")
        public static let familyShared = Self(rawValue: "FAMILY_SHARED")
        public static var assigned: Self { Self(rawValue: "ASSIGNED") }

        public var localizedDescription: String {
            switch self {
            case .purchased: "Purchased"
            case .familyShared: "Family Shared"
            case .assigned: "Assigned"
            default: rawValue
            }
        }
    }

    public struct Offer: Equatable, Hashable, Sendable {
        public struct PaymentMode: RawRepresentable, Equatable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let freeTrial = Self(rawValue: "FREE_TRIAL")
            public static let payAsYouGo = Self(rawValue: "PAY_AS_YOU_GO")
            public static let payUpFront = Self(rawValue: "PAY_UP_FRONT")
            public static var oneTime: Self { Self(rawValue: "ONE_TIME") }
        }

        public let id: String?
        public let type: OfferType
        public let paymentMode: PaymentMode?
        public let period: Product.SubscriptionPeriod?

        /// Reads an offer. Returns nil if the document contains no offer.
        init?(id: String?, type: Int?, mode: String?, period: String?) {
            guard let type else { return nil }
            self.id = id
            self.type = OfferType(rawValue: type)
            paymentMode = mode.map { PaymentMode(rawValue: $0) }
            self.period = period.flatMap { Product.SubscriptionPeriod(iso8601: $0) }
        }
    }

    /// The one-year commitment to which a monthly payment belongs.
    public struct CommitmentInfo: Equatable, Hashable, Sendable {
        public let billingPeriodNumber: UInt64
        public let totalBillingPeriods: UInt64
        public let expirationDate: Date
        public let price: Decimal

        /// Reads a commitment. Returns nil if the document lacks a field.
        init?(_ json: Payload.Commitment) {
            guard let number = json.billingPeriodNumber, let total = json.totalBillingPeriods,
                let expires = Date(milliseconds: json.commitmentExpiresDate),
                let price = Decimal(milliunits: json.commitmentPrice)
            else { return nil }
            billingPeriodNumber = number
            totalBillingPeriods = total
            expirationDate = expires
            self.price = price
        }
    }
}
