import Foundation
import Testing

@testable import StoreKit

extension StoreTests {
    @Suite struct StatusTests {
        private static let group = "21400001"

        @Test func `a status contains the state of the subscription and its renewal`() async throws
        {
            let world = try await World()
            let phone = try await world.device()
            try await phone.use {
                let monthly = try await phone.product("pro.monthly")
                #expect(try await monthly.subscription?.status == [])
                let bought = try await phone.buy("pro.monthly")
                let status = try #require(await monthly.subscription?.status.first)
                let renewal = try status.renewalInfo.payloadValue
                #expect(status.state == .subscribed)
                #expect(try status.transaction.payloadValue.id == bought.id)
                #expect(renewal.willAutoRenew && renewal.currentProductID == "pro.monthly")
                #expect(renewal.autoRenewPreference == "pro.monthly")
                #expect(renewal.renewalDate == bought.expirationDate)
                #expect(renewal.renewalPrice == bought.price && renewal.currency == bought.currency)
                #expect(renewal.priceIncreaseStatus == .noIncreasePending)
                #expect(renewal.originalTransactionID == bought.originalID)
                #expect(renewal.deviceVerification.count == 48)
                let byID = try await Product.SubscriptionInfo.status(transactionID: bought.id)
                #expect(byID?.state == .subscribed)
                #expect(await bought.subscriptionStatus?.state == .subscribed)
                for await (group, statuses) in Product.SubscriptionInfo.Status.all {
                    #expect(group == Self.group && statuses.map(\.state) == [.subscribed])
                }
            }
        }

        @Test func `a status has the state that the store reports`() async throws {
            let world = try await World()
            let phone = try await world.device()
            try await phone.buy("pro.monthly")
            func status() async throws -> Product.SubscriptionInfo.Status {
                try await phone.use {
                    try #require(await Product.SubscriptionInfo.status(for: Self.group).first)
                }
            }
            try await world.post("subscriptions/\(phone.account):pro.monthly/cancel")
            #expect(try await !status().renewalInfo.payloadValue.willAutoRenew)
            try await world.post("subscriptions/\(phone.account):pro.monthly/resume")
            try await world.post("subscriptions/\(phone.account):pro.monthly/fail-billing")
            try await world.advance("P33D")
            #expect(try await status().state == .inGracePeriod)
            #expect(try await status().renewalInfo.payloadValue.gracePeriodExpirationDate != nil)
            try await world.advance("P20D")
            #expect(try await status().state == .inBillingRetryPeriod)
            #expect(try await status().renewalInfo.payloadValue.isInBillingRetry)
            try await world.advance("P90D")
            #expect(try await status().state == .expired)
            #expect(try await status().renewalInfo.payloadValue.expirationReason == .billingError)
            #expect(await phone.ids { Transaction.currentEntitlements } == [])
        }

        @Test func `changes of a status arrive in its updates`() async throws {
            let world = try await World()
            let phone = try await world.device()
            try await phone.buy("pro.monthly")
            try await phone.use {
                var updates = Product.SubscriptionInfo.Status.updates.makeAsyncIterator()
                try await phone.untilListening()
                try await world.post("subscriptions/\(phone.account):pro.monthly/cancel")
                let cancelled = try #require(await updates.next())
                #expect(try !cancelled.renewalInfo.payloadValue.willAutoRenew)
                try await world.post("subscriptions/\(phone.account):pro.monthly/refund")
                #expect(await updates.next()?.state == .revoked)
            }
        }

        @Test func `offers are listed with the customer's eligibility`() async throws {
            let world = try await World(shop: "full")
            let phone = try await world.device()
            try await phone.use {
                let gold = try #require(try await phone.product("tiers.gold").subscription)
                let introductory = try #require(gold.introductoryOffer)
                #expect(introductory.paymentMode == .payAsYouGo && introductory.periodCount == 3)
                #expect(introductory.price == Decimal(string: "4.99") && introductory.id == nil)
                #expect(introductory.displayPrice == "$4.99" && introductory.type == .introductory)
                #expect(gold.promotionalOffers.map(\.id) == ["loyal"])
                #expect(gold.winBackOffers.map(\.id) == ["comeback"])
                #expect(await gold.isEligibleForIntroOffer)
                let bought = try await phone.buy("tiers.gold")
                #expect(bought.offer?.type == .introductory)
                #expect(bought.offer?.paymentMode == .payAsYouGo)
                #expect(bought.offerPeriodStringRepresentation == "P1M")
                #expect(await !gold.isEligibleForIntroOffer)
                try await world.post("subscriptions/\(phone.account):tiers.gold/expire")
                let status = try #require(await gold.status.first)
                #expect(try status.renewalInfo.payloadValue.eligibleWinBackOfferIDs == ["comeback"])
                let back = try await phone.buy("tiers.gold", [.winBackOffer(gold.winBackOffers[0])])
                #expect(back.offer?.type == .winBack && back.offer?.id == "comeback")
            }
        }

        @Test func `a promotional offer is for customers who were subscribed before`()
            async throws
        {
            let world = try await World(shop: "full")
            let phone = try await world.device()
            try await phone.buy("tiers.gold")
            try await world.post("subscriptions/\(phone.account):tiers.gold/expire")
            let signature = Product.SubscriptionOffer.Signature(
                keyID: "KEY", nonce: UUID(), timestamp: 1_767_268_800_000, signature: Data([1, 2]))
            let back = try await phone.buy(
                "tiers.gold", [.promotionalOffer(offerID: "loyal", signature: signature)])
            #expect(back.offer?.id == "loyal" && back.offer?.type == .promotional)
            let other = try await world.device()
            try await other.buy("tiers.gold")
            try await world.post("subscriptions/\(other.account):tiers.gold/expire")
            let options = Set(Product.PurchaseOption.promotionalOffer("loyal", compactJWS: "e.e.e"))
            #expect(try await other.buy("tiers.gold", options).offer?.id == "loyal")
        }

        @Test func `a monthly plan is a commitment for a year`() async throws {
            let phone = try await World(shop: "full").device()
            let terms = try #require(try await phone.product("years.promised").subscription)
            #expect(terms.pricingTerms.map(\.billingPlanType) == [.upFront, .monthly])
            let monthly = try #require(terms.pricingTerms.last)
            #expect(monthly.billingPrice == Decimal(string: "9.99"))
            #expect(monthly.billingDisplayPrice == "$9.99" && monthly.billingPeriod == .monthly)
            #expect(monthly.commitmentInfo.price == Decimal(string: "119.88"))
            #expect(monthly.commitmentInfo.period == .yearly)
            let bought = try await phone.buy("years.promised", [.billingPlanType(.monthly)])
            #expect(bought.billingPlanType == .monthly && bought.price == monthly.billingPrice)
            let commitment = try #require(bought.commitmentInfo)
            #expect(commitment.billingPeriodNumber == 1 && commitment.totalBillingPeriods == 12)
            #expect(commitment.price == monthly.commitmentInfo.price)
            let renewal = try #require(
                await phone.use { await bought.subscriptionStatus?.renewalInfo.payloadData })
            #expect(String(decoding: renewal, as: UTF8.self).contains("commitmentInfo"))
        }
    }
}
