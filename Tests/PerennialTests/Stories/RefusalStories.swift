import Foundation
import Testing

@testable import Perennial
@testable import PerennialTesting

/// Stories about refusals of the server, and about entries that could not be written.
extension Stories {
    @Suite struct Refusals {
        @Test
        func `if one purchase belongs to another person, no unrecorded purchase is finished`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial { $0.customer = "ann" }
                try await perennial.purchase("pro.monthly")
                #expect(try await phone.finishesAll(perennial))
                await perennial.signOut()
                try await perennial.identify("ben")
                await world.serverIs(.down)
                try await phone.buyElsewhere("seeds.100")
                await perennial.enterForeground()
                // Every list ends with the purchase that the server cannot record at the moment.
                try await world.faults(["devices": ["wrong_app": 1]])
                await world.serverIs(.up)
                let engine = try #require(perennial.engine)
                let listed = await engine.store.documents(.all) ?? []
                try #require(listed.count == 2)
                let entries = try listed.map { document in
                    OutboxEntry(
                        document, try #require(TransactionPayload(document)), .restore, for: "ben",
                        firstSeen: .init(milliseconds: 0))
                }
                try await engine.postDocuments(entries, within: 10)
                #expect(try await phone.unfinished() == 1)
                try await world.faults(["devices": [:] as [String: Int]])
                #expect(try await phone.finishesAll(perennial))
                try await perennial.until { $0.wallets["seeds"]?.balance == 100 }
            }
        }

        @Test func `a restore fetches newer documents if the server asks for them`() async throws {
            try await Stories.play(passwords: 1) { world in
                let phone = try await world.device(of: "anna")
                let first = phone.perennial()
                try await first.purchase("guide")
                #expect(try await phone.finishesAll(first))
                let pad = try await world.device(of: "anna")
                // The pad's documents are too old when they reach the server.
                await world.serverIs(.down)
                let made = pad.perennial()
                let engine = try #require(made.engine)
                let old = await engine.store.documents(.all) ?? []
                try #require(!old.isEmpty)
                await made.stop()
                await world.serverIs(.up)
                try await world.advance(.seconds(31 * Stories.day))
                // Nobody has signed in on the pad or the phone, so a new document gives both
                // devices access.
                let perennial = Perennial(
                    await engine.configuration, store: StaleStore(pad.simulated, has: old),
                    clock: pad.clock)
                #expect(try await perennial.previewRestore().items.map(\.effect) == [.refused])
                #expect(try await perennial.restore().outcome == .restored)
                #expect(try await pad.prompts().map(\.cause) == ["sync"])
                #expect(perennial["guide"].isActive)
                await perennial.stop()
            }
        }

        @Test func `a refused document that was signed again is not added to the outbox again`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                try await phone.buyElsewhere("seeds.100")
                try await world.faults(["devices": ["wrong_app": 1]])
                let perennial = phone.perennial()
                let outbox = try await phone.outbox(of: perennial)
                await perennial.enterForeground()
                let first = await outbox.entries.count
                for _ in 0..<3 {
                    try await world.advance(.seconds(60))
                    await perennial.enterForeground()
                }
                #expect(await outbox.entries.count == first && first > 0)
            }
        }

        @Test(arguments: ["", String(repeating: "a", count: 256), "null"])
        func `after a customer id is refused, a purchase goes to the next customer`(id: String)
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.until(\.isKnown)
                _ = try await perennial.products(["seeds.100"])
                await world.serverIs(.down)
                do throws(Perennial.Failure) { try await perennial.identify(id) } catch {
                    #expect(error.code == .customerIDNotValid && error.charged == .no)
                }
                #expect(perennial.snapshot.customer.id != "")
                try await perennial.purchase("seeds.100")
                // With a second purchase, the refused request has more than one document.
                try await perennial.purchase("seeds.100")
                await world.serverIs(.up)
                try await world.advance(.seconds(60))
                await perennial.enterForeground()
                try await perennial.until(\.customer.isAnonymous)
                try await perennial.identify("anna")
                #expect(try await phone.finishesAll(perennial))
                try await perennial.until { $0.wallets["seeds"]?.balance == 200 }
            }
        }

        @Test func `after a refused customer id, the anonymous customer keeps their coins`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("seeds.100")
                #expect(perennial.wallet("seeds").balance == 100)
                let before = perennial.snapshot.customer.id
                await world.serverIs(.down)
                try await perennial.identify("null")
                #expect(perennial.wallet("seeds").balance == 0)
                await world.serverIs(.up)
                try await world.advance(.seconds(60))
                await perennial.enterForeground()
                #expect(perennial.snapshot.customer.id == before)
                await perennial.enterForeground()
                #expect(perennial.wallet("seeds").balance == 100)
                // The next customer who signs in gets the coins.
                try await perennial.identify("ann")
                try await perennial.until { $0.wallets["seeds"]?.balance == 100 }
            }
        }

        @Test func `after a refused customer id, there is a new anonymous customer`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("seeds.100")
                let anonymous = perennial.snapshot.customer.id
                try await perennial.identify("ann")
                try await perennial.until { $0.wallets["seeds"]?.balance == 100 }
                await #expect(throws: Perennial.Failure.self) {
                    try await perennial.identify("null")
                }
                await perennial.enterForeground()
                let known = perennial.snapshot
                #expect(known.isKnown && known.customer.isAnonymous)
                #expect(known.customer.id != anonymous && known.wallets.isEmpty)
            }
        }

        @Test func `a log-in that cannot be written at first is written later`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("seeds.100")
                // A second process writes nothing while the first one runs.
                let second = phone.perennial()
                try await second.until { $0.wallets["seeds"]?.balance == 100 }
                await world.serverIs(.down)
                try await second.identify("ann")
                #expect(second.wallet("seeds").balance == 0)
                await perennial.stop()
                await world.serverIs(.up)
                await second.enterForeground()
                try await second.until { $0.wallets["seeds"]?.balance == 100 }
                #expect(second.snapshot.customer.id == "ann")
            }
        }

        @Test func `documents that are refused together are posted one by one`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.until(\.isKnown)
                await world.serverIs(.down)
                try await phone.buyElsewhere("seeds.100")
                try await phone.buyElsewhere("guide")
                await perennial.enterForeground()
                let outbox = try await phone.outbox(of: perennial)
                try #require(await outbox.entries.count == 2)
                await world.serverIs(.answering(413))
                await outbox.hurry()
                await perennial.engine?.post()
                #expect(await outbox.entries.allSatisfy { $0.state != .waiting })
                await world.serverIs(.up)
                try await world.advance(.seconds(2 * Stories.day))
                await perennial.enterForeground()
                #expect(try await phone.finishesAll(perennial))
            }
        }

        @Test
        func `a recorded purchase is finished when the offerings become known`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                try await phone.buyElsewhere("guide")
                await world.serverIs(.down)
                let perennial = phone.perennial()
                let outbox = try await phone.outbox(of: perennial)
                await perennial.enterForeground()
                try #require(await outbox.entries.count == 1)
                let engine = try #require(perennial.engine)
                try #require(await engine.state.offerings == nil)
                await world.serverIs(.up)
                for _ in 0..<Device.looksMax where await !outbox.entries.isEmpty {
                    await outbox.hurry()
                    await engine.post()
                }
                // Before the offerings were known, the app did not know whether the purchase was
                // its own.
                #expect(try await phone.finishesAll(perennial))
                #expect(await outbox.entries == [])
            }
        }

        @Test func `an empty customer id in the configuration counts as no id`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial { $0.customer = "" }
                let known = try await perennial.until(\.isKnown)
                #expect(known.customer.isAnonymous && known.customer.id.hasPrefix("anon_"))
            }
        }

        @Test func `if a debit cannot be written to the outbox, it is not booked`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("seeds.100")
                #expect(perennial.wallet("seeds").balance == 100)
                await world.serverIs(.down)
                try await phone.outbox(of: perennial).fill()
                let failure = await #expect(throws: Perennial.Failure.self) {
                    try await perennial.spend(1_000_000, from: "seeds", for: "food")
                }
                #expect(failure?.code == .serverUnreachable)
                #expect(perennial.wallet("seeds").balance == 100)
            }
        }

        @Test func `the app shows the server's balance, even if it equals an earlier balance`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.identify("anna")
                try await perennial.purchase("seeds.100")
                await perennial.enterForeground()
                try await perennial.spend(10, from: "seeds", for: "food")
                #expect(perennial.wallet("seeds").balance == 90)
                try await world.server(
                    "POST", "/v1/customers/anna/wallets/seeds/credits",
                    ["amount": 10, "reason": "the food was bad"])
                await perennial.enterForeground()
                #expect(perennial.wallet("seeds").balance == 100)
            }
        }

        @Test func `if the store lacks a win-back offer, the product is not bought at full price`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.until(\.isKnown)
                var options = Perennial.PurchaseOptions()
                options.offer = Perennial.Offer(
                    id: "gone", kind: .winBack, paymentMode: .payUpFront, price: 1,
                    displayPrice: "$1.00", period: .init(1, .month), periodCount: 1)
                let chosen = options
                let failure = await #expect(throws: Perennial.Failure.self) {
                    try await perennial.purchase("pro.monthly", chosen)
                }
                #expect(failure?.code == .offerNotAccepted && failure?.charged == .no)
                #expect(try await world.truth(of: "anna").count(of: "pro.monthly") == 0)
            }
        }

        @Test func `if an approval arrives while the app runs, the purchase no longer waits`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna", ["ask_to_buy": true])
                let perennial = phone.perennial()
                let purchase = try await perennial.purchase("seeds.100")
                #expect(purchase.outcome == .pending)
                #expect(perennial.snapshot.waiting.map(\.reason) == [.approval])
                try await phone.parent(.approves)
                try await perennial.until { $0.wallets["seeds"]?.balance == 100 }
                #expect(perennial.snapshot.waiting == [])
            }
        }
    }
}

extension Outbox {
    /// Adds receipts that are not due, until the outbox has no room for one more byte.
    func fill() throws {
        for bytes in [1_000_000, 100_000, 10_000, 1000, 100, 10] {
            var number = 0
            while true {
                let text = String(repeating: "a", count: bytes) + "\(number)"
                var entry = OutboxEntry(
                    .document(.init(kind: .receipt, text: text, intent: .sync)), for: "nobody",
                    firstSeen: .init(milliseconds: 0))
                entry.nextTry = .init(milliseconds: 4_000_000_000_000)
                number += 1
                guard try add([entry]) == [.added] else { break }
            }
        }
    }
}

extension Device {
    /// Returns the outbox of an app that has opened its files.
    func outbox(of perennial: Perennial) async throws -> Outbox {
        let engine = try #require(perennial.engine)
        await engine.open()
        return try #require(await engine.outbox)
    }
}
