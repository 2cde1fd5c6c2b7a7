import Foundation
import Perennial
import PerennialTesting
import Testing

extension Stories {
    /// Groups whose members the app invites: members get access by the server's claims.
    @Suite struct SeatClaims {
        @Test func `a member invited by the app has access until the seat is taken back`()
            async throws
        {
            try await Stories.play { world in
                try await world.set([
                    "multi_seat": ["pro.monthly": true], "seat_invitations": "developer",
                ])
                let (anna, ben) = (
                    try await world.device(of: "anna"), try await world.device(of: "ben")
                )
                let purchaser = anna.perennial()
                let bought = try await purchaser.purchase("pro.monthly", .init(seats: 3))
                let group = try #require(bought.snapshot.groups.first)
                #expect(group.seats?.count == 3)
                let invitation = try await purchaser.inviteToSeat(of: group.id)
                #expect(try await purchaser.seats(of: group.id).invitations.count == 1)

                let journal = Journal()
                let first = ben.perennial { $0.log = journal.handler }
                try await first.until(\.isKnown)
                #expect(!first["pro"].isActive)
                let joined = try await first.claimSeat(try #require(invitation.token))
                #expect(joined["pro"].isActive && joined.groups.isEmpty)
                #expect(joined.memberships.first?.seat?.standing == .held)
                let members = try await purchaser.seats(of: group.id)
                #expect((members.members.count, members.available) == (1, 1))

                await world.serverIs(.down)
                let second = try await ben.relaunch(first)
                try await second.until { $0["pro"].isActive && $0["pro"].basis == .token }
                await ben.activate(second)
                #expect(second["pro"].isActive)
                #expect(journal.shuttings(of: "pro") == [])

                await world.serverIs(.up)
                let member = try #require(members.members.first)
                try await purchaser.removeSeat(member.id)
                await ben.activate(second)
                try await second.until { !$0["pro"].isActive && $0["pro"].isKnown }
                #expect(second.snapshot.memberships.allSatisfy { $0.seat?.standing != .held })
                #expect(purchaser["pro"].isActive)
            }
        }
    }
}
