public import Foundation

extension Perennial.Subscription {
    /// The number of people for whom a subscription is paid, including the purchaser.
    public struct Seats: Hashable, Sendable {
        /// The number of seats of the present period. 0 if the subscription is not active.
        public var count: Int
        /// The number of seats of the next period. Nil if the App Store has not said.
        public var atRenewal: Int?
        /// The number of members who have joined. Nil unless your app invites the members, and
        /// until the server has said.
        public var members: Int?

        public init(count: Int, atRenewal: Int? = nil, members: Int? = nil) {
            self.count = count
            self.atRenewal = atRenewal
            self.members = members
        }
    }

    /// A place in a group for which another person pays.
    public struct Seat: Hashable, Sendable, Identifiable {
        /// The id of the claim. To give up the seat: `leaveSeat(seat.id)`.
        public var id: String
        public var standing: Perennial.SeatStanding

        public init(id: String, standing: Perennial.SeatStanding) {
            self.id = id
            self.standing = standing
        }
    }
}

extension Perennial {
    /// The people who use one subscription, and the number of people for whom it is paid.
    public struct SeatGroup: Hashable, Sendable, Identifiable {
        /// The id of the subscription, whose purchaser is the customer.
        public var id: Subscription.ID
        public var product: ProductID
        /// Who invites the members.
        public var host: SeatHost
        /// The number of people for whom the subscription is paid now, including the purchaser. 0
        /// if the subscription is not active.
        public var seats: Int
        /// The number of people for whom the next period will be paid. Nil if the App Store has not
        /// said.
        public var seatsAtRenewal: Int?
        /// The number of members who can still join now. Nil unless your app invites the members.
        public var available: Int?
        /// The members who have joined, in the order in which they get seats. Empty unless your app
        /// invites the members.
        public var members: [SeatMember]
        /// The invitations that can be used, newest first. Their tokens are not included.
        public var invitations: [SeatInvitation]
        /// When access ends if the next period is not paid. Nil if the subscription is not active.
        public var until: Date?

        public init(
            id: Subscription.ID, product: ProductID, host: SeatHost, seats: Int,
            seatsAtRenewal: Int? = nil, available: Int? = nil, members: [SeatMember] = [],
            invitations: [SeatInvitation] = [], until: Date? = nil
        ) {
            self.id = id
            self.product = product
            self.host = host
            self.seats = seats
            self.seatsAtRenewal = seatsAtRenewal
            self.available = available
            self.members = members
            self.invitations = invitations
            self.until = until
        }
    }

    /// A person who has joined a group.
    public struct SeatMember: Hashable, Sendable, Identifiable {
        /// The id of the claim. To remove the member: `removeSeat(member.id)`.
        public var id: String
        /// The member's id in your app. Nil if the member has not signed in.
        public var customer: String?
        public var standing: SeatStanding
        /// When the member joined.
        public var since: Date

        public init(id: String, customer: String?, standing: SeatStanding, since: Date) {
            self.id = id
            self.customer = customer
            self.standing = standing
            self.since = since
        }
    }

    /// An invitation with which one person can join a group.
    public struct SeatInvitation: Hashable, Sendable, Identifiable {
        public var id: String
        /// The secret that the invited person needs, for example in a link. Nil unless
        /// ``Perennial/inviteToSeat(of:for:within:)`` returned the invitation.
        public var token: String?
        /// The customer who may use the invitation. Nil if any customer who has the token may use
        /// it.
        public var customer: String?
        public var expires: Date

        public init(id: String, token: String? = nil, customer: String? = nil, expires: Date) {
            self.id = id
            self.token = token
            self.customer = customer
            self.expires = expires
        }
    }

    /// Who invites the members of a group. Later versions may have other values.
    public struct SeatHost: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The App Store invites: the purchaser uses Apple's sheet.
        public static let apple = Self(rawValue: "apple")
        /// Your app invites, with ``Perennial/inviteToSeat(of:for:within:)``.
        public static let developer = Self(rawValue: "developer")
        /// The App Store has not said, or has sent a value that this version does not know.
        public static let other = Self(rawValue: "other")
    }

    /// Whether a place in a group gives access. Later versions may have other values.
    public struct SeatStanding: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// There is a seat for the member.
        public static let held = Self(rawValue: "held")
        /// There are fewer seats than members, and other members joined earlier. The place gives
        /// access again as soon as there is a seat for it.
        public static let waiting = Self(rawValue: "waiting")
        /// The claim has ended and will not give access again.
        public static let ended = Self(rawValue: "ended")
    }
}
