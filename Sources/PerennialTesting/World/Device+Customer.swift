public import Perennial

// MARK: - Acts of the customer

extension Device {
    /// What the customer does with a sheet.
    public enum Sheet: Hashable, Sendable {
        case confirm
        case cancel
        case askParent
        /// StoreKit throws an error. The value is the simulator's name for the error, such as
        /// `product_unavailable`.
        case fail(String)
        /// The sheet stays open until ``Device/letGo()``.
        case hold
    }

    /// Sets what the customer does with the next sheet. Several calls apply to the next sheets in
    /// order.
    public func nextSheet(_ does: Sheet) async throws {
        let fields: [String: any Sendable] =
            switch does {
            case .confirm: ["choice": "confirm"]
            case .cancel: ["choice": "cancel"]
            case .askParent: ["choice": "ask"]
            case .fail(let error): ["error": error]
            case .hold: ["hold": true]
            }
        try await routes.post("devices/\(id)/next-sheet", fields)
    }

    /// Closes all sheets that are held.
    public func letGo() async throws { try await routes.post("devices/\(id)/let-go") }

    /// Sets how every waiting purchase is answered: by a parent, or by the customer if a bank has
    /// requested something.
    public func parent(_ says: Answer) async throws {
        let truth = try await routes.get("truth/\(account)", as: Truth.self)
        for pending in truth.pending {
            try await routes.post("transactions/\(pending.id)/\(says.rawValue)")
        }
    }

    /// How a waiting purchase is answered: by a parent, or by the customer if a bank has requested
    /// something.
    public enum Answer: String, Sendable {
        case approves = "approve"
        case declines = "decline"
        /// The customer completes what the bank requested.
        case resolves = "resolve"
    }

    /// Buys outside the app, for example on another device.
    ///
    /// - Parameter fields: further fields of the simulator's purchase request, such as `offer`.
    public func buyElsewhere(
        _ product: Perennial.ProductID, _ fields: [String: any Sendable] = [:]
    ) async throws {
        try await routes.post(
            "devices/\(id)/purchases", fields.merging(["product_id": product.rawValue]) { $1 })
    }

    /// Redeems an offer code, in the App Store or in the App Store's sheet for codes.
    public func redeem(code: String, for product: Perennial.ProductID? = nil) async throws {
        var fields: [String: any Sendable] = ["code": code]
        if let product { fields["product_id"] = product.rawValue }
        try await routes.post("devices/\(id)/redeem-code", fields)
    }

    /// Chooses a promoted product, as the customer does in the App Store.
    public func choosePromoted(_ product: Perennial.ProductID) async throws {
        try await routes.post(
            "devices/\(id)/purchase-intents", ["product_id": product.rawValue])
    }

    /// Makes every later renewal of the account's subscriptions fail.
    public func failNextPayment() async throws {
        let truth = try await routes.get("truth/\(account)", as: Truth.self)
        for purchase in truth.purchases where purchase.willRenew == true {
            try await change(.init(rawValue: purchase.productId), "fail-billing")
        }
    }

    /// Updates the app to another version.
    public func update(toVersion version: String) async throws {
        try await routes.post("devices/\(id)/app", ["version": version])
    }

    /// Sets where the app was installed from: `store`, `testflight` or `xcode`.
    public func update(from source: String) async throws {
        try await routes.post("devices/\(id)/app", ["source": source])
    }

    public func join(family: String) async throws {
        try await routes.post("families/\(family)/join", ["account": account])
    }

    public func leave(family: String) async throws {
        try await routes.post("families/\(family)/leave", ["account": account])
    }

    /// Sets which of StoreKit's calls fail from now on, such as
    /// `["verification": "invalid_signature"]`. A call with the value `NSNull()` no longer fails.
    public func errors(_ errors: [String: any Sendable]) async throws {
        try await routes.post("devices/\(id)/errors", errors)
    }

    /// Accepts the offer of an App Store message, such as `win_back_offer`. Returns false if there
    /// is no such message.
    public func acceptMessage(_ reason: String) async throws -> Bool {
        let messages = try await routes.get("devices/\(id)/messages", as: Messages.self).messages
        guard let message = messages.first(where: { $0.reason == reason }) else { return false }
        try await routes.post(
            "devices/\(id)/messages/\(message.id)/display", ["choice": "accept"])
        return true
    }

    private struct Messages: Decodable { let messages: [Message] }
    private struct Message: Decodable { let id, reason: String }

    /// Refunds the latest transaction of the account's subscription to a product.
    public func refund(_ product: Perennial.ProductID) async throws {
        try await change(product, "refund")
    }

    /// Refunds one transaction, such as a consumable.
    public func refund(transaction: String) async throws {
        try await routes.post("transactions/\(transaction)/refund")
    }

    /// Applies an action of the simulator to a subscription: `cancel`, `resume`, `fail-billing`…
    public func change(
        _ product: Perennial.ProductID, _ verb: String, _ fields: [String: any Sendable] = [:]
    ) async throws {
        try await routes.post("subscriptions/\(account):\(product.rawValue)/\(verb)", fields)
    }

    /// Sets whether the App Store can be reached.
    public func storeIs(_ reach: World.Reach) async throws {
        let fields: [String: any Sendable] =
            switch reach {
            case .up: ["state": "online"]
            case .slow(let seconds): ["state": "slow", "slow_seconds": seconds]
            default: ["state": "offline"]
            }
        try await routes.post("devices/\(id)/network", fields)
    }

    /// Makes the first reads of StoreKit's lists empty after each launch: at most 1000 reads.
    public func readsAreEmptyAtLaunch(_ reads: Int) async throws {
        try await routes.post("devices/\(id)/habits", ["empty_reads_at_launch": reads])
    }

    /// Signs another Apple account in on the device.
    public func signIn(_ account: String) async throws {
        try await routes.post("devices/\(id)/account", ["account": account])
        change(account: account)
    }

    /// A sheet or a password prompt that the customer saw.
    public struct Prompt: Decodable, Hashable, Sendable {
        /// The call that caused the prompt: `purchase`, `sync` or `refresh`. `sync` and `refresh`
        /// ask for the account's password.
        public let cause: String
        /// The kind of the prompt: `sheet` or `password`.
        public let kind: String
        /// The product that the sheet is about. Nil for a password prompt.
        public let productId: String?
        /// What the customer did: `confirm`, `cancel`, `ask` or `fail`.
        public let choice: String
        /// Whether the sheet or prompt is still open.
        public let held: Bool
    }

    /// The sheets and password prompts that the app has caused.
    public func prompts() async throws -> [Prompt] {
        try await routes.get("devices/\(id)/prompts", as: Prompts.self).prompts
    }

    /// Returns when this number of prompts has appeared, or after a minute.
    public func untilPrompts(_ count: Int) async throws {
        _ = try await routes.get("devices/\(id)/prompts", "count=\(count)", as: Prompts.self)
    }

    /// The number of transactions that the app has not finished.
    public func unfinished() async throws -> Int {
        try await routes.get("devices/\(id)/unfinished", as: Unfinished.self)
            .signedTransactions.count
    }

    private struct Unfinished: Decodable { let signedTransactions: [String] }
    private struct Prompts: Decodable { let prompts: [Prompt] }
}
