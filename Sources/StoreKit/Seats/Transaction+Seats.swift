extension Transaction {
    /// The seats of a subscription that was bought for several people.
    public struct MultiSeatInfo: Equatable, Hashable, Sendable {
        /// Who invites the members.
        public struct InvitationManagement: RawRepresentable, Equatable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            /// Members join by Apple's link, and get separate transactions.
            public static let apple = Self(rawValue: "APPLE")
            /// The app invites the members. Members get no transaction.
            public static let developer = Self(rawValue: "DEVELOPER")
        }

        /// The number of seats that were bought at one price.
        public struct PriceTier: Equatable, Hashable, Sendable {
            /// The price of one seat, in units of the currency.
            public let price: Decimal
            public let quantity: Int
        }

        public let invitationManagement: InvitationManagement
        /// The tiers, in no particular order. A member's transaction repeats the tiers that the
        /// purchaser paid.
        public let priceTiers: [PriceTier]
        /// The number of seats of this transaction that were refunded. Nil if no seat was refunded.
        public let revokedSeatQuantity: Int?
    }

    /// Why a period has more than one transaction.
    public struct AdditionalTransactionReason: RawRepresentable, Equatable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The purchaser added seats within the period.
        public static let seatAddition = Self(rawValue: "SEAT_ADDITION")
    }
}

extension Product.SubscriptionInfo.RenewalInfo {
    /// The prices of the seats in the next period.
    public struct MultiSeatInfo: Equatable, Hashable, Sendable {
        /// The tiers, in no particular order.
        public let renewalPriceTiers: [Transaction.MultiSeatInfo.PriceTier]
    }
}

// MARK: - Reading documents

/// The member `multiSeatInfo` of a transaction or a renewal info.
struct MultiSeatPayload: Decodable {
    struct Tier: Decodable {
        var price: Int64?
        var quantity: Int?
    }

    var invitationManagement: String?
    var priceTiers: [Tier]?
    var renewalPriceTiers: [Tier]?
    var revokedSeatQuantity: Int?
}

extension Transaction.MultiSeatInfo {
    init(_ json: MultiSeatPayload) {
        invitationManagement = .init(rawValue: json.invitationManagement ?? "")
        priceTiers = (json.priceTiers ?? []).compactMap { PriceTier($0) }
        revokedSeatQuantity = json.revokedSeatQuantity
    }
}

extension Product.SubscriptionInfo.RenewalInfo.MultiSeatInfo {
    init(_ json: MultiSeatPayload) {
        renewalPriceTiers = (json.renewalPriceTiers ?? []).compactMap { .init($0) }
    }
}

extension Transaction.MultiSeatInfo.PriceTier {
    /// Creates a tier. Returns nil if the document lacks one of the numbers.
    fileprivate init?(_ json: MultiSeatPayload.Tier) {
        guard let price = Decimal(milliunits: json.price), let quantity = json.quantity else {
            return nil
        }
        self.price = price
        self.quantity = quantity
    }
}
