import Foundation
import Testing

@testable import StoreKit

extension StoreTests {
    @Suite struct UpdateTests {
        @Test func `a renewal is announced on a second phone once`() async throws {
            let world = try await World()
            let phone = try await world.device()
            let pad = try await world.device(of: phone.account)
            let bought = try await phone.buy("pro.monthly")
            await phone.use { await bought.finish() }
            try await world.advance("P32D")
            let renewal = try #require(
                await phone.use { await Transaction.latest(for: "pro.monthly") }
            ).unsafePayloadValue
            await phone.use { await renewal.finish() }
            await pad.use {
                var updates = Transaction.updates.makeAsyncIterator()
                #expect(await updates.next()?.unsafePayloadValue.id == bought.id)
                let announced = await updates.next()?.unsafePayloadValue
                #expect(announced?.id == renewal.id && announced?.originalID == bought.id)
                #expect(announced?.reason == .renewal)
            }
            try await relaunch(pad, in: world, expecting: "seeds.100")
        }

        /// Launches the app again, and expects nothing on its stream before a purchase on another
        /// device.
        private func relaunch(
            _ device: SimulatedDevice, in world: World, expecting product: String
        ) async throws {
            let again = try await device.relaunched()
            let other = try await world.device(of: device.account)
            try await again.use {
                var updates = Transaction.updates.makeAsyncIterator()
                try await again.untilListening()
                try await other.buy(product)
                #expect(await updates.next()?.unsafePayloadValue.productID == product)
            }
        }

        @Test func `an unfinished transaction is announced at each launch`() async throws {
            let world = try await World()
            let phone = try await world.device()
            let bought = try await phone.buy("guide")
            for _ in 1...2 {
                let launched = try await phone.relaunched()
                await launched.use {
                    var updates = Transaction.updates.makeAsyncIterator()
                    #expect(await updates.next()?.unsafePayloadValue.id == bought.id)
                }
            }
        }

        @Test func `a refund is announced as a revocation under the same transaction id`()
            async throws
        {
            let world = try await World()
            let phone = try await world.device()
            let bought = try await phone.buy("guide")
            try await phone.use {
                await bought.finish()
                var updates = Transaction.updates.makeAsyncIterator()
                try await phone.untilListening()
                try await world.post("transactions/\(bought.id)/refund")
                let revoked = try #require(await updates.next()).unsafePayloadValue
                #expect(revoked.id == bought.id && revoked.revocationDate != nil)
                #expect(revoked.revocationReason != nil && revoked.revocationType == .fullRefund)
                #expect(await Transaction.currentEntitlement(for: "guide") == nil)
            }
        }

        @Test func `every listener of a process receives every event`() async throws {
            let world = try await World()
            let phone = try await world.device()
            let pad = try await world.device(of: phone.account)
            try await phone.use {
                var first = Transaction.updates.makeAsyncIterator()
                var second = Transaction.updates.makeAsyncIterator()
                try await phone.untilListening()
                let bought = try await pad.buy("guide")
                #expect(await first.next()?.unsafePayloadValue.id == bought.id)
                #expect(await second.next()?.unsafePayloadValue.id == bought.id)
            }
        }

        @Test func `events without a listener are delivered to the next listener, once`()
            async throws
        {
            let world = try await World()
            let phone = try await world.device()
            let pad = try await world.device(of: phone.account)
            try await phone.use {
                do {
                    let first = Transaction.updates.makeAsyncIterator()
                    try await phone.untilListening()
                    withExtendedLifetime(first) {}
                }
                var bought = [try await pad.buy("guide").id, try await pad.buy("seeds.100").id]
                var updates = Transaction.updates.makeAsyncIterator()
                #expect(await updates.next()?.unsafePayloadValue.id == bought[0])
                #expect(await updates.next()?.unsafePayloadValue.id == bought[1])
                bought.append(try await pad.buy("season.spring").id)
                #expect(await updates.next()?.unsafePayloadValue.id == bought[2])
            }
        }

        @Test func `after a broken connection, each event still arrives once`() async throws {
            let world = try await World()
            let phone = try await world.device()
            let proxy = try FlakyProxy(to: world.url)
            defer { proxy.stop() }
            let listening = SimulatedDevice(simulator: proxy.url, id: phone.id)
            let pad = try await world.device(of: phone.account)
            try await listening.use {
                var updates = Transaction.updates.makeAsyncIterator()
                try await listening.untilListening()
                for round in 1...12 {
                    if round % 3 == 0 { proxy.cut() }
                    let bought = try await pad.buy("seeds.100")
                    if round % 4 == 0 { proxy.cut() }
                    #expect(await updates.next()?.unsafePayloadValue.id == bought.id)
                }
            }
            #expect(proxy.connections > 4)
        }

        @Test func `a listener ends when its task is cancelled`() async throws {
            let phone = try await World().device()
            let listening = SimulatedDevice.$current.withValue(phone) {
                Task { for await _ in Transaction.updates {} }
            }
            listening.cancel()
            await listening.value
        }

        @Test func `one test can have two phones`() async throws {
            let world = try await World()
            let (anna, ben) = (try await world.device(), try await world.device())
            async let first = anna.buy("guide")
            async let second = ben.buy("season.spring")
            let (guide, season) = try await (first, second)
            #expect(await anna.ids { Transaction.all } == [guide.id])
            #expect(await ben.ids { Transaction.all } == [season.id])
            await anna.use {
                let inherited = await Task { SimulatedDevice.current }.value
                #expect(inherited == anna)
            }
        }

        @Test func `a change of the storefront is announced`() async throws {
            let world = try await World()
            let phone = try await world.device()
            try await phone.use {
                #expect(await Storefront.current?.countryCode == "USA")
                var updates = Storefront.updates.makeAsyncIterator()
                try await phone.untilListening()
                try await world.post(
                    "devices/\(phone.id)/account", ["account": phone.account, "storefront": "DEU"])
                let storefront = try #require(await updates.next())
                #expect(storefront.countryCode == "DEU" && storefront.currency == .init("EUR"))
            }
        }

        @Test func `messages and purchase intents reach the app's streams`() async throws {
            let world = try await World()
            let phone = try await world.device()
            try await phone.use {
                var messages = Message.messages.makeAsyncIterator()
                var intents = PurchaseIntent.intents.makeAsyncIterator()
                try await world.post("devices/\(phone.id)/messages", ["reason": "generic"])
                try await world.post(
                    "devices/\(phone.id)/purchase-intents", ["product_id": "guide"])
                let message = try #require(await messages.next())
                #expect(message.reason == .generic)
                let intent = try #require(await intents.next())
                #expect(intent.id == "guide" && intent.offer == nil)
                guard case .success = try await intent.product.purchase() else {
                    Issue.record("The intent was not bought.")
                    return
                }
                try await message.display()
            }
            let left = try await world.get("devices/\(phone.id)/messages")
            #expect((left["messages"] as? [Any])?.isEmpty == true)
        }

        @Test func `a purchase intent contains its win-back offer`() async throws {
            let world = try await World(shop: "full")
            let phone = try await world.device()
            try await phone.buy("tiers.gold")
            try await world.post("subscriptions/\(phone.account):tiers.gold/expire")
            try await phone.use {
                var messages = Message.messages.makeAsyncIterator()
                var intents = PurchaseIntent.intents.makeAsyncIterator()
                try await world.post(
                    "devices/\(phone.id)/purchase-intents",
                    ["product_id": "tiers.gold", "offer": "comeback"])
                #expect(await messages.next()?.reason == .winBackOffer)
                #expect(await intents.next()?.offer?.id == "comeback")
            }
        }
    }
}
