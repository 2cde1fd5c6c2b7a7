import Foundation
import Testing

@testable import StoreKit

extension StoreTests {
    /// Tests Apple's names for subscriptions with several seats.
    @Suite struct SeatTests {
        private func world(
            invitations: String = "apple", _ more: [String: any Sendable] = [:]
        ) async throws -> World {
            let world = try await World()
            let later: [String: any Sendable] = ["from": 6, "price": "7.99"]
            let tiers: [String: any Sendable] = ["tiers": [later]]
            let seats: [String: any Sendable] = ["pro.monthly": tiers, "plus.monthly": true]
            try await world.post(
                "reset",
                [
                    "shop": "example", "seed": 1, "now": "2026-01-01T12:00:00Z",
                    "multi_seat": seats, "seat_invitations": invitations,
                ].merging(more) { $1 })
            return world
        }

        /// The transactions of a product, the first one first.
        private func transactions(
            _ product: String, on phone: SimulatedDevice
        ) async -> [Transaction] {
            await phone.use {
                var all: [Transaction] = []
                for await result in Transaction.all(for: product) {
                    all.append(result.unsafePayloadValue)
                }
                return all.sorted { $0.id < $1.id }
            }
        }

        private func renewal(on phone: SimulatedDevice) async throws
            -> Product.SubscriptionInfo.RenewalInfo
        {
            try await phone.use {
                let product = try await phone.product("pro.monthly")
                let status = try #require(try await product.subscription?.status.first)
                return status.renewalInfo.unsafePayloadValue
            }
        }

        @Test func `a product has the prices of its seats if it is sold in seats`() async throws {
            let phone = try await world().device(with: ["storefront": "USA"])
            let sold = try await phone.product("pro.monthly")
            #expect(sold.supportsMultiSeatPurchase)
            let terms = try #require(sold.subscription?.pricingTerms)
            guard case .seatBased(let pricing)? = terms.last?.pricingModel,
                case .singlePrice(let single)? = terms.first?.pricingModel
            else {
                Issue.record("\(terms)")
                return
            }
            #expect(single.billingInfo.price == sold.price)
            #expect(single.billingInfo.displayPrice == sold.displayPrice)
            #expect(pricing.priceTiers.map(\.minimumSeats) == [1, 6])
            #expect(pricing.priceTiers.map(\.maximumSeats) == [5, nil])
            #expect(
                pricing.priceTiers.map(\.billingInfo.price) == [
                    Decimal(string: "9.99"), Decimal(string: "7.99"),
                ])
            #expect(pricing.priceTiers.map(\.billingInfo.displayPrice) == ["$9.99", "$7.99"])
            #expect(pricing.priceTiers.allSatisfy { $0.billingInfo.period == .monthly })
            let one = try await phone.product("pro.yearly")
            #expect(!one.supportsMultiSeatPurchase)
            let isSeatBased = one.subscription?.pricingTerms.contains {
                if case .seatBased = $0.pricingModel { true } else { false }
            }
            #expect(isSeatBased == false)
        }

        @Test func `a transaction of seats has their number, tiers and invitation management`()
            async throws
        {
            let phone = try await world(invitations: "developer").device()
            let bought = try await phone.buy("pro.monthly", [.seats(7)])
            #expect(bought.purchasedQuantity == 7 && bought.ownershipType == .purchased)
            let seats = try #require(bought.multiSeatInfo)
            #expect(seats.invitationManagement == .developer && seats.revokedSeatQuantity == nil)
            let sum = seats.priceTiers.reduce(Decimal()) { $0 + $1.price * Decimal($1.quantity) }
            #expect(sum == Decimal(string: "65.93"))
            #expect(bought.price == Decimal(string: "9.419"), "The rounded average of one seat.")
            #expect(bought.additionalTransactionReason == nil)
            let renewal = try await renewal(on: phone)
            #expect(renewal.renewalQuantity == 7)
            let next = renewal.multiSeatInfo?.renewalPriceTiers ?? []
            #expect(next.reduce(0) { $0 + $1.quantity } == 7)
        }

        @Test func `seats are added by the new total, in a transaction of the same period`()
            async throws
        {
            let world = try await world()
            let phone = try await world.device()
            try await phone.buy("pro.monthly", [.seats(5)])
            try await world.advance("P10D")
            let added = try await phone.buy(
                "pro.monthly", [.seats(8), .multiSeatInvitationSheetSuppressed(true)])
            #expect(added.purchasedQuantity == 3 && !added.isUpgraded)
            let all = await transactions("pro.monthly", on: phone)
            #expect(all.map(\.purchasedQuantity) == [5, 3])
            #expect(Set(all.map(\.expirationDate)).count == 1)
            #expect(all.map(\.additionalTransactionReason) == [.seatAddition, .seatAddition])
            #expect(try await renewal(on: phone).renewalQuantity == 8)
        }

        @Test func `StoreKit throws an error for fewer seats, and for seats of another product`()
            async throws
        {
            let phone = try await world().device()
            try await phone.buy("pro.monthly", [.seats(5)])
            await #expect(throws: Product.PurchaseError.seatReductionNotAllowed) {
                try await phone.buy("pro.monthly", [.seats(4)])
            }
            await #expect(throws: Product.PurchaseError.invalidQuantity) {
                try await phone.buy("pro.monthly", [.seats(5)])
            }
            let other = try await world().device()
            await #expect(throws: Product.PurchaseError.multiSeatPurchaseDisabled) {
                try await other.buy("pro.yearly", [.seats(2)])
            }
            for error in [
                Product.PurchaseError.seatReductionNotAllowed, .multiSeatPurchaseDisabled,
            ] {
                #expect(error.errorDescription?.isEmpty == false)
            }
            #expect(StoreKitError.invalidPresentationContext.errorDescription?.isEmpty == false)
        }

        @Test func `a refund of some seats reports the number of seats, and no date of revocation`()
            async throws
        {
            let world = try await world()
            let phone = try await world.device()
            try await phone.buy("pro.monthly", [.seats(7)])
            try await world.post(
                "subscriptions/\(phone.account):pro.monthly/refund", ["type": "full", "seats": 2])
            let left = try #require(await transactions("pro.monthly", on: phone).first)
            #expect(left.multiSeatInfo?.revokedSeatQuantity == 2 && left.revocationDate == nil)
            #expect(left.purchasedQuantity == 7)
            #expect(
                await phone.use { await Transaction.currentEntitlement(for: "pro.monthly") } != nil)
        }

        @Test func `a member's transaction is assigned until the seat is taken back`() async throws
        {
            let world = try await world()
            let (anna, ben) = (try await world.device(), try await world.device())
            try await anna.buy("pro.monthly", [.seats(3)])
            let group = "subscriptions/\(anna.account):pro.monthly"
            try await world.post("\(group)/join-group", ["account": ben.account])
            let joined = try #require(await transactions("pro.monthly", on: ben).first)
            #expect(joined.ownershipType == .assigned && joined.purchasedQuantity == 3)
            #expect(joined.ownershipType.localizedDescription == "Assigned")
            try await world.post("\(group)/leave-group", ["account": ben.account])
            let left = try #require(await transactions("pro.monthly", on: ben).first)
            #expect(left.revocationType == .assignmentRevocation && left.revocationDate != nil)
        }
    }
}
