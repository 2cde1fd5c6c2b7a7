import Foundation
import PerennialTesting
import Testing

@testable import Perennial

extension Stories {
    /// Unexpected results of StoreKit.
    @Suite struct Store {
        @Test func `21: a purchase that a parent declines stops waiting`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna", ["ask_to_buy": true])
                let perennial = phone.perennial()
                let purchase = try await perennial.purchase("pro.monthly")
                #expect(purchase.outcome == .pending)
                try await phone.parent(.declines)
                try await world.advance(.seconds(25 * 3600))
                await perennial.enterForeground()
                #expect(perennial.snapshot.waiting == [])
                #expect(!perennial["pro"].isActive)
                #expect(try await !world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test func `22: if a declined purchase arrives anyway, it counts as bought`()
            async throws
        {
            try await Stories.play { world in
                try await world.set(["habits": ["declined_purchase_arrives": true]])
                let phone = try await world.device(of: "anna", ["ask_to_buy": true])
                let perennial = phone.perennial()
                #expect(try await perennial.purchase("pro.monthly").outcome == .pending)
                try await phone.parent(.declines)
                try await perennial.until { $0["pro"].isActive }
                #expect(try await phone.finishesAll(perennial))
                #expect(try await world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test func `25: an unverified transaction gives no access, and the SDK does not finish it`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.until(\.isKnown)
                _ = try await perennial.products(["pro.monthly"])
                await world.serverIs(.down)
                try await phone.errors(["verification": "invalid_signature"])
                let failure = await #expect(throws: Perennial.Failure.self) {
                    try await perennial.purchase("pro.monthly")
                }
                #expect(failure?.code == .purchaseNotVerified && failure?.charged == .unclear)
                #expect(!perennial["pro"].isActive)
                #expect(try await phone.unfinished() == 1)
                await world.serverIs(.up)
                await perennial.enterForeground()
                #expect(
                    world.postings.contains { !$0.isEmpty }, "The server has to decide about it.")
                try await perennial.until { $0["pro"].isActive && $0["pro"].basis == .server }
                #expect(try await world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test func `28: a purchase that returns an old transaction does not count as bought`()
            async throws
        {
            try await Stories.play { world in
                try await world.set(["habits": ["purchase_after_lapse_returns_held": true]])
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("pro.monthly")
                try await phone.change("pro.monthly", "cancel")
                try await world.advance(.days(40))
                await perennial.enterForeground()
                #expect(!perennial["pro"].isActive)
                let failure = await #expect(throws: Perennial.Failure.self) {
                    try await perennial.purchase("pro.monthly")
                }
                #expect(failure?.code == .purchaseReturnedAnother)
                #expect(failure?.charged == .unclear)
                #expect(!perennial["pro"].isActive)
                #expect(try await !world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test
        func `31: if two products are bought at the same time, they are charged one by one`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.until(\.isKnown)
                try await phone.nextSheet(.hold)
                async let first = perennial.purchase("guide")
                try await phone.untilPrompts(1)
                async let second = perennial.purchase("seeds.100")
                for _ in 0..<50 { _ = await perennial.advice(on: "guide") }
                #expect(try await phone.prompts().count == 1)
                try await phone.letGo()
                let both = try await [first, second]
                #expect(both.map(\.outcome) == [.bought, .bought])
                #expect(try await phone.prompts().count == 2)
                #expect(perennial.wallet("seeds").balance == 100 && perennial["guide"].isActive)
                let truth = try await world.truth(of: "anna")
                #expect(truth.isOpen("guide") && truth.count(of: "seeds.100") == 1)
            }
        }

