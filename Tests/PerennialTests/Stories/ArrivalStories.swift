import Perennial
import PerennialTesting
import StoreKit
import Testing

extension Stories {
    /// Purchases that do not begin in the app.
    @Suite struct Arrival {
        @Test
        func `59: a code redeemed in the App Store opens access once the app is in the foreground`()
            async throws
        {
            try await Stories.playClub { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.until(\.isKnown)
                // The app gets no announcement before it comes back.
                try await phone.storeIs(.down)
                try await world.device(of: "anna").redeem(code: "welcome", for: "club.monthly")
                await perennial.enterForeground()
                #expect(!perennial["club"].isActive)
                try await phone.storeIs(.up)
                await perennial.enterForeground()
                #expect(perennial["club"].isActive)
                try await perennial.until { $0.subscriptions.map(\.offer) == [Self.welcome] }
                #expect(try await phone.finishesAll(perennial))
                #expect(try await world.truth(of: "anna").isOpen("club"))
            }
        }

        @Test
        func `59: a code that is redeemed in the app's own sheet opens access after the sheet`()
            async throws
        {
            try await Stories.playClub { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.until(\.isKnown)
                try await phone.redeem(code: "welcome", for: "club.monthly")
                // `perennialOfferCode` does this when its sheet closes.
                #expect(try await perennial.refresh()["club"].isActive)
                let snapshot = try await perennial.until {
                    $0.subscriptions.map(\.offer) == [Self.welcome]
                }
                #expect(snapshot.subscriptions.map(\.ownership) == [.purchased])
                #expect(try await phone.finishesAll(perennial))
                #expect(
                    try await world.serverTruth(of: snapshot.customer.id).isOpen("club"))
                #expect(try await world.truth(of: "anna").isOpen("club"))
            }
        }

        private static let welcome = Perennial.Subscription.AppliedOffer(
            id: "welcome", kind: .code, paymentMode: .freeTrial, period: .init(1, .month))

        @Test func `60: a promoted purchase waits for the log-in, and is delivered once`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                try await phone.choosePromoted("guide")
                let perennial = phone.perennial { $0.allowsAnonymous = false }
                try await perennial.identify("ann")
                var requests = perennial.requests.makeAsyncIterator()
                let request = try #require(await requests.next())
                #expect(request.product == "guide")
                #expect(try await perennial.purchase(request.product).outcome == .bought)
                #expect(try await phone.finishesAll(perennial))
                let second = try await phone.relaunch(perennial)
                try await second.until { $0["guide"].isActive }
                try await phone.choosePromoted("seeds.100")
                var later = second.requests.makeAsyncIterator()
                #expect(
                    await later.next()?.product == "seeds.100", "The first one is not repeated.")
                #expect(try await world.truth(of: "anna").isOpen("guide"))
            }
        }

        @Test func `61: an accepted win-back offer opens access`() async throws {
            try await Stories.playClub { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("club.monthly")
                try await phone.change("club.monthly", "cancel")
                try await world.advance(.days(40))
                await perennial.enterForeground()
                try await perennial.until { !$0["club"].isActive }
                #expect(try await phone.acceptMessage("win_back_offer"))
                try await perennial.until { $0["club"].isActive }
                #expect(try await phone.finishesAll(perennial))
                #expect(try await world.truth(of: "anna").isOpen("club"))
            }
        }

        @Test
        func `64: in the observer role, the SDK posts each transaction, and finishes none`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial { $0.role = .observer }
                try await perennial.until(\.isKnown)
                try await SimulatedDevice.$current.withValue(phone.simulated) {
                    for id in ["guide", "pro.monthly"] {
                        let product = try #require(try await Product.products(for: [id]).first)
                        guard case .success(let result) = try await product.purchase() else {
                            Issue.record("Not bought.")
                            return
                        }
                        await result.unsafePayloadValue.finish()
                    }
                }
                await perennial.enterForeground()
                try await perennial.until { $0["guide"].isActive && $0["pro"].isActive }
                await perennial.enterForeground()
                let posted = world.postings.flatMap { $0 }
                #expect(Set(posted.map(\.productId)) == ["guide", "pro.monthly"])
                #expect(Set(posted).count == posted.count)
                try await phone.buyElsewhere("seeds.100")
                await perennial.enterForeground()
                try await perennial.until { $0.wallets["seeds"]?.balance == 100 }
                #expect(try await phone.unfinished() == 1)
            }
        }
    }
}
