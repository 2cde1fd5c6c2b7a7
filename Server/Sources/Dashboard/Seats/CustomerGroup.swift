import PerennialContract

/// A group on the page of the customer who pays for the group.
package struct CustomerGroup: Hashable, Sendable {
    /// The group. The group's claims are the claims of one page.
    package var group: SeatGroup
    /// The payments of the period, oldest first: several if seats were added.
    package var parts: [Part]
    /// The invitations that can be used, newest first.
    package var invitations: [SeatInvitation]
    /// Whether the page has the first claims.
    package var isFirstPage: Bool

    /// One payment for seats.
    package struct Part: Hashable, Sendable {
        package var at: Timestamp
        package var seats: Int
        /// How many of the payment's seats were refunded.
        package var refunded: Int
        /// The prices of the seats, the dearest first. Empty if the App Store has not reported
        /// them.
        package var tiers: [Tier]
        /// The amount that was paid, after refunds. Nil if the App Store has not reported it.
        package var paid: Money?

        package init(
            at: Timestamp, seats: Int, refunded: Int = 0, tiers: [Tier] = [], paid: Money? = nil
        ) {
            self.at = at
            self.seats = seats
            self.refunded = refunded
            self.tiers = tiers
            self.paid = paid
        }
    }

    /// A number of seats at one price.
    package struct Tier: Hashable, Sendable {
        package var count: Int
        /// The price of one seat.
        package var price: Money

        package init(count: Int, price: Money) {
            self.count = count
            self.price = price
        }
    }

    package init(
        group: SeatGroup, parts: [Part] = [], invitations: [SeatInvitation] = [],
        isFirstPage: Bool = true
    ) {
        self.group = group
        self.parts = parts
        self.invitations = invitations
        self.isFirstPage = isFirstPage
    }

    /// Whether the subscription gives access, so that somebody can join.
    var isRunning: Bool { group.seats > 0 }
    /// Whether the app invites the members, so that they are known here.
    var isOurs: Bool { group.invitations == .developer }
}

/// A seat on the page of the member.
package struct CustomerSeat: Hashable, Sendable {
    package var claimID: String
    package var productID: String
    package var standing: SeatStanding
    package var claimedAt: Timestamp
    /// The customer who pays for the seat. Nil if unknown.
    package var purchaserID: String?

    package init(
        claimID: String, productID: String, standing: SeatStanding, claimedAt: Timestamp,
        purchaserID: String?
    ) {
        self.claimID = claimID
        self.productID = productID
        self.standing = standing
        self.claimedAt = claimedAt
        self.purchaserID = purchaserID
    }
}

extension Chip {
    /// Whether there is a seat for a member.
    init(_ standing: SeatStanding) {
        switch standing {
        case .held: self.init("has a seat", .open)
        case .waiting: self.init("waits", .warn)
        default: self.init(standing.rawValue, .neutral)
        }
    }
}
