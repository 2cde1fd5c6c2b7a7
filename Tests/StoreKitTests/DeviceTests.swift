import Foundation
import Testing

@testable import StoreKit

extension StoreTests {
    @Suite struct DeviceTests {
        @Test func `without a network, lists are read from the device and purchases fail`()
            async throws
        {
            let world = try await World()
            let phone = try await world.device()
            let bought = try await phone.buy("pro.monthly")
            let product = try await phone.product("guide")
            try await world.post("devices/\(phone.id)/network", ["state": "offline"])
            #expect(await phone.ids { Transaction.currentEntitlements } == [bought.id])
            #expect(await phone.ids { Transaction.unfinished } == [bought.id])
            try await phone.use {
                #expect(await bought.subscriptionStatus?.state == .subscribed)
                let app = try await AppTransaction.shared.payloadValue
                #expect(app.bundleID == bought.appBundleID)
                await check(.notConnectedToInternet) { _ = try await product.purchase() }
                await check(.notConnectedToInternet) {
                    _ = try await Product.products(for: ["guide"])
                }
                await check(.notConnectedToInternet) { try await AppStore.sync() }
                try await world.post("devices/\(phone.id)/network", ["state": "captive"])
                await check(.secureConnectionFailed) { try await AppStore.sync() }
            }
        }

        private func check(
            _ code: URLError.Code, _ location: SourceLocation = #_sourceLocation,
            _ call: () async throws -> Void
        ) async {
            do {
                try await call()
                Issue.record("Nothing was thrown.", sourceLocation: location)
            } catch StoreKitError.networkError(let failure) {
                #expect(failure.code == code, sourceLocation: location)
            } catch {
                Issue.record("\(error)", sourceLocation: location)
            }
        }

        @Test func `without a simulator, reads return the last known answers`() async throws {
            let program = try await SimulatorProgram()
            let world = try await World(on: program)
            let phone = try await world.device()
            let bought = try await phone.buy("pro.monthly")
            let product = try await phone.product("guide")
            #expect(await phone.ids { Transaction.currentEntitlements } == [bought.id])
            try await phone.use { _ = try await AppTransaction.shared }
            program.stop()
            #expect(await phone.ids { Transaction.currentEntitlements } == [bought.id])
            #expect(await phone.ids { Transaction.unfinished } == [])
            try await phone.use {
                let app = try await AppTransaction.shared.payloadValue
                #expect(app.bundleID == bought.appBundleID)
                let statuses = try await Product.SubscriptionInfo.status(for: "21400001")
                #expect(statuses == [])
                #expect(await Storefront.current == nil)
                #expect(AppStore.canMakePayments && AppStore.deviceVerificationID == nil)
                await check(.cannotConnectToHost) { _ = try await product.purchase() }
                await check(.cannotConnectToHost) {
                    _ = try await Product.products(for: ["guide"])
                }
                await check(.cannotConnectToHost) { try await AppStore.sync() }
            }
        }

        @Test func `a simulated device has a clock that can be set`() async throws {
            let world = try await World()
            let phone = try await world.device()
            let store = Date(timeIntervalSince1970: 1_767_268_800)
            #expect(try await phone.now() == store)
            try await world.post("devices/\(phone.id)/clock", ["back": "P1D"])
            try await world.advance("PT1H")
            let clock = try await phone.clock()
            #expect(clock.now == store.addingTimeInterval(3600 - 86_400))
            #expect(clock.sinceBoot == .seconds(3600))
            try await world.post("devices/\(phone.id)/reboot")
            let restarted = try await phone.clock()
            #expect(restarted.sinceBoot == .zero && restarted.bootID != clock.bootID)
        }

        @Test func `only sync and refresh ask for a password`() async throws {
            let world = try await World()
            let phone = try await world.device()
            try await phone.use {
                for await _ in Transaction.currentEntitlements {}
                _ = try await AppTransaction.shared
                try await AppStore.sync()
                _ = try await AppTransaction.refresh()
            }
            let prompts = try await world.get("devices/\(phone.id)/prompts")["prompts"]
            let causes = (prompts as? [[String: Any]])?.compactMap { $0["cause"] as? String }
            #expect(causes == ["sync", "refresh"])
        }

        @Test func `a call on a device without a name throws an error that explains the mistake`()
            async throws
        {
            let nameless = SimulatedDevice(simulator: try await World().url, id: "")
            await nameless.use {
                do {
                    try await AppStore.sync()
                    Issue.record("Nothing was thrown.")
                } catch {
                    #expect("\(error.localizedDescription)".contains("PERENNIAL_DEVICE"))
                }
            }
        }
    }
}
