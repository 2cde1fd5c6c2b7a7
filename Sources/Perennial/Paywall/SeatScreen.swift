/// The texts of the screen on which a purchaser manages a group. The type is pure.
package struct SeatScreen: Hashable, Sendable {
    /// The number of seats as text, such as "7 seats, 2 free".
    package var seats: String
    /// The number of seats that is planned for the next period, as text. Nil if the number stays
    /// the same.
    package var renewal: String?
    package var members: [MemberRow]
    package var invitations: [InvitationRow]
    /// Whether the app can invite a member now.
    package var invites: Bool

    package struct MemberRow: Hashable, Sendable, Identifiable {
        package var id: String
        package var title: String
        /// When the member joined. If the member has no seat, the text says that the member waits.
        package var status: String
    }

    package struct InvitationRow: Hashable, Sendable, Identifiable {
        package var id: String
        package var title: String
    }

    package init(_ group: Perennial.SeatGroup, _ wording: Wording) {
        let count = wording.text(.seats, count: group.seats)
        seats =
            group.available.map { free in
                wording.text(
                    .listOfTwo,
                    [.first: count, .second: wording.text(.seatsFree, count: free)])
            } ?? count
        renewal = group.seatsAtRenewal.flatMap { next in
            next == group.seats || group.seats == 0
                ? nil : wording.text(.seatsAtRenewal, count: next)
        }
        members = group.members.map { member in
            MemberRow(
                id: member.id, title: member.customer ?? wording.text(.memberUnnamed),
                status: member.standing == .waiting
                    ? wording.text(.seatWaiting)
                    : wording.text(.joinedOn, [.date: wording.date(member.since)]))
        }
        invitations = group.invitations.map {
            InvitationRow(
                id: $0.id, title: wording.text(.invitationOpen, [.date: wording.date($0.expires)]))
        }
        invites = group.host == .developer && group.seats > 0
    }
}

extension Wording {
    /// The text for a member about a seat that another person pays for, in one or two lines.
    package func lines(about membership: Perennial.Subscription) -> [String] {
        if membership.seat?.standing == .waiting { return [text(.yourSeatWaits)] }
        let end = membership.until.map { text(.paidUntil, [.date: date($0)]) }
        return [text(.assigned)] + (end.map { [$0] } ?? [])
    }

    /// The text beside the link of a new invitation.
    package func text(about invitation: Perennial.SeatInvitation) -> String {
        text(.inviteLink, [.date: date(invitation.expires)])
    }
}
