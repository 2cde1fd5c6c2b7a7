/// A chain of renewals, with its period at the time of the response.
public struct Subscription: Hashable, Sendable, Codable {
    /// The id of the purchase. For a member of a group that the app invited, the id of the claim:
    /// see ``seat``. Members do not learn which purchase pays.
    public var purchaseID: String
    public var productID: String
    /// The id of the first transaction. For a member of a group that the app invited, the id of the
    /// claim: see ``purchaseID``.
    public var originalTransactionID: String
    public var state: AccessState
    public var period: Period
    /// Whether the subscription renews. Nil if the App Store has not said.
    public var willRenew: Bool?
    /// The product of the next period. Nil if no period follows, or if the App Store has not said.
    public var renewsTo: String?
    /// The end of the grace period, in which the App Store grants access although the renewal could
    /// not be charged. The value stays set after the grace period has ended, until the next
    /// payment. Nil if there was no grace period.
    public var graceUntil: Timestamp?
    /// The price of the period. Nil if the App Store does not say, for example for a family
    /// member's purchase.
    public var price: Money?
    /// The commitment of a customer who has committed to a number of months and pays monthly. Nil
    /// if the customer has no commitment.
    public var commitment: Commitment?
    public var ownership: Ownership
    public var store: StoreName
    public var environment: StoreEnvironment
    /// The customer's place in another person's group. Absent unless the app invited the customer.
    public var seat: Seat?
    /// The number of people for whom the customer pays. Absent unless the customer bought seats.
    public var seats: Seats?

    /// A period of time. The end is not part of the period.
    public struct Period: Hashable, Sendable, Codable {
        public var from: Timestamp
        public var until: Timestamp?

        public init(from: Timestamp, until: Timestamp?) {
            self.from = from
            self.until = until
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case from
            case until
        }
    }

    /// The current month within the months of the commitment.
    public struct Commitment: Hashable, Sendable, Codable {
        /// The number of the current month, from 1.
        public var month: Int
        /// The number of months to which the customer has committed.
        public var months: Int
        /// When the commitment ends.
        public var until: Timestamp?
        /// Whether another commitment follows. Nil if the App Store has not said.
        public var renews: Bool?

        public init(month: Int, months: Int, until: Timestamp?, renews: Bool?) {
            self.month = month
            self.months = months
            self.until = until
            self.renews = renews
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case month
            case months
            case until
            case renews
        }
    }

    /// A place in a group for which another person pays.
    public struct Seat: Hashable, Sendable, Codable {
        public var claimID: String
        public var standing: SeatStanding

        public init(claimID: String, standing: SeatStanding) {
            self.claimID = claimID
            self.standing = standing
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case claimID = "claim_id"
            case standing
        }
    }

    /// The number of people for whom a subscription is paid, including the purchaser.
    public struct Seats: Hashable, Sendable, Codable {
        /// The number of seats of the present period.
        public var count: Int
        /// The number of seats of the next period. Nil if the App Store has not said.
        public var atRenewal: Int?
        /// The number of members who have joined. Nil unless the app invites the members.
        public var claimed: Int?

        public init(count: Int, atRenewal: Int? = nil, claimed: Int? = nil) {
            self.count = count
            self.atRenewal = atRenewal
            self.claimed = claimed
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case count
            case atRenewal = "at_renewal"
            case claimed
        }
    }

    public init(
        purchaseID: String, productID: String, originalTransactionID: String, state: AccessState,
        period: Period, willRenew: Bool?, renewsTo: String?, graceUntil: Timestamp?, price: Money?,
        commitment: Commitment? = nil, ownership: Ownership, store: StoreName = .appStore,
        environment: StoreEnvironment, seat: Seat? = nil, seats: Seats? = nil
    ) {
        self.purchaseID = purchaseID
        self.productID = productID
        self.originalTransactionID = originalTransactionID
        self.state = state
        self.period = period
        self.willRenew = willRenew
        self.renewsTo = renewsTo
        self.graceUntil = graceUntil
        self.price = price
        self.commitment = commitment
        self.ownership = ownership
        self.store = store
        self.environment = environment
        self.seat = seat
        self.seats = seats
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case purchaseID = "purchase_id"
        case productID = "product_id"
        case originalTransactionID = "original_transaction_id"
        case state
        case period
        case willRenew = "will_renew"
        case renewsTo = "renews_to"
        case graceUntil = "grace_until"
        case price
        case commitment
        case ownership
        case store
        case environment
        case seat
        case seats
    }
}

extension Subscription.Seat: AbsentIfNil {}
extension Subscription.Seats: AbsentIfNil {}
