import AppStoreFormats

@testable import Simulator

// Rows 1 to 35 of the table in docs/lifecycle.md: purchases of one subscriber.

extension Course {
    static let all =
        beginnings + failures + choices + refunds + prices + offers + families
        + endings + others + commitments

    private init(
        _ row: LifecycleRow, _ steps: [Step],
        set: @escaping @Sendable (inout SimulatorSettings) -> Void = { _ in }
    ) {
        self.init(name: "\(row.rawValue): \(row)", rows: [row], set: set, steps: steps)
    }

    static func row(_ row: LifecycleRow, _ steps: Step...) -> Course { Course(row, steps) }

    static let noGrace: @Sendable (inout SimulatorSettings) -> Void = { $0.graceDays = 0 }

    private static let beginnings = [
        row(.firstPurchase, .buys("tiers.silver")),
        row(.firstPurchaseTrial, .orders(PurchaseOrder("tiers.silver"))),
        row(.firstPurchasePayAsYouGo, .orders(PurchaseOrder("tiers.gold")), .waits("P4M")),
        row(.firstPurchasePayUpFront, .orders(PurchaseOrder("tiers.bronze"))),
        row(.trialConverts, .orders(PurchaseOrder("tiers.silver")), .waits("P1W")),
        Course(
            .renewal, [.buys("tiers.silver"), .waits("P30D")],
            set: { $0.renewsEarlySeconds = 86_400 }),
        row(.renewalOff, .buys("tiers.silver"), .does(.cancel)),
        row(.renewalOn, .buys("tiers.silver"), .does(.cancel), .waits("P3D"), .does(.resume)),
        row(.expiredAfterCancelling, .buys("tiers.silver"), .does(.cancel), .waits("P1M")),
    ]

    private static let failures = [
        Course(
            .billingFailed, [.buys("tiers.silver"), .does(.failBilling), .waits("P1M")],
            set: noGrace),
        row(.billingFailedIntoGrace, .buys("tiers.silver"), .does(.failBilling), .waits("P1M")),
        row(
            .recoveredInGrace, .buys("tiers.silver"), .does(.failBilling), .waits("P36D"),
            .does(.recoverBilling)),
        row(.graceRanOut, .buys("tiers.silver"), .does(.failBilling), .waits("P50D")),
        row(
            .recoveredInRetry, .buys("tiers.silver"), .does(.failBilling), .waits("P60D"),
            .does(.recoverBilling)),
        Course(
            .retryExhausted, [.buys("tiers.silver"), .does(.failBilling), .waits("P4M")],
            set: noGrace),
        row(
            .cancelledInRetry, .buys("tiers.silver"), .does(.failBilling), .waits("P36D"),
            .does(.cancel)),
    ]

    private static let choices = [
        row(
            .upgrade, .buys("tiers.silver"), .waits("P10D"), .does(.changeProduct("tiers.gold"))),
        row(.downgradeChosen, .buys("tiers.silver"), .does(.changeProduct("tiers.bronze"))),
        row(
            .downgradeReverted, .buys("tiers.silver"), .does(.changeProduct("tiers.bronze")),
            .waits("P3D"), .does(.changeProduct("tiers.silver"))),
        row(
            .downgradeTookEffect, .buys("tiers.silver"), .does(.changeProduct("tiers.bronze")),
            .waits("P1M")),
        row(
            .crossgradeSameDuration, .buys("tiers.silver"), .waits("P10D"),
            .does(.changeProduct("tiers.silver.other"))),
        row(
            .crossgradeOtherDuration, .buys("tiers.gold"),
            .does(.changeProduct("tiers.gold.yearly")), .waits("P1M")),
    ]

    static let part = RefundOrder(.prorated(25_500), reason: .issueWithTheApp)

    private static let refunds = [
        row(.refund, .buys("tiers.silver"), .waits("P3D"), .does(.refund())),
        row(.refundProrated, .buys("tiers.silver"), .waits("P3D"), .does(.refund(part))),
        row(.refundRequestGranted, .buys("tiers.silver"), .does(.requestRefund()), .waits("P2D")),
        row(
            .refundRequestDeclined, .buys("tiers.silver"),
            .does(.requestRefund(.legal, .declined))),
        row(
            .refundReversed, .buys("tiers.silver"), .does(.refund()), .waits("P3D"),
            .does(.reverseRefund())),
        row(
            .refundOfPastPeriod, .buys("tiers.silver"), .waits("P1M"), .transaction(.refund()),
            .waits("P1D"), .transaction(.reverseRefund)),
        row(.extended, .buys("tiers.silver"), .does(.extend(ExtensionOrder(days: 30)))),
        row(.extendedForAll, .buys("tiers.silver"), .massExtension(week), .waits("P1D")),
    ]

    static let week = MassExtension(
        ExtensionOrder(days: 7, requestID: "outage"), productID: "tiers.silver")

    private static let rise = PriceRise.Order(price: 12_990, needsConsent: true)
    private static let mildRise = PriceRise.Order(price: 10_990, needsConsent: false)

    private static let prices = [
        row(.priceRiseToBeAgreed, .buys("tiers.silver"), .does(.raisePrice(rise))),
        row(.priceRiseAgreed, .buys("tiers.silver"), .does(.raisePrice(rise)), .does(.consent)),
        row(
            .priceRiseUnanswered, .buys("tiers.silver"), .does(.raisePrice(rise)), .waits("P1M")),
        row(
            .priceRiseDeclined, .buys("tiers.silver"), .does(.raisePrice(rise)), .does(.decline),
            .waits("P1M")),
        row(.priceRiseWithoutConsent, .buys("tiers.silver"), .does(.raisePrice(mildRise))),
    ]
}
