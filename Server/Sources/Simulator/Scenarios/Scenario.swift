import AppStoreFormats

/// A named story that the simulator plays with a customer of its own: for a first look, and for
/// tests that want a customer in a certain state.
package struct Scenario: Sendable {
    package let name: String
    /// What happens, in one sentence.
    package let summary: String
    let steps: [Step]

    enum Step: Hashable, Sendable {
        case buy(Wish)
        case act(SubscriptionAct)
        case change(Wish)
        /// To twice the price.
        case raisePrice(needsConsent: Bool)
        /// Time passes: an ISO 8601 duration.
        case wait(String)
        /// No notification is sent for so many days from now.
        case outage(days: Int64)
        /// The next notification meets a fault.
        case strike(NotificationFault)
    }

    /// What is bought, whatever the shop calls it.
    enum Wish: String, Hashable, Sendable {
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

    package static func named(_ name: String) throws(StoreProblem) -> Self {
        guard let scenario = all.first(where: { $0.name == name }) else {
            let names = all.map(\.name).joined(separator: ", ")
            throw StoreProblem(
                "unknown_scenario", status: 404, "There is no scenario \(name).",
                remedy: "Choose one of \(names).")
        }
        return scenario
    }

    package static let all = simple + billing + money + changes + troubles
}

// MARK: - The stories

extension Scenario {
    private static let simple = [
        Self(
            "first-purchase-and-renewals", "A customer subscribes and stays for four months.",
            [.buy(.monthly), .wait("P3M")]),
        Self(
            "trial-converts", "A free trial goes on as a paid subscription.",
            [.buy(.withTrial), .wait("P32D")]),
        Self(
            "trial-cancelled", "A free trial is cancelled within an hour, and runs out.",
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
            "A payment is refused and succeeds in grace: the billing date stays.",
            [.buy(.monthly), .act(.failBilling), .wait("P34D"), .act(.recoverBilling)]),
        Self(
            "billing-failure-recovered-in-retry",
            "A payment is refused and succeeds after grace: the billing date is a new one.",
            [.buy(.monthly), .act(.failBilling), .wait("P60D"), .act(.recoverBilling)]),
        Self(
            "billing-failure-never-recovered",
            "A payment is refused for sixty days, and the subscription ends.",
            [.buy(.monthly), .act(.failBilling), .wait("P4M")]),
    ]

    private static let money = [
        Self(
            "refund", "The present period is refunded: access ends at once.",
            [.buy(.monthly), .wait("P40D"), .act(.refund())]),
        Self(
            "refund-reversed",
            "A refund is taken back: what is left of the period is usable again.",
            [
                .buy(.monthly), .wait("P3D"), .act(.refund()), .wait("P3D"),
                .act(.reverseRefund()),
            ]),
        Self(
            "refund-request-declined",
            "A customer asks for the money back; Apple asks the app, and declines.",
            [
                .buy(.monthly), .wait("P2D"), .act(.requestRefund()), .wait("PT12H"),
                .act(.requestRefund(.unintendedPurchase, .declined)),
            ]),
    ]

    private static let changes = [
        Self(
            "upgrade", "A customer takes a higher level: at once, with part of the money back.",
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
            "The price doubles, and the customer says nothing: the end.",
            [.buy(.monthly), .raisePrice(needsConsent: true), .wait("P2M")]),
    ]

    private static let troubles = [
        Self(
            "outage", "No notification comes for twelve days, in which one subscription renews.",
            [.buy(.monthly), .wait("P25D"), .outage(days: 12), .wait("P20D")]),
        Self(
            "notification-lost", "The notification of a cancellation never comes.",
            [.buy(.monthly), .wait("P5D"), .strike(.drop), .act(.cancel), .wait("P2M")]),
        Self(
            "notifications-out-of-order", "A refund is told before the renewal that it refunds.",
            [
                .buy(.monthly), .strike(.reorder), .wait("P1M"), .wait("PT30M"), .act(.refund()),
                .wait("P1D"),
            ]),
        Self(
            "forgery", "A forged notification comes beside a true one.",
            [.buy(.monthly), .strike(.forged), .wait("P32D")]),
    ]
}
