/// The people who use one subscription, and the number of people for whom it is paid: the response
/// of `GET /v1/purchases/{original_transaction_id}/seats`.
public struct SeatGroup: Hashable, Sendable, Codable {
    public var originalTransactionID: String
    public var environment: StoreEnvironment
    public var productID: String
    /// Who invites the members.
    public var invitations: SeatHost
    /// The number of people for whom the subscription is paid now, including the purchaser. 0 if
    /// the subscription is not active.
    public var seats: Int
    /// The number of people for whom the next period will be paid. Nil if the App Store has not
    /// said.
    public var seatsAtRenewal: Int?
    /// The number of open claims. Nil unless the app invites the members.
    public var claimed: Int?
    /// The number of members who can still join now. Nil unless the app invites the members.
    public var available: Int?
    /// The number of open claims that have no seat now. Nil unless the app invites the members.
    public var waiting: Int?
    /// When the next period begins. Nil if the subscription does not renew, or is not active.
    public var renewsAt: Timestamp?
    /// When access ends if the next period is not paid. Nil if the subscription is not active.
    public var endsAt: Timestamp?
    /// The open claims, in the order in which they get seats.
    public var claims: [SeatClaim]
    /// The cursor to send as `after` to get the following claims. Nil if there are no more.
    public var nextCursor: String?
    /// Apple's count of the seats. Nil if Apple was not asked.
    public var apple: AppleSeats?

    public init(
        originalTransactionID: String, environment: StoreEnvironment, productID: String,
        invitations: SeatHost, seats: Int, seatsAtRenewal: Int? = nil, claimed: Int? = nil,
        available: Int? = nil, waiting: Int? = nil, renewsAt: Timestamp? = nil,
        endsAt: Timestamp? = nil, claims: [SeatClaim] = [], nextCursor: String? = nil,
        apple: AppleSeats? = nil
    ) {
        self.originalTransactionID = originalTransactionID
        self.environment = environment
        self.productID = productID
        self.invitations = invitations
        self.seats = seats
        self.seatsAtRenewal = seatsAtRenewal
        self.claimed = claimed
        self.available = available
        self.waiting = waiting
        self.renewsAt = renewsAt
        self.endsAt = endsAt
        self.claims = claims
        self.nextCursor = nextCursor
        self.apple = apple
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case originalTransactionID = "original_transaction_id"
        case environment
        case productID = "product_id"
        case invitations
        case seats
        case seatsAtRenewal = "seats_at_renewal"
        case claimed
        case available
        case waiting
        case renewsAt = "renews_at"
        case endsAt = "ends_at"
        case claims
        case nextCursor = "next_cursor"
        case apple
    }
}

/// Apple's count of the seats in a group whose members the app invites.
public struct AppleSeats: Hashable, Sendable, Codable {
    public var seats: Int
    /// The number of further claims that Apple accepts.
    public var available: Int
    /// The number of claims that Apple counts but this server does not know. The server keeps one
    /// seat free for each of these claims.
    public var foreign: Int
    public var askedAt: Timestamp

    public init(seats: Int, available: Int, foreign: Int, askedAt: Timestamp) {
        self.seats = seats
        self.available = available
        self.foreign = foreign
        self.askedAt = askedAt
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case seats
        case available
        case foreign
        case askedAt = "asked_at"
    }
}

/// Who invites the members of a group.
public struct SeatHost: ContractWord {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The App Store, which gives each member a transaction.
    public static let apple = Self(rawValue: "apple")
    /// The app: a claim gives access.
    public static let developer = Self(rawValue: "developer")
    /// The App Store has not said, or has sent an unknown value.
    public static let other = Self(rawValue: "other")

    public static let known: [Self] = [apple, developer, other]
}
