import AppStoreFormats
import Simulator

/// The script of one customer of a trial. The script covers a row of the lifecycle table that
/// random customers reach too rarely.
struct ScriptedCase: Sendable {
    enum Step: Sendable {
        case buy(PurchaseOrder)
        /// An act on the most recently bought subscription.
        case act(SubscriptionAct)
        /// An act on the most recently bought product of any kind.
        case transactionAct(TransactionAct)
        case extendAll(String)
        case sendTest
        case remindOfExternalPurchase
        case rescindConsent
    }

    /// A step, and the hours since the previous step.
    struct Stage: Sendable {
        let hours: Int
        let step: Step
    }

    let row: LifecycleRow
    let stages: [Stage]
    /// The faults without which this case would not be worth testing.
    let families: Set<FaultFamily>
    /// Whether a relative shares the purchase.
    let isShared: Bool
    /// Whether every notification is lost.
    let losesAllNotifications: Bool

    /// The days from the first step to the last, plus two days in which its consequences show.
    var days: Int { stages.reduce(0) { $0 + $1.hours } / 24 + 2 }

    private init(
        _ row: LifecycleRow, with families: Set<FaultFamily> = [], isShared: Bool = false,
        isUntold: Bool = false, _ stages: [Stage]
    ) {
        self.row = row
        self.stages = stages
        self.families = families
        self.isShared = isShared
        self.losesAllNotifications = isUntold
    }

    package static let rows: [LifecycleRow] = all.map(\.row)

    static func of(_ row: LifecycleRow) -> ScriptedCase? { all.first { $0.row == row } }

    private static let all = beginnings + failures + choices + refunds + prices + offers + others
}

// MARK: - The cases

extension ScriptedCase {
    private static let day = 24

    private static func buy(_ product: String, _ hours: Int = 0) -> Stage {
        Stage(hours: hours, step: .buy(PurchaseOrder(product, offerID: PurchaseOrder.noOffer)))
    }

    private static func buyWithOffer(_ product: String, _ offer: String?, _ hours: Int = 0) -> Stage
    {
        Stage(hours: hours, step: .buy(PurchaseOrder(product, offerID: offer)))
    }

    private static func act(_ act: SubscriptionAct, _ hours: Int = 12) -> Stage {
        Stage(hours: hours, step: .act(act))
    }

    private static func actOnTransaction(_ act: TransactionAct, _ hours: Int = 12) -> Stage {
        Stage(hours: hours, step: .transactionAct(act))
    }

    /// A step that changes nothing, but extends the trial by this many days.
    private static func wait(_ days: Int) -> Stage { act(.resume, days * day) }

    private static let weekly = "weeks.one"
    private static let silver = "tiers.silver"
    private static let bronze = "tiers.bronze"
    private static let gold = "tiers.gold"

    private static let beginnings = [
        ScriptedCase(.firstPurchasePayUpFront, [buyWithOffer(bronze, nil)]),
        // There are 44 renewals, so that the history has two pages. Some notifications are lost.
        ScriptedCase(
            .renewal, with: [.lostNotifications, .lostPosts, .expiredPageTokens], isUntold: true,
            [buy(weekly)] + Array(repeating: act(.renewNow, 1), count: 44)),
        // The customer switches renewal off and on again, so that two different renewal infos may
        // arrive in either order.
        ScriptedCase(
            .renewalOn, with: [.reorderedNotifications],
            [buy(silver), act(.cancel, 30), act(.resume, 0), act(.cancel, 60), act(.resume, 0)]),
    ]

    private static let failures = [
        // The renewal info of a failed payment says nothing about the next period.
        ScriptedCase(
            .recoveredInGrace, with: [.lostNotifications, .apiOutage],
            [buy(weekly), act(.failBilling, 5 * day), act(.recoverBilling, 4 * day), wait(9)]),
        ScriptedCase(
            .retryExhausted, with: [.deviceQuirks], [buy(weekly), act(.failBilling), wait(78)]),
        ScriptedCase(.cancelledInRetry, [buy(weekly), act(.failBilling), act(.cancel, 9 * day)]),
    ]

    private static let choices = [
        ScriptedCase(.upgrade, [buy(silver), act(.changeProduct(gold), 9 * day)]),
        ScriptedCase(.downgradeChosen, [buy(silver), act(.changeProduct(bronze))]),
        ScriptedCase(
            .downgradeReverted,
            [buy(silver), act(.changeProduct(bronze)), act(.changeProduct(silver), 30)]),
        ScriptedCase(
            .downgradeTookEffect, [buy(silver), act(.changeProduct(bronze), 20 * day), wait(13)]),
        ScriptedCase(
            .crossgradeSameDuration, [buy(silver), act(.changeProduct("tiers.silver.other"))]),
        ScriptedCase(
            .crossgradeOtherDuration, [buy(gold), act(.changeProduct("tiers.gold.yearly"))]),
    ]

