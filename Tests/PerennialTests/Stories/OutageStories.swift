import Foundation
import Perennial
import PerennialTesting
import Testing

extension Stories {
    @Suite struct Outage {
        @Test func `10: if the server is down for a week, a renewal keeps access open`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let journal = Journal()
                let perennial = phone.perennial { $0.log = journal.handler }
                let bought = try await perennial.purchase("pro.monthly")
                let until = try #require(bought.snapshot["pro"].until)
                try await world.advance(.days(28))
                await world.serverIs(.down)
                for _ in 0..<7 {
                    try await world.advance(.days(1))
                    await perennial.enterForeground()
                    #expect(perennial["pro"].isActive)
                }
                #expect(perennial["pro"].basis == .store)
                let renewed = try #require(perennial["pro"].until)
                #expect(renewed > until)
                let before = world.posts
                await world.serverIs(.up)
                try await perennial.refresh()
                await perennial.enterForeground()
                #expect(world.posts == before + 1)
                #expect(try await phone.finishesAll(perennial))
                #expect(journal.shuttings(of: "pro") == [])
                #expect(try await world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test func `12: requests to a failing server wait at least as long as the server says`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("pro.monthly")
                await world.serverIs(.answering(500))
                let failure = await #expect(throws: Perennial.Failure.self) {
                    try await perennial.refresh()
                }
                #expect(failure?.isTemporary == true)
                await world.serverIs(.answering(429, retryAfter: 3600))
                await #expect(throws: Perennial.Failure.self) { try await perennial.refresh() }
                // A request that was sent before the answer may still arrive.
                try await world.advance(.seconds(60))
                let asked = world.requests.count
                try await world.advance(.seconds(3000))
                #expect(world.requests.count == asked, "\(world.requests.dropFirst(asked))")
                #expect(perennial["pro"].isActive)
                await world.serverIs(.up)
                try await world.advance(.seconds(7200))
                let before = perennial.snapshot.serverAnswered
                try await perennial.refresh()
                #expect(perennial.snapshot.serverAnswered != before)
            }
        }

        @Test func `13: while the store is down no purchase is charged, and everything else works`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("pro.monthly")
                let offering = try await perennial.offering()
                try await phone.storeIs(.down)
                let failure = await #expect(throws: Perennial.Failure.self) {
                    try await perennial.purchase("guide")
                }
                #expect(failure?.isTemporary == true && failure?.charged == .no)
                try await perennial.refresh()
                #expect(perennial["pro"].isActive && perennial["pro"].basis == .server)
                #expect(try await perennial.offering() == offering)
            }
        }

        @Test func `32: a refund closes access while the app runs`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("pro.monthly")
                try await world.advance(.days(1))
                try await phone.refund("pro.monthly")
                try await perennial.until { !$0["pro"].isActive }
                try await perennial.until { $0["pro"].state == .refunded }
                #expect(try await !world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test(arguments: [false, true])
        func `36: while a renewal cannot be charged, the store decides about access`(
            grace: Bool
        ) async throws {
            try await Stories.play { world in
                try await world.set(["grace_days": grace ? 16 : 0])
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("pro.monthly")
                try await phone.change("pro.monthly", "fail-billing")
                try await world.advance(.days(30))
                for _ in 0..<20 {
                    try await world.advance(.days(1))
                    await perennial.enterForeground()
                    let truth = try await world.truth(of: "anna")
                    #expect(perennial["pro"].isActive == truth.isOpen("pro"))
                    #expect(perennial["pro"].state.rawValue == truth.purchases.first?.state)
                }
            }
        }
    }
}