        @Test
        func `37: each renewal is posted once, even if the store reorders or repeats renewals`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let journal = Journal()
                let first = phone.perennial { $0.log = journal.handler }
                try await first.purchase("pro.monthly")
                #expect(try await phone.finishesAll(first))
                await phone.stop(first)
                try await world.advance(.days(100))
                let before = world.postings.count
                try await world.faults([
                    "next": ["devices": ["newest_first", "latest_twice", "finished_again"]]
                ])
                let second = try await phone.launch()
                await second.enterForeground()
                #expect(try await phone.finishesAll(second))
                let posted = world.postings[before...].flatMap { $0 }
                #expect(Set(posted.map(\.transactionId)).count >= 3)
                #expect(Set(posted).count == posted.count, "No document is posted twice.")
                #expect(journal.shuttings(of: "pro") == [])
                #expect(second["pro"].isActive)
                #expect(try await world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test(arguments: ["expired_at_renewal", "lapsed_at_renewal"])
        func `38: if a status is expired only for a moment, access stays open`(
            fault: String
        ) async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let journal = Journal()
                let perennial = phone.perennial { $0.log = journal.handler }
                try await perennial.purchase("pro.monthly")
                #expect(try await phone.finishesAll(perennial))
                await world.serverIs(.down)
                try await phone.storeIs(.down)
                try await world.advance(.days(31))
                try await phone.storeIs(.up)
                try await world.faults(["next": ["devices": [fault]]])
                await perennial.enterForeground()
                #expect(perennial["pro"].isActive)
                await perennial.enterForeground()
                try await world.advance(.seconds(60))
                await perennial.enterForeground()
                #expect(perennial["pro"].isActive)
                #expect(journal.shuttings(of: "pro") == [])
                #expect(try await world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test
        func `56: a sandbox purchase gives access in the sandbox, and none in production`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna", ["environment": "sandbox"])
                let perennial = phone.perennial { $0.customer = "ann" }
                let purchase = try await perennial.purchase("guide")
                #expect(purchase.outcome == .bought && purchase.snapshot["guide"].isActive)
                #expect(purchase.snapshot.environment == .sandbox)
                #expect(try await phone.finishesAll(perennial))
                let other = try await world.device(of: "nobody")
                let known = try await other.perennial { $0.customer = "ann" }.until(\.isKnown)
                #expect(known.environment == .production && !known["guide"].isActive)
            }
        }

        @Test func `57: after TestFlight, the App Store version has no sandbox access`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                try await phone.update(from: "testflight")
                let first = phone.perennial()
                try await first.purchase("guide")
                #expect(first["guide"].isActive && first.snapshot.environment == .sandbox)
                await phone.stop(first)
                try await phone.update(from: "store")
                let second = try await phone.launch()
                try await second.until { $0.environment == .production && $0.isKnown }
                #expect(!second["guide"].isActive)
                try await second.purchase("guide")
                #expect(second["guide"].isActive)
                #expect(try await world.truth(of: "anna").isOpen("guide"))
            }
        }

        @Test func `66: a year paid by the month is bought with its billing plan`()
            async throws
        {
            try await Stories.playClub { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                let product = try #require(
                    try await perennial.products(["promise.yearly"]).first)
                #expect(product.plans.map(\.isCommitment) == [false, true])
                let monthly = try #require(product.plans.first { $0.kind == .monthly })
                #expect(monthly.displayPrice == "$9.99" && monthly.billingPrice == 9.99)
                #expect(monthly.billingPeriod == .init(1, .month))
                #expect(monthly.totalDisplayPrice == "$119.88")
                #expect(monthly.totalPeriod == product.period)
                try await perennial.purchase("promise.yearly", .init(plan: monthly))
                try await perennial.refresh()
                let subscription = try #require(perennial.snapshot.subscriptions.first)
                #expect(subscription.commitment?.months == 12)
                #expect(perennial["promise"].isActive)
            }
        }

        @Test func `66: a cancelled commitment for a year gives access until its end`() async throws
        {
            try await Stories.playClub { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await phone.buyElsewhere("promise.yearly", ["billing_plan": "MONTHLY"])
                try await perennial.until { $0["promise"].isActive }
                try await world.advance(.days(75))
                try await phone.change("promise.yearly", "cancel")
                await perennial.enterForeground()
                try await perennial.refresh()
                let subscription = try #require(perennial.snapshot.subscriptions.first)
                #expect(perennial["promise"].isActive)
                #expect(subscription.commitment?.months == 12)
                #expect(subscription.commitment?.renews == false)
                #expect(try await world.truth(of: "anna").purchases.map(\.open) == [true])
            }
        }

        @Test func `66: offline, a commitment for a year is shown as the server shows it`()
            async throws
        {
            try await Stories.playClub { world in
                let phone = try await world.device(of: "anna")
                let first = phone.perennial()
                try await phone.buyElsewhere("promise.yearly", ["billing_plan": "MONTHLY"])
                try await first.until { $0["promise"].isActive }
                try await world.advance(.days(75))
                try await phone.change("promise.yearly", "cancel")
                await first.enterForeground()
                try await first.refresh()
                let shown = try #require(first.snapshot.subscriptions.first)
                #expect(shown.commitment?.month == 3 && shown.commitment?.renews == false)
                await phone.stop(first)
                await world.serverIs(.down)
                let second = try await phone.launch()
                try await second.until { !$0.subscriptions.isEmpty }
                #expect(second.snapshot.subscriptions == [shown])
            }
        }

        @Test func `a cancelled task can still read the store's products`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.until(\.isKnown)
                let engine = try #require(perennial.engine)
                let loading = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await engine.store.products(["guide"])
                }
                #expect(try await loading.value.map(\.id) == ["guide"])
            }
        }

        @Test func `67: terms are added up with their bonus days, offline and online`()
            async throws
        {
            try await Stories.playRage { world in
                let keys = try await world.trustedKeys()
                let phone = try await world.device(of: "anna")
                let first = phone.perennial { $0.trustedKeys = keys }
                let term: Perennial.ProductID = "com.example.rage.3monthlyrageface"
                try await first.purchase(term)
                try await first.purchase(term)
                try await first.refresh()
                let known = first["everything"]
                #expect(known.isActive && known.basis == .server)
                let server = try await world.serverTruth(of: first.snapshot.customer.id)
                #expect(server.isOpen("everything"))
                await phone.stop(first)
                await world.serverIs(.down)
                let second = try await phone.launch()
                await second.enterForeground()
                let offline = second["everything"]
                #expect(offline.isActive && offline.until == known.until)
                let days = offline.daysRemaining(at: second.now)
                #expect(days == known.daysRemaining(at: second.now) && days ?? 0 > 180)
            }
        }
    }
}
