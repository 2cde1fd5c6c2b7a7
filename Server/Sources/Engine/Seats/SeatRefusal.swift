/// Why a request about the seats of a group is refused.
package enum SeatRefusal: Hashable, Sendable {
    /// There is no seat for another member.
    case taken
    /// Somebody else than the app invites the members.
    case notOurs
    /// The purchase was not bought in seats.
    case noSeats
    case notRunning
    /// The purchaser needs no claim.
    case purchasers
    /// The invitation is unknown, or cannot be used any more, or is somebody else's.
    case unknownInvitation
    case unknownClaim
    case tooManyClaims(limit: Int)
    case tooManyInvitations(limit: Int)
}

extension SeatRefusal: CustomStringConvertible {
    package var description: String {
        switch self {
        case .taken: "all seats are taken"
        case .notOurs: "the app does not invite the members of this group"
        case .noSeats: "the purchase has no seats for members"
        case .notRunning: "the subscription does not run"
        case .purchasers: "the purchase itself is this customer's"
        case .unknownInvitation: "no such invitation can be used"
        case .unknownClaim: "no such claim is known"
        case .tooManyClaims(let limit): "the purchase has \(limit) open claims already"
        case .tooManyInvitations(let limit):
            "the purchase has \(limit) open invitations already"
        }
    }
}
