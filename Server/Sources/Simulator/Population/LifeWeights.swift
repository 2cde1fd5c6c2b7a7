import AppStoreFormats

/// How likely customers are to do what: medians over many apps as RevenueCat published them in
/// 2026 (State of Subscription Apps), and where nobody has published a figure, a guess that lets
/// every turn be taken now and then.
enum LifeWeights {
    /// Odds that a subscription renews after its first, second, third and each later period. The
    /// last is our arithmetic: it leads to the published share of those who are left after a year.
    private static let weekly = [0.443, 0.710, 0.792, 0.947]
    private static let monthly = [0.532, 0.708, 0.774, 0.883]
    private static let yearly = [0.252, 0.500, 0.625, 0.675]
    /// Odds that a free trial goes on as a subscription.
    private static let trial = 0.38

    /// Of those who do not renew, how many switch renewal off; the others' payment is refused.
    static let voluntary = 0.86
    /// Of trials that are cancelled, how many within an hour.
    static let trialCancelledAtOnce = 0.28
    /// Of refused payments, how many are made good in grace or while being retried.
    static let recovery = 0.6
    /// Of those who have switched renewal off, how many switch it on again before the end.
    static let resumption = 0.15

    static func renewal(of subscription: Subscription) -> Double {
        let latest = subscription.latest
        if latest.offer?.discount == .freeTrial { return trial }
        let period = latest.product.subscription?.period ?? BillingPeriod(1, .month)
        let odds = period.months == 0 ? weekly : period.months < 6 ? monthly : yearly
        return odds[min(subscription.transactions.count, odds.count) - 1]
    }

    /// Odds that somebody whose subscription has ended comes back.
    static func returning(to subscription: Subscription) -> Double {
        let months = subscription.latest.product.subscription?.period.months ?? 1
        return months < 6 ? 0.2 : 0.05
    }

    /// What else a subscriber, or the developer, may do in a period. Refunds are 3.5 % of paid
    /// transactions; the rest are guesses.
    static let whims: [(odds: Double, whim: Whim)] = [
        (0.025, .refund), (0.010, .requestRefund), (0.040, .changeProduct), (0.020, .changeTwice),
        (0.015, .cancelAndResume), (0.010, .raisePrice), (0.006, .extend), (0.004, .renewNow),
        (0.003, .expire), (0.003, .advancedCommerce), (0.002, .removeFromSale),
        (0.006, .redeemOffer), (0.002, .externalToken), (0.004, .rescindConsent),
        (0.020, .refundPastPeriod), (0.010, .buySomethingElse), (0.010, .leaveFamily),
        (0.010, .stopSharing), (0.001, .massExtension), (0.001, .testNotification),
    ]

    /// Something that is done now and then.
    enum Whim: Hashable, Sendable, CaseIterable {
        case refund
        case requestRefund
        case changeProduct
        case changeTwice
        case cancelAndResume
        case raisePrice
        case extend
        case renewNow
        case expire
        case advancedCommerce
        case removeFromSale
        case redeemOffer
        case externalToken
        case rescindConsent
        case refundPastPeriod
        case buySomethingElse
        case leaveFamily
        case stopSharing
        case massExtension
        case testNotification
    }
}
