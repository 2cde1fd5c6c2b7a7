import PerennialContract

/// Why a request about the seats of a group is refused.
package enum SeatRefusal: Hashable, Sendable {
    /// There is no seat for another member.
    case taken
    /// Another party, not the app, invites the members of the group.
    case notOurs
    /// The purchase was not bought in seats.
    case noSeats
    case notRunning
    /// The customer is the purchaser, who needs no claim.
    case purchasers
    /// The invitation is unknown, can no longer be used, or is for another customer.
    case unknownInvitation
    case unknownClaim
    case tooManyClaims(limit: Int)
    case tooManyInvitations(limit: Int)
}

extension SeatRefusal {
    var row: EngineFailure.Row {
        switch self {
        case .taken: .init(.seatsTaken, "all seats are taken")
        case .notOurs:
            .init(.seatsNotManagedByApp, "the app does not invite the members of this group")
        case .noSeats: .init(.purchaseHasNoSeats, "the purchase has no seats for members")
        case .notRunning: .init(.purchaseNotRunning, "the subscription does not run")
        case .purchasers:
            .init(.purchaserNeedsNoSeat, "the purchase itself is this customer's")
        case .unknownInvitation: .init(.invitationUnknown, "no such invitation can be used")
        case .unknownClaim: .init(.claimUnknown, "no such claim is known")
        case .tooManyClaims(let limit):
            .init(
                .tooManyClaims, "the purchase has \(limit) open claims already",
                detail: "At most \(limit) can be open.")
        case .tooManyInvitations(let limit):
            .init(
                .tooManyInvitations, "the purchase has \(limit) open invitations already",
                detail: "At most \(limit) can be open.")
        }
    }
}
