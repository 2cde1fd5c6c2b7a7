import AppStoreFormats

/// The state of a subscription on one side, in words that both sides use.
struct Verdict: Hashable, Sendable, CustomStringConvertible {
    var original: String
    var product: String
    var isOpen: Bool
    var state: String
    var willRenew: Bool
    /// The end of the current period, or of grace while it lasts.
    var until: String?

    var description: String {
        "\(original) \(product): \(isOpen ? "open" : "shut"), \(state), "
            + "\(willRenew ? "renews" : "does not renew"), until \(until ?? "-")"
    }

    /// The states in which a customer may use the product, in the contract's words.
    private static let openStates: Set<String> = [
        "paid", "trial", "offer", "grace", "unconfirmed", "granted", "owned",
    ]

    /// Reads the state from the simulator's books.
    init(truth: JSON) throws {
        original = try truth.text("original_transaction_id")
        product = try truth.text("product_id")
        isOpen = truth["open"]?.bool ?? false
        state = try truth.text("state")
        willRenew = truth["will_renew"]?.bool ?? false
        until = truth["grace_until"]?.string ?? truth["period"]?["until"]?.string
        if !isOpen { until = nil }
    }

    /// Reads the state from the server's answer about a customer.
    init(subscription: JSON) throws {
        original = try subscription.text("original_transaction_id")
        product = try subscription.text("product_id")
        state = try subscription.text("state")
        isOpen = Self.openStates.contains(state)
        willRenew = subscription["will_renew"]?.bool ?? false
        until = subscription["grace_until"]?.string ?? subscription["period"]?["until"]?.string
        if !isOpen { until = nil }
    }
}
