import AppStoreFormats

@testable import Simulator

// Rows 36 to 57: offers, families, ends, one-time purchases, commitments, and notifications that
// are about no purchase.

extension Course {
    static let offers = [
        row(
            .offerCodeFirstPurchase, .orders(PurchaseOrder("weeks.half", offerID: "code.upfront"))),
        row(
            .offerOnActive, .buys("tiers.silver"),
            .orders(PurchaseOrder("tiers.silver", offerID: "loyal"))),
        row(
            .offerUpgrade, .buys("tiers.silver"), .waits("P3D"),
            .orders(PurchaseOrder("tiers.gold", offerID: "code.upfront"))),
        row(
            .offerDowngrade, .buys("tiers.silver"),
            .orders(PurchaseOrder("tiers.bronze", offerID: "code.upfront"))),
        row(
            .offerAfterLapse, .buys("tiers.silver"), .does(.cancel), .waits("P2M"),
            .orders(PurchaseOrder("tiers.silver", offerID: "comeback"))),
    ]

    static let families = [
        row(.familySharingBegan, .household, .buys("family.monthly")),
        row(
            .familySharingEnded, .household, .buys("family.monthly"), .waits("P40D"),
            .does(.refund())),
        row(
            .familyOneTimePurchase, .household, .buys("atlas"), .waits("P3D"),
            .transaction(.refund())),
    ]

    static let endings = [
        row(
            .resubscribedSameProduct, .buys("tiers.silver"), .does(.cancel), .waits("P2M"),
            .buys("tiers.silver")),
        row(
            .resubscribedOtherProduct, .buys("tiers.silver"), .does(.cancel), .waits("P2M"),
            .buys("tiers.bronze")),
        row(.productNotForSale, .buys("tiers.silver"), .does(.removeFromSale), .waits("P1M")),
        row(.otherEnd, .buys("tiers.silver"), .waits("P3D"), .does(.expire)),
    ]

    static let others = [
        row(
            .oneTimePurchase, .buys("season"), .orders(PurchaseOrder("seeds", quantity: 3)),
            .buys("atlas")),
        row(
            .oneTimeRefund, .buys("atlas"), .transaction(.refund()), .waits("P1D"),
            .transaction(.reverseRefund)),
        row(
            .consumptionRequested, .buys("seeds"), .transaction(.requestRefund(.fulfillmentIssue)),
            .waits("P3D")),
        row(
            .externalPurchaseToken, .buys("tiers.silver"),
            .announces { world, now in
                world.externalPurchaseToken(ExternalTokenOrder(), in: .production, at: now)
            }),
        row(
            .consentRescinded, .buys("tiers.silver"),
            .announces { world, now throws(SimulatorProblem) in
                try world.rescindConsent(of: "anna", in: .production, at: now)
            }),
        row(
            .advancedCommerce, .buys("tiers.silver"), .does(.advancedCommerce(.init(.migration))),
            .does(.advancedCommerce(.init(.metadataUpdate, displayName: "Birds"))),
            .does(.advancedCommerce(.init(.priceChange, price: 11_990))), .waits("P1M")),
        row(
            .test, .buys("tiers.silver"),
            .announces { world, now in world.testNotification(in: .production, at: now) }),
    ]

    static let promise: PurchaseOrder = {
        var order = PurchaseOrder("years.promised")
        order.billingPlan = .monthly
        return order
    }()

    static let commitments = [
        row(.commitmentMonth, .orders(promise), .waits("P13M")),
        row(.commitmentCancelled, .orders(promise), .waits("P1M"), .does(.cancel), .waits("P11M")),
        row(
            .commitmentBillingFailed, .orders(promise), .waits("P5D"), .does(.failBilling),
            .waits("P1M"), .waits("P91D")),
    ]
}