    private static let refunds = [
        ScriptedCase(.refundRequestGranted, [buy(silver), act(.requestRefund(.other, .granted))]),
        ScriptedCase(
            .refundRequestDeclined, [buy(silver), act(.requestRefund(.legal, .declined))]),
        ScriptedCase(
            .refundReversed, [buy(silver), act(.refund()), act(.reverseRefund(), 3 * day)]),
        ScriptedCase(
            .extendedForAll,
            [buy(silver), Stage(hours: 30, step: .extendAll(silver)), wait(2)]),
    ]

    private static let rise = SubscriptionAct.raisePrice(
        PriceRise.Order(price: 99_990, needsConsent: true))

    private static let prices = [
        ScriptedCase(.priceRiseToBeAgreed, [buy(silver), act(rise)]),
        ScriptedCase(.priceRiseAgreed, [buy(silver), act(rise), act(.consent, 50)]),
        ScriptedCase(.priceRiseUnanswered, [buy(weekly), act(rise), wait(8)]),
        ScriptedCase(.priceRiseDeclined, [buy(weekly), act(rise), act(.decline, 40), wait(7)]),
        ScriptedCase(
            .priceRiseWithoutConsent,
            [
                buy(silver),
                act(.raisePrice(PriceRise.Order(price: 99_990, needsConsent: false))),
            ]),
    ]

    private static let offers = [
        ScriptedCase(.offerCodeFirstPurchase, [buyWithOffer(silver, "code.free")]),
        ScriptedCase(
            .offerOnActive, with: [.deviceQuirks],
            [buy(silver), buyWithOffer(silver, "loyal", 30)]),
        ScriptedCase(.offerUpgrade, [buy(silver), buyWithOffer(gold, "code.upfront", 30)]),
        ScriptedCase(.offerDowngrade, [buy(silver), buyWithOffer(bronze, "code.upfront", 30)]),
        ScriptedCase(
            .offerAfterLapse,
            [buy(weekly), act(.cancel), buyWithOffer(weekly, "comeback", 8 * day)]),
        ScriptedCase(
            .resubscribedSameProduct, with: [.deviceQuirks],
            [buy(weekly), act(.cancel), buy(weekly, 9 * day)]),
        ScriptedCase(
            .resubscribedOtherProduct, [buy(weekly), act(.cancel), buy("weeks.half", 9 * day)]),
    ]

    private static let promise: PurchaseOrder = {
        var order = PurchaseOrder("years.promised", offerID: PurchaseOrder.noOffer)
        order.billingPlan = .monthly
        return order
    }()

    private static let promised = Stage(hours: 0, step: .buy(promise))

    private static let others = [
        ScriptedCase(.familySharingBegan, isShared: true, [buy("family.monthly")]),
        // The subscription is replaced by a higher product that cannot be shared.
        ScriptedCase(
            .familySharingEnded, isShared: true,
            [buy("family.monthly"), act(.changeProduct("family.alone"), 30)]),
        ScriptedCase(.productNotForSale, [buy(weekly), act(.removeFromSale), wait(8)]),
        ScriptedCase(.otherEnd, [buy(silver), act(.expire, 60)]),
        ScriptedCase(.familyOneTimePurchase, isShared: true, [buyWithOffer("atlas", nil)]),
        ScriptedCase(
            .oneTimeRefund, [buyWithOffer("atlas", nil), actOnTransaction(.refund(), 30)]),
        ScriptedCase(
            .consumptionRequested,
            [buyWithOffer("seeds", nil), actOnTransaction(.requestRefund(.other, nil))]),
        ScriptedCase(.externalPurchaseToken, [Stage(hours: 12, step: .remindOfExternalPurchase)]),
        ScriptedCase(
            .consentRescinded, [buy(silver), Stage(hours: 12, step: .rescindConsent)]),
        ScriptedCase(
            .advancedCommerce,
            [
                buy(silver), act(.advancedCommerce(AdvancedCommerceChange(.migration))),
                act(.advancedCommerce(AdvancedCommerceChange(.metadataUpdate, displayName: "New"))),
            ]),
        ScriptedCase(.commitmentMonth, [promised, wait(32)]),
        ScriptedCase(.commitmentCancelled, [promised, act(.cancel, 10 * day)]),
        ScriptedCase(.commitmentBillingFailed, [promised, act(.failBilling), wait(33)]),
        ScriptedCase(.test, [Stage(hours: 12, step: .sendTest)]),
    ]
}
