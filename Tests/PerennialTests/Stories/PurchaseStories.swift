import Foundation
import Perennial
import PerennialTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension Stories {
    @Suite struct Buying {
        @Test func `20: if a parent approves a purchase while the app is closed, access opens`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna", ["ask_to_buy": true])
                let first = phone.perennial()
                let purchase = try await first.purchase("pro.monthly")
                #expect(purchase.outcome == .pending && !purchase.snapshot["pro"].isActive)
                #expect(purchase.snapshot.waiting.map(\.reason) == [.approval])
                await phone.stop(first)
                try await world.advance(.seconds(3 * 3600))
                try await phone.parent(.approves)
                let second = try await phone.launch()
                try await second.until { $0["pro"].isActive }
                await second.enterForeground()
                #expect(try await phone.finishesAll(second))
                #expect(try await world.truth(of: "anna").isOpen("pro"))
                #expect(second.snapshot.waiting == [])
            }
        }

        @Test func `24: if the customer cancels a purchase, there is no error and no request`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.until(\.isKnown)
                try await phone.nextSheet(.cancel)
                let purchase = try await perennial.purchase("pro.monthly")
                #expect(purchase.outcome == .cancelled && !purchase.snapshot["pro"].isActive)
                #expect(!world.requests.contains("POST /v1/purchases"))
            }
        }

        @Test func `the server learns the placement of a purchase, and the SDK's version`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                var options = Perennial.PurchaseOptions()
                options.placement = "onboarding"
                try await perennial.purchase("pro.monthly", options)
                let lines = try await explanation(
                    of: perennial.snapshot.customer.id, in: world)
                let said = "at onboarding, with perennial-swift/\(Perennial.version)"
                #expect(lines.contains("    bought \(said), as the app said"), "\(lines)")
            }
        }

        private func explanation(of customer: String, in world: World) async throws -> [String] {
            struct Answer: Decodable { let lines: [String] }
            var request = URLRequest(
                url: world.server.appendingPathComponent("v1/customers/\(customer)/explain"))
            request.setValue("Bearer \(world.key)", forHTTPHeaderField: "Authorization")
            let (body, _) = try await URLSession.shared.data(for: request)
            return try JSONDecoder().decode(Answer.self, from: body).lines
        }

        @Test func `26: an upgrade in the middle of a period leaves no gap in access`() async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let journal = Journal()
                let perennial = phone.perennial { $0.log = journal.handler }
                try await perennial.purchase("plus.monthly")
                try await world.advance(.days(20))
                let purchase = try await perennial.purchase("pro.monthly")
                #expect(purchase.outcome == .bought && purchase.snapshot["pro"].isActive)
                await perennial.enterForeground()
                try await perennial.refresh()
                #expect(perennial.snapshot.active == ["pro"])
                #expect(perennial.snapshot.subscriptions.map(\.product) == ["pro.monthly"])
                let shut = journal.lines.firstIndex { $0.contains("plus is shut") }
                let open = journal.lines.firstIndex { $0.contains("pro is open") }
                #expect(try #require(open) <= #require(shut))
                #expect(journal.shuttings(of: "pro") == [])
                let truth = try await world.truth(of: "anna")
                #expect(truth.isOpen("pro") && !truth.isOpen("plus"))
            }
        }

        @Test func `27: a downgrade takes effect in the next period`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                let before = try await perennial.purchase("pro.monthly")
                let purchase = try await perennial.purchase("plus.monthly")
                #expect(purchase.outcome == .planChangeScheduled)
                await perennial.enterForeground()
                try await perennial.refresh()
                let subscription = try #require(perennial.snapshot.subscriptions.first)
                #expect(subscription.product == "pro.monthly")
                #expect(subscription.renewsTo == "plus.monthly")
                #expect(perennial["pro"].isActive)
                #expect(perennial["pro"].until == before.snapshot["pro"].until)
            }
        }

        @Test func `27: offline, the device knows the product of a planned downgrade`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let first = phone.perennial()
                try await first.purchase("pro.monthly")
                try await first.purchase("plus.monthly")
                #expect(try await phone.finishesAll(first))
                await phone.stop(first)
                await world.serverIs(.down)
                let second = try await phone.launch()
                try await second.until { $0.subscriptions.first?.renewsTo == "plus.monthly" }
                #expect(second.snapshot.subscriptions.map(\.product) == ["pro.monthly"])
            }
        }

        @Test func `29: a second purchase of an owned product shows no sheet and charges nothing`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("guide")
                let again = try await perennial.purchase("guide")
                #expect(again.outcome == .alreadyHad && again.snapshot["guide"].isActive)
                #expect(try await phone.prompts().count == 1)
                let insisted = try await perennial.purchase(
                    "guide", .init(regardlessOfAdvice: true))
                #expect(insisted.outcome == .alreadyHad)
                #expect(try await world.truth(of: "anna").count(of: "guide") == 1)
            }
        }

        @Test func `30: two taps show one sheet and get one result`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.until(\.isKnown)
                try await phone.nextSheet(.hold)
                async let first = perennial.purchase("seeds.100")
                try await phone.untilPrompts(1)
                async let second = perennial.purchase("seeds.100")
                for _ in 0..<10 { _ = await perennial.advice(on: "seeds.100") }
                try await phone.letGo()
                let both = try await [first, second]
                #expect(both[0] == both[1] && both[0].outcome == .bought)
                #expect(try await phone.prompts().count == 1)
                #expect(perennial.wallet("seeds").balance == 100)
                #expect(try await world.truth(of: "anna").count(of: "seeds.100") == 1)
            }
        }

        @Test func `51: if two restores find no purchase, the password is asked for once`()
            async throws
        {
            try await Stories.play(passwords: 2) { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                #expect(try await perennial.restore().outcome == .nothingFound)
                #expect(try await phone.prompts().map(\.cause) == ["sync"])
                #expect(try await perennial.restore().outcome == .nothingFound)
            }
        }

        @Test func `65: an offline debit is booked once for its key, even if the app is killed`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let key = UUID()
                let first = phone.perennial()
                try await first.purchase("seeds.100")
                #expect(first.wallet("seeds").balance == 100)
                await world.serverIs(.down)
                let offline = try await first.spend(5, from: "seeds", for: "test", key: key)
                #expect(offline == .init(balance: 95, unconfirmed: -5))
                await phone.stop(first)
                let second = try await phone.launch()
                _ = try? await second.spend(5, from: "seeds", for: "test", key: key)
                await world.serverIs(.up)
                try await world.advance(.seconds(7200))
                try await second.refresh()
                let wallet = try await second.until {
                    $0.wallets["seeds"]?.unconfirmed == 0
                }.wallets["seeds"]
                #expect(wallet == .init(balance: 95))
            }
        }
    }
}
