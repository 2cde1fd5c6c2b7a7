import Perennial
import PerennialTesting
import Testing

extension Stories {
    @Suite struct Killing {
        /// More points than any purchase has.
        static let pointsMax = 200

        @Test func `15: after a kill at any point, the purchase is credited once`() async throws {
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

        @Test
        func `16: after a kill before finish, the purchase is posted, finished and credited once`()
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

        /// Buys, and ends the process at a point. Returns false if the purchase ended before that
        /// point.
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

        @Test func `15: when the last instance is released, the engine ends and frees the folder`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                var perennial: Perennial? = phone.perennial()
                try await perennial?.until(\.isKnown)
                try await perennial?.purchase("pro.monthly")
                let changes = try #require(perennial?.changes)
                perennial = nil
                // A stream ends with the object that it follows.
                for await _ in changes {}
                await world.serverIs(.down)
                let second = try await phone.launch()
                try await second.until { $0["pro"].isActive }
                // Only the process that may write the folder can spend.
                await #expect(throws: Never.self) { try await second.purchase("seeds.100") }
            }
        }
    }
}

extension World {
    /// The number of purchases that were posted to the server.
    nonisolated var posts: Int { passedRequests.filter { $0 == "POST /v1/purchases" }.count }
}
