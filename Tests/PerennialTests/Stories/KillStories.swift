import Perennial
import PerennialTesting
import Testing

extension Stories {
    @Suite struct Killing {
        /// More points than a purchase has.
        static let pointsMax = 200

        @Test func `15: killed at any point of a purchase, it is credited once`() async throws {
            try await Stories.play { world in
                var points = 0
                for point in 1...Self.pointsMax {
                    let phone = try await world.device(of: "anna\(point)")
                    let first = phone.perennial()
                    try await first.until(\.isKnown)
                    await first.enterForeground()
                    guard try await kill(first, on: phone, at: point) else { break }
                    points = point
                    let second = try await phone.launch()
                    await second.enterForeground()
                    try await second.refresh()
                    let bought = try await world.truth(of: phone.account).count(of: "seeds.100")
                    let balance = second.wallet("seeds").balance
                    #expect(balance == 100 * bought, "point \(point)")
                    #expect(try await phone.finishesAll(second), "point \(point)")
                    await phone.stop(second)
                }
                #expect(points > 5 && points < Self.pointsMax)
            }
        }

        @Test func `16: killed before finish, it is posted again, finished, and counts once`()
            async throws
        {
            try await Stories.play { world in
                for point in 1...Self.pointsMax {
                    let phone = try await world.device(of: "anna\(point)")
                    let first = phone.perennial()
                    try await first.until(\.isKnown)
                    await first.enterForeground()
                    let before = world.posts
                    let wasKilled = try await kill(first, on: phone, at: point)
                    #expect(wasKilled, "There is such a point.")
                    guard wasKilled else { return }
                    guard world.posts > before, try await phone.unfinished() == 1 else { continue }
                    let kept = world.posts
                    let second = try await phone.launch()
                    await second.enterForeground()
                    try await second.refresh()
                    #expect(world.posts > kept)
                    #expect(try await phone.finishesAll(second))
                    #expect(second.wallet("seeds").balance == 100)
                    return
                }
            }
        }

        /// Buys, and ends the process at a point. False if the purchase was over before.
        private func kill(
            _ perennial: Perennial, on phone: Device, at point: Int
        ) async throws -> Bool {
            phone.dies(at: point)
            let buying = Task {
                _ = try? await perennial.purchase("seeds.100")
                await phone.stop(perennial)
            }
            await phone.untilDead()
            let wasKilled = phone.wasKilled
            await phone.stop(perennial)
            await buying.value
            return wasKilled
        }

        @Test func `15: a dropped object ends its engine and frees the folder`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                var perennial: Perennial? = phone.perennial()
                try await perennial?.until(\.isKnown)
                try await perennial?.purchase("pro.monthly")
                let changes = try #require(perennial?.changes)
                perennial = nil
                // A stream ends with what it follows.
                for await _ in changes {}
                await world.serverIs(.down)
                let second = try await phone.launch()
                try await second.until { $0["pro"].isActive }
                // Only the one writer of the folder can spend.
                await #expect(throws: Never.self) { try await second.purchase("seeds.100") }
            }
        }
    }
}

extension World {
    /// How many purchases the server was sent.
    nonisolated var posts: Int { passedRequests.filter { $0 == "POST /v1/purchases" }.count }
}
