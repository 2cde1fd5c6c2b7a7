import Foundation
import PerennialTesting
import StoreKit
import Testing

@testable import Perennial

/// Stories about unlucky and dishonest customers. No customer gets what they did not buy, or loses
/// what they bought.
extension Stories {
    @Suite struct Protection {
        @Test
        func `a customer id in the configuration names a person, also after an anonymous launch`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let first = phone.perennial()
                try await first.until(\.isKnown)
                await phone.stop(first)
                let second = phone.perennial { $0.customer = "ann" }
                try await second.purchase("guide")
                #expect(second["guide"].isActive && !second.snapshot.customer.isAnonymous)
                let out = await second.signOut()
                #expect(!out["guide"].isActive)
            }
        }

        @Test func `a purchase belongs to the customer who saw the payment sheet`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial { $0.customer = "ann" }
                try await perennial.until(\.isKnown)
                try await phone.nextSheet(.hold)
                let purchase = Task {
                    do throws(Perennial.Failure) {
                        try await perennial.purchase("guide")
                        return nil as Perennial.Failure?
                    } catch { return error }
                }
                try await phone.untilPrompts(1)
                await perennial.signOut()
                try await phone.letGo()
                let failure = try #require(await purchase.value)
                #expect(failure.code == .customerChanged && failure.charged == .yes)
                #expect(!perennial["guide"].isActive)
                let other = try await world.device(of: "nobody")
                let known = try await other.perennial { $0.customer = "ann" }.until(\.isKnown)
                #expect(known["guide"].isActive)
            }
        }

        @Test func `a purchase that one person started fails after the next person has logged in`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial { $0.customer = "ann" }
                try await perennial.until(\.isKnown)
                try await phone.nextSheet(.hold)
                async let first = Self.failure { try await perennial.purchase("guide") }
                try await phone.untilPrompts(1)
                async let queued = Self.failure { try await perennial.purchase("seeds.100") }
                let engine = try #require(perennial.engine)
                while await engine.purchases.count < 2 { await Task.yield() }
                try await perennial.identify("ben")
                try await phone.letGo()
                #expect(await first?.charged == .yes)
                let failure = await queued
                #expect(failure?.code == .customerChanged && failure?.charged == .no)
                #expect(try await world.truth(of: "anna").count(of: "seeds.100") == 0)
            }
        }

        @Test func `a restore that one person started fails after the next person has logged in`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial { $0.customer = "ann" }
                try await perennial.purchase("guide")
                #expect(try await phone.finishesAll(perennial))
                await world.serverIs(.slow(1))
                async let restore = Self.failure { try await perennial.restore() }
                while !world.requests.contains("POST /v1/purchases/preview") {
                    await Task.yield()
                }
                await world.serverIs(.up)
                try await perennial.identify("ben")
                let posts = world.posts
                let failure = await restore
                #expect(failure?.code == .customerChanged && failure?.charged == .no)
                #expect(world.posts == posts)
            }
        }

        private static func failure(
            of call: @Sendable () async throws -> some Sendable
        ) async -> Perennial.Failure? {
            do { _ = try await call() } catch { return error as? Perennial.Failure }
            return nil
        }

        @Test func `a server with an unknown signing key gives no access`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                var keys = try await world.trustedKeys()
                keys[0] = Perennial.PublicKey(id: "another", x: keys[0].x, y: keys[0].y)
                let foreign = keys
                let perennial = phone.perennial { $0.trustedKeys = foreign }
                let purchase = try await perennial.purchase("guide")
                #expect(purchase.outcome == .bought)
                #expect(!purchase.snapshot["guide"].isActive)
                await perennial.enterForeground()
                #expect(!perennial["guide"].isActive)
            }
        }

        @Test func `an id that identifies no person is refused, and the customer stays anonymous`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                let failure = await #expect(throws: Perennial.Failure.self) {
                    try await perennial.identify("null")
                }
                #expect(failure?.code == "customer_id_not_valid" && failure?.remedy != "")
                #expect(perennial.snapshot.customer.isAnonymous)
            }
        }

        @Test func `if the server has refused the app key, the app waits before the next request`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                await world.serverIs(.answering(401))
                let perennial = phone.perennial()
                await perennial.enterForeground()
                try await phone.buyElsewhere("guide")
                await perennial.enterForeground()
                let engine = try #require(perennial.engine)
                let wait = await engine.nextWait()
                #expect((wait ?? .max) >= RetryPauses.min / 2, "\(wait ?? -1) ms")
            }
        }

        @Test func `entries that wait for an erased customer are not sent after the erasure`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                let id = try await perennial.until(\.isKnown).customer.id
                let engine = try #require(perennial.engine)
                let outbox = try #require(await engine.outbox)
                let later = await engine.now.milliseconds + 3_600_000
                var entry = OutboxEntry(
                    .alias("anon_left"), for: id, firstSeen: await engine.now)
                entry.nextTry = .init(milliseconds: later)
                _ = try await outbox.add([entry])
                try await perennial.eraseCustomer()
                #expect(await outbox.entries.filter { $0.customerID == id } == [])
                #expect(perennial.snapshot.customer.id != id)
            }
        }

        @Test func `a log-in that was not stored is dropped with the erased customer`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let first = phone.perennial()
                try await first.purchase("seeds.100")
                // A second process writes nothing while the first one runs.
                let second = phone.perennial()
                try await second.until { $0.wallets["seeds"]?.balance == 100 }
                await world.serverIs(.down)
                // To erase a customer who is not anonymous, the server requires a proof.
                let id = DeviceSecrets.anonymousPrefix + UUID().uuidString.lowercased()
                try await second.identify(id)
                let engine = try #require(second.engine)
                #expect(await engine.posting.unwritten.map(\.customerID) == [id])
                await world.serverIs(.up)
                try await second.eraseCustomer()
                #expect(await engine.posting.unwritten == [])
            }
        }

        @Test func `a forged document does not change the environment of purchases`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.until(\.isKnown)
                let engine = try #require(perennial.engine)
                let payload = """
                    {"transactionId":"1","originalTransactionId":"1","productId":"guide",\
                    "type":"Non-Consumable","purchaseDate":1,"signedDate":1,"environment":"Xcode"}
                    """
                let jws = "e30." + Base64URL.encode(payload.utf8) + ".AA"
                await engine.collect(
                    [StoreDocument(jws: jws, isVerified: false)], intent: .sync)
                #expect(await engine.state.isXcode == false)
                try await perennial.purchase("guide")
                #expect(perennial["guide"].basis == .server)
            }
        }

        @Test func `25: an unknown purchase result does not count as a cancellation`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                let engine = try #require(perennial.engine)
                let failure = await #expect(throws: Perennial.Failure.self) {
                    try await engine.receive(StorePurchaseResult.unknown, for: "guide")
                }
                #expect(failure?.code == .purchaseResultUnknown && failure?.charged == .unclear)
                // If the purchase was paid, it arrives later without another call.
                try await phone.buyElsewhere("guide")
                await perennial.enterForeground()
                try await perennial.until { $0["guide"].isActive }
                #expect(try await phone.finishesAll(perennial))
                #expect(try await world.truth(of: "anna").isOpen("guide"))
            }
        }

        @Test func `28: a purchase that returns another product does not count as bought`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("guide")
                let engine = try #require(perennial.engine)
                let listed = await SimulatedDevice.$current.withValue(phone.simulated) {
                    await StoreKitStore().documents(.entitlements)
                }
                let guide = try #require(listed?.first)
                let failure = await #expect(throws: Perennial.Failure.self) {
                    try await engine.receive(.bought(guide), for: "seeds.100")
                }
                #expect(failure?.code == .purchaseReturnedAnother)
                #expect(failure?.charged == .unclear)
                #expect(perennial.wallet("seeds").balance == 0 && perennial["guide"].isActive)
                #expect(try await world.truth(of: "anna").count(of: "seeds.100") == 0)
            }
        }
    }
}
