import Foundation
import Perennial
import PerennialTesting
import Testing

extension Stories {
    /// Subscriptions for several people, from StoreKit through the SDK to the server.
    @Suite struct Seats {
        private static let later: [String: any Sendable] = ["from": 6, "price": "7.99"]
        private static let tiers: [String: any Sendable] = ["tiers": [later]]
        private static let sold: [String: any Sendable] = [
            "multi_seat": ["pro.monthly": tiers], "seat_invitations": "apple",
        ]

        @Test func `added seats are refunded, and the purchaser keeps access offline`()
            async throws
        {
            try await Stories.play { world in
                try await world.set(Self.sold)
                let phone = try await world.device(of: "anna")
                let journal = Journal()
                let first = phone.perennial { $0.log = journal.handler }
                let product = try await first.products(["pro.monthly"]).first
                #expect(product?.price(of: 7) == Decimal(string: "65.93"))
                try await first.purchase("pro.monthly", .init(seats: 5))
                try await world.advance(.days(10))
                let added = try await first.purchase("pro.monthly", .init(seats: 8))
                #expect(added.outcome == .bought && added.isKeptByServer)
                await #expect(throws: Perennial.Failure.self) {
                    try await first.purchase("pro.monthly", .init(seats: 4))
                }
                // All added seats and one of the first seats are refunded.
                try await phone.change("pro.monthly", "refund", ["type": "full", "seats": 4])
                #expect(try await phone.finishesAll(first))
                #expect(first["pro"].isActive)
                #expect(try await world.truth(of: "anna").isOpen("pro"))

                await world.serverIs(.down)
                let second = try await phone.relaunch(first)
                try await second.until { $0.groups.first?.seats?.count == 4 }
                #expect(second["pro"].isActive)
                #expect(journal.shuttings(of: "pro") == [])
            }
        }

        @Test func `a member invited by the App Store has access, and loses it with the seat`()
            async throws
        {
            try await Stories.play { world in
                try await world.set(Self.sold)
                let (anna, ben) = (
                    try await world.device(of: "anna"), try await world.device(of: "ben")
                )
                let purchaser = anna.perennial()
                try await purchaser.purchase("pro.monthly", .init(seats: 3))
                let member = ben.perennial()
                try await member.until(\.isKnown)
                #expect(!member["pro"].isActive)
                try await anna.change("pro.monthly", "join-group", ["account": "ben"])
                await ben.activate(member)
                try await member.until { $0["pro"].isActive }
                #expect(member.snapshot.memberships.map(\.ownership) == [.assigned])
                #expect(member.snapshot.groups.isEmpty)

                try await anna.change("pro.monthly", "leave-group", ["account": "ben"])
                await ben.activate(member)
                try await member.until { !$0["pro"].isActive }
                #expect(member["pro"].state == .revoked)
                #expect(purchaser["pro"].isActive)
            }
        }
    }
}
