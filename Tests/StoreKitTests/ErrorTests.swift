import Foundation
import Testing

@testable import StoreKit

extension StoreTests {
    @Suite struct ErrorTests {
        private static let general = [
            "unknown", "user_cancelled", "network_error", "system_error",
            "not_available_in_storefront", "not_entitled", "unsupported",
        ]
        private static let purchase: [(String, Product.PurchaseError)] = [
            ("invalid_quantity", .invalidQuantity), ("product_unavailable", .productUnavailable),
            ("purchase_not_allowed", .purchaseNotAllowed),
            ("ineligible_for_offer", .ineligibleForOffer),
            ("invalid_offer_identifier", .invalidOfferIdentifier),
            ("invalid_offer_price", .invalidOfferPrice),
            ("invalid_offer_signature", .invalidOfferSignature),
            ("missing_offer_parameters", .missingOfferParameters),
        ]

        private func check(
            _ word: String, _ location: SourceLocation = #_sourceLocation,
            _ call: () async throws -> Void
        ) async {
            do {
                try await call()
                Issue.record("Nothing was thrown for \(word).", sourceLocation: location)
            } catch let error as StoreKitError {
                #expect(name(error) == word, sourceLocation: location)
                #expect(error.errorDescription?.isEmpty == false, sourceLocation: location)
            } catch {
                Issue.record("\(error) for \(word)", sourceLocation: location)
            }
        }

        private func name(_ error: StoreKitError) -> String {
            switch error {
            case .unknown: "unknown"
            case .userCancelled: "user_cancelled"
            case .networkError: "network_error"
            case .systemError: "system_error"
            case .notAvailableInStorefront: "not_available_in_storefront"
            case .notEntitled: "not_entitled"
            case .unsupported: "unsupported"
            case .invalidPresentationContext: "invalid_presentation_context"
            }
        }

        @Test(arguments: general)
        func `each call throws the StoreKitError that the test has set`(word: String) async throws {
            let world = try await World()
            let phone = try await world.device()
            let bought = try await phone.buy("guide")
            let calls = ["products", "purchase", "sync", "status", "app_transaction", "refund"]
            let orders = Dictionary(uniqueKeysWithValues: calls.map { ($0, word) })
            let product = try await phone.product("pro.monthly")
            try await world.post("devices/\(phone.id)/errors", orders)
            await phone.use {
                await check(word) { _ = try await Product.products(for: ["guide"]) }
                await check(word) { _ = try await product.purchase() }
                await check(word) { try await AppStore.sync() }
                await check(word) { _ = try await product.subscription?.status }
                await check(word) { _ = try await AppTransaction.shared }
                await check(word) { _ = try await AppTransaction.refresh() }
                await check(word) { _ = try await bought.beginRefundRequest() }
            }
        }

        @Test(arguments: purchase)
        func `a purchase throws the PurchaseError that the test has set`(
            word: String, error: Product.PurchaseError
        ) async throws {
            let world = try await World()
            let phone = try await world.device()
            let product = try await phone.product("guide")
            try await world.post("devices/\(phone.id)/errors", ["purchase": word])
            await phone.use {
                await #expect(throws: error) { try await product.purchase() }
                #expect(error.errorDescription?.isEmpty == false)
            }
        }

        @Test func `a sheet fails once with the error that the test has set`() async throws {
            let world = try await World()
            let phone = try await world.device()
            try await world.post(
                "devices/\(phone.id)/next-sheet", ["error": "product_unavailable"])
            await #expect(throws: Product.PurchaseError.productUnavailable) {
                try await phone.buy("guide")
            }
            try await phone.buy("guide")
        }

        @Test(arguments: [
            (0, "guide"), (11, "seeds.100"), (2, "guide"),
        ])
        func `a purchase with an impossible quantity is refused`(quantity: Int, product: String)
            async throws
        {
            let phone = try await World().device()
            await #expect(throws: Product.PurchaseError.invalidQuantity) {
                try await phone.buy(product, [.quantity(quantity)])
            }
        }

        @Test func `a purchase with an offer that the customer cannot have is refused`()
            async throws
        {
            let phone = try await World(shop: "full").device()
            await #expect(throws: Product.PurchaseError.invalidOfferIdentifier) {
                try await phone.buy(
                    "tiers.gold",
                    Set(Product.PurchaseOption.promotionalOffer("half", compactJWS: "e.e.e")))
            }
            await #expect(throws: Product.PurchaseError.ineligibleForOffer) {
                let offer = try await phone.product("tiers.gold").subscription?.winBackOffers.first
                try await phone.buy("tiers.gold", [.winBackOffer(try #require(offer))])
            }
            await #expect(throws: Product.PurchaseError.invalidOfferIdentifier) {
                let gold = try await phone.product("tiers.gold").subscription
                let offer = try #require(gold?.promotionalOffers.first)
                try await phone.buy("tiers.gold", [.winBackOffer(offer)])
            }
        }

        @Test func `a request for an unknown device is refused with a remedy`() async throws {
            let world = try await World()
            let nobody = SimulatedDevice(simulator: world.url, id: "nobody-1")
            await nobody.use {
                do {
                    _ = try await Product.products(for: ["guide"])
                    Issue.record("Nothing was thrown.")
                } catch StoreKitError.systemError(let refusal as SimulatorRefusal) {
                    #expect(refusal.code == "unknown_device" && !refusal.remedy.isEmpty)
                } catch {
                    Issue.record("\(error)")
                }
            }
        }

        @Test func `a second request for a refund is a duplicate`() async throws {
            let world = try await World()
            let phone = try await world.device()
            let bought = try await phone.buy("guide")
            try await phone.use {
                let first = try await bought.beginRefundRequest()
                #expect(first == .success)
                await #expect(throws: Transaction.RefundRequestError.duplicateRequest) {
                    try await Transaction.beginRefundRequest(for: bought.id)
                }
            }
        }
    }
}
