import AppStoreFormats

/// How likely customers' acts are: medians over many apps, as published by RevenueCat in 2026
/// (State of Subscription Apps). Where no figure is published, a guess that lets every event occur
/// occasionally.
enum LifeWeights {
    /// Probabilities that a subscription renews after its first, second, third and each later
    /// period. The last one is calculated so that it leads to the published share of customers who
    /// remain after a year.
    private static let weekly = [0.443, 0.710, 0.792, 0.947]
    private static let monthly = [0.532, 0.708, 0.774, 0.883]
    private static let yearly = [0.252, 0.500, 0.625, 0.675]
    /// Probability that a free trial converts to a paid subscription.
    private static let trial = 0.38

    /// Among customers whose subscription does not renew: the share who have switched renewal off.
    /// For the others, the payment fails.
    static let voluntary = 0.86
    /// The share of cancelled trials that are cancelled within an hour.
    static let trialCancelledAtOnce = 0.28
    /// The share of failed payments that succeed in grace or retry.
    static let recovery = 0.6
    /// The share of customers who switch renewal on again before the period ends, after they have
    /// switched it off.
    static let resumption = 0.15

    static func renewal(of subscription: Subscription) -> Double {
        let latest = subscription.latest
        if latest.offer?.discount == .freeTrial { return trial }
        let period = latest.product.subscription?.period ?? BillingPeriod(1, .month)
        let odds = period.months == 0 ? weekly : period.months < 6 ? monthly : yearly
        return odds[min(subscription.transactions.count, odds.count) - 1]
    }

    /// Probability that a customer whose subscription has ended comes back.
    static func returning(to subscription: Subscription) -> Double {
        let months = subscription.latest.product.subscription?.period.months ?? 1
        return months < 6 ? 0.2 : 0.05
    }

    /// Occasional acts of a subscriber or the developer in a period. Refunds are 3.5 % of paid
    /// transactions; the other probabilities are guesses.
    static let whims: [(odds: Double, whim: Whim)] = [
        (0.025, .refund), (0.010, .requestRefund), (0.040, .changeProduct), (0.020, .changeTwice),
        (0.015, .cancelAndResume), (0.010, .raisePrice), (0.006, .extend), (0.004, .renewNow),
        (0.003, .expire), (0.003, .advancedCommerce), (0.002, .removeFromSale),
        (0.006, .redeemOffer), (0.002, .externalToken), (0.004, .rescindConsent),
        (0.020, .refundPastPeriod), (0.010, .buySomethingElse), (0.010, .leaveFamily),
        (0.010, .stopSharing), (0.001, .massExtension), (0.001, .testNotification),
        (0.010, .move),
    ]

    /// The acts about seats in a period: of customers who have bought several seats, and of
    /// customers who have bought one seat of a product that is sold in seats. All probabilities are
    /// guesses.
    static let groupWhims: [(odds: Double, whim: Life.GroupWhim)] = [
        (0.22, .invite), (0.12, .addSeats), (0.08, .planSeats), (0.05, .refundSeats),
        (0.06, .remove),
    ]
    static let singleWhims: [(odds: Double, whim: Life.GroupWhim)] = [(0.05, .addSeats)]

    /// An occasional act.
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
        case move
    }
}
