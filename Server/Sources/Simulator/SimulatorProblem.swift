/// Why the simulator refuses a request: what happened, and what to do.
package struct SimulatorProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The HTTP status.
    package let status: Int
    /// The reason, for programs. A code never changes its meaning.
    package let code: String
    package let message: String
    package let remedy: String
    /// The error that StoreKit throws. Nil if the simulator refuses a call that would not fail on a
    /// real device.
    var storeKit: StoreKitFailure?
    /// The code of Foundation's `URLError` within StoreKit's network error.
    var urlError: Int64?

    package init(_ code: String, status: Int = 409, _ message: String, remedy: String) {
        self.status = status
        self.code = code
        self.message = message
        self.remedy = remedy
    }

    package var description: String { "\(code): \(message) \(remedy)" }
}

extension SimulatorProblem {
    static func unknownProduct(_ id: String, known: [String]) -> Self {
        let list = known.isEmpty ? "The shop is empty." : "The shop sells: \(list(known))."
        return Self(
            "unknown_product", status: 404, "The shop has no product \(id).",
            remedy: "\(list) POST /_sim/reset loads another shop.")
    }

    static func unknownDevice(_ id: String, known: [String]) -> Self {
        let list = known.isEmpty ? "" : " There are: \(list(known))."
        return Self(
            "unknown_device", status: 404, "There is no device \(id).",
            remedy: "POST /_sim/devices {\"account\": \"anna\"} adds one.\(list)")
    }

    static func unknownTransaction(_ id: String) -> Self {
        Self(
            "unknown_transaction", status: 404, "There is no transaction \(id).",
            remedy: "GET /_sim/truth/{account} lists what an account has bought.")
    }

    static func unknownSubscription(_ id: String) -> Self {
        Self(
            "unknown_subscription", status: 404,
            "No subscription has the original transaction id \(id).",
            remedy: "GET /_sim/truth/{account} lists what an account has bought.")
    }

    /// - Parameter products: the products that the account is subscribed to.
    static func unknownSubscription(
        to product: String, of account: String, has products: [String]
    ) -> Self {
        let names = products.map { "\(account):\($0)" }
        return Self(
            "unknown_subscription", status: 404,
            "\(account) has no subscription to \(product).",
            remedy: names.isEmpty
                ? "The account has no subscription: buy one first."
                : "Use the product it has now: \(list(names)).")
    }

    /// - Parameter ids: the original transaction ids of all matching subscriptions.
    static func ambiguousSubscription(_ name: String, ids: [String]) -> Self {
        Self(
            "ambiguous_subscription", "\(name) matches \(ids.count) subscriptions.",
            remedy: "Name it by its original transaction id: \(list(ids)).")
    }

    static func unknownAccount(_ name: String) -> Self {
        Self(
            "unknown_account", status: 404, "There is no account \(name).",
            remedy: "POST /_sim/devices {\"account\": \"\(name)\"} creates it, with a device.")
    }

    static func unknownStorefront(_ country: String) -> Self {
        let known = Storefront.all.map(\.country).joined(separator: ", ")
        return Self(
            "unknown_storefront", status: 400, "There is no storefront \(country).",
            remedy: "Choose one of \(known).")
    }

    static func wrongState(_ message: String, remedy: String) -> Self {
        Self("wrong_state", message, remedy: remedy)
    }

    /// - Parameter what: `refund` or `reverse`.
    static func nothingTo(_ what: String, _ id: String) -> Self {
        wrongState(
            "There is nothing to \(what) for \(id).",
            remedy: "GET /_sim/truth/{account} shows what is refunded.")
    }

    /// - Parameter id: the original transaction id of a subscription without seats.
    static func noGroup(_ id: String) -> Self {
        wrongState(
            "The subscription \(id) has one seat.",
            remedy: "Buy more: POST /_sim/devices/{id}/purchases {\"seats\": 5, …}.")
    }

    static func badRequest(_ message: String, remedy: String) -> Self {
        Self("bad_request", status: 400, message, remedy: remedy)
    }

    static let full = Self(
        "world_is_full", "The simulated world has no room for more.",
        remedy: "POST /_sim/reset begins a new one.")

    /// Maximum number of names in a message. A shop may have thousands.
    private static let namesMax = 50

    private static func list(_ names: [String]) -> String {
        let shown = names.prefix(namesMax).joined(separator: ", ")
        return names.count > namesMax ? shown + ", …" : shown
    }
}
