import Foundation
import Testing

@testable import StoreKit

extension StoreTests {
    @Suite struct PurchaseTests {
        @Test func `products have names and prices of the storefront`() async throws {
            let world = try await World()
            let phone = try await world.device(with: ["storefront": "DEU"])
            try await phone.use {
                let products = try await Product.products(for: ["pro.yearly", "none", "guide"])
                #expect(products.map(\.id) == ["pro.yearly", "guide"])
                let yearly = try #require(products.first)
                #expect(yearly.displayName == "Birds Pro, yearly")
                #expect(yearly.type == .autoRenewable && yearly.isFamilyShareable)
                #expect(yearly.price == Decimal(string: "59.99"))
                #expect(yearly.displayPrice == "59,99\u{a0}€")
                #expect(yearly.price.formatted(yearly.priceFormatStyle) == "59,99\u{a0}€")
                let terms = try #require(yearly.subscription)
                #expect(terms.subscriptionPeriod == .yearly && terms.groupLevel == 2)
                #expect(terms.groupDisplayName == "Birds Pro")
                #expect(terms.introductoryOffer?.paymentMode == .freeTrial)
                #expect(terms.introductoryOffer?.period == .weekly)
                #expect(products[1].subscription == nil && products[1].type == .nonConsumable)
            }
        }

        @Test func `a purchase returns a verified transaction of this device`() async throws {
            let phone = try await World().device()
            let token = UUID()
            try await phone.use {
                let product = try await phone.product("pro.monthly")
                let result = try await product.purchase(options: [.appAccountToken(token)])
                guard case .success(.verified(let bought)) = result else {
                    Issue.record("\(result)")
                    return
                }
                #expect(bought.productID == "pro.monthly" && bought.id == bought.originalID)
                #expect(bought.appBundleID == "com.example.birds")
                #expect(bought.appAccountToken == token)
                #expect(bought.price == Decimal(string: "9.99") && bought.currencyCode == "USD")
                #expect(bought.reason == .purchase && bought.ownershipType == .purchased)
                #expect(bought.environment == .production && bought.storefront.countryCode == "USA")
                #expect(bought.productType == .autoRenewable && bought.purchasedQuantity == 1)
                #expect(
                    bought.expirationDate == bought.purchaseDate.addingTimeInterval(31 * 86_400))
                #expect(bought.deviceVerification.count == 48)
                let entitled = await Transaction.currentEntitlement(for: "pro.monthly")
                #expect(entitled?.unsafePayloadValue.id == bought.id)
                #expect(await product.latestTransaction?.unsafePayloadValue.id == bought.id)
                let jws = try #require(entitled?.jwsRepresentation)
                #expect(jws.split(separator: ".").count == 3)
                #expect(entitled?.payloadData == entitled?.unsafePayloadValue.jsonRepresentation)
            }
        }

        @Test func `a finished transaction is no longer listed as unfinished`() async throws {
            let phone = try await World().device()
            let bought = try await phone.buy("seeds.100", [.quantity(3)])
            #expect(bought.purchasedQuantity == 3)
            #expect(await phone.ids { Transaction.unfinished } == [bought.id])
            #expect(await phone.ids { Transaction.all } == [bought.id])
            await phone.use { await bought.finish() }
            #expect(await phone.ids { Transaction.unfinished } == [])
            #expect(await phone.ids { Transaction.all } == [])
            #expect(await phone.use { await Transaction.latest(for: "seeds.100") } == nil)
            var curious = phone
            curious.includesFinishedConsumables = true
            #expect(await curious.ids { Transaction.all } == [bought.id])
        }

        @Test func `if a parent approves a purchase, it arrives as an update`() async throws {
            let world = try await World()
            let phone = try await world.device(with: ["ask_to_buy": true])
            try await phone.use {
                var updates = Transaction.updates.makeAsyncIterator()
                try await phone.untilListening()
                guard case .pending = try await phone.product("guide").purchase() else {
                    Issue.record("The purchase is not pending.")
                    return
                }
                let truth = try await world.get("truth/\(phone.account)")
                let pending = try #require((truth["pending"] as? [[String: Any]])?.first)
                let id = try #require(pending["id"] as? String)
                try await world.post("transactions/\(id)/approve")
                #expect(await updates.next()?.unsafePayloadValue.productID == "guide")
            }
        }

        @Test func `if the customer cancels a purchase, it returns userCancelled`() async throws {
            let world = try await World()
            let phone = try await world.device()
            try await world.post("devices/\(phone.id)/next-sheet", ["choice": "cancel"])
            try await phone.use {
                guard case .userCancelled = try await phone.product("guide").purchase() else {
                    Issue.record("The purchase was not cancelled.")
                    return
                }
            }
            #expect(await phone.ids { Transaction.all } == [])
        }

        @Test func `a purchase continues even if its task is cancelled`() async throws {
            let world = try await World()
            let phone = try await world.device()
            try await world.post("devices/\(phone.id)/next-sheet", ["hold": true])
            let product = try await phone.product("guide")
            let purchase = SimulatedDevice.$current.withValue(phone) {
                Task { try await product.purchase() }
            }
            _ = try await world.get("devices/\(phone.id)/prompts", "count=1")
            purchase.cancel()
            try await world.post("devices/\(phone.id)/let-go")
            guard case .success = try await purchase.value else {
                Issue.record("The purchase did not go on.")
                return
            }
        }

        @Test func `reads in a cancelled task return nothing`() async throws {
            let phone = try await World().device()
            try await phone.buy("guide")
            let read = SimulatedDevice.$current.withValue(phone) {
                Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    var count = try await Product.products(for: ["guide"]).count
                    for await _ in Transaction.currentEntitlements { count += 1 }
                    count += try await Product.SubscriptionInfo.status(for: "21400001").count
                    return count
                }
            }
            #expect(try await read.value == 0)
        }

        @Test func `a device can be set to forbid payments`() async throws {
            let world = try await World()
            let phone = try await world.device()
            #expect(phone.canMakePayments)
            try await world.post("devices/\(phone.id)/settings", ["can_make_payments": false])
            #expect(!phone.canMakePayments)
            await #expect(throws: Product.PurchaseError.purchaseNotAllowed) {
                try await phone.buy("guide")
            }
        }

        @Test func `in the sandbox an app can request Ask to Buy for a purchase`() async throws {
            let world = try await World()
            for environment in ["sandbox", "production"] {
                let phone = try await world.device(with: ["environment": environment])
                try await phone.use {
                    let result = try await phone.product("guide").purchase(
                        options: [.simulatesAskToBuyInSandbox(true)])
                    switch result {
                    case .pending: #expect(environment == "sandbox")
                    default: #expect(environment == "production")
                    }
                }
            }
        }

        @Test func `if the storefront changes, the app decides whether the purchase continues`()
            async throws
        {
            let world = try await World()
            let phone = try await world.device()
            let product = try await phone.product("guide")
            try await world.post(
                "devices/\(phone.id)/account", ["account": phone.account, "storefront": "DEU"])
            try await phone.use {
                await #expect(throws: StoreKitError.self) {
                    try await product.purchase(options: [.onStorefrontChange { _ in false }])
                }
                guard
                    case .success = try await product.purchase(options: [
                        .onStorefrontChange { $0.countryCode == "DEU" }
                    ])
                else {
                    Issue.record("The purchase did not go on.")
                    return
                }
            }
        }
    }
}

extension SimulatedDevice {
    var canMakePayments: Bool { Self.$current.withValue(self) { AppStore.canMakePayments } }
}
