/// One person's place in a group: who the member is, when the claim began, and whether there is a
/// seat for it now.
public struct SeatClaim: Hashable, Sendable, Codable {
    public var claimID: String
    /// The member's customer id. Nil for an app key if all ids of the member begin with `anon_`.
    public var customerID: String?
    public var standing: SeatStanding
    public var claimedAt: Timestamp
    /// When the claim ended. Nil while the claim is open.
    public var endedAt: Timestamp?
    /// Why the claim ended. Nil while it is open.
    public var cause: SeatEnd?
    /// What was reported to Apple about the claim. The claim gives access even if Apple does not
    /// know of it. Nil from servers that report nothing to Apple.
    public var appleState: AppleSeatState?

    public init(
        claimID: String, customerID: String?, standing: SeatStanding, claimedAt: Timestamp,
        endedAt: Timestamp? = nil, cause: SeatEnd? = nil, appleState: AppleSeatState? = nil
    ) {
        self.claimID = claimID
        self.customerID = customerID
        self.standing = standing
        self.claimedAt = claimedAt
        self.endedAt = endedAt
        self.cause = cause
        self.appleState = appleState
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case claimID = "claim_id"
        case customerID = "customer_id"
        case standing
        case claimedAt = "claimed_at"
        case endedAt = "ended_at"
        case cause
        case appleState = "apple_state"
    }
}

/// What was reported to Apple about a claim on a seat.
public struct AppleSeatState: ContractWord {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The claim is not reported, because the server's settings exclude it, or because the
    /// subscription is not active.
    public static let off = Self(rawValue: "off")
    /// The claim will be reported to Apple.
    public static let due = Self(rawValue: "due")
    /// Apple counts the claim.
    public static let reported = Self(rawValue: "reported")
    /// Apple does not accept the claim, for example because Apple counts fewer seats.
    public static let refused = Self(rawValue: "refused")
    /// Apple no longer counts the claim, or never did.
    public static let ended = Self(rawValue: "ended")

    public static let known: [Self] = [off, due, reported, refused, ended]
}

/// Whether a claim gives access.
public struct SeatStanding: ContractWord {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// There is a seat for the claim: the member has access while the purchase gives it.
    public static let held = Self(rawValue: "held")
    /// There are fewer seats than members, and this member joined later than others. The claim
    /// gives access again as soon as there is a seat for it.
    public static let waiting = Self(rawValue: "waiting")
    /// The claim has ended and will not give access again.
    public static let ended = Self(rawValue: "ended")

    public static let known: [Self] = [held, waiting, ended]
}

/// Why a claim ended.
public struct SeatEnd: ContractWord {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The member gave the seat back.
    public static let left = Self(rawValue: "left")
    /// The purchaser or the app's server took the seat back.
    public static let removed = Self(rawValue: "removed")
    /// The member or the purchaser was erased.
    public static let erased = Self(rawValue: "erased")
    /// The App Store ended the claim, because seats were refunded.
    public static let unclaimed = Self(rawValue: "unclaimed")
    /// The subscription had ended and was bought again.
    public static let boughtAgain = Self(rawValue: "bought_again")
    /// The claim was merged: two ids of one person had a claim each, or the member and the
    /// purchaser are the same person.
    public static let joined = Self(rawValue: "joined")

    public static let known: [Self] = [left, removed, erased, unclaimed, boughtAgain, joined]
}

/// The body of `POST /v1/seats/claims`.
public struct SeatClaimRequest: Hashable, Sendable, Codable {
    /// The customer who takes the seat.
    public var customerID: String
    /// The token of an invitation. Required with an app key.
    public var token: String?
    /// The purchase whose seat is taken. Allowed only with a secret key, and only without a token.
    public var originalTransactionID: String?

    public init(
        customerID: String, token: String? = nil, originalTransactionID: String? = nil
    ) {
        self.customerID = customerID
        self.token = token
        self.originalTransactionID = originalTransactionID
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case customerID = "customer_id"
        case token
        case originalTransactionID = "original_transaction_id"
    }
}
