import Perennial
import PerennialTesting
import Testing

extension Stories {
    /// Several people, and several phones.
    @Suite struct People {
        @Test
        func `41: if a customer has purchases, only a restore adds an anonymous purchase`()
            async throws
        {
            try await Stories.play { world in
                let other = try await world.device(of: "nobody")
                try await other.perennial { $0.customer = "ann" }.purchase("guide")
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("pro.monthly")
                #expect(try await phone.finishesAll(perennial))
                let known = try await perennial.identify("ann")
                #expect(known["guide"].isActive)
                #expect(!world.passedRequests.contains("POST /v1/customers/ann/aliases"))
                #expect(perennial.snapshot.waiting.map(\.reason) == [.restore])
                let restored = try await perennial.restore()
                #expect(restored.outcome == .restored)
                try await perennial.refresh()
                #expect(perennial["pro"].isActive && perennial["guide"].isActive)
                #expect(perennial["pro"].basis == .server)
                #expect(perennial.snapshot.waiting == [])
            }
        }

        @Test func `44: after an offline log-in access is unknown until the first contact`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("seeds.100")
                #expect(try await phone.finishesAll(perennial))
                await world.serverIs(.down)
                let offline = try await perennial.identify("ann")
                #expect(offline.customer.id == "ann" && !offline["pro"].isActive)
                #expect(!offline.isKnown)
                await world.serverIs(.up)
                try await world.advance(.seconds(7200))
                await perennial.enterForeground()
                try await perennial.until(\.isKnown)
                #expect(world.passedRequests.contains("POST /v1/customers/ann/aliases"))
                try await perennial.until { $0.wallets["seeds"]?.balance == 100 }
            }
        }

        @Test func `46: if the Apple account pays for another customer, no payment sheet is shown`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial { $0.customer = "ann" }
                try await perennial.purchase("pro.monthly")
                #expect(try await phone.finishesAll(perennial))
                await perennial.signOut()
                try await perennial.identify("ben")
                let advice = await perennial.advice(on: "pro.monthly")
                #expect(!advice.buy && advice.reason == .storeAccountOfAnother)
                let failure = await #expect(throws: Perennial.Failure.self) {
                    try await perennial.purchase("pro.monthly")
                }
                #expect(failure?.code == .storeAccountOfAnother && failure?.charged == .no)
                #expect(try await phone.prompts().count == 1)
            }
        }

        @Test(arguments: [false, true])
        func `48: after a new phone or a new installation, access opens without a tap`(
            keepingKeychain: Bool
        ) async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let first = phone.perennial()
                try await first.purchase("pro.monthly")
                try await first.purchase("seeds.100")
                #expect(try await phone.finishesAll(first))
                let old = first.snapshot.customer.id
                await phone.stop(first)
                try await phone.reinstall(keepingKeychain: keepingKeychain)
                let second = try await phone.launch()
                try await second.until { $0["pro"].isActive && $0["pro"].basis == .server }
                #expect((second.snapshot.customer.id == old) == keepingKeychain)
                #expect(second.wallet("seeds").balance == (keepingKeychain ? 100 : 0))
                let bought = try await world.device(of: "anna")
                try await bought.perennial().until { $0["pro"].isActive }
                #expect(try await world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test func `49: a family's purchase is open until the customer leaves the family`()
            async throws
        {
            try await Stories.play { world in
                let parent = try await world.device(of: "anna", ["family": "birds"])
                let phone = try await world.device(of: "kim", ["family": "birds"])
                try await parent.perennial { $0.customer = "ann" }.purchase("pro.yearly")
                let perennial = phone.perennial { $0.customer = "kim" }
                try await perennial.until { $0["pro"].isActive }
                #expect(try await phone.finishesAll(perennial))
                try await perennial.refresh()
                #expect(perennial.snapshot.subscriptions.map(\.isFamilyShared) == [true])
                try await phone.leave(family: "birds")
                await perennial.enterForeground()
                try await perennial.until { !$0["pro"].isActive }
                #expect(try await !world.truth(of: "kim").isOpen("pro"))
            }
        }

        @Test
        func `50: after leaving the family, a customer keeps a product that they also bought`()
            async throws
        {
            try await Stories.play { world in
                let parent = try await world.device(of: "anna", ["family": "birds"])
                let phone = try await world.device(of: "kim", ["family": "birds"])
                try await parent.perennial { $0.customer = "ann" }.purchase("guide")
                let journal = Journal()
                let perennial = phone.perennial {
                    $0.customer = "kim"
                    $0.log = journal.handler
                }
                try await perennial.until { $0["guide"].isActive }
                #expect(try await phone.finishesAll(perennial))
                try await perennial.purchase("guide", .init(regardlessOfAdvice: true))
                #expect(try await phone.finishesAll(perennial))
                try await phone.leave(family: "birds")
                await perennial.enterForeground()
                try await perennial.refresh()
                #expect(
                    try await perennial["guide"].isActive == world.truth(of: "kim").isOpen("guide"))
            }
        }

        @Test func `52: a restore with an outdated preview is refused`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("pro.monthly")
                try await perennial.purchase("guide")
                #expect(try await phone.finishesAll(perennial))
                let shown = try await perennial.previewRestore()
                try await phone.refund("pro.monthly")
                await perennial.enterForeground()
                let failure = await #expect(throws: Perennial.Failure.self) {
                    try await perennial.restore(shown)
                }
                #expect(failure?.code == .previewOutdated)
                let anew = try await perennial.previewRestore()
                #expect(anew.items.filter(\.isActive).map(\.product) == ["guide"])
                _ = try await perennial.restore(anew)
                #expect(perennial["guide"].isActive && !perennial["pro"].isActive)
            }
        }
    }
}
