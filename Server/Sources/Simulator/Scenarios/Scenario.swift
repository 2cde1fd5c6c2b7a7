import AppStoreFormats

/// A named sequence of events that the simulator runs with a new customer: for a first look, and
/// for tests that need a customer in a certain state.
package struct Scenario: Sendable {
    package let name: String
    /// What happens, in one sentence.
    package let summary: String
    let steps: [Step]

    enum Step: Sendable {
        case buy(ProductKind)
        case act(SubscriptionAct)
        case change(ProductKind)
        /// The price rises to twice its amount.
        case raisePrice(needsConsent: Bool)
        /// Time passes: an ISO 8601 duration.
        case wait(String)
        /// From now on, no notification is sent for this number of days.
        case outage(days: Int64)
        /// A fault affects the next notification.
        case strike(NotificationFault)
    }

    /// The kind of product to buy, whatever its id in the shop.
    enum ProductKind: String, Hashable, Sendable {
        case monthly = "a monthly subscription"
        case withTrial = "a subscription with a free trial"
        case higher = "a product of a higher level"
        case lower = "a product of a lower level"
    }

    private init(_ name: String, _ summary: String, _ steps: [Step]) {
        self.name = name
        self.summary = summary
        self.steps = steps
    }

    package static func named(_ name: String) throws(SimulatorProblem) -> Self {
        guard let scenario = all.first(where: { $0.name == name }) else {
            let names = all.map(\.name).joined(separator: ", ")
            throw SimulatorProblem(
                "unknown_scenario", status: 404, "There is no scenario \(name).",
                remedy: "Choose one of \(names).")
        }
        return scenario
    }

    package static let all = simple + billing + money + changes + troubles
}

// MARK: - The scenarios

extension Scenario {
    private static let simple = [
        Self(
            "first-purchase-and-renewals", "A customer subscribes and stays for four months.",
            [.buy(.monthly), .wait("P3M")]),
        Self(
            "trial-converts", "A free trial converts to a paid subscription.",
            [.buy(.withTrial), .wait("P32D")]),
        Self(
            "trial-cancelled", "A free trial is cancelled within an hour, and expires.",
            [.buy(.withTrial), .wait("PT30M"), .act(.cancel), .wait("P32D")]),
        Self(
            "cancelled-and-expired", "Renewal is switched off, and the subscription ends.",
            [.buy(.monthly), .wait("P10D"), .act(.cancel), .wait("P1M")]),
        Self(
            "cancelled-and-resumed", "Renewal is switched off and, a day before the end, on again.",
            [.buy(.monthly), .act(.cancel), .wait("P26D"), .act(.resume), .wait("P10D")]),
        Self(
            "back-after-a-gap", "A customer leaves, and subscribes again after ninety days.",
            [.buy(.monthly), .act(.cancel), .wait("P4M"), .buy(.monthly), .wait("P1D")]),
    ]

    private static let billing = [
        Self(
            "billing-failure-recovered-in-grace",
            "A payment fails and succeeds in grace: the billing date stays.",
            [.buy(.monthly), .act(.failBilling), .wait("P34D"), .act(.recoverBilling)]),
        Self(
            "billing-failure-recovered-in-retry",
            "A payment fails and succeeds after grace: the billing date changes.",
            [.buy(.monthly), .act(.failBilling), .wait("P60D"), .act(.recoverBilling)]),
        Self(
            "billing-failure-never-recovered",
            "A payment fails for sixty days, and the subscription ends.",
            [.buy(.monthly), .act(.failBilling), .wait("P4M")]),
    ]

    private static let money = [
        Self(
            "refund", "The current period is refunded: access ends at once.",
            [.buy(.monthly), .wait("P40D"), .act(.refund())]),
        Self(
            "refund-reversed",
            "A refund is reversed: the rest of the period is usable again.",
            [
                .buy(.monthly), .wait("P3D"), .act(.refund()), .wait("P3D"),
                .act(.reverseRefund()),
            ]),
        Self(
            "refund-request-declined",
            "A customer requests a refund; Apple asks the app, and declines.",
            [
                .buy(.monthly), .wait("P2D"), .act(.requestRefund()), .wait("PT12H"),
                .act(.requestRefund(.unintendedPurchase, .declined)),
            ]),
    ]

    private static let changes = [
        Self(
            "upgrade", "A customer chooses a higher level: at once, with a partial refund.",
            [.buy(.monthly), .wait("P12D"), .change(.higher), .wait("P1M")]),
        Self(
            "downgrade", "A customer chooses a lower level: from the next period.",
            [.buy(.monthly), .wait("P12D"), .change(.lower), .wait("P1M")]),
        Self(
            "price-increase-agreed", "The price doubles, and the customer agrees.",
            [
                .buy(.monthly), .raisePrice(needsConsent: true), .wait("P5D"), .act(.consent),
                .wait("P1M"),
            ]),
        Self(
            "price-increase-unanswered",
            "The price doubles, the customer does not respond, and the subscription ends.",
            [.buy(.monthly), .raisePrice(needsConsent: true), .wait("P2M")]),
    ]

    private static let troubles = [
        Self(
            "outage", "No notification is sent for twelve days, in which one subscription renews.",
            [.buy(.monthly), .wait("P25D"), .outage(days: 12), .wait("P20D")]),
        Self(
            "notification-lost", "The notification of a cancellation is never sent.",
            [.buy(.monthly), .wait("P5D"), .strike(.drop), .act(.cancel), .wait("P2M")]),
        Self(
            "notifications-out-of-order",
            "A refund is notified before the renewal that it refunds.",
            [
                .buy(.monthly), .strike(.reorder), .wait("P1M"), .wait("PT30M"), .act(.refund()),
                .wait("P1D"),
            ]),
        Self(
            "forgery", "A forged notification is sent beside a true one.",
            [.buy(.monthly), .strike(.forged), .wait("P32D")]),
    ]
}
