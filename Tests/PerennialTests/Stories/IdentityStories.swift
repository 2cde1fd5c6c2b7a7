import Perennial
import PerennialTesting
import Testing

extension Stories {
    @Suite struct Identity {
        @Test func `40: during a log-in, access to earlier purchases is never interrupted`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("pro.monthly")
                let known = try await perennial.identify("ann")
                #expect(known["pro"].isActive)
                #expect(known.customer.id == "ann")
                #expect(world.passedRequests.contains("POST /v1/customers/ann/aliases"))
                try await perennial.refresh()
                #expect(perennial["pro"].isActive && perennial["pro"].basis == .server)
                #expect(perennial.snapshot.waiting == [])
            }
        }

        @Test func `42: the next person on a phone gets no access of the previous person`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial { $0.customer = "ann" }
                try await perennial.purchase("pro.monthly")
                let out = await perennial.signOut()
                #expect(!out["pro"].isActive)
                let ben = try await perennial.identify("ben")
                #expect(!ben["pro"].isActive && ben["pro"].isKnown)
                let restored = try await perennial.restore()
                #expect([.refused, .needsConsent].contains(restored.outcome))
                #expect(!perennial["pro"].isActive)
                await perennial.signOut()
                let again = try await perennial.identify("ann")
                #expect(again["pro"].isActive)
            }
        }

        @Test
        func `45: a purchase that was made before a log-out is posted for the customer who bought`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial { $0.customer = "ann" }
                try await perennial.until(\.isKnown)
                _ = try await perennial.products(["guide"])
                await world.serverIs(.down)
                let purchase = try await perennial.purchase("guide")
                #expect(purchase.outcome == .bought && !purchase.isKeptByServer)
                #expect(purchase.snapshot["guide"].isActive)
                let out = await perennial.signOut()
                #expect(!out["guide"].isActive)
                await world.serverIs(.up)
                try await world.advance(.seconds(7200))
                await perennial.enterForeground()
                #expect(try await phone.finishesAll(perennial))
                #expect(!perennial["guide"].isActive)
                let other = try await world.device(of: "nobody")
                let known = try await other.perennial { $0.customer = "ann" }.until(\.isKnown)
                #expect(known["guide"].isActive && known["guide"].basis == .server)
            }
        }
    }
}
